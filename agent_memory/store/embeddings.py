"""The embeddings table: one vector a live record and model, and which of them are current."""

import json
from collections.abc import Callable, Iterable, Sequence
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
    """A live record as far as embedding goes."""

    id: str
    namespace: str
    title: str
    content: str


@dataclass(frozen=True, slots=True)
class Page:
    """Some live records, by whether their stored vector is current.

    Attributes:
      last: where the next page goes on; None when there are no more.
      current: (id, namespace) of those with a current vector.
      vectors: the float32 bytes of these, one behind the other.
      others: (id, namespace) of those without one.
    """

    last: int | None
    current: list[tuple[str, str]]
    vectors: bytes
    others: list[tuple[str, str]]


def page(
    conn: Connection, model: str, *, digest_of: Callable[[str, str], str], width: int, after: int, limit: int
) -> Page:
    """The live records behind a place, in the order they were stored, with their vectors of a model.

    Args:
      digest_of: the digest that a current vector has, from title and content.
      width: dimensions of a current vector.
      after: `last` of the page before; 0 for the first.
    """
    rows = conn.execute(
        "SELECT seq, id, namespace, title, content, digest, vector FROM records"
        " LEFT JOIN embeddings ON embeddings.record_id = records.id AND embeddings.model = ?"
        " WHERE seq > ? AND status IN ('active', 'candidate') ORDER BY seq LIMIT ?",
        (model, after, limit),
    )
    last: int | None = None
    current: list[tuple[str, str]] = []
    vectors: list[bytes] = []
    others: list[tuple[str, str]] = []
    seq: Any
    for seq, record_id, namespace, title, content, digest, vector in rows:
        last = seq
        if vector is not None and len(vector) == 4 * width and digest == digest_of(title, content):
            current.append((record_id, namespace))
            vectors.append(vector)
        else:
            others.append((record_id, namespace))
    return Page(last, current, b"".join(vectors), others)


def texts(conn: Connection, ids: Sequence[str]) -> list[Embeddable]:
    """These records as far as they are live."""
    rows = conn.execute(
        "SELECT id, namespace, title, content FROM records"
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
        # Compared apart from the write, which the screen judges: a text that a later rule refuses stays until a person
        # forgets it, and must not keep the rest of its batch from their vectors for ever.
        unchanged = conn.execute(
            "SELECT 1 FROM records WHERE id = ? AND title = ? AND content = ? AND status IN ('active', 'candidate')",
            (embedding.record_id, title, content),
        ).fetchone()
        if unchanged:
            conn.execute(
                "INSERT OR REPLACE INTO embeddings (record_id, model, digest, vector) VALUES (?, ?, ?, ?)",
                (embedding.record_id, embedding.model, embedding.digest, embedding.vector),
            )
            stored.append(embedding.record_id)
    return stored


def models(conn: Connection) -> list[str]:
    """Every model that has vectors, by name."""
    rows = conn.execute(
        # A loose index scan: one seek a model instead of one step a vector.
        "WITH RECURSIVE names (model) AS ("
        " SELECT min(model) FROM embeddings"
        " UNION ALL SELECT (SELECT min(embeddings.model) FROM embeddings WHERE embeddings.model > names.model)"
        " FROM names WHERE names.model IS NOT NULL"
        ") SELECT model FROM names WHERE model IS NOT NULL"
    )
    return [str(row[0]) for row in rows]


def fullest(conn: Connection, models: Sequence[str]) -> str | None:
    """The model of these with most vectors; None of none. Counts only where there is a choice."""
    if len(models) < 2:
        return models[0] if models else None
    count = "SELECT count(*) FROM embeddings WHERE model = ?"
    return max(models, key=lambda model: int(str(conn.execute(count, (model,)).get)))


def drop_some(conn: Connection, model: str, *, limit: int) -> int:
    """Remove vectors of a model that is no longer used. Returns: how many went, at most `limit`."""
    conn.execute(
        "DELETE FROM embeddings WHERE model = ?1 AND record_id IN"
        " (SELECT record_id FROM embeddings WHERE model = ?1 LIMIT ?2)",
        (model, limit),
    )
    return int(conn.changes())


def _embeddable(row: tuple[Any, ...]) -> Embeddable:
    return Embeddable(*row)
