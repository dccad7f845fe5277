"""Searching live records: full text, filters and the facts that ranking needs. Scope stands in every statement."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from apsw import Connection

from agent_memory.domain.namespaces import Scopes
from agent_memory.store.records import in_scope


@dataclass(frozen=True, slots=True)
class Filters:
    """What a record must be beside in scope: one of these types (none given: any), carrying every one of these tags.

    `candidates_before` leaves out candidates from this id on, ids being in order of writing; "" leaves out all of them.
    """

    types: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    candidates_before: str | None = None

    @property
    def any(self) -> bool:
        """Whether there is a condition at all."""
        return bool(self.types or self.tags or self.candidates_before is not None)


class Facts(NamedTuple):
    """A live record as far as ranking reads it. `content` is empty for a record without a session, and unread."""

    id: str
    namespace: str
    type: str
    title: str
    content: str
    session: str | None
    session_place: int | None
    created_at: str
    confidence: float
    effective_confidence: float


_FACTS = (
    "id, namespace, type, title, CASE WHEN session IS NULL THEN '' ELSE content END, session, session_place,"
    " created_at, confidence, effective_confidence"
)


def full_text(
    conn: Connection, match: str, *, scopes: Scopes, filters: Filters, weights: tuple[float, float, float], limit: int
) -> list[tuple[Facts, float]]:
    """The best matches in scope, best first, equal ones in the order they were stored.

    Args:
      match: an FTS5 expression from `retrieval.plan`; empty finds nothing.
      weights: bm25 weights of title, content and extra terms.
    Returns: records with their bm25, as SQLite has it: negative, the lower the better.
    """
    if not match:
        return []
    condition, bindings = _conditions(scopes, filters)
    rows = conn.execute(
        # Every match is scored and sorted first, by the index alone; then the best are looked up until enough are in
        # scope. Looking up all of them before costs as much again as the search. LIMIT -1 keeps SQLite from flattening
        # the one into the other, CROSS JOIN from turning them round; INDEXED BY: the narrow index knows scope and type.
        f"SELECT {_FACTS}, score FROM ("
        " SELECT best.seq AS kept, best.score AS score FROM ("
        "  SELECT rowid AS seq, bm25(records_fts, ?, ?, ?) AS score FROM records_fts"
        "  WHERE records_fts MATCH ? ORDER BY score, seq LIMIT -1"
        " ) AS best CROSS JOIN records INDEXED BY records_scope ON records.seq = best.seq"
        f" WHERE {condition} LIMIT ?"
        ") CROSS JOIN records NOT INDEXED ON records.seq = kept",
        (*weights, match, *bindings, limit),
    )
    return [(Facts(*row[:-1]), row[-1]) for row in rows]


def filtered_ids(conn: Connection, scopes: Scopes, filters: Filters) -> list[str]:
    """The ids of every live record in scope that passes the filters."""
    condition, bindings = _conditions(scopes, filters)
    return [str(row[0]) for row in conn.execute(f"SELECT id FROM records WHERE {condition}", bindings)]


def around(conn: Connection, ids: Sequence[str], *, scopes: Scopes, filters: Filters, places: int) -> list[str]:
    """The ids of the records at most so many places before or after one of these in its session, these included.

    Those alone that are live, in scope and pass the filters; one that stands beside two of these comes twice.
    """
    if not ids:
        return []
    condition, bindings = _conditions(scopes, filters)
    rows = conn.execute(
        "SELECT records.id FROM ("
        " SELECT session AS of_session, namespace AS of_namespace, session_place AS place"
        " FROM (SELECT value AS wanted FROM json_each(?)) CROSS JOIN records ON records.id = wanted"
        " WHERE session IS NOT NULL"
        ") CROSS JOIN records INDEXED BY records_by_session ON session = of_session AND namespace = of_namespace"
        f" AND session_place BETWEEN place - ? AND place + ? WHERE {condition}",
        (json.dumps(ids), places, places, *bindings),
    )
    return [str(row[0]) for row in rows]


def facts(conn: Connection, ids: Sequence[str], scopes: Scopes, filters: Filters) -> list[Facts]:
    """What ranking needs of those of these records that are live, in scope and pass the filters; `ids` are distinct."""
    if not ids:
        return []
    condition, bindings = _conditions(scopes, filters)
    rows = conn.execute(
        f"SELECT {_FACTS}"
        # One look-up by id each, in the order given: any other index the condition brings up takes twice as long.
        " FROM (SELECT value AS wanted FROM json_each(?))"
        " CROSS JOIN records INDEXED BY sqlite_autoindex_records_1 ON records.id = wanted"
        f" WHERE {condition}",
        (json.dumps(ids), *bindings),
    )
    return list(map(Facts._make, rows))


def count_live(conn: Connection) -> int:
    """How many records the index holds."""
    return int(conn.execute("SELECT count(*) FROM records WHERE status IN ('active', 'candidate')").get)


def _conditions(scopes: Scopes, filters: Filters) -> tuple[str, list[Any]]:
    scope, bindings = in_scope(scopes)
    sql = f"{scope} AND status IN ('active', 'candidate')"
    if filters.types:
        sql += " AND type IN (SELECT value FROM json_each(?))"
        bindings.append(json.dumps(filters.types))
    if filters.tags:
        sql += (
            " AND NOT EXISTS (SELECT 1 FROM json_each(?) AS wanted WHERE wanted.value NOT IN"
            " (SELECT value FROM json_each((SELECT tags FROM records AS tagged WHERE tagged.seq = records.seq))))"
        )
        bindings.append(json.dumps(filters.tags, ensure_ascii=False))
    if filters.candidates_before is not None:
        # The unary plus leaves the choice of index as it is without this condition.
        sql += " AND (+status = 'active' OR records.id < ?)"
        bindings.append(filters.candidates_before)
    return sql, bindings
