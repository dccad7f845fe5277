"""Searching live records: full text, filters and the facts that ranking needs. Scope stands in every statement."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

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
_NARROW: Final = "INDEXED BY records_scope"  # knows scope, state and type, and is a tenth of the records

SHARE_MIN: Final = 0.25  # of the live records; with fewer in scope, scoring the others costs more than looking them up
BEST_MARGIN: Final = 1.5  # so that chance seldom leaves too few of the best in scope, which costs a second search


def full_text(
    conn: Connection,
    match: str,
    *,
    scopes: Scopes,
    filters: Filters,
    weights: tuple[float, float, float],
    limit: int,
    share: float,
) -> list[tuple[Facts, float]]:
    """The best matches in scope, best first, equal ones in the order they were stored.

    Args:
      match: an FTS5 expression from `retrieval.plan`; empty finds nothing.
      weights: bm25 weights of title, content and extra terms.
      share: of all live records, about how many are in scope, 0 to 1. It decides how to look, and not what is found.
    Returns: records with their bm25, as SQLite has it: negative, the lower the better.
    """
    if not match:
        return []
    condition, bindings = _conditions(scopes, filters)
    rows: list[tuple[Any, ...]] = []
    most = int(limit / share * BEST_MARGIN) if share > SHARE_MIN else 0
    if most:
        rows = conn.execute(_best_first(condition), (*weights, match, most, *bindings, limit)).fetchall()
    if len(rows) < limit and _has_matches(conn, match, most):
        rows = conn.execute(_scope_first(condition), (*weights, match, *bindings, limit)).fetchall()
    return [(Facts(*row[:-1]), row[-1]) for row in rows]


def _best_first(condition: str) -> str:
    """So many of the best matches, and of these what is in scope. Nothing is looked up but for the best: half of what
    `_scope_first` takes. LIMIT keeps SQLite from flattening the one into the other, CROSS JOIN from turning them round.
    """
    return (
        f"SELECT {_FACTS}, score FROM ("
        " SELECT best.seq AS kept, best.score AS score FROM ("
        "  SELECT rowid AS seq, bm25(records_fts, ?, ?, ?) AS score FROM records_fts"
        "  WHERE records_fts MATCH ? ORDER BY score, seq LIMIT ?"
        f" ) AS best CROSS JOIN records {_NARROW} ON records.seq = best.seq WHERE {condition} LIMIT ?"
        ") CROSS JOIN records NOT INDEXED ON records.seq = kept"
    )


def _scope_first(condition: str) -> str:
    """The matches in scope, and the best of these. What is out of scope gets no score, which is half of the work."""
    return (
        f"SELECT {_FACTS}, score FROM ("
        " SELECT records.seq AS kept, bm25(records_fts, ?, ?, ?) AS score"
        f" FROM records_fts CROSS JOIN records {_NARROW} ON records.seq = records_fts.rowid"
        f" WHERE records_fts MATCH ? AND {condition} ORDER BY score, kept LIMIT ?"
        ") CROSS JOIN records NOT INDEXED ON records.seq = kept"
    )


def _has_matches(conn: Connection, match: str, count: int) -> bool:
    """Whether so many records or more match, in scope or not."""
    sql = "SELECT count(*) FROM (SELECT 1 FROM records_fts WHERE records_fts MATCH ? LIMIT ?)"
    return not count or int(conn.execute(sql, (match, count)).get) == count


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
    return sum(count_by_namespace(conn).values())


def count_by_namespace(conn: Connection) -> dict[str, int]:
    """How many records of each namespace the index holds."""
    sql = "SELECT namespace, count(*) FROM records WHERE status IN ('active', 'candidate') GROUP BY namespace"
    return dict(conn.execute(sql))


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
