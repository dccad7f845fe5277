"""The embeddings table: one vector a live record and model, and which of them are current."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from apsw import Connection


@dataclass(frozen=True, slots=True)
class Embedding:
    """A vector as stored: float32 bytes; `digest` names model, snapshot and text."""

    record_id: str
    model: str
    digest: str
    vector: bytes


@dataclass(frozen=True, slots=True)
class Embeddable:
    """A live record as far as embedding goes, with the stored digest and vector of one model where it has them."""

    seq: int
    id: str
    namespace: str
    title: str
    content: str
    digest: str | None
    vector: bytes | None


def scopes(conn: Connection) -> list[tuple[str, str]]:
    """(id, namespace) of every live record."""
    rows = conn.execute("SELECT id, namespace FROM records WHERE status IN ('active', 'candidate')")
    return [(str(record_id), str(namespace)) for record_id, namespace in rows]


def width(conn: Connection, model: str) -> int | None:
    """Dimensions of this model's newest stored vector; None when it has none."""
    size = conn.execute("SELECT length(vector) FROM embeddings WHERE model = ? LIMIT 1", (model,)).get
    return None if size is None else int(str(size)) // 4


def page(conn: Connection, model: str, *, after: int, limit: int) -> list[Embeddable]:
    """Live records with their vectors of a model, in order of `seq`, from behind `after` on."""
    rows = conn.execute(
        "SELECT seq, id, namespace, title, content, digest, vector FROM records"
        " LEFT JOIN embeddings ON embeddings.record_id = records.id AND embeddings.model = ?"
        " WHERE seq > ? AND status IN ('active', 'candidate') ORDER BY seq LIMIT ?",
        (model, after, limit),
    )
    return [_embeddable(row) for row in rows]


def texts(conn: Connection, ids: Sequence[str]) -> list[Embeddable]:
    """These records as far as they are live, without vectors."""
    rows = conn.execute(
        "SELECT seq, id, namespace, title, content, NULL, NULL FROM records"
        " WHERE id IN (SELECT value FROM json_each(?)) AND status IN ('active', 'candidate')",
        (json.dumps(list(ids)),),
    )
    return [_embeddable(row) for row in rows]


def keep(conn: Connection, vectors: Iterable[tuple[Embedding, str, str]]) -> list[str]:
    """Store vectors of records that are still live with the text that was embedded.

    Args:
      vectors: (embedding, title, content) with the text that the vector was made of.
    Returns: the ids that were stored; a record that changed meanwhile is embedded again later.
    """
    stored = []
    for embedding, title, content in vectors:
        conn.execute(
            "INSERT OR REPLACE INTO embeddings (record_id, model, digest, vector)"
            " SELECT id, ?, ?, ? FROM records"
            " WHERE id = ? AND title = ? AND content = ? AND status IN ('active', 'candidate')",
            (embedding.model, embedding.digest, embedding.vector, embedding.record_id, title, content),
        )
        if conn.changes():
            stored.append(embedding.record_id)
    return stored


def models(conn: Connection) -> list[tuple[str, int]]:
    """(model, vectors) of every model that has any, the fullest first."""
    rows = conn.execute("SELECT model, count(*) AS vectors FROM embeddings GROUP BY model ORDER BY vectors DESC, model")
    return [(str(model), int(str(count))) for model, count in rows]


def drop_other_models(conn: Connection, model: str) -> int:
    """Remove the vectors of every other model, once this one's are complete. Returns: how many went."""
    conn.execute("DELETE FROM embeddings WHERE model <> ?", (model,))
    return int(conn.changes())


def _embeddable(row: tuple[Any, ...]) -> Embeddable:
    return Embeddable(*row)
