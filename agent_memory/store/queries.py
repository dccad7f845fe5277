"""Recorded queries: the demand signal, written in batches and purged by retention."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

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


def asked_in(conn: Connection, namespace: str, *, limit: int) -> list[AskedQuery]:
    """What sessions of a namespace asked, newest first."""
    rows = conn.execute(
        "SELECT at, client, namespace, query, hits, coverage FROM queries"
        " WHERE namespace = ? ORDER BY seq DESC LIMIT ?",
        (namespace, limit),
    )
    return [_asked(row) for row in rows]


def rename_namespaces(conn: Connection, names: Mapping[str, str]) -> None:
    """Move what was asked along with its namespace."""
    for old, new in names.items():
        conn.execute("UPDATE queries SET namespace = ? WHERE namespace = ?", (new, old))


def _asked(row: tuple[Any, ...]) -> AskedQuery:
    return AskedQuery(*row)
