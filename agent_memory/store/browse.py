"""Records as the page lists them: every namespace at once, newest first or by words, a page at a time."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from apsw import Connection

RANKED_MAX: Final = 200  # matches by words that can be paged through; a better query finds more than a longer list


@dataclass(frozen=True, slots=True)
class Filters:
    """What a list is narrowed to; an empty namespace or type means all. `statuses` never holds `deleted`."""

    statuses: tuple[str, ...]
    namespace: str = ""
    type: str = ""


@dataclass(frozen=True, slots=True)
class ListedRecord:
    """A record as a line of a list; `seq` grows with each record written and is where the next page starts."""

    seq: int
    id: str
    namespace: str
    type: str
    status: str
    title: str
    writer: str
    created_at: str
    updated_at: str
    effective_confidence: float
    proof_count: int
    refutation_count: int


_FIELDS: Final = (
    "records.seq, records.id, records.namespace, records.type, records.status, records.title, records.writer,"
    " records.created_at, records.updated_at, records.effective_confidence, records.proof_count,"
    " records.refutation_count"
)


def newest(conn: Connection, filters: Filters, *, before: int | None, limit: int) -> list[ListedRecord]:
    """Records that pass the filters, newest first.

    Args:
      before: only records with a lower `seq`.
    """
    where, bindings = _where(filters)
    # INDEXED BY: the narrow index answers every filter, so the wide rows are read for one page only.
    rows = conn.execute(
        f"SELECT {_FIELDS} FROM records WHERE seq IN (SELECT seq FROM records INDEXED BY records_scope"
        f" WHERE seq < ? AND {where} ORDER BY seq DESC LIMIT ?) ORDER BY seq DESC",
        (2**62 if before is None else before, *bindings, limit),
    )
    return [ListedRecord(*row) for row in rows]


def matching(
    conn: Connection, match: str, filters: Filters, *, weights: tuple[float, float, float], skip: int, limit: int
) -> list[ListedRecord]:
    """Live records that hold words of a full-text expression, best first, equal scores by `seq`.

    Superseded records are not in the full-text index and are never found here.

    Args:
      match: an FTS5 expression from `retrieval.plan`; empty finds nothing.
      weights: bm25 weights of title, content and extra terms.
      skip: how many better matches are left out.
    """
    if not match:
        return []
    where, bindings = _where(filters)
    rows = conn.execute(
        f"SELECT {_FIELDS} FROM ("
        " SELECT records.seq AS place, bm25(records_fts, ?, ?, ?) AS score"
        " FROM records_fts CROSS JOIN records INDEXED BY records_scope ON records.seq = records_fts.rowid"
        f" WHERE records_fts MATCH ? AND {where} ORDER BY score, records.seq LIMIT ? OFFSET ?"
        ") AS best JOIN records ON records.seq = best.place ORDER BY score, records.seq",
        (*weights, match, *bindings, max(min(limit, RANKED_MAX - skip), 0), skip),
    )
    return [ListedRecord(*row) for row in rows]


def predecessors(conn: Connection, record_id: str, *, limit: int) -> list[ListedRecord]:
    """The records that led to this one by supersession, the nearest first; forgotten ones are left out."""
    rows = conn.execute(
        "WITH RECURSIVE chain (id, depth) AS ("
        " SELECT id, 1 FROM records WHERE superseded_by = ?"
        " UNION SELECT records.id, depth + 1 FROM records JOIN chain ON records.superseded_by = chain.id"
        " LIMIT ?"
        f") SELECT {_FIELDS} FROM chain JOIN records ON records.id = chain.id"
        " WHERE status <> 'deleted' ORDER BY depth, seq DESC",
        (record_id, limit),
    )
    return [ListedRecord(*row) for row in rows]


def lines(conn: Connection, ids: Sequence[str]) -> list[ListedRecord]:
    """The records with these ids that were not forgotten, in the order of the ids."""
    rows = conn.execute(
        f"SELECT {_FIELDS} FROM json_each(?) AS wanted JOIN records ON records.id = wanted.value"
        " WHERE status <> 'deleted' ORDER BY wanted.key",
        (json.dumps(list(ids)),),
    )
    return [ListedRecord(*row) for row in rows]


def _where(filters: Filters) -> tuple[str, list[Any]]:
    sql, values = "status IN (SELECT value FROM json_each(?))", [json.dumps(list(filters.statuses))]
    if filters.namespace:
        sql += " AND namespace = ?"
        values.append(filters.namespace)
    if filters.type:
        sql += " AND type = ?"
        values.append(filters.type)
    return sql, values
