"""Demand, basis, refresh order and the length of answers."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from agent_memory.domain.questions import (
    ANSWER_CHARS,
    ANSWER_SENTENCES,
    Ask,
    Source,
    Standing,
    basis_of,
    cut_answer,
    demand_score,
    is_stale,
    next_refresh,
    rank_demand,
)

DAY = datetime(2026, 11, 30, tzinfo=UTC)
shares = st.floats(0, 1)
sources = st.lists(
    st.builds(
        Source, st.uuids().map(lambda one: one.hex), st.text(max_size=5), st.text(max_size=5), st.text(max_size=9)
    ),
    max_size=5,
    unique_by=lambda source: source.id,
)


@given(st.integers(1, 10**6), st.integers(1, 10**6), shares)
def test_asking_more_often_never_lowers_the_score(asked: int, more: int, answered: float) -> None:
    assert demand_score(asked + more, answered) >= demand_score(asked, answered)


@given(st.integers(1, 10**6), shares, shares)
def test_a_better_answer_never_raises_the_score(asked: int, one: float, two: float) -> None:
    assert demand_score(asked, max(one, two)) <= demand_score(asked, min(one, two))


@given(st.integers(1, 10_000))
def test_a_well_answered_question_scores_near_zero_however_often_it_is_asked(asked: int) -> None:
    assert demand_score(asked, 0.95) < 0.05 * demand_score(1, 0)
    assert demand_score(asked, 1) == 0


def test_demand_ranks_often_and_badly_first_and_groups_wordings() -> None:
    asks = [
        Ask("How do I flash the board?", 0.2, DAY),
        Ask("flash board", 0.0, DAY + timedelta(hours=1)),
        Ask("the board: how to flash", 0.1, DAY),
        Ask("token rotation", 0.0, DAY),
        *[Ask("run the tests", 1.0, DAY)] * 50,
    ]
    ranked = rank_demand(asks)
    assert [one.question for one in ranked] == ["flash board", "token rotation", "run the tests"]
    assert ranked[0].asked == 3
    assert ranked[-1].score == 0
    assert len(rank_demand(asks, limit=1)) == 1


@given(st.lists(st.builds(Ask, st.text(max_size=12), shares, st.just(DAY)), max_size=12), st.randoms())
def test_demand_does_not_depend_on_the_order_of_asks(asks: list[Ask], random: object) -> None:
    shuffled = list(asks)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, two = rank_demand(asks, 99), rank_demand(shuffled, 99)
    assert sorted((d.question, d.asked) for d in one) == sorted((d.question, d.asked) for d in two)
    assert sum(d.asked for d in one) == len(asks)


@given(sources, st.randoms())
def test_a_basis_does_not_depend_on_the_order_of_sources(found: list[Source], random: object) -> None:
    shuffled = list(found)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert basis_of(found) == basis_of(shuffled)


@given(sources.filter(bool), st.sampled_from(["id", "updated_at", "title", "content"]))
def test_a_basis_changes_with_every_field_and_every_source(found: list[Source], field: str) -> None:
    changed = [replace(found[0], **{field: f"{getattr(found[0], field)}x"}), *found[1:]]
    assert is_stale(basis_of(found), basis_of(changed))
    assert is_stale(basis_of(found), basis_of(found[1:]))


def test_text_cannot_move_between_the_fields_of_a_basis() -> None:
    assert basis_of([Source("a", "t", "xy", "z")]) != basis_of([Source("a", "t", "x", "yz")])


def standing(record_id: str, basis: str | None, current: str, attempted: int | None = None) -> Standing:
    return Standing(record_id, basis, current, None if attempted is None else DAY + timedelta(hours=attempted))


def test_one_refresh_goes_to_the_question_that_waited_longest() -> None:
    fresh = standing("a", "1", "1")
    assert next_refresh([fresh]) is None
    assert next_refresh([]) is None
    assert next_refresh([fresh, standing("b", "1", "2", 5), standing("c", None, "2", 3)]) == "c"
    assert next_refresh([standing("b", "1", "2", 5), standing("d", "1", "2")]) == "d"  # never attempted


pieces = st.sampled_from(["a", "B", ". ", "! ", "。", "\n", " ", "e.g. ", "1.5", "…", "x" * 90, ".) ", "A. "])


@given(st.lists(pieces, max_size=80).map("".join))
def test_an_answer_is_cut_once_and_for_all(text: str) -> None:
    cut = cut_answer(text)
    assert len(cut) <= ANSWER_CHARS
    assert "\n" not in cut
    assert cut_answer(cut) == cut


def test_sentences_are_counted_as_a_reader_would() -> None:
    text = "Use v1.52.0 of it, e.g. From CI. Second one! Third? Fourth: see a.py. Fifth."
    assert cut_answer(text) == "Use v1.52.0 of it, e.g. From CI. Second one! Third? Fourth: see a.py."
    assert cut_answer("一。二！三？四。五。") == "一。 二！ 三？ 四。"
    assert len(cut_answer("- one\n- two\n- three\n- four\n- five").split("- ")) == ANSWER_SENTENCES + 1
