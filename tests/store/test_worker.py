"""The store worker: group commit, rollback, cancellation and stopping."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from agent_memory.domain.errors import Busy, StoreUnavailable
from agent_memory.store import audit
from agent_memory.store.worker import GROUP_MAX, Store
from support.world import Ticking


def note(action: str) -> Callable[[apsw.Connection], str]:
    """A unit that writes one audit row."""

    def work(conn: apsw.Connection) -> str:
        audit.note(conn, at="2026-01-01T00:00:00.000Z", client="test", action=action)
        return action

    return work


def actions(conn: apsw.Connection) -> set[str]:
    return {row.action for row in audit.latest(conn, limit=10_000)}


def connection(store: Store) -> apsw.Connection:
    assert store._connection is not None
    return store._connection


class Gated:
    """Runs batches inline, each once `open` is set; counts them."""

    def __init__(self) -> None:
        self.open = trio.Event()
        self.open.set()
        self.batches = 0

    async def __call__(self, function: Callable[[], Any], /) -> Any:
        await self.open.wait()
        self.batches += 1
        return function()


@pytest.fixture
def gated() -> Gated:
    return Gated()


@pytest.fixture
async def slow(tmp_path: Path, nursery: trio.Nursery, gated: Gated) -> Any:
    """A store that works only while its gate is open."""
    with Store(tmp_path / "data", now=Ticking(), in_thread=gated, waiting_max=8) as store:
        await nursery.start(store.run)
        yield store
        gated.open.set()


async def test_many_writers_share_one_commit(inline_store: Store) -> None:
    commits: list[bool] = []
    connection(inline_store).set_commit_hook(lambda: bool(commits.append(True)))
    answers: list[str] = []

    async def write(number: int) -> None:
        answers.append(await inline_store.write(note(f"a{number}")))

    async with trio.open_nursery() as nursery:
        for number in range(GROUP_MAX + 10):
            nursery.start_soon(write, number)
    connection(inline_store).set_commit_hook(None)
    # The worker takes the first call when it comes, or a whole group; never one commit for each.
    assert len(commits) <= 3
    assert len(answers) == GROUP_MAX + 10
    assert await inline_store.read(actions) == set(answers)


async def test_a_write_shares_its_commit_with_what_tasks_bring_that_are_ready(inline_store: Store) -> None:
    commits: list[bool] = []
    connection(inline_store).set_commit_hook(lambda: bool(commits.append(True)))

    async def write_after(turns: int) -> None:
        for _ in range(turns):
            await trio.lowlevel.checkpoint()
        await inline_store.write(note(f"a{turns}"))

    async with trio.open_nursery() as nursery:
        for turns in (0, 3, 6):
            nursery.start_soon(write_after, turns)
    connection(inline_store).set_commit_hook(None)
    assert len(commits) == 1


async def test_a_failing_unit_is_undone_alone(inline_store: Store) -> None:
    def fail(conn: apsw.Connection) -> None:
        note("half")(conn)
        raise RuntimeError("on purpose")

    caught: list[str] = []

    async def broken() -> None:
        try:
            await inline_store.write(fail)
        except RuntimeError as error:
            caught.append(str(error))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(inline_store.write, note("before"))
        nursery.start_soon(broken)
        nursery.start_soon(inline_store.write, note("after"))
    assert caught == ["on purpose"]
    assert await inline_store.read(actions) == {"before", "after"}
    assert not connection(inline_store).in_transaction


async def test_a_constraint_that_fails_undoes_its_unit_alone(inline_store: Store) -> None:
    def twice(conn: apsw.Connection) -> None:
        note("first")(conn)
        conn.execute("INSERT INTO usage (record_id) VALUES ('no such record')")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(inline_store.write, note("neighbour"))
        with pytest.raises(apsw.ConstraintError):
            await inline_store.write(twice)
    assert await inline_store.read(actions) == {"neighbour"}


async def test_a_lost_transaction_answers_every_unit_and_stores_nothing(slow: Store, gated: Gated) -> None:
    """A unit that rolls back the whole transaction takes its neighbours with it; none may be told it is stored."""
    gated.open = trio.Event()
    failures: list[str] = []

    async def write(work: Callable[[apsw.Connection], Any]) -> None:
        try:
            await slow.write(work)
        except StoreUnavailable as error:
            failures.append(str(error))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(slow.write, note("earlier"))
        await wait_all_tasks_blocked()  # the worker waits with this one alone
        nursery.start_soon(write, note("one"))
        await wait_all_tasks_blocked()
        nursery.start_soon(write, lambda conn: conn.execute("ROLLBACK"))
        await wait_all_tasks_blocked()
        nursery.start_soon(write, note("two"))
        await wait_all_tasks_blocked()
        gated.open.set()
    assert len(failures) == 3
    assert await slow.read(actions) == {"earlier"}
    await slow.write(note("later"))
    assert await slow.read(actions) == {"earlier", "later"}


async def test_a_commit_that_fails_answers_every_unit_and_stores_nothing(inline_store: Store) -> None:
    connection(inline_store).set_commit_hook(lambda: True)  # SQLite turns this commit into a rollback
    with pytest.raises(StoreUnavailable):
        await inline_store.write(note("refused"))
    connection(inline_store).set_commit_hook(None)
    assert not connection(inline_store).in_transaction
    await inline_store.write(note("kept"))
    assert await inline_store.read(actions) == {"kept"}


async def test_a_full_channel_says_busy_and_the_waiting_calls_are_answered(slow: Store, gated: Gated) -> None:
    gated.open = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(slow.write, note("first"))
        await wait_all_tasks_blocked()
        for number in range(8):
            nursery.start_soon(slow.write, note(f"w{number}"))
        await wait_all_tasks_blocked()
        with pytest.raises(Busy) as refused:
            await slow.write(note("one too many"))
        with pytest.raises(Busy):
            await slow.read(actions)
        assert refused.value.retry_after_s >= 1
        gated.open.set()
    assert await slow.read(actions) == {"first", *(f"w{number}" for number in range(8))}


async def test_a_started_write_commits_though_its_caller_is_cancelled(slow: Store, gated: Gated) -> None:
    gated.open = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(slow.write, note("started"))
        await wait_all_tasks_blocked()  # the worker has taken it
        nursery.cancel_scope.cancel()
    gated.open.set()
    await slow.write(note("next"))
    assert await slow.read(actions) == {"started", "next"}
    assert not connection(slow).in_transaction


async def test_a_write_cancelled_before_it_started_never_runs(slow: Store, gated: Gated) -> None:
    gated.open = trio.Event()
    async with trio.open_nursery() as outer:
        outer.start_soon(slow.write, note("started"))
        await wait_all_tasks_blocked()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(slow.write, note("waiting"))
            nursery.start_soon(slow.read, actions)
            await wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()
        gated.open.set()
    assert await slow.read(actions) == {"started"}


async def test_a_call_after_its_scope_was_cancelled_never_runs(inline_store: Store) -> None:
    with trio.CancelScope() as scope:
        scope.cancel()
        await inline_store.write(note("too late"))
    assert await inline_store.read(actions) == set()


async def test_stopping_answers_the_calls_that_wait(tmp_path: Path, nursery: trio.Nursery, gated: Gated) -> None:
    answers: list[str] = []

    async def write(store: Store, number: int) -> None:
        answers.append(await store.write(note(f"w{number}")))

    async with trio.open_nursery() as callers:
        with Store(tmp_path / "data", now=Ticking(), in_thread=gated) as store:
            await nursery.start(store.run)
            gated.open = trio.Event()
            for number in range(20):
                callers.start_soon(write, store, number)
            await wait_all_tasks_blocked()
        gated.open.set()
    assert len(answers) == 20
    with pytest.raises(StoreUnavailable, match="stopping"):
        await store.write(note("late"))
    with apsw.Connection(str(store.path)) as fresh:
        assert len(actions(fresh)) == 20


async def test_cancelling_the_worker_finishes_its_transaction_and_strands_no_caller(
    tmp_path: Path, gated: Gated
) -> None:
    """A bug elsewhere cancels everything: what was started is on disk, and whoever waits learns that it ends."""
    answers: list[object] = []

    async def write(store: Store, action: str) -> None:
        try:
            answers.append(await store.write(note(action)))
        except StoreUnavailable as error:
            answers.append(type(error))

    with Store(tmp_path / "data", now=Ticking(), in_thread=gated) as store:
        async with trio.open_nursery() as callers:
            async with trio.open_nursery() as nursery:
                await nursery.start(store.run)
                gated.open = trio.Event()
                callers.start_soon(write, store, "started")
                await wait_all_tasks_blocked()
                callers.start_soon(write, store, "waiting")
                await wait_all_tasks_blocked()
                nursery.cancel_scope.cancel()
                gated.open.set()
            callers.cancel_scope.deadline = trio.current_time() + 2
    assert "started" in answers
    assert StoreUnavailable in answers or "waiting" in answers
    with apsw.Connection(str(store.path)) as fresh:
        assert "started" in actions(fresh)


async def test_reads_see_every_answered_write(store: Store) -> None:
    async def hand(number: int) -> None:
        for turn in range(10):
            action = f"h{number}.{turn}"
            await store.write(note(action))
            assert action in await store.read(actions)

    async with trio.open_nursery() as nursery:
        for number in range(8):
            nursery.start_soon(hand, number)


@pytest.mark.parametrize(("reading_s", "visits"), [(3600.0, 1), (0.0, 5)])
async def test_waiting_reads_share_a_visit_of_the_thread_until_it_has_taken_long(
    slow: Store, gated: Gated, monkeypatch: pytest.MonkeyPatch, reading_s: float, visits: int
) -> None:
    monkeypatch.setattr("agent_memory.store.worker.READING_S", reading_s)
    answers: list[int] = []

    async def read(number: int) -> None:
        answers.append(await slow.read(lambda conn: int(conn.execute("SELECT ?", (number,)).get)))

    gated.open = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(read, 0)
        await wait_all_tasks_blocked()  # the worker has taken this one, and the others wait for it
        for number in range(1, 6):
            nursery.start_soon(read, number)
        await wait_all_tasks_blocked()
        gated.open.set()
    assert sorted(answers) == [0, 1, 2, 3, 4, 5]
    assert gated.batches == 1 + visits


async def test_a_scan_has_a_visit_of_its_own_behind_reads_and_writes(slow: Store, gated: Gated) -> None:
    visits: dict[str, int] = {}

    async def ask(name: str, call: Callable[[Any], Any]) -> None:
        visits[name] = await call(lambda conn: gated.batches)

    gated.open = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask, "first", slow.read)
        await wait_all_tasks_blocked()
        for name, call in (("scan", slow.scan), ("write", slow.write), ("read", slow.read)):
            nursery.start_soon(ask, name, call)
        await wait_all_tasks_blocked()
        gated.open.set()
    assert visits == {"first": 1, "read": 2, "write": 3, "scan": 4}


async def test_a_read_that_begins_a_transaction_leaves_none_open(inline_store: Store) -> None:
    await inline_store.read(lambda conn: conn.execute("BEGIN"))
    assert not connection(inline_store).in_transaction
    await inline_store.write(note("free"))
    assert await inline_store.read(actions) == {"free"}


async def test_a_read_that_writes_fails_loudly_and_writes_nothing(inline_store: Store) -> None:
    with pytest.raises(apsw.ReadOnlyError):
        await inline_store.read(note("past the door"))
    await inline_store.write(note("through it"))
    assert await inline_store.read(actions) == {"through it"}


async def test_a_full_disk_answers_503_and_loses_nothing(inline_store: Store) -> None:
    await inline_store.write(note("before"))
    pages = int(connection(inline_store).pragma("page_count"))
    connection(inline_store).pragma("max_page_count", pages)

    def much(conn: apsw.Connection) -> None:
        for number in range(500):
            note(f"filler {number} " + "x" * 500)(conn)

    with pytest.raises(StoreUnavailable, match="disk is full"):
        await inline_store.write(much)
    assert not connection(inline_store).in_transaction
    assert await inline_store.read(actions) == {"before"}
    connection(inline_store).pragma("max_page_count", 1 << 30)
    await inline_store.write(note("after"))
    assert await inline_store.read(actions) == {"before", "after"}
    assert connection(inline_store).pragma("integrity_check") == "ok"
