"""The seed's Evidence section through the tools: what is attached, what it derives and how search tells it."""

from typing import Any

import pytest

from agent_memory.domain.errors import InvalidArgument, RecordNotFound
from support.world import HERE, World


async def say(world: World, record_id: str, stance: str, client: str = "owner", quote: str = "seen") -> dict[str, Any]:
    return await world.call("corroborate", client, id=record_id, quote=quote, stance=stance)


async def search(world: World, query: str = "apple") -> list[dict[str, Any]]:
    return list((await world.call("search", query=query, namespace=HERE))["hits"])


async def test_an_observation_is_dated_attributed_and_quoted(world: World) -> None:
    record_id = await world.remember("apple")
    await say(world, record_id, "contradicts", "author", "The build says  otherwise.\nTwice.")
    (row,) = await world.rows("SELECT witness, stance, quote, source, at FROM observations")
    assert row[:4] == ("author", "contradicts", "The build says  otherwise.\nTwice.", "witness")
    assert row[4].startswith("2026-01-01T")


async def test_an_unwitnessed_record_keeps_its_confidence_and_says_so(world: World) -> None:
    record_id = await world.remember("apple", confidence=0.35)
    (hit,) = await search(world)
    assert (hit["id"], hit["confidence"], hit["effective_confidence"]) == (record_id, 0.35, 0.35)
    assert hit["why"].endswith("asserted, unwitnessed")


async def test_a_corroboration_closes_a_third_and_a_contradiction_halves(world: World) -> None:
    record_id = await world.remember("apple", confidence=0.7)
    first = await say(world, record_id, "corroborates", "owner")
    assert (first["proof_count"], first["refutation_count"], first["effective_confidence"]) == (1, 0, 0.8)
    second = await say(world, record_id, "corroborates", "author")
    assert (second["proof_count"], second["effective_confidence"]) == (2, 0.8667)
    third = await say(world, record_id, "contradicts", "author")
    assert (third["proof_count"], third["refutation_count"], third["effective_confidence"]) == (2, 1, 0.4333)
    assert third["revision"] == 4
    (hit,) = await search(world)
    assert hit["why"].endswith("2 for/1 against")
    assert (hit["confidence"], hit["effective_confidence"]) == (0.7, 0.4333)


async def test_a_witness_counts_once_for_each_stance_and_a_repetition_changes_nothing(world: World) -> None:
    record_id = await world.remember("apple")
    first = await say(world, record_id, "corroborates", "author", "once")
    for quote in ("twice", "thrice"):
        assert await say(world, record_id, "corroborates", "author", quote) == first
    assert await world.rows("SELECT quote FROM observations") == [("once",)]
    assert (await say(world, record_id, "contradicts", "author"))["refutation_count"] == 1


async def test_an_author_alone_cannot_talk_its_record_into_certainty(world: World) -> None:
    stored = await world.call("store", "author", namespace=HERE, type="fact", title="apple", content="c")
    for agent in ("one", "two", "three"):
        arguments = {"id": stored["id"], "quote": f"as {agent}", "stance": "corroborates", "agent": agent}
        result = await world.call("corroborate", "author", **arguments)
    assert (result["proof_count"], result["effective_confidence"]) == (1, 0.8)


async def test_a_contradicted_record_stays_active_and_readable(world: World) -> None:
    record_id = await world.remember("apple")
    for client in ("owner", "author"):
        await say(world, record_id, "contradicts", client)
    (hit,) = await search(world)
    assert (hit["status"], hit["effective_confidence"]) == ("active", 0.175)
    assert (await world.call("get", ids=[record_id]))["records"][0]["refutation_count"] == 2


async def test_search_ranks_by_what_confidence_was_earned(world: World) -> None:
    ids = [await world.remember("apple pie", f"apple pie number {number}") for number in ("one", "two", "ten")]
    await say(world, ids[0], "contradicts")
    await say(world, ids[2], "corroborates")
    hits = await search(world, "apple pie")
    assert [hit["id"] for hit in hits] == [ids[2], ids[1], ids[0]]
    assert "evidence x0.50" in hits[2]["why"]


async def test_a_new_asserted_confidence_keeps_the_evidence(world: World) -> None:
    record_id = await world.remember("apple")
    await say(world, record_id, "contradicts")
    record = (await world.call("update", id=record_id, revision=2, changes={"confidence": 0.4}))["record"]
    assert (record["confidence"], record["effective_confidence"], record["refutation_count"]) == (0.4, 0.2, 1)


@pytest.mark.parametrize("quote", ["", "  \n ", "x" * 2049, "bell \a"])
async def test_a_quote_has_words_and_a_limit(world: World, quote: str) -> None:
    record_id = await world.remember("apple")
    with pytest.raises(InvalidArgument, match="quote"):
        await say(world, record_id, "corroborates", quote=quote)


async def test_evidence_names_one_live_record_in_full(world: World) -> None:
    record_id = await world.remember("apple")
    with pytest.raises(InvalidArgument):
        await say(world, record_id[:12], "corroborates")
    with pytest.raises(RecordNotFound):
        await say(world, "0" * 32, "corroborates")
