"""Retention on its own clock: soon after the start, then hourly, and each thing once when its day has passed."""

from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
import trio

from agent_memory.domain.errors import StoreUnavailable
from agent_memory.domain.records import stamp
from agent_memory.nursery.retention import EVERY_S, FIRST_S, purge_once, run_retention
from agent_memory.store import audit
from agent_memory.store.worker import Store
from support.world import HERE, World, open_world

START = datetime(2026, 1, 1, 12, tzinfo=UTC)


def virtual(began: float) -> datetime:
    return START + timedelta(seconds=trio.current_time() - began)


async def forgotten(world: World) -> int:
    ((count,),) = await world.rows("SELECT count(*) FROM records")
    return int(count)


async def test_retention_looks_hourly_and_purges_what_a_whole_number_of_days_has_passed_over(
    inline_store: Store, nursery: trio.Nursery, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_world(inline_store) as world:
        began = trio.current_time()
        now = partial(virtual, began)
        object.__setattr__(world.services, "now", now)
        await nursery.start(partial(run_retention, inline_store, days=2, now=now))
        record_id = await world.remember("gone")
        await world.call("forget", id=record_id)  # at noon of the first day
        await trio.sleep(timedelta(days=2, hours=11).total_seconds())
        assert await forgotten(world) == 1  # 23:00 of the third day
        await trio.sleep(3600 + 2 * FIRST_S)
        assert await forgotten(world) == 0  # the first look after midnight: more than two days, less than three
        purges = [row for row in await world.audited() if row.action == "purge"]
        assert [row.context["records"] for row in purges] == [1]
        assert len([row for row in await world.audited() if row.action == "scrub"]) == 1
        nursery.cancel_scope.cancel()


async def test_retention_begins_soon_after_the_start_and_goes_on_after_a_store_that_cannot(
    inline_store: Store, nursery: trio.Nursery, autojump_clock: trio.testing.MockClock
) -> None:
    looks: list[float] = []
    began = trio.current_time()

    def now() -> datetime:
        looks.append(trio.current_time() - began)
        if len(looks) == 2:
            raise StoreUnavailable("the disk is full; nothing was stored")
        return START

    await nursery.start(partial(run_retention, inline_store, days=30, now=now))
    await trio.sleep(FIRST_S + 3 * EVERY_S + 1)
    assert looks == [FIRST_S + turn * EVERY_S for turn in range(4)]
    nursery.cancel_scope.cancel()


async def test_retention_leaves_a_day_to_undo_a_restore_and_a_hard_forget_leaves_none(world: World) -> None:
    aside = world.store.path.parent / "safety" / "replaced-20260301T120000Z"
    aside.mkdir(parents=True)
    gone, other = await world.remember("gone"), await world.remember("other")
    await world.call("forget", id=gone)
    purged = []
    for hours in (0, 1, 23, 25):
        at = datetime(2026, 3, 1, 12, tzinfo=UTC) + timedelta(hours=hours)
        purged.append((await purge_once(world.store, days=30, now=at)).records)
        assert aside.exists() == (hours < 24)
    assert purged == [0, 0, 0, 1]
    aside.mkdir()
    await world.call("forget", id=other, hard=True)
    assert not aside.exists()


async def test_the_scrub_of_a_hard_forget_is_made_up_for_on_the_day_of_a_restore(world: World) -> None:
    restored = datetime.now(UTC).replace(microsecond=0)
    aside = world.store.path.parent / "safety" / f"replaced-{restored:%Y%m%dT%H%M%SZ}"
    aside.mkdir(parents=True)

    async def erased(at: datetime) -> None:
        note = partial(audit.note, at=stamp(at), client="owner", action="forget-hard")
        await world.store.write(note)  # as a process that died before its scrub left it
        await purge_once(world.store, days=30, now=restored + timedelta(hours=1))

    await erased(restored - timedelta(days=3))  # in the backup, which holds no traces
    assert aside.exists()
    await erased(restored + timedelta(minutes=1))
    assert not aside.exists()


async def test_the_latest_sweep_and_review_still_tell_how_the_server_does_after_a_purge(world: World) -> None:
    await world.call("anchor_sweep")
    await world.call("anchor_sweep")
    world.services.now.now += timedelta(days=40)  # type: ignore[attr-defined]
    await purge_once(world.store, days=30, now=world.services.now())
    sweeps = [row.context for row in await world.audited() if row.action == "anchor-sweep"]
    assert sweeps == [{"changed": 0, "checked": 0, "unavailable": 0}, {}]
    assert (await world.request("GET", "/health")).json["anchor_sweep"]["checked"] == 0


@pytest.mark.parametrize("days", [1, 30])
async def test_what_is_live_or_superseded_is_never_purged(world: World, days: int) -> None:
    old = await world.remember("old")
    new = await world.remember("new", supersedes=old)
    world.services.now.now += timedelta(days=400)  # type: ignore[attr-defined]
    await purge_once(world.store, days=days, now=world.services.now())
    found = (await world.call("get", ids=[old, new], namespace=HERE))["records"]
    assert [record["status"] for record in found] == ["superseded", "active"]


async def test_notes_that_wait_for_a_model_server_are_kept_no_longer_than_anything_else(inline_store: Store) -> None:
    async with open_world(inline_store, ollama_url="http://127.0.0.1:1") as world:
        object.__setattr__(world.services, "now", lambda: START)
        await world.call("session_close", namespace=HERE, summary="Done.", notes="The relay is on port 18.")
        await purge_once(inline_store, days=30, now=START + timedelta(days=29))
        assert await world.rows("SELECT state FROM jobs") == [("queued",)]
        await purge_once(inline_store, days=30, now=START + timedelta(days=32))
        assert await world.rows("SELECT state FROM jobs") == []
