"""The store worker: one task, one thread at a time, one connection; callers meet it at a bounded channel.

It owns transactions, group commit and the order of answers. What is read and written is the callers' business: a unit
of work is a plain function of the connection (the modules beside this one are made of such functions).
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from time import perf_counter
from types import TracebackType
from typing import Any, Final, Literal, Protocol, Self, TypeVar, cast

import apsw
import outcome
import trio

from agent_memory.domain.errors import Busy, ServiceError, StoreUnavailable
from agent_memory.domain.screen.memo import ScreenMemo
from agent_memory.logs import Log
from agent_memory.store import changes
from agent_memory.store.changes import Follower
from agent_memory.store.connection import DATABASE, close_database, locked_folder, open_database, refusals
from agent_memory.store.migrations import accept, migrate
from agent_memory.store.statement_screen import StatementScreen

log = Log("store")

T = TypeVar("T")
Work = Callable[[apsw.Connection], T]
_Serve = Callable[[apsw.Connection, Sequence[Callable[[apsw.Connection], Any]]], list[outcome.Maybe[Any]]]

WAITING_MAX: Final = 512  # calls in the channel; beyond it callers are told to come back
GROUP_MAX: Final = 128  # writes that share one commit
# Reads share a visit of the worker's thread until it has taken this long: with eight clients and 10,000 records a sixth
# more searches a second than with a visit each, and a fourth less processor time, as threads change places less often.
READING_S: Final = 0.02
# Turns of the event loop without a new call before a batch is served: tasks that are ready bring theirs first. Alone, a
# call loses some 50 us; of eight clients' stores eight share a commit and not four, and a fourth more come through.
QUIET_TURNS: Final = 4

# What SQLite says when the file is the problem and not the statement.
_FILE_ERRORS: Final = (
    apsw.FullError,
    apsw.ReadOnlyError,
    apsw.IOError,
    apsw.CantOpenError,
    apsw.CorruptError,
    apsw.NotADBError,
    apsw.BusyError,
    apsw.LockedError,
)


class RunInThread(Protocol):
    """How a batch reaches the worker thread; tests on a virtual clock run it inline instead."""

    async def __call__(self, function: Callable[[], T], /) -> T: ...


@dataclass(eq=False, slots=True)
class _Call:
    work: Work[Any]
    kind: Literal["read", "write", "scan", "maintain"]
    done: trio.Event = field(default_factory=trio.Event)
    result: outcome.Maybe[Any] | None = None
    given_up: bool = False  # its caller was cancelled; work that has not started then never does

    def answer(self, result: outcome.Maybe[Any]) -> None:
        self.result = result
        self.done.set()


class Store:
    """The only door to the database.

    Use it as a context manager (which opens the file and holds the data folder), start `run` in a nursery, then await
    `read` and `write`. Leaving the context closes the channel; `run` ends after the calls already waiting, and closes
    the file.
    """

    def __init__(
        self,
        folder: Path,
        *,
        now: Callable[[], datetime],
        in_thread: RunInThread | None = None,
        waiting_max: int = WAITING_MAX,
        follower: Follower | None = None,
        screen: ScreenMemo | None = None,
    ) -> None:
        """
        Args:
          folder: the absolute data folder.
          now: the clock.
          in_thread: how a batch reaches the worker thread; the real thread when None.
          waiting_max: calls that may wait before callers are told to come back.
          follower: told of every record that a commit changed, before its writer is answered.
          screen: judges what statements write; the tools ask the same one, so that no text is judged twice.
        """
        self.path = folder / DATABASE
        self.journal_mode = ""
        self.follower = follower
        self.screen = screen or ScreenMemo()
        self._now = now
        self._in_thread = in_thread or _worker_thread()
        self._send, self._receive = trio.open_memory_channel[_Call](waiting_max)
        self._held = ExitStack()
        self._connection: apsw.Connection | None = None
        self._running = False

    def __enter__(self) -> Self:
        with ExitStack() as held:
            held.enter_context(locked_folder(self.path.parent))
            opened = open_database(self.path, accept=accept)
            held.callback(opened.connection.close)
            with refusals(self.path):
                applied = migrate(opened.connection, self.path, now=self._now())
            changes.watch(opened.connection)
            # From here on every string that a statement writes passes the screen, whoever wrote the statement.
            opened.connection.exec_trace = StatementScreen(self.screen)
            self._connection, self.journal_mode = opened.connection, opened.journal_mode
            self._held = held.pop_all()
        log.info("store-open", path=str(self.path), journal=self.journal_mode, migrations=len(applied))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._send.close()
        if not self._running:
            self._close()

    async def read(self, work: Work[T]) -> T:
        """Run a unit of work that only reads. Sees every answered write. Raises: Busy: the channel is full."""
        return cast(T, await self._call(_Call(work, "read")))

    async def write(self, work: Work[T]) -> T:
        """Run a unit of work in one transaction and return once its commit is on disk.

        An error in `work` undoes this unit alone. Cancelled before the work started, it never runs; cancelled later,
        it still commits, unseen.
        Raises: Busy: the channel is full. StoreUnavailable: the disk refused; nothing was stored.
        """
        return cast(T, await self._call(_Call(work, "write")))

    async def scan(self, work: Work[T]) -> T:
        """Run a unit of work that reads for longer than READING_S: no other call's answer waits for it.

        As `read` otherwise. Raises: Busy: the channel is full.
        """
        return cast(T, await self._call(_Call(work, "scan")))

    async def maintain(self, work: Work[T]) -> T:
        """Run a unit of work outside any transaction, with the connection to itself: VACUUM and checkpoints need that.

        Each statement in it commits by itself. Raises: Busy, StoreUnavailable, as `read` and `write`.
        """
        return cast(T, await self._call(_Call(work, "maintain")))

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Serve calls until the channel closes. Cancelled, it finishes the transaction and answers the rest."""
        self._running = True
        task_status.started()
        try:
            with self._receive:
                try:
                    async for first in self._receive:
                        await self._serve(await self._gathered(first))
                finally:
                    while waiting := self._waiting(GROUP_MAX):
                        for call in waiting:
                            call.answer(outcome.Error(StoreUnavailable("the server is stopping")))
        finally:
            self._close()

    async def _serve(self, batch: Sequence[_Call]) -> None:
        # All of these callers still wait, so any order among them is a true one: reads go first, and are not kept
        # waiting for a sync; the writes then share one commit; what takes long comes last, each in a visit of its own.
        reads = [call for call in batch if call.kind == "read" and not call.given_up]
        while reads:
            answered = await self._answer(reads, read_each)
            reads = [call for call in reads[answered:] if not call.given_up]
        writes = [call for call in batch if call.kind == "write" and not call.given_up]
        if writes:
            await self._answer(writes, commit_group)
        for call in batch:
            if call.kind in _LONG and not call.given_up:
                await self._answer([call], _LONG[call.kind])

    def _close(self) -> None:
        """Fold the WAL in, close the file and let the data folder go."""
        connection, self._connection = cast(apsw.Connection, self._connection), None
        connection.exec_trace = None
        try:
            close_database(connection)
        except apsw.Error as problem:  # the WAL stays and is folded in at the next start
            log.warning("checkpoint-failed", reason=type(problem).__name__)
        self._held.close()
        log.info("store-closed")

    async def _gathered(self, first: _Call) -> list[_Call]:
        """A call, and those that wait or come while tasks that are ready take their turns; GROUP_MAX in all."""
        calls, quiet = [first], 0
        while quiet <= QUIET_TURNS and len(calls) < GROUP_MAX:
            more = self._waiting(GROUP_MAX - len(calls))
            calls += more
            quiet = 0 if more else quiet + 1
            await trio.lowlevel.cancel_shielded_checkpoint()  # these calls are out of the channel: they get an answer
        return calls

    def _waiting(self, most: int) -> list[_Call]:
        calls: list[_Call] = []
        while len(calls) < most:
            try:
                calls.append(self._receive.receive_nowait())
            except (trio.WouldBlock, trio.EndOfChannel):
                break
        return calls

    async def _call(self, call: _Call) -> Any:
        await trio.lowlevel.checkpoint_if_cancelled()
        try:
            self._send.send_nowait(call)
        except trio.WouldBlock:
            raise Busy("the store has too many waiting calls") from None
        except (trio.ClosedResourceError, trio.BrokenResourceError):
            raise StoreUnavailable("the server is stopping") from None
        try:
            await call.done.wait()
        except trio.Cancelled:
            call.given_up = True
            raise
        assert call.result is not None
        return call.result.unwrap()

    async def _answer(self, calls: Sequence[_Call], serve: _Serve) -> int:
        """Serve calls in one visit of the thread. Returns: how many of them it came to, the first ones."""
        connection = cast(apsw.Connection, self._connection)
        works = [call.work for call in calls]

        def batch() -> tuple[list[outcome.Maybe[Any]], Any]:
            results = serve(connection, works)
            changed = changes.take(connection) if serve is commit_group else []
            return results, self.follower.digest(changed) if self.follower and changed else None

        # Shielded: a started transaction is finished and answered even while the nursery is being cancelled.
        with trio.CancelScope(shield=True):
            results, digested = await self._in_thread(batch)
        if self.follower and digested is not None:
            self.follower.apply(digested)
        for call, result in zip(calls, results, strict=False):
            call.answer(result)
        return len(results)


