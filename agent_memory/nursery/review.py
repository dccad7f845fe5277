"""The candidate review: each night at a local time, and at once when asked; expiry first, then verdicts."""

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, time, tzinfo
from functools import partial
from typing import Any, Final

import trio
from apsw import Connection

from agent_memory.domain.errors import Conflict, RecordNotFound, ServiceError, StoreUnavailable
from agent_memory.domain.records import Record, parse_stamp
from agent_memory.domain.review import NEIGHBOURS, Origin, Shown, VerdictKind, is_expired, worker_count
from agent_memory.domain.schedule import next_daily
from agent_memory.llm.router import Router
from agent_memory.llm.verdicts import Reviewed, review_candidate
from agent_memory.logs import Log
from agent_memory.store import audit, candidates, records
from agent_memory.store.candidates import Decision, Seen
from agent_memory.tools.finding import earlier_like
from agent_memory.tools.services import Services

log = Log("review")

REVIEWER: Final = "candidate-review"  # the client in the audit, and the action of a run's own row
NIGHTLY: Final = "nightly"
SLEEP_S: Final = 60.0  # at most, so that a clock that was set or a changed time zone is noticed within a minute
ANSWER_S: Final = 20.0  # a caller waits so long for the end of the run it asked for
LIVE_WAIT_S: Final = 35.0  # for a server to come back: two probes, then the rest waits for the next night
PAGE: Final = 200  # candidates read, or expired, in one visit to the store


@dataclass(slots=True)
class Run:
    """One run: who asked for it, and what has come of the candidates so far."""

    by: str
    counts: Counter[str] = field(default_factory=Counter)
    servers: Counter[str] = field(default_factory=Counter)
    over: trio.Event = field(default_factory=trio.Event)
    facts: Mapping[str, Any] = field(default_factory=dict)


