"""Asked again, a search answers what it would if nothing were remembered, whatever was written in between."""

import random
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from agent_memory.domain.errors import ServiceError
from agent_memory.retrieval.remembered import Remembered
from agent_memory.store import retention
from agent_memory.tools import finding
from agent_memory.tools.transfer import export_lines, import_lines
from support.encoders import Embedding, WordsEncoder, embed
from support.world import ELSEWHERE, HERE, HUB, Ticking, World

QUERY = "the broker of the house"


@pytest.fixture
async def live(world: World, nursery: trio.Nursery) -> Embedding:
    """Four records here, with their vectors."""
    for title in ("the broker", "the house", "a broker of houses", "nothing of it"):
        await world.remember(title, session="talk" if "nothing" in title else None)
    started = await embed(world, nursery, WordsEncoder())
    await started.settle()
    return started


async def hits(world: World, **arguments: Any) -> list[dict[str, Any]]:
    return list((await world.call("search", **{"query": QUERY, "namespace": HERE, **arguments}))["hits"])


async def afresh(world: World, **arguments: Any) -> list[dict[str, Any]]:
    """What a server finds that remembers nothing."""
    kept = world.services.remembered
    object.__setattr__(world.services, "remembered", Remembered(room=0))
    try:
        return await hits(world, **arguments)
    finally:
        object.__setattr__(world.services, "remembered", kept)


