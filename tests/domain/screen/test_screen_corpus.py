"""What the screen reaches on the project's labelled texts."""

import pytest

from agent_memory.domain.screen import engine, screen_text
from support.screen_examples import corpus


@pytest.mark.parametrize("name", ["dev", "dev2"])
def test_recall_and_false_positives_hold(name: str) -> None:
    cases = corpus(name)
    secret = [case for case in cases if case["label"] == "secret"]
    clean = [case for case in cases if case["label"] == "clean"]
    missed = [case["id"] for case in secret if screen_text(case["text"]) is None]
    refused = [case["id"] for case in clean if screen_text(case["text"]) is not None]
    assert len(missed) <= 0.01 * len(secret), missed
    assert len(refused) <= 0.01 * len(clean), refused


@pytest.mark.parametrize("name", ["dev", "dev2"])
def test_structure_alone_carries_most_kinds(name: str) -> None:
    structure = engine.compile_screen(tuple(rule for rule in engine.TOKEN_RULES if not rule.vendor))
    secret = [case for case in corpus(name) if case["label"] == "secret"]
    found = sum(next(structure.hits(case["text"]), None) is not None for case in secret)
    assert found >= 0.85 * len(secret)
