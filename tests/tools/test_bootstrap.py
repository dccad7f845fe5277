"""The bootstrap answer: 2,000 bytes on the wire, whatever the titles, the front, the era and the request's id."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from apsw import Connection

from agent_memory.domain.records import TYPES, Draft
from agent_memory.store import records
from support.http import Reply
from support.world import ELSEWHERE, ERAS, HERE, LINKED, World, tool_answer

WIRE_BYTES = 2_000
TITLES = {
    "short": "Use tabs",
    "long": "The retry budget of the importer is five attempts, then the job is parked for a person to look at",
    "longest": "x" * 200,
    "quoted": 'a "quoted\\" title with \\ and "more" ' * 5,
    "umlauts": "Größenänderung überprüfen " * 7,
    "cjk": "缓存大小是五百一十二个条目" * 15,
    "emoji": "😀🎉" * 100,
}


async def fill(world: World, title: str, count: int, namespace: str = HERE) -> None:
    """Many records at once, past the tool."""

    def work(conn: Connection) -> None:
        for number in range(count):
            kind = TYPES[number % len(TYPES)]
            text = f"{number} {title}"[:200].strip()
            draft = Draft(namespace, kind, text, "content")
            args: dict[str, Any] = {"status": "active", "writer": "test", "origin": "agent"}
            records.insert(conn, draft, record_id=world.services.new_id(), now=world.services.stamp(), **args)

    await world.store.write(work)


async def both_fronts(world: World, **arguments: Any) -> list[tuple[Reply, dict[str, Any]]]:
    answers = []
    reply = await world.rest("bootstrap", **arguments)
    answers.append((reply, reply.json))
    for era in ERAS:
        for request_id in (1, "r" * 300, "ü" * 60):
            world.request_id = request_id
            reply = await world.mcp("bootstrap", era=era, **arguments)
            failed, answer = tool_answer(reply)
            assert not failed, answer
            answers.append((reply, answer))
    return answers


@pytest.mark.parametrize("kind", TITLES)
async def test_the_whole_answer_takes_at_most_2000_bytes(world: World, kind: str) -> None:
    await fill(world, TITLES[kind], 300)
    for reply, answer in await both_fronts(world, namespace=HERE):
        assert len(reply.body) <= WIRE_BYTES
        assert answer["left_out"] == 300 - len(answer["items"])
        assert answer["truncated"] is True


async def test_5000_records_fit_too_and_are_counted_exactly(world: World) -> None:
    await fill(world, TITLES["long"], 5_000)
    await fill(world, "linked", 7, LINKED)
    await fill(world, "not in reach", 9, ELSEWHERE)
    for reply, answer in await both_fronts(world, namespace=HERE):
        assert len(reply.body) <= WIRE_BYTES
        assert len(answer["items"]) >= 5
        assert answer["left_out"] == 5_007 - len(answer["items"])


async def test_the_room_is_used(world: World) -> None:
    await fill(world, TITLES["short"], 300)
    reply = await world.rest("bootstrap", namespace=HERE)
    assert len(reply.body) > WIRE_BYTES - 120


async def test_what_fits_is_listed_whole_and_nothing_is_left_out(world: World) -> None:
    ids = [await world.remember(f"note {number}") for number in range(5)]
    for _, answer in await both_fronts(world, namespace=HERE):
        assert (answer["left_out"], answer["truncated"]) == (0, False)
        assert {item["title"] for item in answer["items"]} == {f"note {number}" for number in range(5)}
        for item in answer["items"]:
            assert len(item["id"]) >= 8
            assert sum(full.startswith(item["id"]) for full in ids) == 1
            (found,) = (await world.call("get", ids=[item["id"]]))["records"]
            assert found["title"] == item["title"]


@pytest.mark.parametrize("apart_ms", [0, 1, 500, 60_000, 600_000])
async def test_a_shown_id_means_its_record_whatever_is_stored_superseded_or_forgotten_later(
    world: World, apart_ms: int
) -> None:
    clock = datetime(2026, 1, 1, tzinfo=UTC)
    object.__setattr__(world.services, "now", lambda: clock)
    shown: dict[str, str] = {}  # id as shown → title

    async def look() -> None:
        for item in (await world.call("bootstrap", namespace=HERE))["items"]:
            shown[item["id"]] = item["title"]

    ids = []
    for number in range(6):
        ids.append(await world.remember(f"note {number}"))
        await look()
        clock += timedelta(milliseconds=apart_ms)
    await world.remember("note 6", supersedes=ids[0])
    await look()
    await world.call("forget", id=ids[1])
    for prefix, title in shown.items():
        found = await world.call("get", ids=[prefix])
        assert [record["title"] for record in found["records"]] == ([title] if title != "note 1" else []), prefix
        assert found["ambiguous"] == []
    clock += timedelta(days=1)
    assert all(len(item["id"]) < 32 for item in (await world.call("bootstrap", namespace=HERE))["items"])


async def test_an_item_too_large_is_left_out_the_first_included(world: World) -> None:
    await world.remember("y" * 200, type="constraint")
    for number in range(3):
        await world.remember(f"small {number}")
    world.request_id = "r" * 1_500
    failed, answer = tool_answer(await world.mcp("bootstrap", namespace=HERE))
    assert not failed
    assert "y" * 200 not in [item["title"] for item in answer["items"]]
    assert answer["left_out"] == 4 - len(answer["items"])


async def test_a_base_that_does_not_fit_is_refused(world: World) -> None:
    world.request_id = "r" * 2_000
    failed, answer = tool_answer(await world.mcp("bootstrap", namespace=HERE))
    assert failed
    assert answer["error"]["code"] == "invalid_argument"


@pytest.mark.parametrize(
    "arguments",
    [
        {"namespace": "github/acme/" + "x" * 160},
        {"namespace": ""},
        {"namespace": HERE, "topics": ["t"] * 9},
        {"namespace": HERE, "topics": ["t" * 41]},
        {"namespace": HERE, "topics": [""]},
        {"namespace": HERE, "topics": ["  "]},
        {"namespace": HERE, "topics": "python"},
    ],
)
async def test_limits_of_namespace_and_topics(world: World, arguments: dict[str, Any]) -> None:
    assert (await world.rest("bootstrap", **arguments)).code == "invalid_argument"


async def test_candidates_and_forgotten_records_are_not_listed_but_candidates_are_counted(world: World) -> None:
    first, second, third = [await world.remember(f"note {number}") for number in range(3)]
    await world.call("update", id=first, revision=1, changes={"status": "candidate"})
    await world.call("forget", id=second)
    answer = await world.call("bootstrap", namespace=HERE)
    assert [item["title"] for item in answer["items"]] == ["note 2"]
    assert (answer["candidates_pending"], answer["left_out"]) == (1, 0)
    assert third.startswith(answer["items"][0]["id"])


async def test_the_estimate_is_the_size_of_the_answer(world: World) -> None:
    for number in range(30):
        await world.remember(f"note {number}", namespace=HERE)
    for tool, arguments in [
        ("bootstrap", {"namespace": HERE}),
        ("search", {"namespace": HERE, "query": "note"}),
        ("timeline", {"namespace": HERE}),
        ("project_context", {"namespace": HERE, "task": "note"}),
    ]:
        reply = await world.rest(tool, **arguments)
        assert abs(reply.json["estimated_tokens"] * 4 - len(reply.body)) <= 12, tool
        assert json.loads(reply.body) == reply.json
