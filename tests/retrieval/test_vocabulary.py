"""Mistyped words find what they were meant to be, compounds their parts, and counts follow the index."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.retrieval.spelling import edit_distance
from agent_memory.retrieval.vocabulary import Vocabulary

words = st.text(alphabet="abcdé1", max_size=7)


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [("", "", 0), ("a", "", 1), ("quota", "qouta", 1), ("bastion", "baston", 1), ("abc", "cab", 2), ("ab", "xy", 2)],
)
def test_distances(one: str, other: str, distance: int) -> None:
    assert edit_distance(one, other, 5) == distance


def by_table(one: str, other: str) -> int:
    """The distance as Wagner has it: of every beginning of one word to every beginning of the other."""
    rows = [[i + j for j in range(len(other) + 1)] for i in range(len(one) + 1)]
    for i, left in enumerate(one, 1):
        for j, right in enumerate(other, 1):
            rows[i][j] = min(rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + (left != right))
            if i > 1 and j > 1 and (left, one[i - 2]) == (other[j - 2], right):
                rows[i][j] = min(rows[i][j], rows[i - 2][j - 2] + 1)
    return rows[-1][-1]


@given(words, words, st.integers(0, 4))
def test_distance_is_that_of_the_table_cut_at_the_limit(one: str, other: str, limit: int) -> None:
    assert edit_distance(one, other, limit) == min(by_table(one, other), limit + 1)


@given(words.filter(lambda word: len(word) >= 3), st.lists(words, max_size=30))
def test_look_alikes_miss_no_word_within_their_distance(stem: str, known: list[str]) -> None:
    vocabulary = Vocabulary((word, 1) for word in known if word)
    allowed = 1 if len(stem) < 7 else 2
    near = {word for word in known if word and edit_distance(stem, word, 2) <= 1}
    found = set(vocabulary.look_alikes(stem, 99))
    assert all(edit_distance(stem, word, 2) <= allowed for word in found)
    if stem not in known:
        assert near <= found or not near


def test_the_nearest_then_the_same_first_letter_then_the_most_used_come_first() -> None:
    vocabulary = Vocabulary([("tunnel", 2), ("funnel", 9), ("tunnels", 5), ("runnel", 1)])
    assert vocabulary.look_alikes("tunel", 9) == ["tunnel"]
    assert vocabulary.look_alikes("tunnek", 9) == ["tunnel"]
    assert Vocabulary([("cat", 1), ("bat", 9), ("car", 3)]).look_alikes("caz", 2) == ["car", "cat"]
    assert vocabulary.look_alikes("tu") == []


def test_compounds_are_found_by_either_end() -> None:
    vocabulary = Vocabulary([("heizungspump", 1), ("pump", 4), ("pumpenwechsel", 1), ("vorlauf", 2)])
    assert vocabulary.ending_with("pump", 5) == ["heizungspump"]
    assert vocabulary.beginning_with("pump", 5) == ["pumpenwechsel"]
    assert vocabulary.beginning_with("pump", 0) == []


def test_counts_follow_what_is_added_and_removed() -> None:
    vocabulary = Vocabulary([("port", 1)])
    vocabulary.add({"port": 1, "broker": 1})
    assert (vocabulary.documents("port"), vocabulary.documents("broker"), len(vocabulary)) == (2, 1, 2)
    vocabulary.add({"broker": -1})
    assert (vocabulary.documents("broker"), len(vocabulary)) == (0, 1)
    assert vocabulary.look_alikes("brokr") == []