class Reviewer:
    """Runs reviews, one at a time."""

    def __init__(self, services: Services, router: Router, *, expiry_days: int) -> None:
        """Args: expiry_days: days an extracted candidate waits before it is forgotten; 0 keeps it."""
        self._services = services
        self._router = router
        self._expiry_days = expiry_days
        self._running: Run | None = None
        self._asked = trio.Event()

    @property
    def running(self) -> bool:
        """Whether a run is on, or asked for."""
        return self._running is not None

    async def run(
        self,
        at: time | None,
        *,
        zone: tzinfo | None = None,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Review each night, and whenever asked, for as long as the server runs.

        Args:
          at: local clock time; None turns the nightly review off.
          zone: the local zone; None follows the platform's own rules.
        """
        task_status.started()
        seen = self._services.now()
        while True:
            now = self._services.now()
            # Due when a nightly moment lies between two looks, however long the machine slept in between.
            due = at is not None and next_daily(at, seen, zone) <= now
            seen = now
            if due and self._running is None:
                self._running = Run(NIGHTLY)
            if self._running is not None:
                await self._review(self._running)
                continue
            wait_s = SLEEP_S if at is None else (next_daily(at, now, zone) - now).total_seconds()
            with trio.move_on_after(min(max(wait_s, 0.001), SLEEP_S)):
                await self._asked.wait()

    async def ask(self, client: str) -> dict[str, Any]:
        """Start a run at once and wait a while for its end. The run goes on whether its caller waits or not.

        Returns: the run's counts, or `{"running": true}` when it takes longer.
        Raises: Conflict: a run is on.
        """
        if self._running is not None:
            raise Conflict("a candidate review is running; /health candidate_review has its outcome when it is over")
        run = self._running = Run(client)
        self._asked.set()
        with trio.move_on_after(ANSWER_S):
            await run.over.wait()
            return {"running": False, **run.facts}
        return {"running": True}

    async def _review(self, run: Run) -> None:
        started = trio.current_time()
        try:
            await self._expire(run)
            await self._judge(run)
            run.facts = _facts(run, trio.current_time() - started)
            await self._services.store.write(partial(_note_run, at=self._services.stamp(), facts=run.facts))
            log.info("candidate-review", **run.facts)
        except ServiceError as error:
            log.warning("candidate-review-cut-short", reason=type(error).__name__)
            run.facts = _facts(run, trio.current_time() - started) | {"cut_short": type(error).__name__}
        finally:
            self._running, self._asked = None, trio.Event()
            run.over.set()

    async def _expire(self, run: Run) -> None:
        """Forget what waited too long, whether or not a model server is live."""
        after = ""
        while page := await self._services.store.read(partial(candidates.page, after=after, limit=PAGE)):
            after = page[-1].id
            now = self._services.now()
            expired = [one for one in page if _is_expired(one, now, self._expiry_days)]
            if expired:
                decision = Decision(REVIEWER, self._services.stamp(), {"verdict": "expired"})
                gone = await self._services.store.write(partial(_forget_all, expired=expired, decision=decision))
                run.counts["expired"] += gone

    async def _judge(self, run: Run) -> None:
        """Ask for a verdict on every candidate, several at once so that the calls split between the servers."""
        if not self._router.live_count:
            return
        ids: deque[str] = deque()
        while page := await self._services.store.read(
            partial(candidates.ids, after=ids[-1] if ids else "", limit=PAGE)
        ):
            ids.extend(page)
        failed = None
        try:
            async with trio.open_nursery() as nursery:
                for _ in range(worker_count(self._router.live_count)):
                    nursery.start_soon(self._work, run, ids)
        except* StoreUnavailable as group:
            failed = group
        if failed is not None:
            raise StoreUnavailable("the store went away during a candidate review") from failed

    async def _work(self, run: Run, ids: deque[str]) -> None:
        while ids and await self._some_server():
            if not ids:  # the other workers took the rest while this one waited
                return
            run.counts[await self._judge_one(run, ids.popleft())] += 1
            run.counts["reviewed"] += 1

    async def _some_server(self) -> bool:
        """Wait a little for a live server; False when none comes back."""
        with trio.move_on_after(LIVE_WAIT_S):
            while not self._router.live_count:  # noqa: ASYNC110 - probes set no event, and change little
                await trio.sleep(1)
            return True
        return False

    async def _judge_one(self, run: Run, record_id: str) -> str:
        """One candidate's verdict and what it does. Returns: the name it is counted under.

        Raises: StoreUnavailable: no verdict could have an effect.
        """
        try:
            return await self._judge_record(run, record_id)
        except (Conflict, RecordNotFound):
            return "changed_meanwhile"
        except StoreUnavailable:
            raise
        except ServiceError as error:  # one candidate that cannot be judged must not keep the rest from it
            log.warning("candidate-not-judged", record=record_id, reason=type(error).__name__)
            return "call_failed"

    async def _judge_record(self, run: Run, record_id: str) -> str:
        candidate = (await self._services.store.read(partial(records.by_ids, ids=[record_id]))).get(record_id)
        if candidate is None or candidate.status != "candidate":
            return "changed_meanwhile"
        near = [hit.record for hit in await earlier_like(self._services, candidate, NEIGHBOURS)]
        reviewed = await review_candidate(self._router, _shown(candidate), [_shown(one) for one in near])
        if reviewed.server:
            run.servers[reviewed.server] += 1
        ruling = reviewed.ruling
        if not ruling.forget:
            return {"call-failed": "call_failed", "": "kept"}.get(ruling.refused, "guarded")
        named = next((one for one in near if one.id == ruling.verdict.duplicate_of), None)
        decision = Decision(REVIEWER, self._services.stamp(), _reasons(reviewed))
        await self._services.store.write(partial(_forget, candidate=candidate, named=named, decision=decision))
        return str(ruling.verdict.kind).replace("-", "_")


def _is_expired(record: Record, now: datetime, expiry_days: int) -> bool:
    return is_expired(Origin(record.origin), parse_stamp("created_at", record.created_at), now, expiry_days)


def _forget_all(conn: Connection, expired: list[Record], decision: Decision) -> int:
    gone = 0
    for record in expired:
        try:
            candidates.forget(conn, Seen(record.id, record.revision), decision)
        except (Conflict, RecordNotFound):  # promoted, changed or forgotten since the page was read
            continue
        gone += 1
    return gone


def _forget(conn: Connection, candidate: Record, named: Record | None, decision: Decision) -> None:
    """Forget a candidate while everything the verdict rests on is as the model read it.

    Raises: RecordNotFound, Conflict: the candidate, or the record it duplicates, changed or went meanwhile.
    """
    if named is not None:
        duplicated = records.live(conn, named.id)
        if (duplicated.title, duplicated.content) != (named.title, named.content):
            raise Conflict(f"record {named.id} changed since it was compared")
    candidates.forget(conn, Seen(candidate.id, candidate.revision), decision)


def _shown(record: Record) -> Shown:
    return Shown(record.id, record.type, record.title, record.content, Origin(record.origin), record.revision)


def _reasons(reviewed: Reviewed) -> dict[str, str]:
    """A forget's audit context; `audit.note` screens every text in it, the model's reason too."""
    verdict = reviewed.ruling.verdict
    facts = {"verdict": str(verdict.kind)}
    if verdict.kind is VerdictKind.DUPLICATE:
        facts["duplicate_of"] = verdict.duplicate_of
    return facts | {"model": reviewed.model, "server": reviewed.server, "reason": verdict.reason}


def _facts(run: Run, took_s: float) -> dict[str, Any]:
    """A run as its audit row, /health and the page have it: counts, who asked, and how the servers shared it."""
    counted = ("reviewed", "expired", "duplicate", "session_state", "kept", "guarded", "call_failed")
    facts: dict[str, Any] = {name: run.counts[name] for name in counted}
    if run.counts["changed_meanwhile"]:
        facts["changed_meanwhile"] = run.counts["changed_meanwhile"]
    servers = ", ".join(f"{server} {count}" for server, count in sorted(run.servers.items()))
    return facts | {"by": run.by, "took_s": round(took_s, 1)} | ({"servers": servers} if servers else {})


def _note_run(conn: Connection, at: str, facts: Mapping[str, Any]) -> None:
    audit.note(
        conn, at=at, client=str(facts["by"]) if facts["by"] != NIGHTLY else REVIEWER, action=REVIEWER, context=facts
    )
