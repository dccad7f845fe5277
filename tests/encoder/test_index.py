"""The index answers exactly what a plain product over the live vectors in scope would."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_memory.encoder.cache import QueryCache
from agent_memory.encoder.generations import Generations
from agent_memory.encoder.index import Matrix, VectorIndex

WIDTH = 5
operations = st.lists(
    st.tuples(st.sampled_from(["put", "put", "put", "remove", "expect"]), st.integers(0, 12), st.sampled_from("ab")),
    max_size=40,
)


def some_vectors(count: int, width: int, seed: int) -> Matrix:
    return np.random.default_rng(seed).normal(size=(count, width)).astype(np.float32)


@given(operations, st.integers(0, 5), st.sets(st.sampled_from("abz")), st.integers(0, 99))
def test_search_is_the_exact_order_of_the_live_vectors_in_scope(
    steps: Sequence[tuple[str, int, str]], limit: int, scopes: set[str], seed: int
) -> None:
    index, model = VectorIndex(WIDTH), dict[str, tuple[str, Matrix]]()
    awaited: dict[str, str] = {}
    vectors = some_vectors(len(steps) + 1, WIDTH, seed)
    for step, (what, number, scope) in enumerate(steps):
        record = f"{number:02d}"
        awaited.pop(record, None)
        model.pop(record, None)
        state, before = index.state, index.search(vectors[-1], "ab", 99)
        if what == "put":
            index.put(record, scope, vectors[step])
            model[record] = (scope, vectors[step] / np.linalg.norm(vectors[step]))
        elif what == "remove":
            index.remove(record)
        else:
            index.expect(record, scope)
            awaited[record] = scope
        assert index.state is not state or index.search(vectors[-1], "ab", 99) == before
    query = vectors[-1] / np.linalg.norm(vectors[-1])
    found = index.search(vectors[-1], scopes, limit)
    cosines = {record: float(vector @ query) for record, (scope, vector) in model.items() if scope in scopes}
    best = sorted(cosines, key=lambda record: (-cosines[record], record))[:limit]
    assert [cosine for _, cosine in found] == pytest.approx([cosines[record] for record in best], abs=1e-5)
    assert all(record in cosines for record, _ in found)
    assert len(index) == len(model)
    assert index.is_complete(scopes) == (not any(scope in scopes for scope in awaited.values()))
    assert sorted(index.awaited()) == sorted(awaited)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 99))
def test_the_sieve_finds_what_the_exact_search_finds(seed: int) -> None:
    """On clustered vectors, as texts are; the sieve keeps 1,000 of 3,000."""
    centres = some_vectors(40, 384, seed)
    vectors = np.repeat(centres, 75, axis=0) + 0.7 * some_vectors(3000, 384, seed + 1)
    exact, sifting = VectorIndex(384), VectorIndex(384, exact_rows=100)
    for number, vector in enumerate(vectors):
        exact.put(f"{number:04d}", "a", vector)
        sifting.put(f"{number:04d}", "a", vector)
    query = centres[0] + 0.7 * some_vectors(1, 384, seed + 2)[0]
    found, wanted = sifting.search(query, {"a"}, 20), exact.search(query, {"a"}, 20)
    assert [record for record, _ in found] == [record for record, _ in wanted]
    assert [cosine for _, cosine in found] == pytest.approx([cosine for _, cosine in wanted])


def test_many_changes_keep_the_index_compact_and_right() -> None:
    index, vectors = VectorIndex(8), some_vectors(6000, 8, 1)
    for number in range(6000):
        index.put(f"{number % 500:03d}", "a", vectors[number])
    assert len(index) == 500
    assert index._rows.used < 3000
    found = index.search(vectors[5999], {"a"}, 1)
    assert found[0] == (f"{5999 % 500:03d}", pytest.approx(1))


def test_search_within_ids_and_ties_by_id() -> None:
    index = VectorIndex(2)
    for record in "dbac":
        index.put(record, "n", np.array([1, 1], np.float32))
    query = np.array([1, 1], np.float32)
    assert [record for record, _ in index.search(query, {"n"}, 3)] == ["a", "b", "c"]
    assert [record for record, _ in index.search(query, {"n"}, 3, within={"d", "b", "zz"})] == ["b", "d"]


def test_cosines_and_similarity_leave_out_the_unknown() -> None:
    index = VectorIndex(2)
    index.put("a", "n", np.array([3, 0], np.float32))
    index.put("b", "n", np.array([0, 2], np.float32))
    assert index.cosines(np.array([1, 0], np.float32), ["a", "b", "zz"]) == pytest.approx({"a": 1, "b": 0})
    assert index.cosines(np.array([1, 0], np.float32), []) == {}
    assert index.similarity(["a", "zz", "b"]).tolist() == [[1, 0, 0], [0, 0, 0], [0, 0, 1]]


@pytest.mark.parametrize("vector", [[1.0], [0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0]])
def test_a_vector_without_a_direction_is_refused(vector: list[float]) -> None:
    with pytest.raises(ValueError, match="vector"):
        VectorIndex(2).put("a", "n", np.array(vector, np.float32))


def test_a_removed_vector_is_overwritten() -> None:
    index = VectorIndex(2)
    index.put("a", "n", np.array([1, 1], np.float32))
    index.remove("a")
    assert not index._rows.vectors.any()
    assert not index._rows.signs.any()
    assert "a" not in index


def test_the_old_model_answers_until_the_new_set_is_complete() -> None:
    sets, vector = Generations(), np.array([1, 0], np.float32)
    begin(sets, "old", 2, "ab")
    assert sets.index is not None
    assert not sets.index.is_complete({"n"})
    for record in "ab":
        sets.put("old", record, "n", vector)
    assert sets.index.is_complete({"n"})
    begin(sets, "new", 3, "ab")
    sets.put("new", "a", "n", np.array([1, 0, 0], np.float32))
    assert sets.key == "old"
    assert sets.filling is not None
    assert sets.filling.awaited() == ["b"]
    sets.expect("c", "n")
    sets.put("new", "b", "n", np.array([1, 0, 0], np.float32))
    assert sets.key == "old"
    sets.remove("c")
    assert sets.key == "new"
    assert sets.index.width == 3
    sets.put("old", "a", "n", vector)
    assert sets.index.width == 3


def test_the_first_set_of_an_empty_store_answers_at_once() -> None:
    sets = Generations()
    begin(sets, "one", 2, "")
    assert not sets.begin("one", 2)
    begin(sets, "two", 2, "")
    assert sets.key == "two"


def test_an_index_that_is_loading_answers_nothing_and_replaces_nothing() -> None:
    sets, vectors = Generations(), np.eye(2, dtype=np.float32)
    assert sets.begin("old", 2)
    sets.fill("old", [("a", "n"), ("b", "n")], vectors)
    assert sets.index is not None
    assert not sets.index.is_complete({"n"})
    sets.loaded("old")
    assert sets.index.is_complete({"n"})
    assert sets.begin("new", 2)
    sets.fill("new", [("a", "n")], vectors[:1])
    assert sets.key == "old"
    sets.loaded("new")
    assert sets.key == "new"


def test_a_model_that_comes_back_needs_no_second_loading_and_its_rival_is_dropped() -> None:
    sets = Generations()
    begin(sets, "one", 2, "a")
    begin(sets, "two", 3, "a")
    assert not sets.begin("one", 2)
    assert sets.filling is sets.index
    sets.put("two", "a", "n", np.ones(3, np.float32))
    assert sets.key == "one"


def test_a_half_loaded_index_is_begun_anew() -> None:
    sets = Generations()
    assert sets.begin("one", 2)
    sets.announce("one", "a", "n")
    assert sets.begin("one", 2)
    assert sets.index is not None
    assert sets.index.waiting == 0


def begin(sets: Generations, key: str, width: int, waiting: str) -> None:
    """An index of this key that waits for the vectors of these records."""
    assert sets.begin(key, width)
    for record in waiting:
        sets.announce(key, record, "n")
    sets.loaded(key)


@given(
    st.lists(st.tuples(st.integers(0, 9), st.sampled_from("ab")), unique_by=lambda pair: pair[0]), st.integers(0, 99)
)
def test_filling_at_once_is_putting_one_by_one(records: list[tuple[int, str]], seed: int) -> None:
    at_once, one_by_one = VectorIndex(WIDTH), VectorIndex(WIDTH)
    named = [(f"{number:02d}", scope) for number, scope in records]
    vectors = some_vectors(len(records), WIDTH, seed)
    at_once.put("00", "b", np.ones(WIDTH, np.float32))
    one_by_one.put("00", "b", np.ones(WIDTH, np.float32))
    at_once.fill(named, vectors)
    for (record, scope), vector in zip(named, vectors, strict=True):
        one_by_one.put(record, scope, vector)
    query = some_vectors(1, WIDTH, seed + 1)[0]
    for scopes in ({"a"}, {"b"}, {"a", "b"}):
        expected = dict(one_by_one.search(query, scopes, 20))
        assert dict(at_once.search(query, scopes, 20)) == pytest.approx(expected, abs=1e-5)


def test_a_stored_vector_without_direction_leaves_its_record_waiting() -> None:
    index = VectorIndex(2)
    index.fill([("a", "n"), ("b", "n"), ("c", "n")], np.array([[0, 0], [1, 0], [np.nan, 1]], np.float32))
    assert index.awaited() == ["a", "c"]
    assert "b" in index
    assert index.awaited(1, without={"a"}) == ["c"]


def test_the_query_cache_keeps_the_most_recently_used() -> None:
    cache, vector = QueryCache(2), np.zeros(2, np.float32)
    cache.put("a", vector)
    cache.put("b", vector)
    assert cache.get("a") is vector
    cache.put("c", vector)
    assert (cache.get("b"), len(cache)) == (None, 2)
