"""The records table: reading, writing, superseding and forgetting. Its full-text index follows by triggers."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from apsw import Connection

from agent_memory.domain.errors import Conflict, RecordNotFound
from agent_memory.domain.namespaces import Scopes
from agent_memory.domain.records import LIVE, Draft, Record
from agent_memory.domain.terms import index_terms
from agent_memory.store.statement_screen import composed

_COLUMNS: Final = (
    "id, namespace, type, status, title, content, tags, confidence, effective_confidence, proof_count,"
    " refutation_count, revision, writer, session, origin, model,"
    " (SELECT old.id FROM records AS old WHERE old.superseded_by = records.id), superseded_by,"
    " created_at, updated_at, deleted_at"
)
_LIVE: Final = "status IN ('active', 'candidate')"
REPOSITORIES: Final = "(namespace GLOB 'github/*' OR namespace GLOB 'gitea/*')"


@dataclass(frozen=True, slots=True)
class Changes:
    """The fields an update sets; None leaves a field as it is."""

    title: str | None = None
    content: str | None = None
    type: str | None = None
    tags: tuple[str, ...] | None = None
    confidence: float | None = None
    status: str | None = None


def in_scope(scopes: Scopes) -> tuple[str, list[Any]]:
    """The condition that a row's `namespace` is in reach, and its bindings. Every reading statement carries it."""
    condition = "namespace IN (SELECT value FROM json_each(?))"
    if scopes.reaches_all_repositories:
        condition = f"({condition} OR {REPOSITORIES})"
    return condition, [json.dumps(scopes.ordered)]


def insert(
    conn: Connection,
    draft: Draft,
    *,
    record_id: str,
    status: str,
    writer: str,
    origin: str,
    now: str,
    model: str | None = None,
) -> Record:
    """Add a record at revision 1. The caller decides the state; `status` is active or candidate."""
    conn.execute(
        "INSERT INTO records (id, namespace, type, status, revision, confidence, effective_confidence, created_at,"
        " updated_at, writer, session, session_place, origin, model, tags, title, content, terms)"
        " VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            record_id,
            draft.namespace,
            draft.type,
            status,
            draft.confidence,
            draft.confidence,
            now,
            now,
            writer,
            draft.session,
            next_place(conn, draft.namespace, draft.session),
            origin,
            model,
            composed(draft.tags),
            draft.title,
            draft.content,
            index_terms(draft.title, draft.content),
        ),
    )
    return _read(conn, record_id)


def next_place(conn: Connection, namespace: str, session: str | None) -> int | None:
    """The place of the next record of a session in a namespace, from 1; None without a session."""
    if session is None:
        return None
    last = conn.execute(
        "SELECT max(session_place) FROM records WHERE session = ? AND namespace = ?", (session, namespace)
    ).get
    return int(last or 0) + 1


def store_candidate(
    conn: Connection, draft: Draft, *, record_id: str, writer: str, origin: str, now: str, model: str | None = None
) -> Record:
    """Add a record that waits for review: the only writer of candidates (extraction, import, session summaries)."""
    return insert(
        conn, draft, record_id=record_id, status="candidate", writer=writer, origin=origin, now=now, model=model
    )


def find(conn: Connection, record_id: str) -> Record | None:
    """The record with exactly this id that was not forgotten, or None."""
    rows = _select(conn, "WHERE id = ? AND status <> 'deleted'", (record_id,))
    return rows[0] if rows else None


def live(conn: Connection, record_id: str) -> Record:
    """The active or candidate record with exactly this id. Raises: RecordNotFound."""
    record = find(conn, record_id)
    if record is None or record.status not in LIVE:
        raise RecordNotFound(record_id, None if record is None else record.superseded_by)
    return record


def readable(conn: Connection, record_id: str) -> Record:
    """The record with exactly this id, live or superseded. Raises: RecordNotFound."""
    record = find(conn, record_id)
    if record is None:
        raise RecordNotFound(record_id)
    return record


def stored(conn: Connection, record_id: str) -> Record:
    """The record with exactly this id in whatever state, forgotten included. Raises: RecordNotFound."""
    rows = _select(conn, "WHERE id = ?", (record_id,))
    if not rows:
        raise RecordNotFound(record_id)
    return rows[0]


def is_stored(conn: Connection, record_id: str) -> bool:
    """Whether there is a row of exactly this id, in whatever state."""
    return bool(conn.execute("SELECT EXISTS (SELECT 1 FROM records WHERE id = ?)", (record_id,)).get)


def matches(conn: Connection, id_or_prefix: str, scopes: Scopes | None, limit: int = 6) -> list[Record]:
    """Records whose id starts so, forgotten ones excepted; live ones alone where any of them fits.

    Args:
      scopes: where to look, or None for everywhere.
      limit: the most to return; one that returns several is ambiguous anyway, and `count_matches` says how much.
    """
    where, bindings = _starting(id_or_prefix, scopes)
    alive = _select(conn, f"WHERE {where} AND {_LIVE} ORDER BY id LIMIT ?", (*bindings, limit))
    return alive or _select(conn, f"WHERE {where} ORDER BY id LIMIT ?", (*bindings, limit))


