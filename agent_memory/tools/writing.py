"""Writing tools: store, update and forget. Each is one transaction with the reads it depends on and its audit row."""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from apsw import Connection
from pydantic import ConfigDict, Field

from agent_memory.domain import anchors as anchor_rules
from agent_memory.domain import namespaces
from agent_memory.domain.errors import InvalidArgument, RevisionConflict
from agent_memory.domain.records import (
    CONTENT_MAX_BYTES,
    ID_CHARS,
    REASON_MAX_CHARS,
    TITLE_MAX_CHARS,
    TYPES,
    Draft,
    Record,
    change_status,
    check_confidence,
    check_id,
    check_line,
    check_tags,
    check_text,
    check_type,
    draft,
)
from agent_memory.domain.screen import screen_text
from agent_memory.store import anchors, audit, evidence, jobs, questions, records
from agent_memory.store.records import Changes
from agent_memory.store.scrub import leave_no_trace
from agent_memory.tools.registry import Arguments, Call, Result, tool
from agent_memory.tools.views import RecordView, views


class StoreArguments(Arguments):
    namespace: str
    type: Annotated[str, Field(json_schema_extra={"enum": list(TYPES)})]
    title: str
    content: str
    tags: list[str] | None = None
    confidence: Annotated[float, Field(ge=0, le=1)] = 0.7
    anchors: Annotated[list[str] | None, Field(description="entity:, path:, host: or url: and its value.")] = None
    supersedes: Annotated[str | None, Field(description="Full id of the record this one replaces.")] = None
    session: Annotated[str | None, Field(description="Id of the conversation this belongs to.")] = None
    agent: str | None = None


class StoreResult(Result):
    id: str
    revision: int
    status: str
    superseded: str | None = None


@tool("write")
async def memory_store(call: Call, args: StoreArguments) -> StoreResult:
    """Keep one durable thing a later session should know: a decision and its reason, a constraint, a failure and its
    cause, a procedure, a preference, a fact, open work. One subject a record; no secrets, no session chatter.

    The writer is the client's own name, whatever `agent` says. Answered after the commit.
    """
    services = call.services
    checked = draft(
        namespace=namespaces.validate(args.namespace),
        record_type=args.type,
        title=args.title,
        content=args.content,
        tags=args.tags or (),
        confidence=args.confidence,
        session=args.session,
    )
    ties = check_anchors(args.anchors or ())
    replaced = None if args.supersedes is None else full_id("supersedes", args.supersedes)
    texts = record_texts(
        checked,
        ties,
        namespace=args.namespace,
        title=args.title,
        session=args.session,
        tags=args.tags or (),
        anchors=args.anchors or (),
    )
    await call.services.refuse([*texts, ("agent", args.agent or "")])
    record_id, now, writer = services.new_id(), services.stamp(), call.identity.name

    def work(conn: Connection) -> Record:
        record = records.insert(
            conn, checked, record_id=record_id, status="active", writer=writer, origin="agent", now=now
        )
        anchors.replace(conn, record_id, ties)
        if replaced is not None:
            records.supersede(conn, replaced, record, now=now)
            _note(conn, now, writer, "supersede", replaced, checked.namespace, {"by": record_id})
        _note(conn, now, writer, "store", record_id, checked.namespace, {"type": checked.type})
        return record

    record = await services.store.write(work)
    return StoreResult(id=record.id, revision=record.revision, status=record.status, superseded=replaced)


class ChangeArguments(Arguments):
    """What an update may change; absent fields stay."""

    model_config = ConfigDict(extra="forbid")

    title: str | None = None
    content: str | None = None
    type: str | None = None
    tags: list[str] | None = None
    confidence: float | None = None
    anchors: list[str] | None = None
    status: Annotated[str | None, Field(description="active promotes a candidate, candidate demotes.")] = None


class UpdateArguments(Arguments):
    id: str
    revision: int
    changes: ChangeArguments


class UpdateResult(Result):
    record: RecordView


@tool("write")
async def memory_update(call: Call, args: UpdateArguments) -> UpdateResult:
    """Change a record you have read, at the revision you read. A conflict returns the current record: merge and retry.
    changes {"status": "active"} promotes a candidate.
    """
    record_id = full_id("id", args.id)
    changes, ties = _check_changes(args.changes)
    if args.revision < 1:
        raise InvalidArgument("revision", "must be 1 or more, as a reading tool returned it")
    await call.services.refuse(_change_texts(changes, ties or (), args.changes))
    now, writer = call.services.stamp(), call.identity.name

    def work(conn: Connection) -> RecordView:
        record = records.live(conn, record_id)
        if record.revision != args.revision:
            raise RevisionConflict(record_id, record.revision, _shown(conn, record).model_dump(exclude_none=True))
        if changes.status is not None:
            change_status(record.status, changes.status)
        if ties is not None:
            anchors.replace(conn, record_id, ties)
        records.update(conn, record, changes, now=now)
        evidence.derive(conn, record_id)
        fields = [name for name, value in args.changes.model_dump().items() if value is not None]
        _note(conn, now, writer, "update", record_id, record.namespace, {"fields": ",".join(fields)})
        return _shown(conn, records.live(conn, record_id))

    return UpdateResult(record=await call.services.store.write(work))


class ForgetArguments(Arguments):
    id: str
    reason: str | None = None
    hard: Annotated[bool, Field(description="Erase at once, beyond recovery.")] = False


class ForgetResult(Result):
    id: str
    status: str
    revision: int


