"""Usage counts: how often a record was returned by a search or fetched whole. Apart from records on purpose."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from apsw import Connection

from agent_memory.store import audit


@dataclass(frozen=True, slots=True)
class Readings:
    """How often each record was read in one way, and when last, by record id."""

    counts: Counter[str]
    last: dict[str, str]

    def note(self, ids: Iterable[str], now: str) -> None:
        """Count one reading of each id."""
        for record_id in ids:
            self.counts[record_id] += 1
            self.last[record_id] = now


def add(conn: Connection, *, returned: Readings, fetched: Readings) -> None:
    """Add readings to the counts; a record that was erased meanwhile is passed over."""
    for record_id in {**returned.counts, **fetched.counts}:
        conn.execute(
            "INSERT INTO usage (record_id, returned, fetched, last_returned_at, last_fetched_at)"
            " SELECT id, ?, ?, ?, ? FROM records WHERE id = ?"
            " ON CONFLICT (record_id) DO UPDATE SET returned = returned + excluded.returned,"
            " fetched = fetched + excluded.fetched,"
            " last_returned_at = coalesce(excluded.last_returned_at, last_returned_at),"
            " last_fetched_at = coalesce(excluded.last_fetched_at, last_fetched_at)",
            (
                returned.counts[record_id],
                fetched.counts[record_id],
                returned.last.get(record_id),
                fetched.last.get(record_id),
                record_id,
            ),
        )


def start_counting(conn: Connection, *, now: str) -> None:
    """Note once when counting began, so that the page knows when a count of none means unused."""
    if not conn.execute("SELECT 1 FROM audit WHERE action = 'usage-start' LIMIT 1").fetchone():
        audit.note(conn, at=now, client="server", action="usage-start")


@dataclass(frozen=True, slots=True)
class Usage:
    """How often a record was returned by searches and fetched whole, and when last."""

    returned: int
    fetched: int
    last_returned_at: str | None
    last_fetched_at: str | None


def of(conn: Connection, record_id: str) -> Usage:
    """A record's counts; all zero for one that was never read."""
    row = conn.execute(
        "SELECT returned, fetched, last_returned_at, last_fetched_at FROM usage WHERE record_id = ?", (record_id,)
    ).fetchone()
    return Usage(0, 0, None, None) if row is None else Usage(*row)
