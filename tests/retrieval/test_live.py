"""What is kept in memory follows the commits: counts, records and vectors, and whoever listens hears of each."""

from dataclasses import replace

import numpy as np
import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from agent_memory.domain.namespaces import Scopes
from agent_memory.retrieval.concepts import Concepts
from agent_memory.retrieval.live import Answering, LiveIndexes
from agent_memory.store.changes import ChangedRecord
from agent_memory.store.stems import Stemmer


@pytest.fixture
def indexes() -> LiveIndexes:
    return LiveIndexes(Concepts([], Stemmer().stems), Stemmer())


def changed(record_id: str, *, was: bool = False, live: bool = True, text: str = "a broker") -> ChangedRecord:
    return ChangedRecord(record_id, was, live, "n", text, "", "")


def commit(indexes: LiveIndexes, *records: ChangedRecord) -> None:
    indexes.apply(indexes.digest(records))


def loaded(indexes: LiveIndexes, *record_ids: str) -> None:
    indexes.vectors.begin("m@1", 2)
    indexes.vectors.fill("m@1", [(each, "n") for each in record_ids], np.ones((len(record_ids), 2), np.float32))
    indexes.vectors.loaded("m@1")


def test_words_and_records_are_counted_as_records_come_and_go(indexes: LiveIndexes) -> None:
    commit(indexes, changed("a"), changed("b", text="brokers of a broker"))
    assert indexes.records == 2
    assert indexes._vocabulary.documents("broker") == 2
    commit(indexes, changed("a", was=True, live=False))
    assert (indexes.records, indexes._vocabulary.documents("broker")) == (1, 1)
    commit(indexes, changed("b", was=True, text="another text"))
    assert indexes.records == 1


def test_the_share_of_scopes_follows_commits_and_is_one_at_most(indexes: LiveIndexes) -> None:
    here, everywhere = Scopes(("n",), False), Scopes(("github/a/b",), True)
    assert indexes.share(here) == 0
    commit(indexes, changed("a"), *(replace(changed(name), namespace="gitea/a/b") for name in "bcd"))
    assert (indexes.share(here), indexes.share(everywhere)) == (0.25, 0.75)
    commit(indexes, *(replace(changed(name, was=True, live=False), namespace="") for name in "bcd"))  # erased
    assert (indexes.records, indexes.share(everywhere)) == (1, 1)


async def test_a_mistyped_word_is_put_right_by_a_record_of_the_last_commit(indexes: LiveIndexes) -> None:
    commit(indexes, changed("a", text="a telescope"))
    assert indexes.plan("telescpoe").corrected == ()  # before all words are loaded, a look-alike may be the wrong one
    await indexes.words_loaded()
    assert indexes.plan("telescpoe").corrected == (("telescpoe", "telescope"),)
    commit(indexes, changed("b", text="a microscope"))
    assert indexes.plan("microscpoe").corrected == (("microscpoe", "microscope"),)


def test_vectors_answer_while_every_record_in_scope_has_its_own(indexes: LiveIndexes) -> None:
    here, elsewhere = Scopes(("n",), False), Scopes(("other",), False)
    assert indexes.answering(here) is None
    loaded(indexes, "a")
    index = indexes.vectors.index
    assert index is not None
    assert indexes.answering(here) == Answering("m@1", index, ("n",))
    commit(indexes, changed("b"))
    assert indexes.answering(here) is None
    assert indexes.answering(elsewhere) == Answering("m@1", index, ("other",))
    commit(indexes, changed("b", was=True, live=False))
    assert indexes.answering(here) == Answering("m@1", index, ("n",))


def test_a_hub_searches_every_repository_and_waits_for_each(indexes: LiveIndexes) -> None:
    loaded(indexes, "a")
    hub = Scopes(("projects/hub",), True)
    assert indexes.vectors.index is not None
    for record_id, namespace in (("b", "github/o/one"), ("c", "gitea/o/two"), ("d", "local/three")):
        indexes.vectors.put("m@1", record_id, namespace, np.ones(2, np.float32))
    found = indexes.answering(hub)
    assert found is not None
    assert found.reach == ("projects/hub", "gitea/o/two", "github/o/one")
    indexes.vectors.expect("e", "github/o/new")
    assert indexes.answering(hub) is None


def test_an_erased_record_leaves_memory_and_an_edited_one_waits(indexes: LiveIndexes) -> None:
    loaded(indexes, "a", "b")
    commit(indexes, changed("a", was=True, live=False), changed("b", was=True))
    assert indexes.vectors.index is not None
    assert len(indexes.vectors.index) == 0
    assert indexes.vectors.index.awaited() == ["b"]


def test_each_listener_hears_of_what_changes_while_it_listens(indexes: LiveIndexes) -> None:
    with indexes.changes_meanwhile() as outer:
        with indexes.changes_meanwhile() as inner:
            pass  # has heard the same as the other, and is not it
        commit(indexes, changed("a"))
        with indexes.changes_meanwhile() as later:
            commit(indexes, changed("b"))
    commit(indexes, changed("c"))
    assert (set(outer), set(inner), set(later)) == ({"a", "b"}, set(), {"b"})


async def test_whoever_waits_for_a_change_wakes_with_the_next_commit(
    indexes: LiveIndexes, nursery: trio.Nursery
) -> None:
    woken = []

    async def wait() -> None:
        await indexes.wait_change()
        woken.append(True)

    nursery.start_soon(wait)
    await wait_all_tasks_blocked()
    assert woken == []
    commit(indexes, changed("a"))
    await wait_all_tasks_blocked()
    assert woken == [True]
