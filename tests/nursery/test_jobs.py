"""The job queue at work: leases, retries, parking, and extraction that commits with its job."""

import json
from datetime import timedelta
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from agent_memory.domain.errors import SecretRefused
from agent_memory.domain.records import stamp
from agent_memory.llm.router import Router
from agent_memory.nursery.jobs import LEASE_S, Consumer, consumer_count, take_over
from agent_memory.store import jobs
from support.secrets import GITHUB_TOKEN
from support.tasks import Scripted, consumer_of, follow_trio, found_note, memories, router_over
from support.world import HERE, World, open_world

NOTES = "Note 17: the relay answers on port 7017."


async def close(world: World, notes: str = NOTES, **arguments: Any) -> str:
    """Queue an extraction as a session close does."""
    job_id = world.services.new_id()
    await world.store.write(
        partial(
            jobs.queue,
            job_id=job_id,
            kind="extract",
            client="owner",
            namespace=HERE,
            payload={"session": job_id, "summary": "Worked on the relay.", "notes": notes, **arguments},
            now=world.services.stamp(),
        )
    )
    return job_id


async def state(world: World, job_id: str) -> tuple[Any, ...]:
    (row,) = await world.rows("SELECT state, attempts, error FROM jobs WHERE id = ?", (job_id,))
    return row


async def candidates(world: World) -> list[tuple[Any, ...]]:
    return await world.rows("SELECT title, content, origin, model, writer, confidence FROM records ORDER BY id")


async def test_notes_become_candidates_with_model_writer_and_audit(world: World) -> None:
    follow_trio(world)
    job_id = await close(world)
    await consumer_of(world, router_over(Scripted(found_note))).step()
    assert await candidates(world) == [("Relay 17 port", NOTES, "extraction", "m", "owner", 0.5)]
    assert await state(world, job_id) == ("done", 1, None)
    assert await world.rows("SELECT payload FROM jobs") == [(None,)]
    rows = {row.action: row for row in await world.audited()}
    assert rows["extract"].context == {"job": job_id, "candidates": 1, "model": "m", "server": "http://s1"}
    assert rows["store-candidate"].context == {"type": "fact", "model": "m", "server": "http://s1"}
    assert rows["store-candidate"].record_id


async def test_what_the_namespace_holds_is_not_stored_again(world: World) -> None:
    await world.remember("Relay 17 port", NOTES)
    await world.remember("Something else", "Note 18: the relay answers on port 7018.", namespace="local/other")
    await close(world)
    await close(world, "Note 18: the relay answers on port 7018.")
    await close(world, "Note 18: the relay answers on port 7018.")
    consumer = consumer_of(world, router_over(Scripted(found_note)))
    for _ in range(3):
        assert await consumer.step()
    found = [row for row in await candidates(world) if row[2] == "extraction"]
    assert [row[0] for row in found] == ["Relay 18 port"]


async def test_notes_are_screened_as_text_and_not_as_the_json_they_wait_in(world: World) -> None:
    notes = "Credentials rotate on Mondays.\npassword: see the wiki\nThe token lives in the vault."
    await close(world, notes)
    ((payload,),) = await world.rows("SELECT payload FROM jobs")
    assert json.loads(payload)["notes"] == notes
    with pytest.raises(SecretRefused, match="jobs"):
        await close(world, f"It is {GITHUB_TOKEN} now.")


async def test_a_secret_that_a_model_puts_together_is_left_out(world: World) -> None:
    job_id = await close(world, "The deploy token is kept in the vault, see the page on tokens for production.")
    text = f"The deploy token kept in the vault is {GITHUB_TOKEN} for production."
    await consumer_of(world, router_over(Scripted(lambda _request: memories(("Deploy token", text))))).step()
    assert await candidates(world) == []
    assert (await state(world, job_id))[0] == "done"


async def test_nothing_is_claimed_while_no_server_is_live(world: World) -> None:
    job_id = await close(world)
    server = Scripted(found_note, up=False)
    router = router_over(server)
    await router.servers[0].probe(1)
    assert not await consumer_of(world, router).step()
    assert await state(world, job_id) == ("queued", 0, None)
    assert server.asked == []