def read_each(connection: apsw.Connection, works: Sequence[Work[Any]]) -> list[outcome.Maybe[Any]]:
    """Run units that only read, each on its own, until READING_S have passed.

    Returns: one outcome a unit, in order, of the first unit at least.
    A unit that writes after all is a bug: it fails, and neither its write nor a transaction of its own is left behind.
    """
    connection.pragma("query_only", True)
    late = perf_counter() + READING_S
    try:
        results: list[outcome.Maybe[Any]] = []
        for work in works:
            if results and perf_counter() >= late:
                break
            results.append(_capture(work, connection, all_but=apsw.ReadOnlyError))
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        return results
    finally:
        connection.pragma("query_only", False)


def maintain_each(connection: apsw.Connection, works: Sequence[Work[Any]]) -> list[outcome.Maybe[Any]]:
    """Run units outside any transaction. Returns: one outcome a unit, in order."""
    return [_capture(work, connection) for work in works]


_LONG: Final[dict[str, _Serve]] = {"scan": read_each, "maintain": maintain_each}


def commit_group(connection: apsw.Connection, works: Sequence[Work[Any]]) -> list[outcome.Maybe[Any]]:
    """Run units of work in one transaction, each in its own savepoint, and commit once.

    Returns: one outcome a unit, in order. A unit that raises is undone alone. If the transaction cannot begin, go on
    or commit, every unit gets StoreUnavailable and nothing is stored. No transaction is open afterwards.
    """
    results: list[outcome.Maybe[Any]] = []
    try:
        connection.execute("BEGIN IMMEDIATE")
        for work in works:
            results.append(_capture(lambda conn, work=work: _in_savepoint(conn, work), connection))  # type: ignore[misc]
            if not connection.in_transaction:
                # SQLite gives up the whole transaction on a full disk or a failed read: nothing in it may be answered.
                raise apsw.FullError("the transaction was rolled back")
        connection.execute("COMMIT")
    except apsw.Error as error:
        return [outcome.Error(_unavailable(error)) for _ in works]
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    return results


