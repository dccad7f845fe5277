"""The order of hits is what the rules say, whatever order the candidates come in."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.retrieval.candidates import Candidate
from agent_memory.retrieval.fusion import Ranking, is_weak, rank
from agent_memory.retrieval.plan import QueryPlan
from agent_memory.retrieval.weights import WEIGHTS

PLAN = QueryPlan(match='"broker"', translated="", text="broker", ideal=5.0)
RANKINGS: list[Ranking] = ["fts5", "rrf", "score"]

scores = st.none() | st.floats(-20, -0.01)
candidates = st.lists(
    st.builds(
        Candidate,
        id=st.integers(0, 10_000).map(lambda number: f"{number:032x}"),
        content=st.sampled_from(["", "where is it?", "it was yesterday " * 20]),
        title=st.sampled_from(["Ann 1 May", "Bob 1 May", "A note"]),
        session=st.sampled_from(["", "", "s1", "s2"]),
        position=st.integers(0, 5),
        bm25=scores,
        translated=scores,
        cosine=st.none() | st.floats(-1, 1),
        evidence=st.sampled_from([1.0, 0.5, 1.2]),
    ),
    max_size=20,  # reciprocal rank fusion cuts its lists there: beyond, a prefix may differ
    unique_by=lambda candidate: candidate.id,
)


@given(candidates, st.sampled_from(RANKINGS), st.integers(0, 9), st.randoms())
def test_rank_is_a_prefix_of_the_full_order_and_independent_of_the_order_given(
    found: list[Candidate], ranking: Ranking, limit: int, shuffle: random.Random
) -> None:
    mixed = list(found)
    shuffle.shuffle(mixed)
    whole = rank(found, PLAN, ranking=ranking, limit=50)
    some = rank(mixed, PLAN, ranking=ranking, limit=limit)
    assert [hit.id for hit in some] == [hit.id for hit in whole[:limit]]
    assert [hit.score for hit in whole] == sorted((hit.score for hit in whole), reverse=True)
    assert all(np.isfinite(hit.score) for hit in whole)


@given(candidates)
def test_full_text_ranking_says_nothing_of_cosines(found: list[Candidate]) -> None:
    hits = rank(found, PLAN, ranking="fts5", limit=50)
    assert all(hit.cosine is None for hit in hits)
    matching = {c.id for c in found if c.bm25 is not None or c.translated is not None}
    assert {hit.id for hit in hits} == matching


def test_reciprocal_rank_fusion_is_the_seeds_formula() -> None:
    both = Candidate("b", bm25=-2.0, cosine=0.5)
    text = Candidate("a", bm25=-3.0)
    near = Candidate("c", cosine=0.9, evidence=0.5)
    hits = rank([both, text, near], PLAN, ranking="rrf", limit=10)
    assert [hit.id for hit in hits] == ["b", "a", "c"]
    assert hits[0].score == pytest.approx(1 / 62 + 1 / 62)
    assert hits[1].score == pytest.approx(1 / 61)
    assert hits[2].score == pytest.approx(0.5 / 61)
    assert hits[2].why[-1] == "evidence x0.50"
    assert hits[0].cosine == 0.5


def test_rrf_lists_are_cut_to_the_limit_or_twenty() -> None:
    found = [Candidate(f"{n:03d}", bm25=-100.0 + n) for n in range(40)]
    assert len(rank(found, PLAN, ranking="rrf", limit=5)) == 5
    assert len(rank(found, PLAN, ranking="rrf", limit=30)) == 30
    late = Candidate("zzz", bm25=-0.1, cosine=0.99)
    hits = rank([*found, late], PLAN, ranking="rrf", limit=5)
    assert next(hit for hit in hits if hit.id == "zzz").score == pytest.approx(1 / 61)


def test_ties_go_to_the_higher_cosine_then_the_lower_id() -> None:
    same = [Candidate("b", bm25=-1.0), Candidate("a", bm25=-1.0), Candidate("c", bm25=-1.0)]
    assert [hit.id for hit in rank(same, PLAN, ranking="score", limit=3)] == ["a", "b", "c"]
    tied = [Candidate("a", bm25=-1.0), Candidate("b", cosine=0.9)]
    assert [hit.id for hit in rank(tied, PLAN, ranking="rrf", limit=3)] == ["b", "a"]


def test_cosines_are_rounded_to_four_places() -> None:
    assert rank([Candidate("a", cosine=0.123456)], PLAN, ranking="score", limit=1)[0].cosine == 0.1235


def test_the_newer_of_two_near_identical_records_comes_first() -> None:
    old = Candidate("a", namespace="n", created="2026-01-01", bm25=-5.0, cosine=0.8)
    new = Candidate("b", namespace="n", created="2026-02-01", bm25=-4.0, cosine=0.8)
    alike = lambda ids: np.full((len(ids), len(ids)), 0.9, np.float32)  # noqa: E731
    apart = lambda ids: np.eye(len(ids), dtype=np.float32)  # noqa: E731
    assert [h.id for h in rank([old, new], PLAN, ranking="score", limit=2, similarity=apart)] == ["a", "b"]
    hits = rank([old, new], PLAN, ranking="score", limit=2, similarity=alike)
    assert [h.id for h in hits] == ["b", "a"]
    assert hits[0].why[-1] == "newer than one like it"
    assert hits[0].score > hits[1].score
    for other in (
        Candidate("b", namespace="else", created="2026-02-01", bm25=-4.0, cosine=0.8),
        Candidate("b", namespace="n", created="2026-02-01", bm25=-4.0, cosine=0.8, type="session-summary"),
        Candidate("b", namespace="n", created="2026-02-01", bm25=-0.5, cosine=0.1),
    ):
        assert rank([old, other], PLAN, ranking="score", limit=2, similarity=alike)[0].id == "a"


def turn(position: int, content: str, title: str = "Ann 1 May", **more: float) -> Candidate:
    return Candidate(f"{position:02d}", title, content, session="s", position=position, **more)  # type: ignore[arg-type]


def order(found: list[Candidate], query: str = "broker") -> list[str]:
    plan = QueryPlan(match='"x"', translated="", text=query, ideal=5.0)
    return [hit.id for hit in rank(found, plan, ranking="score", limit=50)]


def test_the_answer_after_a_matching_question_is_lifted() -> None:
    question = turn(1, "Which port does it use?", bm25=-6.0, cosine=0.5)
    answer = turn(2, "8883, since the spring, because the old one was open to everybody.", cosine=0.4)
    far = turn(9, "It rained all day and we stayed at home with the children.", cosine=0.45)
    assert order([question, answer, far])[1] == "02"


def test_the_speaker_named_by_the_query_is_preferred_unless_two_are_named() -> None:
    ann = turn(1, "I moved to Porto.", cosine=0.5)
    bob = turn(7, "I moved to Porto.", title="Bob 1 May", cosine=0.5)
    assert order([ann, bob], "where did Bob move")[0] == "07"
    assert order([ann, bob], "where did Bob and Ann move")[0] == "01"


def test_a_question_for_the_time_prefers_a_turn_that_names_one() -> None:
    plain = turn(1, "I painted it by the lake.", cosine=0.5)
    dated = turn(7, "I painted it last week.", cosine=0.5)
    assert order([plain, dated], "When did Ann paint it?")[0] == "07"
    assert order([plain, dated], "Where did Ann paint it?")[0] == "01"


def test_sessions_do_not_push_notes_aside() -> None:
    note = Candidate("ff", "Broker port", "8883", bm25=-6.0, cosine=0.8)
    turns = [turn(n, "We talked about the broker for a long time. " * 8, bm25=-3.0, cosine=0.6) for n in range(8)]
    assert order([note, *turns])[0] == "ff"


def test_an_answer_far_in_meaning_that_does_not_stand_out_is_weak() -> None:
    far = [Candidate(f"{n}", bm25=-2.0, cosine=0.25 - n / 1000) for n in range(9)]
    assert is_weak(far, PLAN)
    assert not is_weak([*far, Candidate("x", cosine=0.6)], PLAN)
    assert not is_weak([Candidate("a", bm25=-9.0)], PLAN), "full text alone cannot tell"
    assert not is_weak([], PLAN)


def test_unknown_words_make_an_answer_weaker() -> None:
    found = [Candidate(f"{n}", cosine=0.4) for n in range(9)]
    assert not is_weak(found, PLAN)
    assert is_weak(found, QueryPlan(match='"x"', translated="", text="x", ideal=5.0, unknown=0.75))


def test_the_pool_holds_more_than_the_largest_limit() -> None:
    assert WEIGHTS.pool >= 50
