"""The consumers of the job queue: claim, hold the lease while the work runs, and finish together with its results."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from functools import partial
from typing import Any, Final

import trio
from apsw import Connection

from agent_memory.domain.backoff import MAX_ATTEMPTS, is_spent, retry_delay_s
from agent_memory.domain.errors import Busy, ServiceError, StoreUnavailable
from agent_memory.domain.records import stamp
from agent_memory.llm.errors import EveryModelFailed, NoServerLive
from agent_memory.llm.router import Router
from agent_memory.logs import Log, place_of
from agent_memory.store import jobs
from agent_memory.store.jobs import Job
from agent_memory.tools.services import Services

log = Log("jobs")

LEASE_S: Final = 120.0
RENEW_S: Final = 40.0  # two renewals may fail before the lease does
POLL_S: Final = 1.0  # between two looks at an empty queue, or at servers of which none is live
RELEASE_S: Final = 2.0  # to give a job back when the server stops
NOT_LIVE_S: Final = 5.0  # until a job that found no live server is looked at again
MIN_CONSUMERS: Final = 2

Keep = Callable[[Connection], Any]
"""Stores a job's results; runs in the transaction that finishes the job."""
Handler = Callable[[Job], Awaitable[Keep]]
"""Does a job's work without writing anything."""


class LeaseLost(Exception):
    """Another consumer has the job by now; what this one made of it is not kept."""


def consumer_count(servers: int) -> int:
    """How many consumers share the queue: one a configured server and at least two, so that calls can split."""
    return max(MIN_CONSUMERS, servers)


class Consumer:
    """Takes one job at a time. Any number of them may share a queue."""

    def __init__(
        self,
        services: Services,
        router: Router,
        handlers: Mapping[str, Handler],
        idle: Callable[[], Awaitable[None]],
    ) -> None:
        """
        Args:
          handlers: what does the work of each kind of job.
          idle: called at each poll that finds no job.
        """
        self._services = services
        self._router = router
        self._handlers = handlers
        self._idle = idle

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Work for as long as the server runs. Cancelled, a job in hand is given back without a counted attempt."""
        task_status.started()
        while True:
            try:
                busy = await self.step()
            except ServiceError as error:
                log.warning("jobs-put-off", reason=type(error).__name__)
                busy = False
            if not busy:
                await trio.sleep(POLL_S)

    async def step(self) -> bool:
        """Do one job, or one piece of idle work. Returns: whether there was a job.

        Raises: Busy, StoreUnavailable: the store does not take it; a job in hand comes back when its lease ends.
        """
        if not self._router.live_count:
            return False
        job = await self._claim()
        if job is None:
            await self._idle()
            return False
        if is_spent(job.attempts - 1):
            await self._put_back(job, jobs.WORKER_DIED)
        else:
            await self._hold(job)
        return True

    async def _claim(self) -> Job | None:
        now = self._services.now()
        if not await self._services.store.read(partial(jobs.is_due, now=stamp(now))):
            return None
        until = stamp(now + timedelta(seconds=LEASE_S))
        return await self._services.store.write(partial(jobs.claim, now=stamp(now), leased_until=until))

    async def _hold(self, job: Job) -> None:
        """Run a job while its lease is renewed beside it."""
        ended = False
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._renew, job, nursery.cancel_scope)
                await self._attempt(job)
                nursery.cancel_scope.cancel()
            ended = True
        finally:
            if not ended:
                with trio.move_on_after(RELEASE_S, shield=True):
                    await self._release(job, after_s=0)

    async def _renew(self, job: Job, work: trio.CancelScope) -> None:
        while True:
            await trio.sleep(RENEW_S)
            until = stamp(self._services.now() + timedelta(seconds=LEASE_S))
            renew = partial(jobs.renew, job_id=job.id, attempts=job.attempts, leased_until=until)
            try:
                if not await self._services.store.write(renew):
                    work.cancel()
            except ServiceError as error:
                log.warning("lease-not-renewed", job=job.id, reason=type(error).__name__)

    async def _attempt(self, job: Job) -> None:
        try:
            keep = await self._handlers[job.kind](job)
            await self._services.store.write(partial(_finish, job=job, keep=keep, now=self._services.stamp()))
        except LeaseLost:
            log.warning("lease-lost", job=job.id, kind=job.kind)
        except NoServerLive:
            await self._release(job, after_s=NOT_LIVE_S)
        except EveryModelFailed as error:
            await self._put_back(job, str(error))
        except (Busy, StoreUnavailable) as error:
            log.warning("job-not-kept", job=job.id, kind=job.kind, reason=type(error).__name__)
            await self._release(job, after_s=NOT_LIVE_S)
        except ServiceError as error:
            await self._put_back(job, type(error).__name__)
        except Exception as error:  # noqa: BLE001 - a job nobody can do is parked and shown, and takes no server down
            log.error("job-bug", job=job.id, kind=job.kind, error=type(error).__name__, at_line=place_of(error))
            await self._put_back(job, f"bug: {type(error).__name__}")

    async def _release(self, job: Job, *, after_s: float) -> None:
        now = self._services.now()
        due = stamp(now + timedelta(seconds=after_s))
        work = partial(jobs.release, job_id=job.id, attempts=job.attempts, due_at=due, now=stamp(now))
        try:
            await self._services.store.write(work)
        except ServiceError as error:  # it comes back when its lease ends, or at the next start
            log.warning("job-not-released", job=job.id, reason=type(error).__name__)

    async def _put_back(self, job: Job, problem: str) -> None:
        now = self._services.now()
        spent = is_spent(job.attempts)
        delay = retry_delay_s(job.attempts, spread=self._services.entropy(1)[0] / 256)
        due = None if spent else stamp(now + timedelta(seconds=delay))
        work = partial(
            jobs.put_back, job_id=job.id, attempts=job.attempts, due_at=due, error=problem, now=self._services.stamp()
        )
        try:
            await self._services.store.write(work)
        except ServiceError as error:  # as above
            log.warning("job-not-put-back", job=job.id, reason=type(error).__name__)
            return
        log.warning("job-parked" if spent else "job-failed", job=job.id, kind=job.kind, attempts=job.attempts)


async def take_over(services: Services, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
    """Free what the process before had leased, and give parked jobs one more attempt; once, before the consumers."""
    retried_attempts = MAX_ATTEMPTS - 1
    work = partial(jobs.take_over, now=services.stamp(), retried_attempts=retried_attempts)
    freed, retried = await services.store.write(work)
    if freed or retried:
        log.info("jobs-taken-over", freed=freed, retried=retried)
    task_status.started()


def _finish(conn: Connection, *, job: Job, keep: Keep, now: str) -> None:
    if not jobs.finish(conn, job.id, attempts=job.attempts, now=now):
        raise LeaseLost
    keep(conn)
