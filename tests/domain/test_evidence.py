"""The seed's Evidence table, row by row, and what holds for every amount of evidence."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.domain.evidence import (
    STANCES,
    Evidence,
    Observation,
    effective_confidence,
    evidence_factor,
    weigh,
    why,
    why_factor,
)

confidences = st.floats(0.0, 1.0)
counts = st.integers(0, 60)
observations = st.lists(st.builds(Observation, st.sampled_from("abcde"), st.sampled_from(STANCES)), max_size=20)


def test_an_unwitnessed_record_keeps_the_confidence_it_was_given() -> None:
    assert effective_confidence(0.1 + 0.2, Evidence()) == 0.1 + 0.2


def test_each_corroboration_closes_a_third_of_the_remaining_distance() -> None:
    assert effective_confidence(0.7, Evidence(1, 0)) == pytest.approx(0.8)
    assert effective_confidence(0.7, Evidence(2, 0)) == pytest.approx(0.7 + 0.1 + 0.2 / 3)
    assert effective_confidence(0.0, Evidence(1, 0)) == pytest.approx(1 / 3)


def test_each_contradiction_halves_what_is_left() -> None:
    assert effective_confidence(0.7, Evidence(0, 1)) == pytest.approx(0.35)
    assert effective_confidence(0.7, Evidence(1, 2)) == pytest.approx(0.2)


def test_one_refusal_outweighs_two_agreements() -> None:
    assert effective_confidence(0.7, Evidence(2, 1)) == pytest.approx(13 / 30)
    assert effective_confidence(0.7, Evidence(2, 1)) < 0.7


@given(st.floats(5 / 14, 1.0, exclude_min=True))
def test_one_refusal_outweighs_two_agreements_for_every_confidence_above_five_fourteenths(asserted: float) -> None:
    assert effective_confidence(asserted, Evidence(2, 1)) <= asserted


@given(confidences, counts, counts)
def test_confidence_stays_between_nothing_and_certainty(asserted: float, proofs: int, refutations: int) -> None:
    assert 0.0 <= effective_confidence(asserted, Evidence(proofs, refutations)) <= 1.0


@given(confidences, counts, counts)
def test_one_more_proof_never_lowers_and_one_more_refutation_never_raises(asserted: float, p: int, r: int) -> None:
    here = effective_confidence(asserted, Evidence(p, r))
    assert effective_confidence(asserted, Evidence(p + 1, r)) >= here
    assert effective_confidence(asserted, Evidence(p, r + 1)) <= here


@given(confidences, confidences, counts, counts)
def test_the_more_confident_of_two_equally_witnessed_records_stays_so(a: float, b: float, p: int, r: int) -> None:
    low, high = sorted((a, b))
    evidence = Evidence(p, r)
    # floats round in the last place
    assert effective_confidence(low, evidence) <= effective_confidence(high, evidence) + 1e-12


def test_a_witness_counts_once_per_stance() -> None:
    said = [Observation("codex", "corroborates")] * 3 + [Observation("codex", "contradicts")] * 2
    assert weigh(said) == Evidence(1, 1)


def test_an_author_is_one_witness_and_cannot_repeat_itself_into_certainty() -> None:
    own = [Observation("claude-code", "corroborates")] * 5
    assert weigh(own) == Evidence(1, 0)
    assert effective_confidence(0.7, weigh(own)) == pytest.approx(0.8)


def test_each_missing_anchor_counts_as_one_contradiction_now() -> None:
    said = [Observation("codex", "corroborates")]
    assert weigh(said, missing_anchors=2) == Evidence(1, 2)
    assert weigh(said, missing_anchors=0) == Evidence(1, 0)


@given(observations, st.integers(0, 3), st.randoms(use_true_random=False))
def test_neither_order_nor_repetition_of_observations_matters(
    said: list[Observation], missing: int, shuffler: random.Random
) -> None:
    again = said + said
    shuffler.shuffle(again)
    assert weigh(again, missing) == weigh(said, missing)


def test_the_factor_is_earned_over_asserted_confidence() -> None:
    assert evidence_factor(0.7, Evidence()) == 1.0
    assert evidence_factor(0.7, Evidence(0, 1)) == pytest.approx(0.5)
    assert evidence_factor(0.5, Evidence(1, 0)) == pytest.approx(4 / 3)
    assert evidence_factor(0.0, Evidence(3, 0)) == 1.0


@given(st.floats(1e-6, 1.0), counts, counts)
def test_the_factor_times_the_asserted_is_the_earned(asserted: float, p: int, r: int) -> None:
    evidence = Evidence(p, r)
    earned = effective_confidence(asserted, evidence)
    assert evidence_factor(asserted, evidence) * asserted == pytest.approx(earned)


def test_why_reads_as_the_seed_writes_it() -> None:
    assert why(Evidence()) == "asserted, unwitnessed"
    assert why(Evidence(2, 1)) == "2 for/1 against"
    assert why(Evidence(0, 1)) == "0 for/1 against"
    assert why_factor(1.0) == ""
    assert why_factor(0.6190) == "evidence x0.62"
