"""Closing a session: its summary, its notes for extraction, and a receipt that makes a retry safe."""

import hashlib
import json
import re
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Final

from apsw import Connection
from pydantic import Field

from agent_memory.domain import namespaces
from agent_memory.domain.errors import InvalidArgument
from agent_memory.domain.records import CONTENT_MAX_BYTES, TITLE_MAX_CHARS, Draft, check_text, draft
from agent_memory.domain.screen import screened
from agent_memory.store import audit, jobs, receipts, records
from agent_memory.tools.registry import Arguments, Call, Result, tool
from agent_memory.tools.services import Services
from agent_memory.tools.writing import spellings

OP_ID: Final = re.compile(r"[A-Za-z0-9_-]{8,64}")
NOTES_MAX_BYTES: Final = 256 * 1024


class CloseArguments(Arguments):
    namespace: str
    summary: Annotated[str, Field(description="What was done and what is left, in a few sentences.")]
    notes: Annotated[str | None, Field(description="Longer notes; durable facts are extracted from them.")] = None
    agent: str | None = None
    op_id: Annotated[str | None, Field(description="8-64 of A-Za-z0-9_-; makes a retry safe.")] = None


class CloseResult(Result):
    session_id: str
    job_id: str | None = None
    candidate_id: str | None = None
    notes_refused: str | None = Field(default=None, description="The pattern that refused the notes.")
    replayed: bool | None = None


@dataclass(frozen=True, slots=True)
class _Close:
    namespace: str
    summary: str
    notes: str | None
    notes_refused: str | None


@tool("write", idempotent=True)
async def memory_session_close(call: Call, args: CloseArguments) -> CloseResult:
    """End a session: what was done and what is left. With op_id a retry returns the first result."""
    if args.op_id is not None and not OP_ID.fullmatch(args.op_id):
        raise InvalidArgument("op_id", "must be 8 to 64 of A-Za-z0-9_-")
    close = await _check(args, call.services)
    services, client = call.services, call.identity.name
    digest = _digest(args)
    now, session_id = services.stamp(), services.new_id()
    job_id, candidate_id = services.new_id(), services.new_id()

    def work(conn: Connection) -> CloseResult:
        if args.op_id is not None:
            kept = receipts.replay(conn, args.op_id, client=client, digest=digest)
            if kept is not None:
                return CloseResult.model_validate_json(kept).model_copy(update={"replayed": True})
        result = CloseResult(session_id=session_id, notes_refused=close.notes_refused)
        if services.policy.summary_candidates:
            records.store_candidate(
                conn,
                _summary_draft(close, session_id),
                record_id=candidate_id,
                writer=client,
                origin="summary",
                now=now,
            )
            result.candidate_id = candidate_id
        if services.policy.enrichment:
            payload = {"session": session_id, "summary": close.summary, "notes": close.notes}
            result.job_id = jobs.queue(
                conn,
                job_id=job_id,
                kind="extract",
                client=client,
                namespace=close.namespace,
                payload=payload,
                now=now,
            )
        _note(conn, now, client, close, result)
        if args.op_id is not None:
            receipts.keep(conn, args.op_id, client=client, digest=digest, result=result.model_dump_json(), now=now)
        return result

    return await services.store.write(work)


async def _check(args: CloseArguments, services: Services) -> _Close:
    namespace = namespaces.validate(args.namespace)
    summary = check_text("summary", args.summary, max_bytes=CONTENT_MAX_BYTES)
    await services.refuse(
        [("summary", summary), *spellings("namespace", [args.namespace], [namespace]), ("agent", args.agent or "")]
    )
    if args.notes is None or not args.notes.strip():
        return _Close(namespace, summary, None, None)
    # Judged as sent, before any cleaning could take the marker apart. The summary is kept all the same.
    pattern = await services.pattern(args.notes)
    if pattern is not None:
        return _Close(namespace, summary, None, pattern)
    return _Close(namespace, summary, check_text("notes", args.notes, max_bytes=NOTES_MAX_BYTES), None)


def _digest(args: CloseArguments) -> str:
    """A receipt is bound to every input, as sent."""
    inputs = args.model_dump(exclude={"op_id"})
    return hashlib.sha256(json.dumps(inputs, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def _summary_draft(close: _Close, session_id: str) -> Draft:
    first_line = close.summary.splitlines()[0]
    return draft(
        namespace=close.namespace,
        record_type="session-summary",
        # A cut may end a value where it starts to look like a credential, and the close must not fail for that.
        title=screened(first_line[:TITLE_MAX_CHARS]),
        content=close.summary,
        session=session_id,
    )


def _note(conn: Connection, now: str, client: str, close: _Close, result: CloseResult) -> None:
    note = partial(audit.note, conn, at=now, client=client, action="session-close", namespace=close.namespace)
    note(record_id=result.candidate_id, context={"session": result.session_id, "job": result.job_id})
    if close.notes_refused is not None:
        context = {"code": "SecretRefused", "field": "notes", "pattern": close.notes_refused}
        note(outcome="refused", context=context)


TOOLS: tuple[Any, ...] = (memory_session_close,)