@pytest.fixture
def rankings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The `ranking` of everything that is ranked, and not remembered, from now on."""
    made: list[str] = []

    def rank(*args: Any, ranking: Any, **options: Any) -> Any:
        made.append(ranking)
        return ranked(*args, ranking=ranking, **options)

    ranked = finding.rank
    monkeypatch.setattr(finding, "rank", rank)
    return made


async def test_the_same_is_ranked_once_though_readings_are_counted_in_between(
    live: Embedding, autojump_clock: MockClock, rankings: list[str]
) -> None:
    world = live.world
    first = await hits(world)
    await world.call("get", ids=[first[0]["id"]])
    await world.services.read_log.flush(world.store)
    await world.call("question_add", namespace=HERE, question=QUERY)
    assert await hits(world) == first
    assert rankings == ["score"]


@pytest.mark.parametrize(
    "other",
    [
        {"query": "the broker of the horse"},
        {"namespace": ELSEWHERE},
        {"namespace": HUB},
        {"topics": ["brokers"]},
        {"limit": 1},
        {"types": ["fact"]},
        {"tags": ["none"]},
        {"min_cosine": 0.9},
        {"exclude": ["0" * 32]},
    ],
    ids=lambda other: next(iter(other)),
)
async def test_what_differs_in_anything_is_ranked_for_itself(
    live: Embedding, autojump_clock: MockClock, rankings: list[str], other: dict[str, Any]
) -> None:
    await hits(live.world)
    assert await hits(live.world, **other) == await afresh(live.world, **other)
    assert len(rankings) == 3


async def update(world: World, record_id: str, **changes: Any) -> None:
    (record,) = (await world.call("get", ids=[record_id]))["records"]
    await world.call("update", id=record_id, revision=record["revision"], changes=changes)


async def purge(world: World, record_id: str) -> None:
    await world.call("forget", id=record_id)
    await hits(world)
    await world.store.write(partial(retention.purge, now=world.services.stamp(), before="9"))


async def bring_back(world: World, record_id: str) -> None:
    """Export, rename what was exported, import."""
    lines = await world.store.read(lambda conn: list(export_lines(conn, HERE)))
    other = [line.replace(record_id, record_id[:-4] + "ffff").encode() for line in lines]
    report = await import_lines(world.store, other, client="cli", now=Ticking(), entropy=random.Random(1).randbytes)
    assert report.restored == 1


CHANGES: dict[str, Callable[[World, str], Awaitable[Any]]] = {
    "store": lambda world, _: world.remember(QUERY),
    "store elsewhere in scope": lambda world, _: world.remember(QUERY, namespace="global"),
    "supersede": lambda world, record_id: world.remember("instead", supersedes=record_id),
    "edit": lambda world, record_id: update(world, record_id, title="something else", content="else"),
    "retype": lambda world, record_id: update(world, record_id, type="session-summary"),
    "doubt": lambda world, record_id: world.call("corroborate", id=record_id, quote="no", stance="contradicts"),
    "forget": lambda world, record_id: world.call("forget", id=record_id),
    "forget hard": lambda world, record_id: world.call("forget", id=record_id, hard=True),
    "purge": purge,
    "import": bring_back,
}


@pytest.mark.parametrize("change", CHANGES)
async def test_the_very_next_search_sees_a_change_and_so_do_those_after_its_vectors(
    live: Embedding, autojump_clock: MockClock, change: str
) -> None:
    world = live.world
    before = await hits(world)
    await CHANGES[change](world, before[0]["id"])
    at_once = await hits(world)
    assert at_once == await afresh(world)
    assert at_once != before
    await live.settle()
    assert (found := await hits(world)) == await afresh(world)
    assert all(hit["cosine"] is not None for hit in found)


async def test_vectors_of_another_model_rank_anew(live: Embedding, autojump_clock: MockClock) -> None:
    before = await hits(live.world)
    encoder = live.embedder._encoder
    assert isinstance(encoder, WordsEncoder)
    encoder.snapshot = "v2"
    await live.settle(60)
    found = await hits(live.world)
    assert found == await afresh(live.world)
    assert [hit["cosine"] for hit in found] != [hit["cosine"] for hit in before]


async def test_a_vector_that_changes_while_its_record_does_not_ranks_anew(
    live: Embedding, autojump_clock: MockClock
) -> None:
    before, vectors = await hits(live.world), live.world.services.indexes.vectors
    vectors.put(vectors.key, before[-1]["id"], HERE, WordsEncoder().vector(QUERY))
    found = await hits(live.world)
    assert found != before
    assert found == await afresh(live.world)


async def test_a_ranking_by_words_alone_is_not_taken_for_one_by_vectors(
    live: Embedding, autojump_clock: MockClock, rankings: list[str]
) -> None:
    encoder = live.embedder._encoder
    assert isinstance(encoder, WordsEncoder)
    encoder.failure = "away"
    assert await live.ranking(QUERY) == "fts5"
    encoder.failure = ""
    assert [await live.ranking(QUERY) for _ in range(2)] == ["score"] * 2
    assert rankings == ["fts5", "score"]


async def test_what_changed_while_the_query_was_encoded_is_not_kept_out_of_later_answers(
    live: Embedding, autojump_clock: MockClock
) -> None:
    encoder = live.embedder._encoder
    assert isinstance(encoder, WordsEncoder)
    encoder.query_gate, asked = trio.Event(), len(encoder.queries)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(hits, live.world))
        while len(encoder.queries) == asked:
            await trio.sleep(0.01)
        # No vector waits for anything, so that the first search goes on with the lists of before.
        record_id = await live.world.remember("the broker of the house", "the broker of the house of old")
        await live.settle()
        encoder.query_gate.set()
    found = await hits(live.world)
    assert record_id == found[0]["id"]
    assert found == await afresh(live.world)


QUERIES = (QUERY, "the house", "zebra of the house", "broker")


async def step(world: World, ids: list[str], dice: random.Random) -> None:
    """Change something, or nothing."""
    record_id, text = dice.choice(ids), " ".join(dice.sample([*QUERY.split(), "zebra", "horse"], 3))
    try:
        match dice.randrange(8):
            case 0 | 1:
                session = dice.choice([None, "talk"])
                ids.append(await world.remember(text, namespace=dice.choice([HERE, "global"]), session=session))
            case 2:
                await update(world, record_id, content=text)
            case 3:
                await update(world, record_id, confidence=dice.random())
            case 4:
                await world.call("corroborate", id=record_id, quote=text, stance="contradicts")
            case 5:
                await world.call("forget", id=record_id, hard=dice.random() < 0.5)
            case 6:
                await world.services.read_log.flush(world.store)
    except (ServiceError, ValueError):
        pass  # the record is gone


@pytest.mark.parametrize("seed", range(12))
async def test_no_order_of_changes_and_searches_makes_a_difference(
    live: Embedding, autojump_clock: MockClock, seed: int, rankings: list[str]
) -> None:
    dice, world = random.Random(seed), live.world
    ids = [hit["id"] for hit in await hits(world)]
    asked = 0
    for _ in range(60):
        await step(world, ids, dice)
        await trio.sleep(dice.choice([0, 0, 0.06, 1]))  # vectors are there at once, later, or not before the next step
        arguments = {"query": dice.choice(QUERIES), "namespace": dice.choice([HERE, HERE, ELSEWHERE])}
        for _ in range(2):
            asked += 1
            assert await hits(world, **arguments) == await afresh(world, **arguments)
    assert asked < len(rankings) < 2 * asked, "some were remembered"
