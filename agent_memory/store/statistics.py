"""Counts for health and the page."""

from apsw import Connection


def records_by_status(conn: Connection) -> dict[str, int]:
    """How many records are in each state; states without one are absent."""
    rows = conn.execute("SELECT status, count(*) FROM records GROUP BY status")
    return {str(status): int(str(count)) for status, count in rows}
