"""What a search answers: by which ranking, within which scopes, and who gets to see the query."""

import time
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from typing import Any

import httpx
import pytest
import trio
from trio.testing import MockClock

from agent_memory.domain.namespaces import Scopes
from agent_memory.encoder.cache import QueryCache
from agent_memory.encoder.queries import QueryVectors
from agent_memory.encoder.remote import RemoteEncoder
from agent_memory.nursery.embedding import Embedder
from agent_memory.nursery.words import load_words
from agent_memory.retrieval.weights import WEIGHTS
from agent_memory.store import search
from agent_memory.store.search import Filters
from agent_memory.store.worker import Store
from agent_memory.tools import finding
from support.encoders import Embedding, WordsEncoder, embed
from support.world import ELSEWHERE, HERE, HUB, LINKED, World, open_world
from tests.encoder import conftest
from tests.encoder.conftest import Request, StandIn, reply

stand_in = conftest.stand_in

CREDENTIAL = "ghp_" + "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA1bC2"


@pytest.fixture
async def live(world: World, nursery: trio.Nursery) -> Embedding:
    """Five records in as many scopes, embedded. For tests that take the virtual clock: pytest-trio looks for it among
    their own arguments alone."""
    for title, where in (("here", HERE), ("elsewhere", ELSEWHERE), ("linked", LINKED), ("hub", HUB), ("all", "global")):
        await world.remember(f"the broker of {title}", namespace=where)
    started = await embed(world, nursery, WordsEncoder())
    await started.settle()
    return started


async def titles(world: World, **arguments: Any) -> list[str]:
    given = {"query": "the broker of here", "namespace": HERE, **arguments}
    found = await world.call("search", **given)
    return sorted(hit["title"].removeprefix("the broker of ") for hit in found["hits"])


@pytest.mark.parametrize("fusion", ["score", "rrf"])
@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (HERE, ["all", "here", "linked"]),
        (ELSEWHERE, ["all", "elsewhere", "linked"]),
        (LINKED, ["all", "linked"]),
        (HUB, ["all", "elsewhere", "here", "hub"]),
        ("global", ["all"]),
        ("github/acme/unknown", ["all"]),
    ],
)
async def test_both_rankings_reach_the_scopes_of_a_namespace_and_no_others(
    live: Embedding, autojump_clock: MockClock, where: str, expected: list[str], fusion: str
) -> None:
    object.__setattr__(live.world.services.policy, "fusion", fusion)
    assert await live.ranking("broker", namespace=where) == fusion
    by_meaning = await titles(live.world, namespace=where)
    object.__setattr__(live.world.services.policy, "fusion", "score")
    # Words that no record holds: whatever comes up was found by its vector alone.
    by_vector_alone = await titles(live.world, namespace=where, query="zzzz the of")
    object.__setattr__(live.world.services, "query_vectors", QueryVectors([], QueryCache()))
    by_words = await titles(live.world, namespace=where)
    assert await live.ranking("broker", namespace=where) == "fts5"
    assert by_meaning == by_words == by_vector_alone == expected


