"""How records look in results: one model, filled from the rows of the store."""

from collections.abc import Sequence

from apsw import Connection
from pydantic import BaseModel, Field

from agent_memory.domain.records import Record
from agent_memory.store import anchors
from agent_memory.store.anchors import AnchorRow


class AnchorView(BaseModel):
    """An anchor and its last definitive state."""

    anchor: str
    state: str
    unavailable_since: str | None = None


class RecordView(BaseModel):
    """A record, whole."""

    id: str
    namespace: str
    type: str
    title: str
    content: str
    tags: list[str]
    status: str
    revision: int
    confidence: float = Field(description="What its writer asserted, 0 to 1.")
    effective_confidence: float = Field(description="What evidence has made of it, 0 to 1.")
    proof_count: int
    refutation_count: int
    anchors: list[AnchorView] | None = None
    missing_anchors: list[str] | None = None
    supersedes: str | None = None
    superseded_by: str | None = None
    writer: str
    session: str | None = None
    origin: str
    model: str | None = None
    created_at: str
    updated_at: str


def view(record: Record, ties: Sequence[AnchorRow] = ()) -> RecordView:
    """A record as results show it."""
    return RecordView(
        id=record.id,
        namespace=record.namespace,
        type=record.type,
        title=record.title,
        content=record.content,
        tags=list(record.tags),
        status=record.status,
        revision=record.revision,
        confidence=round(record.confidence, 4),
        effective_confidence=round(record.effective_confidence, 4),
        proof_count=record.proof_count,
        refutation_count=record.refutation_count,
        anchors=[
            AnchorView(anchor=tie.anchor, state=tie.state, unavailable_since=tie.unavailable_since) for tie in ties
        ]
        or None,
        missing_anchors=[tie.anchor for tie in ties if tie.state == "missing"] or None,
        supersedes=record.supersedes,
        superseded_by=record.superseded_by,
        writer=record.writer,
        session=record.session,
        origin=record.origin,
        model=record.model,
        created_at=record.created_at,
        updated_at=record.updated_at,
    )


def views(conn: Connection, rows: Sequence[Record]) -> dict[str, RecordView]:
    """Records with their anchors, by id, in the order given."""
    ties = anchors.of(conn, [record.id for record in rows])
    return {record.id: view(record, ties.get(record.id, ())) for record in rows}