def _in_savepoint(connection: apsw.Connection, work: Work[T]) -> T:
    connection.execute("SAVEPOINT unit")
    try:
        result = work(connection)
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK TO unit")
            connection.execute("RELEASE unit")
        raise
    connection.execute("RELEASE unit")
    return result


def _capture(
    work: Work[Any], connection: apsw.Connection, *, all_but: type[apsw.Error] | tuple[()] = ()
) -> outcome.Maybe[Any]:
    """The outcome of a unit; SQLite's errors about the file become StoreUnavailable, all others stay what they are."""
    result: outcome.Maybe[Any] = outcome.capture(work, connection)
    if not isinstance(result, outcome.Error) or isinstance(result.error, all_but):
        return result
    if isinstance(result.error, _FILE_ERRORS):
        return outcome.Error(_unavailable(result.error))
    return result


def _unavailable(error: apsw.Error) -> ServiceError:
    """What callers are told when the file is the problem; the log names SQLite's own code."""
    log.error("store-failed", kind=type(error).__name__, code=getattr(error, "extendedresult", 0))
    if isinstance(error, apsw.FullError):
        return StoreUnavailable("the disk is full; nothing was stored")
    if isinstance(error, apsw.ReadOnlyError | apsw.CantOpenError | apsw.PermissionsError):
        return StoreUnavailable("the data folder is read-only; nothing was stored")
    return StoreUnavailable(f"the database refused ({type(error).__name__}); nothing was stored")


def _worker_thread() -> RunInThread:
    limiter = trio.CapacityLimiter(1)

    async def run(function: Callable[[], T], /) -> T:
        return await trio.to_thread.run_sync(function, limiter=limiter)

    return run
