"""Everything the status page reads from the store, in one pass that sees one state of it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from apsw import Connection

from agent_memory.domain.records import stamp
from agent_memory.store import audit, jobs, statistics, unused
from agent_memory.store.audit import AuditRow
from agent_memory.store.statistics import HourCount, RecordCount
from agent_memory.store.unused import UnusedRecord

HOURS: Final = 24
UNUSED_AFTER: Final = timedelta(days=30)  # seed 001, Usage and recall
UNUSED_SHOWN: Final = 10
AUDIT_SHOWN: Final = 15


@dataclass(frozen=True, slots=True)
class Facts:
    """What the store says at one moment.

    Fields:
      counts: records by namespace, state and type.
      hours: audited rows of the last 24 hours.
      queries: queries remembered; standing: standing questions; sessions: closed sessions.
      jobs: jobs by state.
      counting_since: when usage counting began; unused: the oldest unused records, one more than are shown.
      review, sweep: the latest audit rows of the nightly review and of the anchor sweep.
    """

    counts: list[RecordCount]
    hours: list[HourCount]
    queries: int
    standing: int
    sessions: int
    jobs: dict[str, int]
    counting_since: str | None
    unused: list[UnusedRecord]
    audit: list[AuditRow]
    review: AuditRow | None
    sweep: AuditRow | None


def gather(conn: Connection, *, now: datetime, standing_questions: Callable[[Connection], int]) -> Facts:
    """Read it all. Costs the same few milliseconds on many records as on few, but for one pass over a narrow index."""
    review = audit.latest(conn, limit=1, action="candidate-review")
    sweep = audit.latest(conn, limit=1, action="anchor-sweep")
    since = unused.counting_since(conn)
    edge = stamp(now - UNUSED_AFTER)
    return Facts(
        counts=statistics.record_counts(conn),
        hours=statistics.audit_hours(conn, since=stamp(now - timedelta(hours=HOURS - 1))),
        queries=statistics.queries_asked(conn),
        standing=standing_questions(conn),
        sessions=statistics.sessions_closed(conn),
        jobs=jobs.depth(conn),
        counting_since=since,
        unused=unused.unused(conn, before=edge, limit=UNUSED_SHOWN + 1) if since is not None and since <= edge else [],
        audit=audit.latest(conn, limit=AUDIT_SHOWN),
        review=review[0] if review else None,
        sweep=sweep[0] if sweep else None,
    )