async def test_what_stands_beside_the_best_match_in_its_session_is_found_though_neither_list_holds_it(
    live: Embedding, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = live.world
    turns = ["The zebra?", "Yes, at noon", "We left", "The giraffe"]
    for turn in turns:
        await world.remember(turn, session="zoo")
        await world.remember(turn.upper(), namespace="global", session="zoo")  # in scope, but another conversation
    await live.settle()
    monkeypatch.setattr(finding, "WEIGHTS", replace(WEIGHTS, pool=1))

    async def found(**arguments: Any) -> list[str]:
        hits = (await world.call("search", query="zebra", namespace=HERE, **arguments))["hits"]
        return [hit["title"] for hit in hits if "broker" not in hit["title"]]

    assert await found() == turns[:3]
    assert await found(tags=["none"]) == []
    object.__setattr__(world.services, "query_vectors", QueryVectors([], QueryCache()))
    assert await found() == turns[:1], "full text alone"


async def test_what_stands_beside_a_record_is_looked_up_in_scope_alone(world: World) -> None:
    turns = [await world.remember(turn, session="zoo") for turn in ("The zebra?", "Yes, at noon", "We left", "Later")]

    async def beside(*namespaces: str) -> list[str]:
        scopes = Scopes(namespaces, False)
        look = partial(search.around, ids=turns[:1], scopes=scopes, filters=Filters(), places=2)
        return sorted(await world.store.read(look))

    assert await beside(HERE) == sorted(turns[:3])
    assert await beside(ELSEWHERE, "global") == []


async def test_a_record_superseded_while_the_query_is_encoded_is_no_hit(
    live: Embedding, autojump_clock: MockClock
) -> None:
    encoder = live.embedder._encoder
    assert isinstance(encoder, WordsEncoder)
    record_id = (await live.world.call("search", query="broker here", namespace=HERE))["hits"][0]["id"]
    encoder.query_gate, asked = trio.Event(), len(encoder.queries)
    found: list[dict[str, Any]] = []

    async def look() -> None:
        found.append(await live.world.call("search", query="the broker of here, anew", namespace=HERE))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(look)
        while len(encoder.queries) == asked:
            await trio.sleep(0.01)
        await live.world.remember("another", supersedes=record_id)
        encoder.query_gate.set()
    assert record_id not in [hit["id"] for hit in found[0]["hits"]]


async def test_a_record_without_its_vector_puts_only_the_scopes_that_reach_it_to_full_text(
    live: Embedding, autojump_clock: MockClock
) -> None:
    encoder = live.embedder._encoder
    assert isinstance(encoder, WordsEncoder)
    encoder.gate = trio.Event()
    await live.world.remember("waiting", namespace=ELSEWHERE)
    rankings = {where: await live.ranking("broker", namespace=where) for where in (HERE, ELSEWHERE, HUB, "global")}
    assert rankings == {HERE: "score", ELSEWHERE: "fts5", HUB: "fts5", "global": "score"}


@pytest.mark.parametrize("fusion", ["score", "rrf"])
async def test_min_cosine_keeps_what_is_that_near_and_nothing_under_full_text(
    live: Embedding, autojump_clock: MockClock, fusion: str
) -> None:
    world = live.world
    object.__setattr__(world.services.policy, "fusion", fusion)
    everything = (await world.call("search", query="the broker of here", namespace=HERE))["hits"]
    cosines = sorted((hit["cosine"] for hit in everything), reverse=True)
    edge = (cosines[0] + cosines[1]) / 2
    kept = (await world.call("search", query="the broker of here", namespace=HERE, min_cosine=edge))["hits"]
    assert [hit["cosine"] for hit in kept] == cosines[:1]
    object.__setattr__(world.services, "query_vectors", QueryVectors([], QueryCache()))
    found = await world.call("search", query="the broker of here", namespace=HERE, min_cosine=-1)
    assert (found["ranking"], found["hits"]) == ("fts5", [])


@pytest.mark.parametrize("fusion", ["score", "rrf"])
async def test_exclude_types_and_tags_hold_under_vectors_too(
    live: Embedding, autojump_clock: MockClock, fusion: str
) -> None:
    world = live.world
    object.__setattr__(world.services.policy, "fusion", fusion)
    one = await world.remember("the broker of types", type="decision", tags=["mqtt", "home"])
    await live.settle()
    assert await titles(world, types=["decision"]) == ["types"]
    assert await titles(world, types=["decision"], query="zzzz") == ["types"]
    assert await titles(world, tags=["home", "mqtt"]) == ["types"]
    assert await titles(world, tags=["home", "other"]) == []
    assert "types" not in await titles(world, exclude=[one])
    # Ids of the same moment begin alike; the whole id and a long prefix name one record.
    assert "types" not in await titles(world, exclude=[one[:20]])


async def test_hits_say_how_they_were_found(live: Embedding, autojump_clock: MockClock) -> None:
    world = live.world
    found = await world.call("search", query="the broker of here", namespace=HERE)
    first = found["hits"][0]
    assert found["ranking"] == "score"
    assert first["title"] == "the broker of here"
    assert "words " in first["why"]
    assert "meaning " in first["why"]
    assert first["cosine"] == round(first["cosine"], 4)
    object.__setattr__(world.services.policy, "fusion", "rrf")
    found = await world.call("search", query="the broker of here", namespace=HERE)
    first = found["hits"][0]
    assert found["ranking"] == "rrf"
    assert first["score"] == pytest.approx(2 / 61, abs=1e-6)
    assert "text #1" in first["why"]
    assert "meaning #1" in first["why"]


@pytest.mark.parametrize("recall", [True, False])
async def test_recall_leaves_no_trace_in_the_demand_signal(
    live: Embedding, autojump_clock: MockClock, recall: bool
) -> None:
    world = live.world
    await world.call("search", query="the broker of here", namespace=HERE, recall=recall)
    asked = world.services.read_log._asked
    assert len(asked) == (0 if recall else 1)
    if asked:
        assert asked[0].hits == 3  # of full text, whichever ranking answered


async def test_a_query_that_carries_a_secret_goes_to_no_encoder(live: Embedding, autojump_clock: MockClock) -> None:
    encoder = live.embedder._encoder
    assert isinstance(encoder, WordsEncoder)
    assert await live.ranking(f"why does {CREDENTIAL} fail") == "fts5"
    assert encoder.queries == []
    assert live.world.services.read_log._asked == []
    assert await live.ranking("broker") == "score"
    assert encoder.queries == ["broker"]


async def test_a_repeated_query_is_encoded_once(live: Embedding, autojump_clock: MockClock) -> None:
    encoder = live.embedder._encoder
    assert isinstance(encoder, WordsEncoder)
    for _ in range(3):
        await live.ranking("the broker of here")
    assert encoder.queries == ["the broker of here"]


@pytest.fixture
async def behind_http(store: Store, stand_in: StandIn, nursery: trio.Nursery) -> AsyncIterator[World]:
    """A record embedded by a server of its own, over real time."""

    async def answer(request: Request, stream: trio.SocketStream) -> None:
        if request.method == "GET":
            await reply(stream, {"data": [{"id": "enc", "root": "/models/enc-v1"}]})
            return
        texts = request.json["input"]
        await reply(stream, {"data": [{"index": n, "embedding": [1.0, len(text)]} for n, text in enumerate(texts)]})

    stand_in.answer = answer
    async with open_world(store) as world, httpx.AsyncClient(trust_env=False) as client:
        encoder = RemoteEncoder(client, stand_in.url + "/v1", "enc", timeout_s=0.4)
        object.__setattr__(world.services, "query_vectors", QueryVectors([encoder], QueryCache()))
        embedder = Embedder(store, world.services.indexes, encoder, None)
        await world.remember("a note")
        for task in (embedder.run, embedder.run_probe):
            await nursery.start(task)
        await nursery.start(load_words, world.services.indexes, store)
        with trio.fail_after(10):
            while (await world.call("search", query="note", namespace=HERE))["ranking"] == "fts5":
                await trio.sleep(0.02)
        yield world
        nursery.cancel_scope.cancel()


async def test_a_dead_encoder_costs_one_search_its_timeout_and_later_ones_nothing(
    behind_http: World, stand_in: StandIn
) -> None:
    async def hang(request: Request, stream: trio.SocketStream) -> None:
        await trio.sleep_forever()

    stand_in.answer = hang
    seen, took = len(stand_in.seen), []
    for number in range(4):
        begun = time.perf_counter()
        found = await behind_http.call("search", query=f"note number {number}", namespace=HERE)
        took.append(time.perf_counter() - begun)
        assert (found["ranking"], len(found["hits"])) == ("fts5", 1)
    assert 0.4 <= took[0] < 2
    assert max(took[1:]) < 0.3
    assert len(stand_in.seen) == seen + 1


async def test_an_encoder_that_is_switched_off_costs_nothing_noticeable(behind_http: World, stand_in: StandIn) -> None:
    async def hang_up(request: Request, stream: trio.SocketStream) -> None:
        await stream.aclose()

    stand_in.answer = hang_up
    begun = time.perf_counter()
    found = await behind_http.call("search", query="another note", namespace=HERE)
    assert found["ranking"] == "fts5"
    assert time.perf_counter() - begun < 0.4
