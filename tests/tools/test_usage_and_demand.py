"""The seed's Usage section: what is counted, what is asked, and what is never written down."""

from typing import Any

import pytest

from support.secrets import GITHUB_TOKEN, OWN_TOKEN
from support.world import ELSEWHERE, HERE, World


async def counted(world: World) -> dict[str, tuple[int, int]]:
    await world.services.read_log.flush(world.store)
    rows = await world.rows("SELECT record_id, returned, fetched FROM usage")
    return {record_id: (returned, fetched) for record_id, returned, fetched in rows}


async def asked(world: World) -> list[tuple[Any, ...]]:
    await world.services.read_log.flush(world.store)
    return await world.rows("SELECT client, namespace, query, hits FROM queries ORDER BY seq")


async def test_hits_of_search_recall_and_project_context_count_as_returned_and_get_as_fetched(world: World) -> None:
    hit, other = await world.remember("apple pie"), await world.remember("pear tart")
    await world.call("search", query="apple", namespace=HERE)
    assert await counted(world) == {hit: (1, 0)}
    await world.call("search", query="apple", namespace=HERE, recall=True)
    assert await counted(world) == {hit: (2, 0)}
    await world.call("project_context", namespace=HERE, task="apple")
    assert await counted(world) == {hit: (3, 0)}
    await world.call("get", ids=[other, hit, "f" * 32])
    assert await counted(world) == {hit: (3, 1), other: (0, 1)}
    ((returned_at, fetched_at),) = await world.rows(
        "SELECT last_returned_at, last_fetched_at FROM usage WHERE record_id = ?", (hit,)
    )
    assert returned_at < fetched_at


async def test_bootstrap_and_timeline_are_not_counted(world: World) -> None:
    await world.remember("apple pie")
    await world.call("bootstrap", namespace=HERE)
    await world.call("timeline", namespace=HERE)
    assert await counted(world) == {}


async def test_counting_touches_no_record_and_no_index(world: World) -> None:
    await world.remember("apple pie")
    before = await world.rows("SELECT * FROM records"), await world.rows("SELECT * FROM records_fts_data")
    await world.call("search", query="apple", namespace=HERE)
    await counted(world)
    assert (await world.rows("SELECT * FROM records"), await world.rows("SELECT * FROM records_fts_data")) == before


async def test_purge_and_hard_forget_drop_the_count_and_a_late_flush_does_not_bring_it_back(world: World) -> None:
    record_id = await world.remember("apple pie")
    await world.call("get", ids=[record_id])
    await counted(world)
    await world.call("get", ids=[record_id])  # gathered, not yet written
    await world.call("forget", id=record_id, hard=True)
    assert await counted(world) == {}


async def test_a_search_writes_one_demand_row_and_a_recall_none(world: World) -> None:
    await world.remember("apple pie")
    await world.call("search", query="apple cake", namespace=HERE)
    await world.call("search", query="apple bread", namespace=HERE, recall=True)
    await world.call("search", "author", query="plum", namespace=ELSEWHERE)
    await world.call("project_context", namespace=HERE, task="apple task")
    assert await asked(world) == [("owner", HERE, "apple cake", 1), ("author", ELSEWHERE, "plum", 0)]


async def test_how_well_it_was_answered_stands_beside_the_query(world: World) -> None:
    await world.remember("apple pie")
    await world.remember("something else entirely")
    for query in ("apple pie", "quince"):
        await world.call("search", query=query, namespace=HERE)
    await asked(world)
    (good,), (bad,) = await world.rows("SELECT coverage FROM queries ORDER BY seq")
    assert 0 == bad < good <= 1


@pytest.mark.parametrize(
    "query",
    [
        "why is password: Xk9-Trq2-Lm7w refused",
        "do-not-store this question",
        "x " * 246 + "password: Xk9-Trq2-Lm7w",  # the secret begins within what is kept
    ],
)
async def test_a_query_that_carries_a_secret_is_answered_and_not_recorded(world: World, query: str) -> None:
    await world.remember("refused")
    await world.call("search", query="before", namespace=HERE)
    await world.call("search", query=query, namespace=HERE)
    await world.call("search", query="after", namespace=HERE)
    assert [row[2] for row in await asked(world)] == ["before", "after"]


@pytest.mark.parametrize("token", [OWN_TOKEN, GITHUB_TOKEN])
async def test_a_search_in_a_namespace_that_carries_a_secret_spoils_no_reading_of_others(
    world: World, token: str
) -> None:
    hit = await world.remember("apple pie")
    await world.call("search", query="apple", namespace=HERE)
    await world.call("search", query="pear", namespace=f"local/{token}")
    assert [row[2] for row in await asked(world)] == ["apple"]
    assert await counted(world) == {hit: (1, 0)}


async def test_a_long_query_is_kept_in_part_and_never_spoils_the_flush(world: World) -> None:
    for cut in range(480, 520):
        await world.call("search", query="word " * (cut // 5) + "=" * (cut % 5) + " more " * 50, namespace=HERE)
    rows = await asked(world)
    assert len(rows) == 40
    assert all(len(row[2]) == 500 for row in rows)


async def test_counting_begins_once_and_says_so_in_the_audit(world: World) -> None:
    assert len([row for row in await world.audited() if row.action == "usage-start"]) == 1


# The arguments a hook sets


async def test_exclude_drops_hits_whose_id_starts_so_and_takes_no_less_than_eight_characters(world: World) -> None:
    first, second = await world.remember("apple one"), await world.remember("apple two")

    async def found(**arguments: Any) -> set[str]:
        return {hit["id"] for hit in (await world.call("search", query="apple", namespace=HERE, **arguments))["hits"]}

    assert await found() == {first, second}
    assert await found(exclude=[first]) == {second}
    assert await found(exclude=[second[:31]]) == {first}
    assert (await world.rest("search", query="apple", namespace=HERE, exclude=[first[:7]])).status == 422


async def test_min_cosine_keeps_nothing_under_full_text_ranking(world: World) -> None:
    await world.remember("apple")
    result = await world.call("search", query="apple", namespace=HERE, min_cosine=-1)
    assert (result["hits"], result["ranking"]) == ([], "fts5")