def count_matches(conn: Connection, prefix: str, scopes: Scopes | None) -> int:
    """How many records an ambiguous prefix may mean: the live ones, or all when none is."""
    where, bindings = _starting(prefix, scopes)
    alive, every = conn.execute(f"SELECT total({_LIVE}), count(*) FROM records WHERE {where}", bindings).get
    return int(alive or every)


def _starting(prefix: str, scopes: Scopes | None) -> tuple[str, list[Any]]:
    """The condition that a record's id starts so, that it was not forgotten and lies in scope; and its bindings."""
    condition, bindings = ("1", []) if scopes is None else in_scope(scopes)
    return f"id >= ? AND id < ? || 'g' AND status <> 'deleted' AND {condition}", [prefix, prefix, *bindings]


def neighbours(conn: Connection, record_id: str) -> list[str]:
    """The ids just before and after this one in order, in whatever state: enough to find its shortest unique prefix."""
    before = conn.execute("SELECT id FROM records WHERE id < ? ORDER BY id DESC LIMIT 1", (record_id,))
    after = conn.execute("SELECT id FROM records WHERE id > ? ORDER BY id LIMIT 1", (record_id,))
    return [row[0] for row in (*before, *after)]


def update(conn: Connection, record: Record, changes: Changes, *, now: str) -> None:
    """Set fields of a live record and advance its revision; `evidence.derive` then brings its confidence up to date.

    What does not change is not written anew: rules that became stricter since must not stop a change beside it.
    """
    columns: dict[str, Any] = {name: value for name, value in asdict(changes).items() if value is not None}
    if changes.tags is not None:
        columns["tags"] = composed(changes.tags)
    if changes.title is not None or changes.content is not None:
        columns["terms"] = index_terms(columns.get("title", record.title), columns.get("content", record.content))
    conn.execute(
        f"UPDATE records SET {''.join(f'{name} = ?, ' for name in columns)} revision = revision + 1, updated_at = ?"
        " WHERE id = ?",
        (*columns.values(), now, record.id),
    )


def advance(conn: Connection, record_id: str, *, now: str) -> None:
    """Advance a record's revision for a mutation outside its own row (evidence, anchor state)."""
    conn.execute("UPDATE records SET revision = revision + 1, updated_at = ? WHERE id = ?", (now, record_id))


def supersede(conn: Connection, old_id: str, replacement: Record, *, now: str) -> Record:
    """Retire a live active record in favour of a new one of the same namespace.

    Raises: RecordNotFound: the old one is not live. Conflict: it is a candidate, lies in another namespace, is the
      replacement itself or one of its successors, or the replacement is not active.
    """
    old = live(conn, old_id)
    if old.id == replacement.id:
        raise Conflict("a record cannot supersede itself")
    if old.status != "active":
        raise Conflict(f"only an active record can be superseded, and {old.id} is a candidate")
    if replacement.status != "active":
        raise Conflict("only an active record can supersede another")
    if old.namespace != replacement.namespace:
        raise Conflict(f"record {old.id} lies in another namespace; supersede within one namespace")
    if old.id in successors(conn, replacement.id):
        raise Conflict(f"record {old.id} already follows {replacement.id}; a chain of supersession has no cycle")
    conn.execute(
        "UPDATE records SET status = 'superseded', superseded_by = ?, revision = revision + 1, updated_at = ?"
        " WHERE id = ?",
        (replacement.id, now, old.id),
    )
    return _read(conn, old.id)


def successors(conn: Connection, record_id: str) -> list[str]:
    """The ids that superseded a record, one after the other."""
    rows = conn.execute(
        "WITH RECURSIVE chain (id, depth) AS ("
        " SELECT superseded_by, 1 FROM records WHERE id = ?"
        " UNION SELECT records.superseded_by, depth + 1 FROM records JOIN chain ON records.id = chain.id"
        ") SELECT id FROM chain WHERE id IS NOT NULL ORDER BY depth",
        (record_id,),
    )
    return [row[0] for row in rows]


def forget(conn: Connection, record: Record, *, now: str) -> Record:
    """Take a record out of every reading; its text stays until retention or a hard forget removes it."""
    conn.execute(
        "UPDATE records SET status = 'deleted', deleted_at = ?, revision = revision + 1, updated_at = ? WHERE id = ?",
        (now, now, record.id),
    )
    return replace(record, status="deleted", deleted_at=now, updated_at=now, revision=record.revision + 1)


def erase(conn: Connection, ids: Iterable[str]) -> int:
    """Remove rows and all that hangs on them; records that one of them superseded keep its id as their successor.

    Returns: how many rows went.
    """
    count = 0
    for record_id in ids:
        conn.execute("DELETE FROM records WHERE id = ?", (record_id,))
        count += conn.changes()
    return count


