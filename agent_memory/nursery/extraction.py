"""The extract job: session notes become candidates, less what the namespace holds already."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from apsw import Connection

from agent_memory.domain.errors import InvalidArgument
from agent_memory.domain.namespaces import Scopes
from agent_memory.domain.records import Draft, draft
from agent_memory.domain.screen import screen_text
from agent_memory.llm.extraction import EXTRACTED_CONFIDENCE, Extraction, extract
from agent_memory.llm.memories import Candidate, Known, select
from agent_memory.llm.router import Router
from agent_memory.logs import Log
from agent_memory.nursery.jobs import Keep
from agent_memory.store import audit, records, transfer
from agent_memory.store.jobs import Job
from agent_memory.tools.finding import Wanted, find
from agent_memory.tools.services import Services

log = Log("extract")

NEAREST: Final = 5  # stored records that a found memory is compared with
QUERY_CHARS: Final = 1_000  # of a memory, to look for its like


@dataclass(frozen=True, slots=True)
class _Drafted:
    id: str
    draft: Draft
    candidate: Candidate


class Extractor:
    """Does extract jobs."""

    def __init__(self, services: Services, router: Router) -> None:
        self._services = services
        self._router = router

    async def __call__(self, job: Job) -> Keep:
        """Ask for the memories of a session's notes. Returns: what stores them as candidates, with the audit.

        Raises: NoServerLive, EveryModelFailed, ServiceError.
        """
        notes = "\n\n".join(filter(None, (job.payload.get("summary"), job.payload.get("notes"))))
        found = await extract(self._router, notes, (), screen_text)
        known = [near for one in found.candidates for near in await self._nearest(job.namespace, one)]
        kept = select(found.candidates, known, screen_text)
        drafted, malformed = self._draft(job, kept.candidates)
        now = self._services.stamp()
        counts = _counts(found, known=found.known + kept.known, malformed=found.malformed + malformed)

        def keep(conn: Connection) -> None:
            stored = [one for one in drafted if _store(conn, job, one, now)]
            context = {"job": job.id, "candidates": len(stored), **counts, **_served(found)}
            audit.note(conn, at=now, client=job.client, action="extract", namespace=job.namespace, context=context)

        server = found.served_by[-1][0] if found.served_by else ""
        log.info("extracted", job=job.id, candidates=len(drafted), **counts, server=server)
        return keep

    async def _nearest(self, namespace: str, candidate: Candidate) -> list[Known]:
        """The live records of the namespace itself that are most like a memory."""
        scopes = Scopes((namespace,), reaches_all_repositories=False)
        query = candidate.text[:QUERY_CHARS]
        found = await find(self._services, Wanted(query=query, scopes=scopes, limit=NEAREST))
        return [Known(hit.record.title, hit.record.content) for hit in found.hits]

    def _draft(self, job: Job, candidates: Sequence[Candidate]) -> tuple[list[_Drafted], int]:
        """Candidates as checked drafts with fresh ids, and how many no record can hold."""
        drafted = []
        for one in candidates:
            try:
                checked = draft(
                    namespace=job.namespace,
                    record_type=one.type,
                    title=one.title,
                    content=one.content,
                    tags=one.tags,
                    confidence=EXTRACTED_CONFIDENCE,
                    session=job.payload.get("session"),
                )
            except InvalidArgument:
                continue
            drafted.append(_Drafted(self._services.new_id(), checked, one))
        return drafted, len(candidates) - len(drafted)


def _store(conn: Connection, job: Job, one: _Drafted, now: str) -> bool:
    """Store a candidate unless another session's job brought the same text meanwhile."""
    made = one.draft
    if transfer.holds_text(
        conn, namespace=made.namespace, record_type=made.type, title=made.title, content=made.content
    ):
        return False
    records.store_candidate(
        conn, made, record_id=one.id, writer=job.client, origin="extraction", now=now, model=one.candidate.model
    )
    audit.note(
        conn,
        at=now,
        client=job.client,
        action="store-candidate",
        record_id=one.id,
        namespace=made.namespace,
        context={"type": made.type, "model": one.candidate.model, "server": one.candidate.server},
    )
    return True


def _counts(found: Extraction, *, known: int, malformed: int) -> dict[str, int]:
    """What was left out and why, without the zeros."""
    counts = {
        "known": known,
        "refused": sum(found.refused.values()),
        "malformed": malformed,
        "ungrounded": found.ungrounded,
        "over_cap": found.over_cap,
        "unread_chars": found.unread_chars,
    }
    return {name: count for name, count in counts.items() if count}


def _served(found: Extraction) -> dict[str, str]:
    servers = dict.fromkeys(server for server, _ in found.served_by)
    models = dict.fromkeys(model for _, model in found.served_by)
    return {"model": ", ".join(models), "server": ", ".join(servers)}