@tool("write", destructive=True, scope_of=lambda args: "delete" if args.hard else "write")
async def memory_forget(call: Call, args: ForgetArguments) -> ForgetResult:
    """Drop a record that is wrong or not worth keeping. For outdated knowledge store the new record with supersedes.

    A forgotten record is out of every reading at once and its text is purged after the retention time; `hard` erases
    the row and all that hangs on it in one transaction, forgotten and superseded records included, and what the audit
    had noted of it; then the file is scrubbed of its traces. A standing question's id erases the question at once.
    """
    record_id = full_id("id", args.id)
    reason = None if args.reason is None else check_line("reason", args.reason, REASON_MAX_CHARS)
    await call.services.refuse(spellings("reason", [args.reason or ""], [reason or ""]))
    now, writer = call.services.stamp(), call.identity.name

    def work(conn: Connection) -> tuple[str, int]:
        context = {"reason": reason} if reason else {}
        question = questions.drop(conn, record_id)
        if question is not None:
            action = "forget-hard" if args.hard else "question-drop"
            _note(conn, now, writer, action, record_id, question.namespace, context)
            return "erased", 1
        record = records.stored(conn, record_id) if args.hard else records.readable(conn, record_id)
        if args.hard:
            records.erase(conn, [record_id])
            audit.empty(conn, record_id)
            if record.origin == "summary" and record.session is not None:
                jobs.drop_extraction(conn, record.session)  # it holds the same text
            record_status, revision = "erased", record.revision + 1
        else:
            forgotten = records.forget(conn, record, now=now)
            record_status, revision = forgotten.status, forgotten.revision
        action = "forget-hard" if args.hard else "forget"
        _note(conn, now, writer, action, record_id, record.namespace, context)
        return record_status, revision

    status, revision = await call.services.store.write(work)
    if args.hard:
        await leave_no_trace(call.services.store, now=now)
    return ForgetResult(id=record_id, status=status, revision=revision)


def full_id(field: str, text: str) -> str:
    """A full id: what writes names one record and no prefix. Raises: InvalidArgument."""
    plain = check_id(field, text)
    if len(plain) != ID_CHARS:
        raise InvalidArgument(field, f"must be the full id of {ID_CHARS} hex digits; memory_get resolves a prefix")
    return plain


def check_anchors(given: Sequence[str]) -> list[tuple[str, str]]:
    """(kind, anchor) pairs, each once, in the order given. Raises: InvalidArgument, SecretRefused."""
    return [(anchor.kind, str(anchor)) for anchor in anchor_rules.parse_all(given, _names_a_credential)]


def read_anchor(text: str) -> tuple[str, str]:
    """One anchor as (kind, anchor) in its canonical spelling. Raises: InvalidArgument, SecretRefused."""
    anchor = anchor_rules.parse(text, _names_a_credential)
    return anchor.kind, str(anchor)


def _names_a_credential(name: str) -> bool:
    """Whether a URL parameter of this name is refused, by the screen's own judgement of such a URL."""
    return screen_text(f"https://host/?{name}=Zk4rTq8wLm2xVb7n") is not None


def _check_changes(given: ChangeArguments) -> tuple[Changes, list[tuple[str, str]] | None]:
    if all(value is None for value in given.model_dump().values()):
        raise InvalidArgument("changes", f"is empty; it may hold {', '.join(ChangeArguments.model_fields)}")
    changes = Changes(
        title=None if given.title is None else check_line("changes.title", given.title, TITLE_MAX_CHARS),
        content=None
        if given.content is None
        else check_text("changes.content", given.content, max_bytes=CONTENT_MAX_BYTES),
        type=None if given.type is None else check_type(given.type),
        tags=None if given.tags is None else check_tags(given.tags),
        confidence=None if given.confidence is None else check_confidence(given.confidence),
        status=given.status,
    )
    return changes, None if given.anchors is None else check_anchors(given.anchors)


def spellings(field: str, sent: Iterable[str], stored: Iterable[str]) -> list[tuple[str, str]]:
    """The texts of a field that is stored in a spelling of its own, for the screen: as sent, and as stored.

    A token in lower case has lost the shape that the screen knows it by, and one broken over lines its two halves'
    line break, when the lines are made one.
    """
    return [(field, text) for text in dict.fromkeys((*sent, *stored))]


def record_texts(
    checked: Draft,
    ties: Iterable[tuple[str, str]],
    *,
    namespace: str,
    title: str,
    session: str | None,
    tags: Sequence[str],
    anchors: Sequence[str],
) -> list[tuple[str, str]]:
    """Every text of a record with its field, for the screen.

    Args:
      ties: the anchors as (kind, anchor).
      namespace, title, session, tags, anchors: as they were sent.
    """
    return [
        *spellings("namespace", [namespace], [checked.namespace]),
        *spellings("title", [title], [checked.title]),
        ("content", checked.content),
        *spellings("session", [session or ""], [checked.session or ""]),
        *spellings("tags", tags, checked.tags),
        *spellings("anchors", anchors, (anchor for _, anchor in ties)),
    ]


def _change_texts(changes: Changes, ties: Iterable[tuple[str, str]], sent: ChangeArguments) -> list[tuple[str, str]]:
    return [
        *spellings("title", [sent.title or ""], [changes.title or ""]),
        ("content", changes.content or ""),
        *spellings("tags", sent.tags or (), changes.tags or ()),
        *spellings("anchors", sent.anchors or (), (anchor for _, anchor in ties)),
    ]


def _shown(conn: Connection, record: Record) -> RecordView:
    return views(conn, [record])[record.id]


def _note(
    conn: Connection, now: str, client: str, action: str, record_id: str, namespace: str, context: dict[str, Any]
) -> None:
    audit.note(conn, at=now, client=client, action=action, record_id=record_id, namespace=namespace, context=context)


TOOLS: tuple[Any, ...] = (memory_store, memory_update, memory_forget)