def newest(conn: Connection, namespace: str, status: str, *, before: str | None, limit: int) -> list[Record]:
    """Records of one namespace and state, newest first (by id, which is by time of writing).

    Args:
      before: an id, or the first digits of one; only earlier records are returned.
    """
    return _select(
        conn,
        "WHERE namespace = ? AND status = ? AND id < ? ORDER BY id DESC LIMIT ?",
        (namespace, status, before or "g", limit),
    )


def listed(
    conn: Connection, scopes: Scopes, *, types: Sequence[str], status: str = "active", limit: int
) -> list[Record]:
    """Records in scope of the given types, newest first within each scope, scopes in retrieval order.

    Records that only a hub's reach brings in are not listed: reach is for search and task matches.
    """
    found: list[Record] = []
    for namespace in scopes.ordered:
        rows = _select(
            conn,
            "WHERE namespace = ? AND status = ? AND type IN (SELECT value FROM json_each(?)) ORDER BY id DESC LIMIT ?",
            (namespace, status, json.dumps(types), limit - len(found)),
        )
        found.extend(rows)
        if len(found) >= limit:
            break
    return found


def counts(conn: Connection, namespace: str) -> Mapping[str, int]:
    """How many records of a namespace are in each state."""
    rows = conn.execute("SELECT status, count(*) FROM records WHERE namespace = ? GROUP BY status", (namespace,))
    return {str(status): int(str(count)) for status, count in rows}


def newest_titles(conn: Connection, namespace: str, record_type: str, *, limit: int) -> list[tuple[str, str]]:
    """(id, title) of the newest active records of one type, newest first."""
    rows = conn.execute(
        "SELECT id, title FROM records WHERE namespace = ? AND status = 'active' AND type = ? ORDER BY id DESC LIMIT ?",
        (namespace, record_type, limit),
    )
    return [(str(record_id), str(title)) for record_id, title in rows]


def count_active(conn: Connection, scopes: Scopes) -> int:
    """How many active records these scopes hold (a hub's reach left out)."""
    return int(
        conn.execute(
            "SELECT count(*) FROM records WHERE status = 'active' AND namespace IN (SELECT value FROM json_each(?))",
            (json.dumps(scopes.ordered),),
        ).get
    )


def candidates_pending(conn: Connection, scopes: Scopes) -> int:
    """How many candidates wait for review in these scopes (a hub's reach left out)."""
    return int(
        conn.execute(
            "SELECT count(*) FROM records WHERE status = 'candidate' AND namespace IN (SELECT value FROM json_each(?))",
            (json.dumps(scopes.ordered),),
        ).get
    )


def rename_namespaces(conn: Connection, names: Mapping[str, str], *, now: str) -> int:
    """Move records from one namespace to another; each record's revision advances. Returns: how many moved."""
    moved = 0
    for old, new in names.items():
        conn.execute(
            "UPDATE records SET namespace = ?, revision = revision + 1, updated_at = ? WHERE namespace = ?",
            (new, now, old),
        )
        moved += conn.changes()
    return moved


def namespaces(conn: Connection) -> list[str]:
    """Every namespace that holds a record, in order."""
    return [row[0] for row in conn.execute("SELECT DISTINCT namespace FROM records ORDER BY namespace")]


def by_ids(conn: Connection, ids: Sequence[str]) -> dict[str, Record]:
    """The records with these ids that were not forgotten, by id."""
    rows = _select(
        conn, "WHERE id IN (SELECT value FROM json_each(?)) AND status <> 'deleted'", (json.dumps(list(ids)),)
    )
    return {record.id: record for record in rows}


def by_id_order(conn: Connection, namespace: str | None, *, after: str, limit: int) -> list[Record]:
    """Records with an id behind `after`, by id, of one namespace or of all; forgotten ones left out."""
    # The unary plus keeps SQLite on the order of ids: sorting a namespace anew for every page would be quadratic.
    scope, bindings = ("", ()) if namespace is None else ("AND +namespace = ?", (namespace,))
    return _select(
        conn,
        f"WHERE id > ? {scope} AND +status <> 'deleted' ORDER BY id LIMIT ?",
        (after, *bindings, limit),
    )


def candidates(conn: Connection, *, after: str, limit: int) -> list[Record]:
    """Candidates of every namespace by id, from behind an id on."""
    return _select(
        conn, "INDEXED BY records_pending WHERE status = 'candidate' AND id > ? ORDER BY id LIMIT ?", (after, limit)
    )


def _read(conn: Connection, record_id: str) -> Record:
    return _select(conn, "WHERE id = ?", (record_id,))[0]


def _select(conn: Connection, where: str, bindings: tuple[Any, ...]) -> list[Record]:
    rows = conn.execute(f"SELECT {_COLUMNS} FROM records {where}", bindings)
    return [_record(row) for row in rows]


def _record(row: tuple[Any, ...]) -> Record:
    fields = list(row)
    fields[6] = tuple(json.loads(fields[6]))
    return Record(*fields)
