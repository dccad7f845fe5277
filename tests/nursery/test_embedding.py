"""The encoder's tasks keep the vectors of the live records current, and nothing they meet stops them or the server."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest
import trio
from trio.testing import MockClock

from agent_memory.domain.errors import ServiceError
from agent_memory.nursery import embedding
from agent_memory.nursery.build import build_indexes
from agent_memory.store.worker import Store
from support.encoders import Embedding, WordsEncoder, embed
from support.secrets import GITHUB_TOKEN
from support.world import ELSEWHERE, HERE, Ticking, World, open_world


async def restarted(world: World) -> None:
    """The indexes in memory as a new process has them: empty."""
    indexes = build_indexes()
    world.store.follower = indexes
    object.__setattr__(world.services, "indexes", indexes)


async def table(world: World) -> dict[tuple[str, str], bytes]:
    """The stored vectors by record and model."""
    rows = await world.rows("SELECT record_id, model, vector FROM embeddings")
    return {(record_id, model): vector for record_id, model, vector in rows}


async def check(world: World, encoder: WordsEncoder) -> None:
    """Table and memory hold the vector of the present text of every live record, and nothing else."""
    rows = await world.rows("SELECT id, namespace, title, content FROM records WHERE status IN ('active', 'candidate')")
    index = world.services.indexes.vectors.index
    assert index is not None
    assert world.services.indexes.records == len(rows) == len(index)
    assert index.is_complete({namespace for _, namespace, _, _ in rows})
    stored = await table(world)
    assert {record_id for record_id, _ in stored} == {row[0] for row in rows}
    for record_id, namespace, title, content in rows:
        vector = encoder.vector(encoder.record_text(title, content))
        assert np.allclose(np.frombuffer(stored[record_id, encoder.model], np.float32), vector, atol=1e-6)
        assert index.cosines(vector, [record_id])[record_id] == pytest.approx(1, abs=1e-5)
        # `search` knows the scope, `cosines` does not
        assert record_id in dict(index.search(vector, {namespace}, 1_000))


async def change(world: World, record_id: str, **changes: Any) -> None:
    (record,) = (await world.call("get", ids=[record_id]))["records"]
    await world.call("update", id=record_id, revision=record["revision"], changes=changes)


async def test_what_is_stored_and_edited_is_embedded_in_batches(
    world: World, nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    encoder = WordsEncoder()
    ids = [await world.remember(f"note {number}") for number in range(70)]
    live = await embed(world, nursery, encoder)
    await live.settle()
    assert [len(batch) for batch in encoder.batches] == [1, 32, 32, 6]
    await check(world, encoder)
    await change(world, ids[0], content="something else")
    await live.settle(1)
    assert encoder.batches[4:] == [["note 0\nsomething else"]]
    await check(world, encoder)
    assert live.embedder.waiting() == 0


async def test_a_burst_of_stores_is_embedded_together(
    world: World, nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    encoder = WordsEncoder()
    await world.remember("the first")
    live = await embed(world, nursery, encoder)
    await live.settle()
    for number in range(20):
        await world.remember(f"note {number}")
    await live.settle()
    assert [len(batch) for batch in encoder.batches] == [1, 1, 20]


async def test_stored_vectors_are_loaded_at_start_and_only_the_rest_is_embedded(
    world: World, nursery: trio.Nursery, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "PAGE", 3)
    for number in range(10):
        await world.remember(f"note {number}")
    async with trio.open_nursery() as first:
        await (await embed(world, first, WordsEncoder())).settle()
        first.cancel_scope.cancel()
    await world.remember("while nobody embeds")
    await restarted(world)
    encoder = WordsEncoder()
    live = await embed(world, nursery, encoder)
    await live.settle()
    assert encoder.texts == ["while nobody embeds\nwhile nobody embeds"]
    await check(world, encoder)


async def test_vectors_of_another_text_width_or_direction_are_made_anew(
    world: World, nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    ids = [await world.remember(f"note {number}") for number in range(4)]
    async with trio.open_nursery() as first:
        await (await embed(world, first, WordsEncoder())).settle()
        first.cancel_scope.cancel()

    def spoil(conn: apsw.Connection) -> None:
        put = "UPDATE embeddings SET vector = ? WHERE record_id = ?"
        conn.execute(put, (b"\0" * 12, ids[0]))
        conn.execute(put, (b"\0" * 4 * WordsEncoder().width, ids[1]))
        conn.execute("UPDATE embeddings SET digest = 'another' WHERE record_id = ?", (ids[2],))

    await world.store.write(spoil)
    await restarted(world)
    encoder = WordsEncoder()
    live = await embed(world, nursery, encoder)
    await live.settle()
    assert sorted(encoder.texts) == [f"note {number}\nnote {number}" for number in range(3)]
    await check(world, encoder)


async def test_full_text_answers_an_edited_namespace_until_the_new_vector_is_there(
    world: World, nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    encoder = WordsEncoder()
    record_id = await world.remember("the broker listens on 8883")
    await world.remember("elsewhere", namespace=ELSEWHERE)
    live = await embed(world, nursery, encoder)
    await live.settle()
    assert await live.ranking("broker") == "score"
    encoder.gate = trio.Event()
    await change(world, record_id, content="a quota of preview environments")
    await live.settle()
    found = await world.call("search", query="preview", namespace=HERE)
    assert (found["ranking"], [hit["id"] for hit in found["hits"]]) == ("fts5", [record_id])
    assert "cosine" not in found["hits"][0]
    assert await live.ranking("elsewhere", namespace=ELSEWHERE) == "score"
    assert live.embedder.waiting() == 1
    encoder.gate.set()
    await live.settle()
    found = await world.call("search", query="quota of preview environments", namespace=HERE)
    assert found["ranking"] == "score"
    expected = encoder.vector("quota of preview environments") @ encoder.vector(
        "the broker listens on 8883\na quota of preview environments"
    )
    assert found["hits"][0]["cosine"] == pytest.approx(float(expected), abs=1e-4)


async def test_tags_type_and_confidence_change_without_a_new_vector(
    world: World, nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    encoder = WordsEncoder()
    record_id = await world.remember("the broker listens on 8883")
    live = await embed(world, nursery, encoder)
    await live.settle()
    await change(world, record_id, tags=["mqtt"], confidence=0.9, type="decision")
    assert await live.ranking("broker") == "score"
    await live.settle()
    assert len(encoder.texts) == 1


@pytest.mark.parametrize("how", ["forget", "hard", "supersede", "purge"])
async def test_a_record_that_goes_takes_its_vector_along(
    world: World, nursery: trio.Nursery, autojump_clock: MockClock, how: str
) -> None:
    encoder = WordsEncoder()
    record_id, other = await world.remember("goes"), await world.remember("stays")
    live = await embed(world, nursery, encoder)
    await live.settle()
    index = world.services.indexes.vectors.index
    assert index is not None
    assert record_id in index
    if how == "supersede":
        await world.remember("comes", supersedes=record_id)
    else:
        await world.call("forget", id=record_id, hard=how == "hard")
    if how == "purge":
        await world.store.write(lambda conn: conn.execute("DELETE FROM records WHERE id = ?", (record_id,)) and None)
    assert record_id not in index
    assert (record_id, encoder.model) not in await table(world)
    assert (other, encoder.model) in await table(world)
    await live.settle()
    await check(world, encoder)


async def test_a_record_in_the_place_of_one_erased_in_the_same_commit_is_embedded(
    world: World, nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    encoder = WordsEncoder()
    record_id = await world.remember("goes")
    live = await embed(world, nursery, encoder)
    await live.settle()
    async with trio.open_nursery() as both:
        both.start_soon(lambda: world.call("forget", id=record_id, hard=True))
        both.start_soon(world.remember, "comes")
    await live.settle()
    await check(world, encoder)


async def test_the_model_before_answers_until_the_new_set_is_complete_and_is_then_retired(
    world: World, nursery: trio.Nursery, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "BATCH", 2)
    old, new = WordsEncoder("old"), WordsEncoder("new", width=96)
    for number in range(9):
        await world.remember(f"note {number}")
    async with trio.open_nursery() as first:
        await (await embed(world, first, old)).settle()
        first.cancel_scope.cancel()
    await restarted(world)
    old, new.takes_s = WordsEncoder("old"), 10.0
    live = await embed(world, nursery, new, old)
    await live.settle(35)
    found = await world.call("search", query="note 3", namespace=HERE)
    assert found["ranking"] == "score"
    expected = float(old.vector("note 3") @ old.vector("note 3\nnote 3"))
    assert found["hits"][0]["cosine"] == pytest.approx(expected, abs=1e-4)
    assert old.texts == []
    models = {model for _, model in await table(world)}
    assert models == {"old", "new"}
    await live.settle(60)
    found = await world.call("search", query="note 3", namespace=HERE)
    expected = float(new.vector("note 3") @ new.vector("note 3\nnote 3"))
    assert found["hits"][0]["cosine"] == pytest.approx(expected, abs=1e-4)
    assert {model for _, model in await table(world)} == {"new"}
    assert old.state == "retired"  # its memory is free
    await check(world, new)


async def test_vectors_that_no_encoder_can_be_asked_about_go_too_once_the_new_set_is_complete(
    world: World, nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    await world.remember("a note")
    async with trio.open_nursery() as first:
        await (await embed(world, first, WordsEncoder("of a server that is gone"))).settle()
        first.cancel_scope.cancel()
    await restarted(world)
    encoder = WordsEncoder()
    await (await embed(world, nursery, encoder)).settle()
    await check(world, encoder)


async def test_a_new_snapshot_makes_all_vectors_stale_and_they_are_made_anew(
    world: World, nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    encoder = WordsEncoder()
    for number in range(5):
        await world.remember(f"note {number}")
    live = await embed(world, nursery, encoder)
    await live.settle()
    encoder.takes_s = 20.0
    encoder.snapshot = "v2"
    assert await live.ranking("note") == "fts5"
    await live.settle(30)
    assert await live.ranking("note") == "fts5"
    await live.settle(30)
    assert await live.ranking("note") == "score"
    await check(world, encoder)


async def test_a_snapshot_that_changes_while_vectors_are_made_spoils_none(
    world: World, nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    encoder = WordsEncoder(takes_s=10.0)
    for number in range(5):
        await world.remember(f"note {number}")
    live = await embed(world, nursery, encoder)
    await live.settle(15)
    encoder.snapshot = "v2"
    await live.settle(8)
    assert await table(world) == {}
    encoder.snapshot = "v1"
    await live.settle(100)
    await check(world, encoder)
    assert await live.ranking("note") == "score"


async def test_an_encoder_that_fails_is_asked_less_and_less_often_and_again_when_it_is_back(
    world: World, nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    await world.remember("a note")
    encoder = WordsEncoder()
    live = await embed(world, nursery, encoder)
    await live.settle()

    class Failing(WordsEncoder):
        is_up = True  # says so and fails all the same

    failing = Failing("failing", failure="no memory")
    await restarted(world)
    async with trio.open_nursery() as other:
        live = await embed(world, other, failing)
        await live.settle(300)
        assert len(failing.batches) <= 16
        assert await live.ranking("note") == "fts5"
        failing.failure = ""
        await live.settle(31)
        assert await live.ranking("note") == "score"
        other.cancel_scope.cancel()


async def test_of_a_text_too_long_for_the_encoder_its_beginning_is_embedded(
    world: World, nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    encoder = WordsEncoder(longest=1_000)
    await world.remember("short")
    record_id = await world.remember("long", "word " * 900)
    live = await embed(world, nursery, encoder)
    await live.settle()
    assert await live.ranking("short") == "score"
    stored = np.frombuffer((await table(world))[record_id, "words"], np.float32)
    assert float(stored @ encoder.vector("word")) > 0.9


async def test_a_text_that_is_refused_leaves_its_namespace_to_full_text_until_it_is_edited(
    world: World, nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    encoder = WordsEncoder(refuses="unspeakable")
    record_id = await world.remember("the unspeakable")
    await world.remember("a note")
    await world.remember("elsewhere", namespace=ELSEWHERE)
    live = await embed(world, nursery, encoder)
    await live.settle(100)
    assert await live.ranking("note") == "fts5"
    assert await live.ranking("elsewhere", namespace=ELSEWHERE) == "score"
    assert len(encoder.batches) < 8
    await change(world, record_id, title="the speakable", content="words")
    await live.settle()
    assert await live.ranking("note") == "score"
    await check(world, encoder)


async def test_a_stored_text_that_a_later_rule_refuses_keeps_no_vector_from_others(
    world: World, nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    encoder = WordsEncoder()
    ids = [await world.remember(f"note {number}") for number in range(3)]

    def as_before_the_rule(conn: apsw.Connection) -> None:
        screen, conn.exec_trace = conn.exec_trace, None
        conn.execute("UPDATE records SET content = ? WHERE id = ?", (f"use {GITHUB_TOKEN}", ids[1]))
        conn.exec_trace = screen

    await world.store.write(as_before_the_rule)
    live = await embed(world, nursery, encoder)
    await live.settle()
    assert live.embedder.waiting() == 0
    await check(world, encoder)


async def test_a_full_disk_puts_embedding_off_and_ends_nothing(
    world: World, nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    encoder = WordsEncoder(width=2_000)
    for number in range(40):
        await world.remember(f"note {number}")

    def limit(conn: apsw.Connection, pages: int | None = None) -> None:
        conn.pragma("max_page_count", pages or conn.pragma("page_count"))

    await world.store.maintain(limit)
    live = await embed(world, nursery, encoder)
    await live.settle(100)
    assert await table(world) == {}
    assert await live.ranking("note") == "fts5"
    assert len(encoder.batches) < 12
    await world.store.maintain(lambda conn: limit(conn, 100_000))
    await live.settle(60)
    await check(world, encoder)


async def test_nothing_is_probed_or_loaded_while_the_store_is_empty(
    world: World, nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    encoder = WordsEncoder()
    live = await embed(world, nursery, encoder)
    await live.settle(200)
    await live.ranking("anything")
    assert (encoder.batches, encoder.queries, encoder.probes) == ([], [], 0)
    await world.remember("the first")
    await live.settle()
    assert await live.ranking("first") == "score"
    assert encoder.probes == 1


SEEDS = range(12)


@pytest.mark.parametrize("seed", SEEDS)
async def test_no_order_of_commits_loading_and_embedding_leaves_a_stale_vector_or_a_ghost(
    tmp_path: Path,
    nursery: trio.Nursery,
    autojump_clock: MockClock,
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
) -> None:
    dice = random.Random(seed)

    async def at_length(function: Callable[[], Any], /) -> Any:
        """A batch takes a moment, in which calls pile up, so that pages and vectors share batches with edits."""
        await trio.sleep(dice.choice([0, 0, 0.02]))
        return function()

    monkeypatch.setattr(embedding, "PAGE", 2)
    monkeypatch.setattr(embedding, "BATCH", 3)
    encoder = WordsEncoder(takes_s=0.03)
    with Store(tmp_path / "data", now=Ticking(), in_thread=at_length) as store:
        await nursery.start(store.run)
        async with open_world(store) as world:
            ids = [await world.remember(f"note {number} of the start") for number in range(dice.randrange(12))]
            if dice.random() < 0.6:  # a process before this one
                async with trio.open_nursery() as first:
                    await (await embed(world, first, encoder)).settle(dice.random() * 0.5)
                    first.cancel_scope.cancel()
                await restarted(world)
            live = await embed(world, nursery, encoder)
            async with trio.open_nursery() as crowd:
                for number in range(3):
                    crowd.start_soon(write, live, ids, random.Random(seed * 10 + number), number)
                crowd.start_soon(look, live, encoder)
                if dice.random() < 0.4:
                    await trio.sleep(dice.random())
                    encoder.snapshot = "v2"
            await live.settle(30)
            await check(world, encoder)
        nursery.cancel_scope.cancel()


async def write(live: Embedding, ids: list[str], dice: random.Random, writer: int) -> None:
    """Store, edit and forget, often at the very moment at which the encoder answers or a page is read."""
    for turn in range(25):
        await trio.sleep(dice.choice([0, 0, 0.01, 0.1]))
        record_id = dice.choice(ids) if ids else ""
        try:
            match dice.randrange(7):
                case 0 | 1 | 2:
                    where = dice.choice([HERE, ELSEWHERE])
                    ids.append(await live.world.remember(f"note {turn} of {writer}", namespace=where))
                case 3 if record_id:
                    await change(live.world, record_id, content=f"text {turn} of {writer}")
                case 4 if record_id:
                    await live.world.call("forget", id=record_id, hard=False)
                case 5 if record_id:
                    await live.world.call("forget", id=record_id, hard=True)
                case 6 if record_id:
                    ids.append(await live.world.remember(f"instead {turn} of {writer}", supersedes=record_id))
        except (ServiceError, ValueError):
            pass  # another writer was faster


async def look(live: Embedding, encoder: WordsEncoder) -> None:
    """Whenever vectors answer, each cosine is that of the text in the hit."""
    for _ in range(30):
        await trio.sleep(0.05)
        snapshot = encoder.snapshot
        found = await live.world.call("search", query="note of text", namespace=HERE, limit=50)
        if found["ranking"] == "score" and snapshot == encoder.snapshot:
            for hit in found["hits"]:
                text = encoder.record_text(hit["title"], hit["content"])
                expected = float(encoder.vector("note of text") @ encoder.vector(text))
                assert hit["cosine"] == pytest.approx(expected, abs=1e-4)
