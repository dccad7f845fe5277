"""The reviewer without a model: near duplicates and progress notes, and above all what it must not take for them."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from agent_memory.domain.plain_review import is_progress_note, review_plainly
from agent_memory.domain.review import Origin, Shown, VerdictKind

RECORD = Shown(
    "r", "failure", "Large responses hang: MTU 1500 inside a 1450 network",
    "TLS handshakes with big certificates stalled, small requests worked. Set MTU 1450 in Cilium and restart all pods.",
    Origin.AGENT,
)  # fmt: skip


def candidate(title: str, content: str, kind: str = "failure", origin: Origin = Origin.EXTRACTED) -> Shown:
    return Shown("c", kind, title, content, origin)


@pytest.mark.parametrize(
    ("title", "content"),
    [
        ("MTU", "set MTU 1450 in Cilium and   restart all pods."),
        (
            "Large responses hang with MTU 1500",
            "Set MTU 1450 in Cilium, then restart the pods; big certificates stalled.",
        ),
    ],
)
def test_the_same_wording_or_nearly_so_is_a_duplicate(title: str, content: str) -> None:
    verdict = review_plainly(candidate(title, content), [RECORD])
    assert (verdict.kind, verdict.duplicate_of) == (VerdictKind.DUPLICATE, "r")


@pytest.mark.parametrize(
    ("title", "content"),
    [
        ("Large responses hang with MTU 1500", "Set MTU 1400 in Cilium and restart all pods."),
        ("MTU", "Never set MTU 1450 in Cilium and restart no pods."),
        ("Large responses", "Requests stalled in the proxy since its buffer was small."),
        ("MTU in Calico", "Set MTU 1450 in Calico and in kube-proxy, where drain and cordon come first for nodes."),
    ],
)
def test_another_value_meaning_or_subject_is_kept(title: str, content: str) -> None:
    assert review_plainly(candidate(title, content), [RECORD]).kind is VerdictKind.KEEP


def test_a_progress_note_is_session_state_only_where_the_guard_allows_it() -> None:
    text = ("Refund branch", "I rebased it and the tests pass now. Next I will ask for review, still waiting for CI.")
    assert review_plainly(candidate(*text), []).kind is VerdictKind.SESSION_STATE
    assert review_plainly(candidate(*text, "decision", Origin.AGENT), []).kind is VerdictKind.KEEP


@pytest.mark.parametrize(
    "text",
    [
        "Today I fixed avatar-upload.spec.ts by waiting for the upload.",
        "For now no spot nodes, because three evictions lost quorum.",
        "From now on a flag without date is refused; I started with the old ones.",
        "Status page texts are approved by support.",
    ],
)
def test_a_note_that_states_something_lasting_is_no_progress_note(text: str) -> None:
    assert not is_progress_note(text)


@pytest.fixture(scope="module")
def review_eval() -> ModuleType:
    path = Path(__file__).parents[2] / "tools" / "review-eval" / "eval.py"
    spec = importlib.util.spec_from_file_location("review_eval", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["review_eval"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_the_eval_forgets_nothing_that_it_should_keep(review_eval: ModuleType) -> None:
    outcomes = review_eval.review_by_rule(review_eval.read_cases(review_eval.CASES))
    assert [one.case.id for one in outcomes if one.ruling.forget and one.case.expected is VerdictKind.KEEP] == []
    duplicates = [one for one in outcomes if one.case.expected is VerdictKind.DUPLICATE]
    assert sum(one.right for one in duplicates) >= 25  # 30 of 38 when written
    assert "falsely forgotten 0 of 34" in review_eval.report(outcomes)


def test_the_guards_refuse_no_labelled_duplicate(review_eval: ModuleType) -> None:
    assert "refuse to forget: 0 of 38" in review_eval.bound(review_eval.read_cases(review_eval.CASES))
