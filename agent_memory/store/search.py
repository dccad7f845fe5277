"""Full-text search over live records: scope, state and type are in the statement, bm25 orders before any limit."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from apsw import Connection

from agent_memory.domain.namespaces import Scopes
from agent_memory.store.records import in_scope

# bm25 weights of title, content and the extra terms: a word in the title says more of what a record is about. The
# weights 1 to 4 for the title measured alike on the coding set (evals/RETRIEVAL.md); extra terms repeat the text.
BM25_WEIGHTS: Final = (2.0, 1.0, 1.0)


@dataclass(frozen=True, slots=True)
class TextMatch:
    """A live record that full-text search found. `bm25` is SQLite's: negative, the lower the better."""

    seq: int
    id: str
    bm25: float
    title: str
    session: str | None
    confidence: float
    effective_confidence: float


def full_text(
    conn: Connection,
    match: str,
    scopes: Scopes,
    *,
    types: Sequence[str] = (),
    tags: Sequence[str] = (),
    limit: int,
) -> list[TextMatch]:
    """The best matches in scope, best first, equal scores by id.

    Args:
      match: an FTS5 expression from `retrieval.query.fts_query`; empty finds nothing.
      types: only these types; empty for all.
      tags: every one of these must be on the record.
    """
    if not match:
        return []
    condition, bindings = in_scope(scopes)
    filters, values = _filters(types, tags)
    rows = conn.execute(
        # INDEXED BY: the narrow index answers scope and type for thousands of matches; the wide rows are read for the
        # few that remain.
        "SELECT best.seq, id, score, title, session, confidence, effective_confidence FROM ("
        " SELECT records.seq AS seq, bm25(records_fts, ?, ?, ?) AS score"
        " FROM records_fts CROSS JOIN records INDEXED BY records_scope ON records.seq = records_fts.rowid"
        f" WHERE records_fts MATCH ? AND {condition} AND status IN ('active', 'candidate'){filters}"
        " ORDER BY score, records.seq LIMIT ?"
        ") AS best JOIN records ON records.seq = best.seq ORDER BY score, id",
        (*BM25_WEIGHTS, match, *bindings, *values, limit),
    )
    return [TextMatch(*row) for row in rows]


def _filters(types: Sequence[str], tags: Sequence[str]) -> tuple[str, list[str]]:
    sql, values = "", []
    if types:
        sql += " AND type IN (SELECT value FROM json_each(?))"
        values.append(json.dumps(list(types)))
    if tags:
        sql += (
            " AND NOT EXISTS (SELECT 1 FROM json_each(?) AS wanted WHERE wanted.value NOT IN"
            " (SELECT value FROM json_each((SELECT tags FROM records AS tagged WHERE tagged.seq = records.seq))))"
        )
        values.append(json.dumps(list(tags), ensure_ascii=False))
    return sql, values
