"""The portable form of a record: one line of JSON with every field, anchors and evidence; reading it checks all."""

import json
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, TypeVar

import pydantic
from pydantic import BaseModel, ConfigDict, Field

from agent_memory.domain import namespaces
from agent_memory.domain.errors import InvalidArgument
from agent_memory.domain.records import (
    Draft,
    Record,
    check_line,
    check_text,
    draft,
    parse_stamp,
    stamp,
)
from agent_memory.domain.screen.memo import ScreenMemo
from agent_memory.store.anchors import AnchorRow
from agent_memory.store.evidence import Observation
from agent_memory.store.transfer import Portable
from agent_memory.tools.writing import check_anchors, full_id, record_texts, spellings

WRITER_MAX_CHARS: Final = 200
MODEL_MAX_CHARS: Final = 200
QUOTE_MAX_BYTES: Final = 16 * 1024

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0)]
M = TypeVar("M", bound=BaseModel)


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class PortableAnchor(_Part):
    anchor: str
    state: Literal["unchecked", "ok", "missing"]
    misses: Count = 0
    checked_at: str | None = None
    unavailable_since: str | None = None


class PortableObservation(_Part):
    at: str
    source: Literal["witness", "anchor"]
    witness: str
    stance: Literal["corroborates", "contradicts"]
    quote: str


class PortableRecord(_Part):
    """A whole record. The order of the fields is their order in a line."""

    id: str
    namespace: str
    type: str
    status: Literal["active", "candidate", "superseded"]
    revision: Annotated[int, Field(ge=1)]
    title: str
    content: str
    tags: list[str]
    confidence: Share
    effective_confidence: Share
    proof_count: Count
    refutation_count: Count
    writer: str
    session: str | None = None
    session_place: Annotated[int | None, Field(ge=1)] = None
    origin: Literal["agent", "extraction", "import", "summary"]
    model: str | None = None
    superseded_by: str | None = None
    created_at: str
    updated_at: str
    anchors: list[PortableAnchor]
    observations: list[PortableObservation]

    def line(self) -> str:
        """The record as one line; the same record always gives the same bytes."""
        return self.model_dump_json(exclude_none=True)


class CandidateLine(_Part):
    """A line that only says what is known: it becomes a candidate."""

    namespace: str
    type: str
    title: str
    content: str
    tags: list[str] = []
    confidence: Share = 0.7
    anchors: list[str] = []


def portable(given: Portable) -> PortableRecord:
    """The portable form of a stored record. What can be derived from other records (`supersedes`) is left out."""
    record = given.record
    apart = {"session_place", "anchors", "observations"}
    return PortableRecord.model_validate(
        {name: getattr(record, name) for name in PortableRecord.model_fields if name not in apart}
        | {
            "tags": list(record.tags),
            "session_place": given.session_place,
            "anchors": [{name: getattr(tie, name) for name in PortableAnchor.model_fields} for tie in given.anchors],
            "observations": [
                {name: getattr(seen, name) for name in PortableObservation.model_fields} for seen in given.observations
            ],
        }
    )


