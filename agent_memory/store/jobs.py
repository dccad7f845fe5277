"""The durable job queue: queued in the transaction that causes it, leased, finished or parked."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from apsw import Connection

from agent_memory.domain.screen import screened
from agent_memory.store.statement_screen import composed

ERROR_CHARS: Final = 300  # of the last failure; a chain over several servers names each
WORKER_DIED: Final = "its worker died each time"


@dataclass(frozen=True, slots=True)
class Job:
    """A leased job. `attempts` counts this lease too; `payload` is what it works on."""

    id: str
    kind: str
    client: str
    namespace: str
    attempts: int
    payload: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ParkedJob:
    """A job that failed for good; `error` names the last failure, without content."""

    id: str
    kind: str
    namespace: str
    attempts: int
    error: str | None
    updated_at: str


def queue(
    conn: Connection, *, job_id: str, kind: str, client: str, namespace: str, payload: Mapping[str, Any], now: str
) -> str | None:
    """Add a job. Returns: its id, or None when the same standing question already waits for its answer."""
    conn.execute(
        "INSERT OR IGNORE INTO jobs (id, kind, client, namespace, state, due_at, created_at, updated_at, payload)"
        " VALUES (?, ?, ?, ?, 'queued', ?, ?, ?, ?)",
        (job_id, kind, client, namespace, now, now, now, composed(payload)),
    )
    return job_id if conn.changes() else None


def claim(conn: Connection, *, now: str, leased_until: str) -> Job | None:
    """Lease the job that is due longest, or whose lease ran out because its worker died. None when nothing is due."""
    row = conn.execute(
        "UPDATE jobs SET state = 'leased', attempts = attempts + 1, leased_until = ?, updated_at = ? WHERE seq = ("
        " SELECT seq FROM jobs WHERE (state = 'queued' AND due_at <= ?) OR (state = 'leased' AND leased_until <= ?)"
        " ORDER BY due_at, seq LIMIT 1"
        ") RETURNING id, kind, client, namespace, attempts, payload",
        (leased_until, now, now, now),
    ).fetchone()
    if row is None:
        return None
    job_id, kind, client, namespace, attempts, payload = row
    return Job(str(job_id), str(kind), str(client), str(namespace), int(str(attempts)), json.loads(str(payload)))


def is_due(conn: Connection, *, now: str) -> bool:
    """Whether `claim` would find a job; reading is free where a claim takes the write lock."""
    row = conn.execute(
        "SELECT EXISTS (SELECT 1 FROM jobs WHERE state = 'queued' AND due_at <= ?)"
        " OR EXISTS (SELECT 1 FROM jobs WHERE state = 'leased' AND leased_until <= ?)",
        (now, now),
    ).get
    return bool(row)


def renew(conn: Connection, job_id: str, *, attempts: int, leased_until: str) -> bool:
    """Hold a lease for longer. Returns: whether it still held."""
    conn.execute(
        "UPDATE jobs SET leased_until = ? WHERE id = ? AND state = 'leased' AND attempts = ?",
        (leased_until, job_id, attempts),
    )
    return bool(conn.changes())


def release(conn: Connection, job_id: str, *, attempts: int, due_at: str, now: str) -> None:
    """Give a job back that nothing was tried on (no server was live, the server is stopping): no attempt counts."""
    # The count goes back by this lease's own step, so no earlier lease can ever match it again.
    conn.execute(
        "UPDATE jobs SET state = 'queued', attempts = attempts - 1, due_at = ?, leased_until = NULL, updated_at = ?"
        " WHERE id = ? AND state = 'leased' AND attempts = ?",
        (due_at, now, job_id, attempts),
    )


def take_over(conn: Connection, *, now: str, retried_attempts: int) -> tuple[int, int]:
    """At start: free the jobs of the process before, which is dead (the data folder is held by one process).

    Parked jobs get one more attempt, since a start is when a model's name is put right; one whose worker died does not.

    Args: retried_attempts: the attempts that leave a parked job with one more.
    Returns: how many were freed and how many are retried.
    """
    conn.execute(
        "UPDATE jobs SET state = 'queued', due_at = ?, leased_until = NULL, updated_at = ? WHERE state = 'leased'",
        (now, now),
    )
    freed = conn.changes()
    conn.execute(
        "UPDATE OR IGNORE jobs SET state = 'queued', attempts = ?, due_at = ?, updated_at = ?"
        " WHERE state = 'parked' AND error IS NOT ?",
        (retried_attempts, now, now, WORKER_DIED),
    )
    return freed, conn.changes()


def finish(conn: Connection, job_id: str, *, attempts: int, now: str) -> bool:
    """Mark a leased job done and drop its payload, in the transaction that keeps its results.

    Returns: whether the lease still held; if not, another worker has the job, and the results must not be kept.
    """
    conn.execute(
        "UPDATE jobs SET state = 'done', payload = NULL, error = NULL, leased_until = NULL, updated_at = ?"
        " WHERE id = ? AND state = 'leased' AND attempts = ?",
        (now, job_id, attempts),
    )
    return bool(conn.changes())


def put_back(conn: Connection, job_id: str, *, attempts: int, due_at: str | None, error: str, now: str) -> None:
    """Give a failed job back for another attempt at `due_at`, or park it when that is None. `error` has no content."""
    conn.execute(
        "UPDATE jobs SET state = ?, due_at = coalesce(?, due_at), error = ?, leased_until = NULL, updated_at = ?"
        " WHERE id = ? AND state = 'leased' AND attempts = ?",
        ("parked" if due_at is None else "queued", due_at, screened(error[:ERROR_CHARS]), now, job_id, attempts),
    )


def drop_extraction(conn: Connection, session: str) -> None:
    """Erase the job that would read a closed session's summary and notes; a worker that has it keeps nothing."""
    conn.execute(
        "DELETE FROM jobs WHERE kind = 'extract' AND payload IS NOT NULL AND json_extract(payload, '$.session') = ?",
        (session,),
    )


def depth(conn: Connection) -> dict[str, int]:
    """How many jobs are in each state."""
    rows = conn.execute("SELECT state, count(*) FROM jobs GROUP BY state")
    return {str(state): int(str(count)) for state, count in rows}


def parked(conn: Connection, *, limit: int) -> list[ParkedJob]:
    """The jobs that failed for good, newest first."""
    rows = conn.execute(
        "SELECT id, kind, namespace, attempts, error, updated_at FROM jobs WHERE state = 'parked'"
        " ORDER BY seq DESC LIMIT ?",
        (limit,),
    )
    return [_parked(row) for row in rows]


def rename_namespaces(conn: Connection, names: Mapping[str, str]) -> None:
    """Move unfinished jobs along with their namespace."""
    for old, new in names.items():
        conn.execute("UPDATE jobs SET namespace = ? WHERE namespace = ?", (new, old))


def _parked(row: tuple[Any, ...]) -> ParkedJob:
    return ParkedJob(*row)
