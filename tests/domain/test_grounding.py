"""Inventions of a model against what it was given."""

import pytest

from agent_memory.domain.grounding import is_grounded

NOTES = "We keep idempotency keys for 72 h since support replays on Mondays. Then the keys expire."


@pytest.mark.parametrize(
    ("text", "grounded"),
    [
        ("The keys expire after 72 h because support replays on Mondays.", True),
        ("Three keys are kept for support.", True),
        ("Yes.", True),
        ("The keys expire after 48 h because support replays on Mondays.", False),
        ("Terraform plans run in a sandbox with read access.", False),
        ("10000000", False),
    ],
)
def test_a_text_says_what_its_sources_say(text: str, grounded: bool) -> None:
    assert is_grounded(text, NOTES) is grounded
