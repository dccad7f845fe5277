"""Records as the page lists them: every namespace at once, newest first or by words, a page at a time."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from apsw import Connection

RANKED_MAX: Final = 200  # matches by words that can be paged through; a better query finds more than a longer list
READ_MAX_BYTES: Final = 4 * 1024 * 1024  # of superseded texts in one search: some 30 ms, in which nobody can write


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
    conn: Connection, match: str, filters: Filters, *, weights: tuple[float, float, float]
) -> list[ListedRecord]:
    """Live records that hold words of a full-text expression, best first, equal scores by `seq`; at most RANKED_MAX.

    Args:
      match: an FTS5 expression from `retrieval.plan`; empty finds nothing.
      weights: bm25 weights of title, content and extra terms.
    """
    if not match:
        return []
    where, bindings = _where(filters)
    rows = conn.execute(
        f"SELECT {_FIELDS} FROM ("
        " SELECT records.seq AS place, bm25(records_fts, ?, ?, ?) AS score"
        " FROM records_fts CROSS JOIN records INDEXED BY records_scope ON records.seq = records_fts.rowid"
        f" WHERE records_fts MATCH ? AND {where} ORDER BY score, records.seq LIMIT ?"
        ") AS best JOIN records ON records.seq = best.place ORDER BY score, records.seq",
        (*weights, match, *bindings, RANKED_MAX),
    )
    return [ListedRecord(*row) for row in rows]


def superseded_holding(conn: Connection, words: Sequence[str], filters: Filters) -> tuple[list[ListedRecord], bool]:
    """Superseded records whose title and content hold every word, newest first; at most RANKED_MAX.

    No index has them, so the newest are read one after the other, up to a size.
    Returns: the records, and whether all were read.
    """
    if "superseded" not in filters.statuses or not words:
        return [], True
    where, bindings = _where(replace(filters, statuses=("superseded",)))
    rows = conn.execute(
        f"SELECT {_FIELDS}, records.content FROM (SELECT seq AS place FROM records INDEXED BY records_scope"
        f" WHERE {where} ORDER BY seq DESC) JOIN records ON records.seq = place ORDER BY place DESC",
        bindings,
    )
    wanted = [word.casefold() for word in words]
    found: list[ListedRecord] = []
    left = READ_MAX_BYTES
    for *fields, content in rows:
        record = ListedRecord(*fields)
        text = f"{record.title}\n{content}".casefold()
        if all(word in text for word in wanted):
            found.append(record)
        left -= len(text) + 200  # of the fields beside
        if left < 0 or len(found) == RANKED_MAX:
            return found, False
    return found, True


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