def read_line(text: str) -> Portable | tuple[Draft, list[tuple[str, str]]]:
    """What a line gives: a whole record when it has an id, else a draft and its anchors as (kind, anchor).

    Raises: InvalidArgument: the first field that does not hold; SecretRefused: a field carries a secret.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidArgument("line", "is not JSON") from None
    if not isinstance(found, dict):
        raise InvalidArgument("line", "is not a JSON object")
    return _record(_parsed(PortableRecord, found)) if "id" in found else _candidate(_parsed(CandidateLine, found))


def _parsed(model: type[M], found: Mapping[str, Any]) -> M:
    try:
        return model.model_validate(found)
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            raise InvalidArgument("line", "has a field that no record has") from None
        raise InvalidArgument(field[:100], first["msg"][0].lower() + first["msg"][1:]) from None


def _candidate(given: CandidateLine) -> tuple[Draft, list[tuple[str, str]]]:
    checked = _draft(given, None)
    ties = check_anchors(given.anchors)
    ScreenMemo().refuse(
        record_texts(
            checked,
            ties,
            namespace=given.namespace,
            title=given.title,
            session=None,
            tags=given.tags,
            anchors=given.anchors,
        )
    )
    return checked, ties


def _record(given: PortableRecord) -> Portable:
    checked = _draft(given, given.session)
    if (given.status == "superseded") != (given.superseded_by is not None):
        raise InvalidArgument("superseded_by", "stands in superseded records and in no others")
    if (given.session is None) != (given.session_place is None):
        raise InvalidArgument("session_place", "stands in records with a session and in no others")
    record = Record(
        id=full_id("id", given.id),
        namespace=checked.namespace,
        type=checked.type,
        status=given.status,
        title=checked.title,
        content=checked.content,
        tags=checked.tags,
        confidence=given.confidence,
        effective_confidence=given.effective_confidence,
        proof_count=given.proof_count,
        refutation_count=given.refutation_count,
        revision=given.revision,
        writer=check_line("writer", given.writer, WRITER_MAX_CHARS),
        session=checked.session,
        origin=given.origin,
        model=None if given.model is None else check_line("model", given.model, MODEL_MAX_CHARS),
        supersedes=None,
        superseded_by=None if given.superseded_by is None else full_id("superseded_by", given.superseded_by),
        created_at=_time("created_at", given.created_at),
        updated_at=_time("updated_at", given.updated_at),
        deleted_at=None,
    )
    ties = _ties(record.id, given.anchors)
    seen = _observations(given.observations)
    ScreenMemo().refuse(
        [
            *record_texts(
                checked,
                [(tie.kind, tie.anchor) for tie in ties],
                namespace=given.namespace,
                title=given.title,
                session=given.session,
                tags=given.tags,
                anchors=[each.anchor for each in given.anchors],
            ),
            *spellings("writer", [given.writer], [record.writer]),
            *spellings("model", [given.model or ""], [record.model or ""]),
            *spellings(
                "observations.witness", (each.witness for each in given.observations), (each.witness for each in seen)
            ),
            *(("observations.quote", each.quote) for each in seen),
        ]
    )
    return Portable(record, given.session_place, ties, seen)


def _draft(given: PortableRecord | CandidateLine, session: str | None) -> Draft:
    return draft(
        namespace=namespaces.validate(given.namespace),
        record_type=given.type,
        title=given.title,
        content=given.content,
        tags=given.tags,
        confidence=given.confidence,
        session=session,
    )


def _ties(record_id: str, given: list[PortableAnchor]) -> tuple[AnchorRow, ...]:
    pairs = check_anchors([each.anchor for each in given])
    if len(pairs) != len(given):
        raise InvalidArgument("anchors", "holds the same anchor twice")
    return tuple(
        AnchorRow(
            record_id,
            position,
            anchor,
            kind,
            each.state,
            each.misses,
            None if each.checked_at is None else _time("anchors.checked_at", each.checked_at),
            None if each.unavailable_since is None else _time("anchors.unavailable_since", each.unavailable_since),
        )
        for position, ((kind, anchor), each) in enumerate(zip(pairs, given, strict=True))
    )


def _observations(given: list[PortableObservation]) -> tuple[Observation, ...]:
    seen = tuple(
        Observation(
            _time("observations.at", each.at),
            each.source,
            check_line("observations.witness", each.witness, WRITER_MAX_CHARS),
            each.stance,
            check_text("observations.quote", each.quote, max_bytes=QUOTE_MAX_BYTES),
        )
        for each in given
    )
    stances = [(each.witness, each.stance) for each in seen if each.source == "witness"]
    if len(set(stances)) != len(stances):
        raise InvalidArgument("observations", "counts one witness twice for the same stance")
    return seen


def _time(field: str, text: str) -> str:
    return stamp(parse_stamp(field, text))
