"""The seed's Anchors section, sentence by sentence, through the tools."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
import trio
from apsw import Connection

from agent_memory.domain.errors import SecretRefused
from agent_memory.homeassistant.states import EntityStates
from agent_memory.store import evidence
from agent_memory.store.worker import Store
from support.world import ELSEWHERE, HERE, SECRET, World, open_world

PATH = "path:src/app.py"


async def get(world: World, record_id: str) -> dict[str, Any]:
    (record,) = (await world.call("get", ids=[record_id]))["records"]
    return dict(record)


async def report(world: World, record_id: str, state: str, anchor: str = PATH, **more: Any) -> dict[str, Any]:
    return await world.call("anchor_report", reports=[{"id": record_id, "anchor": anchor, "state": state, **more}])


async def trail(world: World, record_id: str) -> list[tuple[str, str, str, str]]:
    rows = await world.store.read(partial(evidence.trail, record_id=record_id))
    return [(row.source, row.witness, row.stance, row.quote) for row in rows]


async def test_an_anchor_starts_unchecked_and_keeps_its_last_definitive_state(world: World) -> None:
    record_id = await world.remember("t", anchors=[PATH])
    states = []
    for seen in ("unavailable", "ok", "unavailable", "missing", "unavailable", "ok"):
        await report(world, record_id, seen)
        states.append((await get(world, record_id))["anchors"][0]["state"])
    assert states == ["unchecked", "ok", "ok", "missing", "missing", "ok"]


async def test_a_record_goes_on_living_when_the_screen_has_learnt_to_refuse_its_texts(world: World) -> None:
    """What does not change is not written anew: state of an anchor, status and tags of its record."""
    record_id = await world.remember("t", anchors=[PATH, "path:other.py"])

    def age(conn: Connection) -> None:  # as if stored before the rule was there: without bindings nothing is screened
        conn.execute(f"UPDATE anchors SET anchor = 'path:{SECRET}' WHERE anchor = '{PATH}'")
        conn.execute(f"UPDATE records SET title = '{SECRET}', content = '{SECRET}'")

    await world.store.write(age)
    assert (await report(world, record_id, "ok", f"path:{SECRET}"))["applied"] == 1
    revision = (await get(world, record_id))["revision"]
    for changes in ({"status": "candidate"}, {"status": "active", "tags": ["old"]}, {"confidence": 0.9}):
        record = (await world.call("update", id=record_id, revision=revision, changes=changes))["record"]
        revision = record["revision"]
    assert (record["status"], record["tags"], record["confidence"]) == ("active", ["old"], 0.9)
    assert [tie["state"] for tie in record["anchors"]] == ["ok", "unchecked"]
    with pytest.raises(SecretRefused):
        await world.call("update", id=record_id, revision=revision, changes={"content": SECRET + " anew"})


async def test_unavailable_since_stands_from_the_first_unavailable_report_to_the_next_definitive_one(
    world: World,
) -> None:
    record_id = await world.remember("t", anchors=[PATH])
    await report(world, record_id, "unavailable")
    (tie,) = (await get(world, record_id))["anchors"]
    since = tie["unavailable_since"]
    await report(world, record_id, "unavailable")
    (tie,) = (await get(world, record_id))["anchors"]
    assert tie["unavailable_since"] == since
    await report(world, record_id, "ok")
    assert "unavailable_since" not in (await get(world, record_id))["anchors"][0]


async def test_an_unavailable_report_files_nothing_and_advances_nothing(world: World) -> None:
    record_id = await world.remember("t", anchors=[PATH])
    for seen, revision in (("ok", 2), ("unavailable", 2), ("missing", 3), ("unavailable", 3)):
        await report(world, record_id, seen)
        assert (await get(world, record_id))["revision"] == revision
    assert len(await trail(world, record_id)) == 1


async def test_only_a_swap_between_ok_and_missing_files_one_observation_that_names_the_anchor(world: World) -> None:
    record_id = await world.remember("t", anchors=[PATH])
    for seen in ("missing", "missing", "ok", "ok", "missing"):
        await report(world, record_id, seen, detail="looked in main")
    assert await trail(world, record_id) == [
        ("anchor", "owner", "corroborates", f"{PATH} is ok: looked in main"),
        ("anchor", "owner", "contradicts", f"{PATH} is missing: looked in main"),
    ]


async def test_the_revision_advances_on_a_change_of_state_and_on_nothing_less(world: World) -> None:
    record_id = await world.remember("t", anchors=[PATH])
    for seen, revision in (("ok", 2), ("ok", 2), ("missing", 3), ("missing", 3), ("ok", 4)):
        await report(world, record_id, seen)
        assert (await get(world, record_id))["revision"] == revision


async def test_confidence_counts_an_anchor_once_by_its_state_now(world: World) -> None:
    record_id = await world.remember("t", anchors=[PATH, "host:nas"])
    await world.call("corroborate", "author", id=record_id, quote="seen", stance="corroborates")
    assert (await get(world, record_id))["effective_confidence"] == 0.8
    for seen, earned, refutations in (("missing", 0.4, 1), ("ok", 0.8, 0), ("missing", 0.4, 1), ("missing", 0.4, 1)):
        await report(world, record_id, seen)
        record = await get(world, record_id)
        assert (record["effective_confidence"], record["refutation_count"]) == (earned, refutations)
    await report(world, record_id, "missing", "host:nas")
    assert (await get(world, record_id))["effective_confidence"] == 0.2
    await report(world, record_id, "ok")
    record = await get(world, record_id)
    assert (record["effective_confidence"], record["proof_count"], record["refutation_count"]) == (0.4, 1, 1)


async def test_an_update_that_drops_a_missing_anchor_drops_what_it_counted(world: World) -> None:
    record_id = await world.remember("t", anchors=[PATH, "host:nas"])
    await report(world, record_id, "missing")
    await world.call("update", id=record_id, revision=2, changes={"anchors": ["host:nas"]})
    record = await get(world, record_id)
    assert (record["effective_confidence"], record["refutation_count"]) == (0.7, 0)
    assert "missing_anchors" not in record


async def test_an_anchor_that_an_update_keeps_keeps_its_state(world: World) -> None:
    record_id = await world.remember("t", anchors=[PATH])
    await report(world, record_id, "missing")
    await world.call("update", id=record_id, revision=2, changes={"anchors": ["host:nas", PATH]})
    assert (await get(world, record_id))["anchors"] == [
        {"anchor": "host:nas", "state": "unchecked"},
        {"anchor": PATH, "state": "missing"},
    ]


async def test_a_missing_anchor_shows_in_search_get_timeline_bootstrap_and_project_context(world: World) -> None:
    record_id = await world.remember("apple pie", anchors=[PATH, "host:nas"], type="decision")
    asked: list[tuple[str, dict[str, Any], str]] = [
        ("search", {"namespace": HERE, "query": "apple"}, "hits"),
        ("get", {"ids": [record_id]}, "records"),
        ("timeline", {"namespace": HERE}, "records"),
        ("bootstrap", {"namespace": HERE}, "items"),
        ("project_context", {"namespace": HERE, "task": "apple"}, "entries"),
    ]
    for tool, arguments, field in asked:
        assert "missing_anchors" not in (await world.call(tool, **arguments))[field][0]
    await report(world, record_id, "missing")
    await report(world, record_id, "ok", "host:nas")
    for tool, arguments, field in asked:
        assert (await world.call(tool, **arguments))[field][0]["missing_anchors"] == [PATH], tool


async def test_memory_anchors_lists_each_with_its_records_namespace_and_filters_by_namespace_kind_and_state(
    world: World,
) -> None:
    here = await world.remember("h", anchors=[PATH, "host:nas", "url:https://example.org/a", "entity:light.kitchen"])
    there = await world.remember("t", anchors=[PATH], namespace=ELSEWHERE)
    gone = await world.remember("g", anchors=[PATH])
    await world.call("forget", id=gone)
    await report(world, here, "missing")
    await report(world, here, "unavailable", "host:nas")

    async def listed(**filters: Any) -> list[tuple[str, str, str]]:
        found = (await world.call("anchors", **filters))["anchors"]
        return [(each["id"], each["namespace"], each["anchor"]) for each in found]

    assert len(await listed()) == 5
    assert await listed(namespace=ELSEWHERE) == [(there, ELSEWHERE, PATH)]
    assert await listed(kind="path") == [(here, HERE, PATH), (there, ELSEWHERE, PATH)]
    assert await listed(state="missing") == [(here, HERE, PATH)]
    assert await listed(kind="url", state="unchecked", namespace=HERE) == [(here, HERE, "url:https://example.org/a")]
    (nas,) = (await world.call("anchors", kind="host"))["anchors"]
    assert (nas["state"], bool(nas["unavailable_since"])) == ("unchecked", True)


async def test_a_report_is_applied_unchanged_or_refused_each_on_its_own(world: World) -> None:
    record_id = await world.remember("t", anchors=[PATH, "host:nas", "entity:light.kitchen"])
    gone = await world.remember("g", anchors=[PATH])
    await world.call("forget", id=gone)
    states = [
        (record_id, PATH, "ok"),
        (record_id, PATH, "ok"),
        (record_id, "HOST:NAS", "missing"),
        (record_id, "path:other", "ok"),
        (record_id, "nonsense", "ok"),
        (record_id, "entity:light.kitchen", "missing"),
        (gone, PATH, "missing"),
        ("0" * 32, PATH, "missing"),
        ("short", PATH, "missing"),
    ]
    reports = [{"id": each, "anchor": anchor, "state": state} for each, anchor, state in states]
    result = await world.call("anchor_report", reports=reports)
    assert (result["applied"], result["unchanged"]) == (2, 1)
    assert [(each["id"], each["anchor"]) for each in result["refused"]] == [each[:2] for each in states[3:]]
    assert (await get(world, record_id))["missing_anchors"] == ["host:nas"]


async def test_a_report_with_an_unknown_field_is_an_error_and_not_silence(world: World) -> None:
    record_id = await world.remember("t", anchors=[PATH])
    reply = await world.rest("anchor_report", reports=[{"id": record_id, "anchor": PATH, "state": "ok", "detial": "x"}])
    assert (reply.status, reply.code) == (422, "invalid_argument")


async def test_an_anchor_stored_under_older_rules_can_still_be_reported(world: World) -> None:
    record_id = await world.remember("t", anchors=[PATH])
    old = "path:../outside"  # no anchor by today's rules
    await world.store.write(lambda conn: conn.execute("UPDATE anchors SET anchor = ?", (old,)).fetchall())
    assert (await report(world, record_id, "missing", old))["applied"] == 1


async def test_a_reported_url_with_a_credential_is_refused_and_audited(world: World) -> None:
    record_id = await world.remember("t", anchors=[PATH])
    with pytest.raises(SecretRefused):
        await report(world, record_id, "ok", "url:https://u:Xk9Trq2Lm7w@example.org/")
    assert (await world.audited(1))[0].context["pattern"] == "url-userinfo"


# The sweep's tool, over answers as the client of Home Assistant hands them on


class Answers(EntityStates):
    """Hands out what the test says, one a look, the last one for ever."""

    def __init__(self, *answers: set[str] | None) -> None:
        self._answers = list(answers)

    async def read(self) -> frozenset[str] | None:
        await trio.lowlevel.checkpoint()
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return None if answer is None else frozenset(answer)


@pytest.fixture
async def home(inline_store: Store) -> AsyncIterator[World]:
    async with open_world(inline_store) as world:
        await world.remember("kitchen", anchors=["entity:light.kitchen", "entity:sun.sun", PATH])
        yield world


def at_home(world: World, *answers: set[str] | None) -> World:
    return replace(world, services=replace(world.services, entity_states=Answers(*answers)))


def pass_time(world: World, **parts: float) -> None:
    world.services.now.now += timedelta(**parts)  # type: ignore[attr-defined]


async def sweep(world: World) -> tuple[int, int, int]:
    result = await world.call("anchor_sweep")
    return result["checked"], result["changed"], result["unavailable"]


async def test_a_sweep_moves_entity_anchors_alone_and_takes_two_misses(home: World) -> None:
    world = at_home(home, {"sun.sun", "light.kitchen"}, {"sun.sun"})
    assert await sweep(world) == (2, 2, 0)
    pass_time(world, hours=6)
    assert await sweep(world) == (2, 0, 0)
    pass_time(world, hours=6)
    assert await sweep(world) == (2, 1, 0)
    (hit,) = (await world.call("search", query="kitchen", namespace=HERE))["hits"]
    assert hit["missing_anchors"] == ["entity:light.kitchen"]
    assert await trail(world, hit["id"]) == [("anchor", "server", "contradicts", "entity:light.kitchen is missing")]
    assert [row.client for row in await world.audited() if row.action == "anchor-sweep"] == ["owner"] * 3


async def test_two_sweeps_within_one_start_of_home_assistant_make_nothing_missing(home: World) -> None:
    world = at_home(home, {"sun.sun", "light.kitchen"}, {"sun.sun"})
    await sweep(world)
    for _ in range(10):  # an agent calls it again and again while integrations load
        pass_time(world, minutes=1)
        assert await sweep(world) == (2, 0, 0)
    pass_time(world, minutes=15)
    assert await sweep(world) == (2, 1, 0)


async def test_an_unavailable_look_between_two_misses_does_not_bring_them_closer(home: World) -> None:
    world = at_home(home, {"sun.sun", "light.kitchen"}, {"sun.sun"}, None, {"sun.sun"})
    await sweep(world)
    await sweep(world)
    pass_time(world, hours=1)
    assert await sweep(world) == (0, 0, 2)
    assert await sweep(world) == (2, 1, 0)


async def test_away_from_home_assistant_every_entity_is_unavailable_and_nothing_changes(home: World) -> None:
    assert home.services.entity_states is None
    assert await sweep(home) == (0, 0, 2)
    (record,) = (await home.call("timeline", namespace=HERE))["records"]
    assert record["revision"] == 1
    assert [bool(tie.get("unavailable_since")) for tie in record["anchors"]] == [True, True, False]
