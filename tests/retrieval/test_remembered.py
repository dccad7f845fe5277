"""Kept rankings belong to one state of records and vectors, and their hits stay within the room for them."""

from hypothesis import given
from hypothesis import strategies as st

from agent_memory.retrieval.candidates import Hit
from agent_memory.retrieval.remembered import Ranked, Remembered


def ranked(hits: int) -> Ranked:
    return Ranked(tuple(Hit(str(place), 1.0, ()) for place in range(hits)), "fts5", hits, 1.0, False)


def test_a_ranking_is_found_by_its_question_while_nothing_changes() -> None:
    remembered, one = Remembered(), ranked(1)
    remembered.put(b"one", 1, one)
    assert remembered.get(b"one", 1) is one
    assert remembered.get(b"two", 1) is None


def test_another_state_finds_nothing_and_nor_does_the_one_before_it_afterwards() -> None:
    remembered = Remembered()
    remembered.put(b"one", 1, ranked(1))
    assert remembered.get(b"one", 2) is None
    assert remembered.get(b"one", 1) is None
    remembered.put(b"one", 1, ranked(1))
    remembered.put(b"two", 2, ranked(1))
    assert (remembered.get(b"one", 2), len(remembered)) == (None, 1)


def test_the_longest_unused_goes_first() -> None:
    remembered = Remembered(room=6)
    for question in (b"one", b"two"):
        remembered.put(question, 1, ranked(2))
    remembered.get(b"one", 1)
    remembered.put(b"three", 1, ranked(2))
    assert [bool(remembered.get(each, 1)) for each in (b"one", b"two", b"three")] == [True, False, True]


puts = st.lists(st.tuples(st.binary(min_size=1, max_size=1), st.integers(0, 2), st.integers(0, 12)), max_size=40)


@given(puts, st.integers(0, 20))
def test_no_more_hits_are_kept_than_there_is_room_for(given: list[tuple[bytes, int, int]], most: int) -> None:
    remembered, state = Remembered(room=most), 0
    for question, state, hits in given:
        remembered.put(question, state, ranked(hits))
    kept = [found for question, _, _ in given if (found := remembered.get(question, state))]
    distinct = {id(each): len(each.hits) + 1 for each in kept}
    assert len(distinct) == len(remembered)
    assert sum(distinct.values()) <= most
    if given and given[-1][2] < most:
        assert remembered.get(given[-1][0], state) is not None
