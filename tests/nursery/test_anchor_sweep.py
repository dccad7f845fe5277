"""The sweep over real HTTP against the shape of Home Assistant's API, in /health, and on its own clock."""

import inspect
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

import pytest
import trio

from agent_memory.homeassistant import states as client
from agent_memory.homeassistant.states import EntityStates, open_states
from agent_memory.nursery.sweep import FIRST_S, run_anchor_sweep
from agent_memory.store.worker import Store
from agent_memory.tools.anchors import NO_ANSWER, NO_HOME_ASSISTANT
from support.home_assistant import TOKEN, HomeAssistant, state
from support.world import HERE, World, open_world

ENTITIES = ("light.kitchen", "sun.sun", "sensor.power")


@pytest.fixture
async def home(nursery: trio.Nursery) -> HomeAssistant:
    served = HomeAssistant()
    await nursery.start(served.run)
    return served


@asynccontextmanager
async def at_home(world: World, home: HomeAssistant, token: str = TOKEN) -> AsyncIterator[World]:
    async with open_states(home.url, token, timeout_s=2) as reader:
        yield replace(world, services=replace(world.services, entity_states=reader))


async def sweep(world: World) -> tuple[int, int, int]:
    world.services.now.now += timedelta(hours=6)  # type: ignore[attr-defined]
    result = await world.call("anchor_sweep")
    return result["checked"], result["changed"], result["unavailable"]


def starting(home: HomeAssistant) -> None:
    home.answers(200, {"result": "error", "message": "System is not ready with state: setup"})


def silent(home: HomeAssistant) -> None:
    home.mood = "silent"


def partial_json(home: HomeAssistant) -> None:
    home.mood = "partial"


def dripping(home: HomeAssistant) -> None:
    home.mood = "dripping"


def cut_json(home: HomeAssistant) -> None:
    home.answers(200, json.dumps([state("sun.sun")]).encode()[:-5])


def redirected(home: HomeAssistant) -> None:
    home.answers(302, [state("sun.sun")], "Location: /core/api/elsewhere")


MOODS: dict[str, Callable[[HomeAssistant], None]] = {
    "401": lambda home: home.answers(401, {"message": "Unauthorized"}),
    "502 while Core restarts": lambda home: home.answers(502, b"502: Bad Gateway"),
    "502 with a list": lambda home: home.answers(502, [state("sun.sun")]),
    "503": lambda home: home.answers(503, []),
    "206": lambda home: home.answers(206, [state("sun.sun")]),
    "starting up": starting,
    "an empty list": lambda home: home.answers(200, []),
    "a list of something else": lambda home: home.answers(200, [{"state": "on"}]),
    "no JSON": lambda home: home.answers(200, b"<html>"),
    "no text": lambda home: home.answers(200, b"\xff\xfe\x00"),
    "deep JSON": lambda home: home.answers(200, b"[" * 100_000),
    "silent past the timeout": silent,
    "dripping past the timeout": dripping,
    "a body that ends early": partial_json,
    "JSON that ends early": cut_json,
    "a redirect": redirected,
}


@pytest.mark.parametrize("mood", MOODS)
async def test_an_answer_that_says_nothing_makes_every_entity_unavailable_and_none_missing(
    world: World, home: HomeAssistant, mood: str
) -> None:
    await world.remember("house", anchors=[f"entity:{each}" for each in ENTITIES])
    async with at_home(world, home) as here:
        home.has(ENTITIES)
        assert await sweep(here) == (3, 3, 0)
        home.has(["sun.sun"])
        assert await sweep(here) == (3, 0, 0)  # the first miss of two
        MOODS[mood](home)
        for _ in range(3):
            assert await sweep(here) == (0, 0, 3)
        (record,) = (await here.call("timeline", namespace=HERE))["records"]
        assert [tie["state"] for tie in record["anchors"]] == ["ok"] * 3
        assert all(tie["unavailable_since"] for tie in record["anchors"])
        assert record["revision"] == 4
        home.has(ENTITIES)
        assert await sweep(here) == (3, 0, 0)
        (record,) = (await here.call("timeline", namespace=HERE))["records"]
        assert not any("unavailable_since" in tie for tie in record["anchors"])
    assert {seen.path for seen in home.seen} == {"/core/api/states"}
    assert {seen.method for seen in home.seen} == {"GET"}


async def test_a_home_assistant_that_is_gone_makes_every_entity_unavailable(world: World) -> None:
    await world.remember("house", anchors=["entity:sun.sun"])
    async with at_home(world, HomeAssistant(url="http://127.0.0.1:9/core")) as here:
        assert await sweep(here) == (0, 0, 1)


async def test_a_refused_token_makes_every_entity_unavailable(world: World, home: HomeAssistant) -> None:
    await world.remember("house", anchors=["entity:sun.sun"])
    home.has(ENTITIES)
    async with at_home(world, home, "stale") as here:
        assert await sweep(here) == (0, 0, 1)


