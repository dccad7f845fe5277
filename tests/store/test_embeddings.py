"""The embeddings table: which vectors are current, and which may not be stored."""

from functools import partial

import apsw
import pytest

from agent_memory.store import embeddings
from agent_memory.store.embeddings import Embedding
from agent_memory.store.worker import Store
from tests.store.test_changes import INSERT, write

IDS = [f"{number:032x}" for number in range(5)]


@pytest.fixture
async def filled(inline_store: Store) -> Store:
    await write(inline_store, *((INSERT, (record_id, "active")) for record_id in IDS))
    return inline_store


async def keep(store: Store, record_id: str, model: str = "m", content: str = "content", size: int = 2) -> list[str]:
    row = (Embedding(record_id, model, "digest", b"\0\0\0\1" * size), "title", content)
    return await store.write(partial(embeddings.keep, vectors=[row]))


async def test_pages_tell_current_vectors_from_others(filled: Store) -> None:
    await keep(filled, IDS[1])
    await keep(filled, IDS[2], model="other")
    await keep(filled, IDS[3], size=3)
    await write(filled, ("UPDATE records SET status = 'deleted', deleted_at = 't' WHERE id = ?", (IDS[4],)))

    def pages(conn: apsw.Connection, limit: int, digest: str) -> list[embeddings.Page]:
        found = [embeddings.Page(0, [], b"", [])]
        while (last := found[-1].last) is not None:
            found.append(
                embeddings.page(conn, "m", digest_of=lambda title, text: digest, width=2, after=last, limit=limit)
            )
        return found

    for limit in (1, 2, 100):
        found = await filled.read(partial(pages, limit=limit, digest="digest"))
        assert [pair for page in found for pair in page.current] == [(IDS[1], "n")]
        assert b"".join(page.vectors for page in found) == b"\0\0\0\1" * 2
        assert [pair[0] for page in found for pair in page.others] == [IDS[0], IDS[2], IDS[3]]
        found = await filled.read(partial(pages, limit=limit, digest="of an edited text"))
        assert [pair for page in found for pair in page.current] == []


async def test_a_vector_of_a_text_that_changed_or_went_is_not_stored(filled: Store) -> None:
    assert await keep(filled, IDS[0]) == [IDS[0]]
    assert await keep(filled, IDS[0], content="the text before") == []
    assert await keep(filled, "f" * 32) == []
    await write(filled, ("UPDATE records SET status = 'superseded', superseded_by = 'x' WHERE id = ?", (IDS[1],)))
    assert await keep(filled, IDS[1]) == []


async def test_texts_are_those_of_live_records(filled: Store) -> None:
    await write(filled, ("DELETE FROM records WHERE id = ?", (IDS[0],)))
    found = await filled.read(partial(embeddings.texts, ids=IDS[:3]))
    assert [each.id for each in found] == IDS[1:3]


async def test_models_are_named_and_retired_a_slice_at_a_time(filled: Store) -> None:
    assert await filled.read(embeddings.models) == []
    for record_id in IDS:
        await keep(filled, record_id, model="old")
    await keep(filled, IDS[0], model="older")
    await keep(filled, IDS[0], model="new")
    assert await filled.read(embeddings.models) == ["new", "old", "older"]
    assert await filled.read(partial(embeddings.fullest, models=["older", "old"])) == "old"
    assert await filled.read(partial(embeddings.fullest, models=["older"])) == "older"
    assert await filled.read(partial(embeddings.fullest, models=[])) is None
    drop = partial(embeddings.drop_some, model="old", limit=3)
    assert [await filled.write(drop) for _ in range(3)] == [3, 2, 0]
    assert await filled.read(embeddings.models) == ["new", "older"]
