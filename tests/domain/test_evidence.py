"""The seed's Evidence table, row by row, and what holds for every amount of evidence."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.domain.evidence import (
    STANCES,
    Counts,
    Observation,
    effective_confidence,
    evidence_factor,
    weigh,
    why,
)

confidences = st.floats(0.0, 1.0)
counts = st.integers(0, 60)
observations = st.lists(st.builds(Observation, st.sampled_from("abcde"), st.sampled_from(STANCES)), max_size=20)


def test_an_unwitnessed_record_keeps_the_confidence_it_was_given() -> None:
    assert effective_confidence(0.1 + 0.2, 0, 0) == 0.1 + 0.2


def test_each_corroboration_closes_a_third_of_the_remaining_distance() -> None:
    assert effective_confidence(0.7, 1, 0) == pytest.approx(0.8)
    assert effective_confidence(0.7, 2, 0) == pytest.approx(0.7 + 0.1 + 0.2 / 3)
    assert effective_confidence(0.0, 1, 0) == pytest.approx(1 / 3)


def test_each_contradiction_halves_what_is_left() -> None:
    assert effective_confidence(0.7, 0, 1) == pytest.approx(0.35)
    assert effective_confidence(0.7, 1, 2) == pytest.approx(0.2)


def test_one_refusal_outweighs_two_agreements() -> None:
    assert effective_confidence(0.7, 2, 1) == pytest.approx(13 / 30)
    assert effective_confidence(0.7, 2, 1) < 0.7


@given(st.floats(5 / 14, 1.0, exclude_min=True))
def test_one_refusal_outweighs_two_agreements_for_every_confidence_above_five_fourteenths(asserted: float) -> None:
    assert effective_confidence(asserted, 2, 1) <= asserted


@given(confidences, counts, counts)
def test_confidence_stays_between_nothing_and_certainty(asserted: float, proofs: int, refutations: int) -> None:
    assert 0.0 <= effective_confidence(asserted, proofs, refutations) <= 1.0


@given(confidences, counts, counts)
def test_one_more_proof_never_lowers_and_one_more_refutation_never_raises(asserted: float, p: int, r: int) -> None:
    here = effective_confidence(asserted, p, r)
    assert effective_confidence(asserted, p + 1, r) >= here
    assert effective_confidence(asserted, p, r + 1) <= here


@given(confidences, confidences, counts, counts)
def test_the_more_confident_of_two_equally_witnessed_records_stays_so(a: float, b: float, p: int, r: int) -> None:
    low, high = sorted((a, b))
    # floats round in the last place
    assert effective_confidence(low, p, r) <= effective_confidence(high, p, r) + 1e-12


def test_a_witness_counts_once_per_stance() -> None:
    said = [Observation("codex", "corroborates")] * 3 + [Observation("codex", "contradicts")] * 2
    assert weigh(said) == Counts(1, 1)


def test_one_client_alone_never_gets_past_one_corroboration() -> None:
    counts = weigh([Observation("claude-code", "corroborates")] * 100)
    assert effective_confidence(0.7, counts.proofs, counts.refutations) == pytest.approx(0.8)


def test_each_missing_anchor_counts_as_one_contradiction_now() -> None:
    said = [Observation("codex", "corroborates")]
    assert weigh(said, missing_anchors=2) == Counts(1, 2)
    assert weigh(said, missing_anchors=0) == Counts(1, 0)


@given(observations, st.integers(0, 3), st.randoms(use_true_random=False))
def test_neither_order_nor_repetition_of_observations_matters(
    said: list[Observation], missing: int, shuffler: random.Random
) -> None:
    again = said + said
    shuffler.shuffle(again)
    assert weigh(again, missing) == weigh(said, missing)


@given(confidences, counts, counts)
def test_the_formula_equals_the_seeds_steps_taken_one_by_one(asserted: float, p: int, r: int) -> None:
    confidence = asserted
    for _ in range(p):
        confidence += (1 - confidence) / 3
    for _ in range(r):
        confidence /= 2
    assert effective_confidence(asserted, p, r) == pytest.approx(confidence)


def test_the_factor_is_earned_over_asserted_confidence() -> None:
    assert evidence_factor(0.7, 0.7) == 1.0
    assert evidence_factor(0.7, effective_confidence(0.7, 0, 1)) == pytest.approx(0.5)
    assert evidence_factor(0.5, effective_confidence(0.5, 1, 0)) == pytest.approx(4 / 3)
    assert evidence_factor(0.0, 0.5) == 1.0


@given(confidences, counts, counts)
def test_the_factor_is_finite_and_one_without_evidence(asserted: float, p: int, r: int) -> None:
    factor = evidence_factor(asserted, effective_confidence(asserted, p, r))
    assert 0.0 <= factor < math.inf
    assert evidence_factor(asserted, effective_confidence(asserted, 0, 0)) == 1.0


def test_why_reads_as_the_seed_writes_it() -> None:
    assert why(0, 0) == "asserted, unwitnessed"
    assert why(2, 1) == "2 for/1 against"
    assert why(0, 1) == "0 for/1 against"