async def test_an_entity_that_is_gone_for_two_sweeps_is_missing_and_comes_back(
    world: World, home: HomeAssistant
) -> None:
    await world.remember("house", anchors=["entity:light.kitchen"])
    async with at_home(world, home) as here:
        for entities, changed in ((ENTITIES, 1), (ENTITIES[1:], 0), (ENTITIES[1:], 1), (ENTITIES[1:], 0)):
            home.has(entities)
            assert await sweep(here) == (1, changed, 0)
        (hit,) = (await here.call("search", query="house", namespace=HERE))["hits"]
        assert (hit["missing_anchors"], hit["effective_confidence"]) == (["entity:light.kitchen"], 0.35)
        home.has(ENTITIES)
        assert await sweep(here) == (1, 1, 0)
        (hit,) = (await here.call("search", query="house", namespace=HERE))["hits"]
        assert ("missing_anchors" in hit, hit["effective_confidence"]) == (False, 0.7)


async def test_a_sweep_that_could_not_look_says_why(world: World, home: HomeAssistant) -> None:
    await world.remember("house", anchors=["entity:sun.sun"])
    assert (await world.call("anchor_sweep"))["note"] == NO_HOME_ASSISTANT
    async with at_home(world, home) as here:
        home.answers(500, {})
        assert (await here.call("anchor_sweep"))["note"] == NO_ANSWER
        home.has(["sun.sun"])
        assert "note" not in await here.call("anchor_sweep")


async def test_ten_thousand_entities_are_swept_within_a_second(world: World, home: HomeAssistant) -> None:
    for number in range(0, 320, 16):
        ties = [f"entity:sensor.s{each}" for each in range(number, number + 16)]
        await world.remember(f"record {number}", anchors=ties)
    home.has(f"sensor.s{number}" for number in range(10_000))
    async with open_states(home.url, TOKEN) as reader:
        here = replace(world, services=replace(world.services, entity_states=reader))
        began = time.perf_counter()
        result = await here.call("anchor_sweep")
        took = time.perf_counter() - began
    assert (result["checked"], result["changed"]) == (320, 320)
    assert took < 1.0
    assert len(home.body) > 3_000_000


async def test_nothing_of_a_body_or_the_token_reaches_an_answer_the_audit_or_the_database(
    world: World, home: HomeAssistant
) -> None:
    await world.remember("house", anchors=["entity:sun.sun"])
    async with at_home(world, home) as here:
        for status in (200, 500):
            home.answers(status, {"message": "zqxvkjw-body", "token": "zqxvkjw"})
            reply = await here.call("anchor_sweep")
            assert "zqxvkjw" not in str(reply)
        rows = [await here.rows(f"SELECT * FROM {table}") for table in ("audit", "anchors", "observations")]
        assert "zqxvkjw" not in str(rows)
        assert TOKEN not in str(rows)


def test_the_client_can_do_nothing_but_get_the_states() -> None:
    public = [name for name, _ in inspect.getmembers(EntityStates, inspect.isfunction) if not name.startswith("_")]
    assert public == ["read"]
    source = inspect.getsource(client)
    assert source.count("_http.") == source.count('_http.stream("GET", "/api/states")') == 1


# /health


async def health(world: World) -> dict[str, object]:
    found: dict[str, object] = (await world.request("GET", "/health")).json["anchor_sweep"]
    return found


async def test_health_reads_the_last_sweep_from_its_audit_row_after_a_restart(
    inline_store: Store, home: HomeAssistant
) -> None:
    async with open_world(inline_store) as world:
        assert await health(world) is None
        await world.remember("house", anchors=["entity:sun.sun", "entity:light.attic"])
        async with at_home(world, home) as here:
            home.has(ENTITIES)
            await sweep(here)
            first = await health(world)
            await sweep(here)
            second = await health(world)
    assert (first["checked"], first["changed"], first["unavailable"]) == (2, 1, 0)
    async with open_world(inline_store) as world:
        assert await health(world) == second
        assert (second["checked"], second["changed"], second["unavailable"]) == (2, 1, 0)


# On its own clock


class Counting(EntityStates):
    """Counts the looks, and notes when they came."""

    def __init__(self) -> None:
        self.looks: list[float] = []

    async def read(self) -> frozenset[str] | None:
        await trio.lowlevel.checkpoint()
        self.looks.append(trio.current_time())
        return frozenset({"sun.sun"})


@pytest.mark.parametrize("hours", [1, 6, 168])
async def test_the_sweep_runs_a_while_after_the_start_and_then_every_so_many_hours(
    inline_store: Store, nursery: trio.Nursery, autojump_clock: trio.testing.MockClock, hours: int
) -> None:
    async with open_world(inline_store) as world:
        looks = Counting()
        services = replace(world.services, entity_states=looks)
        began = trio.current_time()

        async def run(*, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
            await run_anchor_sweep(services, every_hours=hours, task_status=task_status)

        await nursery.start(run)
        await trio.sleep(FIRST_S - 1)
        assert looks.looks == []
        await trio.sleep(hours * 3600 * 3 + 2)
        places = [round(look - began) for look in looks.looks]
        assert places == [FIRST_S + turn * hours * 3600 for turn in range(4)]
        assert {row.client for row in await world.audited() if row.action == "anchor-sweep"} == {"server"}
        nursery.cancel_scope.cancel()
