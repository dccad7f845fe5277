"""Recorded queries: the demand signal, written in batches and purged by retention."""

from collections.abc import Iterable
from dataclasses import dataclass

from apsw import Connection


@dataclass(frozen=True, slots=True)
class AskedQuery:
    """A query a session asked: its full-text hits, and the share of its words that the best hit holds (0 to 1)."""

    at: str
    client: str
    namespace: str
    query: str
    hits: int
    coverage: float


def add(conn: Connection, asked: Iterable[AskedQuery]) -> None:
    """Record queries, oldest first."""
    conn.executemany(
        "INSERT INTO queries (at, client, namespace, query, hits, coverage) VALUES (?, ?, ?, ?, ?, ?)",
        ((row.at, row.client, row.namespace, row.query, row.hits, row.coverage) for row in asked),
    )
