"""Records that nothing asked for: old, active, and not returned by any search for a while."""

from dataclasses import dataclass

from apsw import Connection


@dataclass(frozen=True, slots=True)
class UnusedRecord:
    """An active record that no search, recall or packet returned lately; `last_returned_at` is None for never."""

    id: str
    title: str
    namespace: str
    type: str
    created_at: str
    last_returned_at: str | None


def counting_since(conn: Connection) -> str | None:
    """When usage counting began, or None before the first start."""
    at = conn.execute("SELECT min(at) FROM audit WHERE action = 'usage-start'").get
    return None if at is None else str(at)


def unused(conn: Connection, *, before: str, limit: int) -> list[UnusedRecord]:
    """Active records written before a moment that nothing returned since, oldest first.

    Only meaningful once counting has run since that moment; the caller compares `counting_since`.
    """
    rows = conn.execute(
        "SELECT id, title, namespace, type, created_at, last_returned_at"
        " FROM records INDEXED BY records_active_by_age LEFT JOIN usage ON record_id = id"
        " WHERE status = 'active' AND created_at < ? AND (last_returned_at IS NULL OR last_returned_at < ?)"
        " ORDER BY created_at, id LIMIT ?",
        (before, before, limit),
    )
    return [UnusedRecord(*row) for row in rows]
