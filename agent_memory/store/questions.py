"""Standing questions: declaring and finding them, keeping their answers, and what an answer rests on."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from apsw import Connection

from agent_memory.domain.errors import Conflict
from agent_memory.domain.namespaces import Scopes
from agent_memory.domain.questions import Source
from agent_memory.store.records import in_scope

QUESTIONS_MAX: Final = 100  # of one namespace; each is looked at again and again, and answered by a model
_COLUMNS: Final = (
    "id, namespace, question, created_at, current, attempted, attempted_at, answer, basis, model, answered_at"
)


@dataclass(frozen=True, slots=True)
class Question:
    """A standing question and its answer, the last four fields None before it has one.

    `current` digests the records an answer would rest on as of the last look, `basis` those this answer rests on.
    """

    id: str
    namespace: str
    question: str
    created_at: str
    current: str | None
    attempted: str | None
    attempted_at: str | None
    answer: str | None
    basis: str | None
    model: str | None
    answered_at: str | None


@dataclass(frozen=True, slots=True)
class NewAnswer:
    """An answer to keep: the ids it was shown, in their order, and those of them it cites."""

    text: str
    shown: tuple[str, ...]
    cited: frozenset[str]
    basis: str
    model: str


def add(
    conn: Connection, *, question_id: str, namespace: str, question: str, wording: str, client: str, now: str
) -> tuple[str, bool]:
    """Declare a question. Returns: its id, that of the same wording when it stands already, and whether it is new.

    Raises: Conflict: the namespace has its full number.
    """
    found = by_wording(conn, namespace, wording)
    if found is not None:
        return found.id, False
    if int(conn.execute("SELECT count(*) FROM questions WHERE namespace = ?", (namespace,)).get) >= QUESTIONS_MAX:
        raise Conflict(f"this namespace has its {QUESTIONS_MAX} standing questions; memory_forget drops one by its id")
    conn.execute(
        "INSERT INTO questions (id, namespace, question, wording, client, created_at) VALUES (?, ?, ?, ?, ?, ?)",
        (question_id, namespace, question, wording, client, now),
    )
    return question_id, True


def by_wording(conn: Connection, namespace: str, wording: str) -> Question | None:
    """The question of a namespace with exactly this wording."""
    return _first(conn, "WHERE namespace = ? AND wording = ?", (namespace, wording))


def by_prefix(conn: Connection, namespace: str, prefix: str) -> Question | None:
    """The one question of a namespace whose id starts so; None when there is none or there are several."""
    found = _select(conn, "WHERE namespace = ? AND id >= ? AND id < ? || 'g' LIMIT 2", (namespace, prefix, prefix))
    return found[0] if len(found) == 1 else None


def by_id(conn: Connection, question_id: str) -> Question | None:
    """The question with exactly this id, of whatever namespace."""
    return _first(conn, "WHERE id = ?", (question_id,))


def of_namespace(conn: Connection, namespace: str) -> list[Question]:
    """A namespace's questions, oldest first."""
    return _select(conn, "WHERE namespace = ? ORDER BY seq", (namespace,))


def every(conn: Connection) -> list[Question]:
    """Every question whose sources were looked up, oldest first; answers are small and questions few."""
    return _select(conn, "WHERE current IS NOT NULL ORDER BY seq", ())


def next_to_look_at(conn: Connection, after: str) -> Question | None:
    """The next question whose sources to look up: one never looked at, else the one behind an id, in a circle."""
    return (
        _first(conn, "WHERE current IS NULL ORDER BY seq LIMIT 1", ())
        or _first(conn, "WHERE id > ? ORDER BY id LIMIT 1", (after,))
        or _first(conn, "ORDER BY id LIMIT 1", ())
    )


def look(conn: Connection, question_id: str, current: str) -> None:
    """Note the digest of what an answer would rest on now."""
    conn.execute("UPDATE questions SET current = ? WHERE id = ?", (current, question_id))