async def test_a_job_that_every_model_fails_waits_longer_each_time_and_is_parked_and_shown(
    world: World, autojump_clock: MockClock
) -> None:
    follow_trio(world)
    job_id = await close(world, "Note 17: SECRET-FREE but private words about the relay.")
    server = Scripted(lambda _request: "no json here")
    consumer = consumer_of(world, router_over(server))
    tried: list[float] = []
    while (await state(world, job_id))[0] != "parked":
        if await consumer.step():
            tried.append(trio.current_time())
        await trio.sleep(1)
    waits = [round(after - before) for before, after in pairwise(tried)]
    assert len(tried) == 8
    assert waits == sorted(waits)
    assert 3 <= waits[0] <= 6
    kept, attempts, error = await state(world, job_id)
    assert (kept, attempts) == ("parked", 8)
    assert "m on http://s1" in error
    assert "private" not in error
    shown = (await world.request("GET", "/health")).json["jobs"]
    assert (shown["parked"], shown["queued"], shown["last_parked"][0]["id"]) == (1, 0, job_id)
    # A new start gives it one more try, and one more only.
    await take_over(world.services)
    assert await consumer.step()
    assert (await state(world, job_id))[:2] == ("parked", 8)


async def test_a_job_that_fails_by_a_bug_of_ours_takes_no_server_down(world: World) -> None:
    follow_trio(world)
    job_id = await close(world, notes=17)
    consumer = consumer_of(world, router_over(Scripted(found_note)))
    assert await consumer.step()
    assert (await state(world, job_id))[:2] == ("queued", 1)
    assert (await state(world, job_id))[2] == "bug: TypeError"


async def test_a_job_whose_worker_dies_each_time_is_parked_without_being_tried_again(world: World) -> None:
    job_id = await close(world)
    await world.store.write(lambda conn: conn.execute("UPDATE jobs SET attempts = 8"))
    server = Scripted(found_note)
    consumer = consumer_of(world, router_over(server))
    assert await consumer.step()
    assert await state(world, job_id) == ("parked", 9, jobs.WORKER_DIED)
    await take_over(world.services)
    assert (await state(world, job_id))[0] == "parked"
    assert server.asked == []


async def test_a_long_job_keeps_its_lease(world: World, autojump_clock: MockClock) -> None:
    follow_trio(world)
    job_id = await close(world)
    slow, quick = Scripted(found_note, delay_s=4 * LEASE_S), Scripted(found_note)
    router: Router = router_over(slow)
    router._timeout_s = 10_000
    async with trio.open_nursery() as nursery:
        nursery.start_soon(consumer_of(world, router).step)
        await trio.sleep(2 * LEASE_S)
        assert not await consumer_of(world, router_over(quick)).step()
    assert await state(world, job_id) == ("done", 1, None)
    assert len(await candidates(world)) == 1


async def test_a_lost_lease_stores_nothing(world: World, autojump_clock: MockClock) -> None:
    now = follow_trio(world)
    job_id = await close(world)
    slow = consumer_of(world, router_over(Scripted(found_note, delay_s=20)))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(slow.step)
        await trio.sleep(5)
        later = stamp(now() + timedelta(days=1))  # the machine slept, and the lease ran out
        taken = await world.store.write(partial(jobs.claim, now=later, leased_until=later))
        assert taken is not None
        assert taken.attempts == 2
    assert await candidates(world) == []
    assert await state(world, job_id) == ("leased", 2, None)
    assert await world.store.write(partial(jobs.finish, job_id=job_id, attempts=2, now=later))


async def test_a_stopped_consumer_gives_its_job_back_uncounted(world: World, autojump_clock: MockClock) -> None:
    follow_trio(world)
    job_id = await close(world)
    consumer = consumer_of(world, router_over(Scripted(found_note, delay_s=60)))
    with trio.move_on_after(5):
        await consumer.run()
    assert await state(world, job_id) == ("queued", 0, None)
    assert await consumer_of(world, router_over(Scripted(found_note))).step()
    assert await state(world, job_id) == ("done", 1, None)


async def test_two_hundred_jobs_over_a_slow_and_a_dying_server_are_each_done_once(
    inline_store: Any, autojump_clock: MockClock
) -> None:
    async with open_world(inline_store) as world:
        follow_trio(world)
        ids = [await close(world, f"Note {n}: the relay answers on port {7000 + n}.") for n in range(200)]
        slow, dying = Scripted(found_note, delay_s=3), Scripted(found_note, delay_s=0.5)
        router = router_over(slow, dying)
        consumer: Consumer = consumer_of(world, router)
        async with trio.open_nursery() as nursery:
            for _ in range(consumer_count(2)):
                nursery.start_soon(consumer.run)
            await trio.sleep(20)
            dying.up = False
            while (await world.store.read(jobs.depth)).get("done", 0) < len(ids):
                await trio.sleep(5)
            nursery.cancel_scope.cancel()
        assert await world.store.read(jobs.depth) == {"done": 200}
        titles = [row[0] for row in await candidates(world)]
        assert sorted(titles) == sorted(f"Relay {n} port" for n in range(200))
        assert min(len(slow.asked), len(dying.asked)) > 10