def attempt(conn: Connection, question_id: str, *, current: str, now: str) -> None:
    """Note that an answer from these sources is being tried."""
    conn.execute(
        "UPDATE questions SET attempted = ?, attempted_at = ? WHERE id = ?",
        (current, now, question_id),
    )


def forget_attempt(conn: Connection, question_id: str) -> None:
    """An attempt came to nothing for no fault of the question's: its sources changed meanwhile."""
    conn.execute("UPDATE questions SET attempted = NULL, current = NULL WHERE id = ?", (question_id,))


def keep_answer(conn: Connection, question_id: str, answer: NewAnswer, *, now: str) -> None:
    """Replace a question's answer; nothing happens to a question that is gone."""
    conn.execute(
        "UPDATE questions SET answer = ?, basis = ?, current = ?, model = ?, answered_at = ? WHERE id = ?",
        (answer.text, answer.basis, answer.basis, answer.model or None, now, question_id),
    )
    if not conn.changes():
        return
    conn.execute("DELETE FROM answer_sources WHERE question_id = ?", (question_id,))
    conn.executemany(
        "INSERT INTO answer_sources (question_id, record_id, place, cited) VALUES (?, ?, ?, ?)",
        ((question_id, shown, place, shown in answer.cited) for place, shown in enumerate(answer.shown)),
    )


def shown_ids(conn: Connection, question_id: str) -> list[tuple[str, bool]]:
    """(id, cited) of every record behind a question's answer, best first."""
    rows = conn.execute(
        "SELECT record_id, cited FROM answer_sources WHERE question_id = ? ORDER BY place", (question_id,)
    )
    return [(str(record_id), bool(cited)) for record_id, cited in rows]


def rests_beyond(conn: Connection, question_id: str, scopes: Scopes) -> bool:
    """Whether a question's answer rests on a record outside these scopes: a link or a hub was taken away since."""
    condition, bindings = in_scope(scopes)
    row = conn.execute(
        "SELECT EXISTS (SELECT 1 FROM answer_sources JOIN records ON records.id = record_id"
        f" WHERE question_id = ? AND NOT {condition})",
        (question_id, *bindings),
    ).get
    return bool(row)


def sources(conn: Connection, ids: Sequence[str]) -> list[Source]:
    """Those of these records that are active, as an answer's sources, by id."""
    rows = conn.execute(
        "SELECT id, updated_at, title, content FROM records"
        " WHERE id IN (SELECT value FROM json_each(?)) AND status = 'active' ORDER BY id",
        (json.dumps(list(ids)),),
    )
    return [Source(str(record_id), str(at), str(title), str(content)) for record_id, at, title, content in rows]


def drop(conn: Connection, question_id: str) -> Question | None:
    """Erase a question with its answer. Returns: what it was, or None when there is none of this id."""
    found = by_id(conn, question_id)
    if found is not None:
        conn.execute("DELETE FROM questions WHERE id = ?", (question_id,))
    return found


def count(conn: Connection) -> int:
    """How many questions stand, of every namespace."""
    return int(conn.execute("SELECT count(*) FROM questions").get)


def namespaces(conn: Connection) -> list[str]:
    """Every namespace with a question, in order."""
    return [str(row[0]) for row in conn.execute("SELECT DISTINCT namespace FROM questions ORDER BY namespace")]


def rename_namespaces(conn: Connection, names: Mapping[str, str]) -> None:
    """Move questions along with their namespace; one that stands there already stays the one."""
    for old, new in names.items():
        conn.execute("UPDATE OR IGNORE questions SET namespace = ? WHERE namespace = ?", (new, old))
        conn.execute("DELETE FROM questions WHERE namespace = ?", (old,))


def _first(conn: Connection, where: str, bindings: tuple[Any, ...]) -> Question | None:
    found = _select(conn, where, bindings)
    return found[0] if found else None


def _select(conn: Connection, where: str, bindings: tuple[Any, ...]) -> list[Question]:
    return [_question(row) for row in conn.execute(f"SELECT {_COLUMNS} FROM questions {where}", bindings)]


def _question(row: tuple[Any, ...]) -> Question:
    return Question(*row)
