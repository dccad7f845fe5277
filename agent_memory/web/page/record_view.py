"""One record as a value: its text, what was said of it, what it is tied to, what it replaced, what was done to it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from apsw import Connection

from agent_memory.domain.records import Record
from agent_memory.store import anchors, audit, browse, evidence, records, usage
from agent_memory.store.anchors import AnchorRow
from agent_memory.store.audit import AuditRow
from agent_memory.store.evidence import Observation
from agent_memory.store.usage import Usage
from agent_memory.web.page import wording
from agent_memory.web.page.records_view import Line, line

TRAIL_SHOWN: Final = 100
AUDIT_SHOWN: Final = 50
CHAIN_SHOWN: Final = 20
ANCHOR_TONES: Final = {"ok": "good", "missing": "bad", "unchecked": "idle"}


@dataclass(frozen=True, slots=True)
class Fact:
    """A name and a value of the record's own fields."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Said:
    """One observation: when, who, for or against, and the quote."""

    at: str
    ago: str
    witness: str
    stance: str
    quote: str


@dataclass(frozen=True, slots=True)
class Tie:
    """An anchor: its text, state and tone, and since when its checker could not look (empty: it can)."""

    anchor: str
    state: str
    tone: str
    unavailable: str


@dataclass(frozen=True, slots=True)
class Event:
    """An audit row about the record, with its context as text."""

    at: str
    ago: str
    client: str
    action: str
    outcome: str
    context: str


@dataclass(frozen=True, slots=True)
class RecordView:
    """A record.

    Fields:
      record: as stored. facts: its fields for reading. trust: earned confidence in percent, asserted beside it.
      said: its evidence, oldest first. ties: its anchors.
      before, after: what it replaced and what replaced it, the nearest first.
      events: its audit rows, newest first.
    """

    record: Record
    facts: tuple[Fact, ...]
    said: tuple[Said, ...]
    ties: tuple[Tie, ...]
    before: tuple[Line, ...]
    after: tuple[Line, ...]
    events: tuple[Event, ...]


def read(conn: Connection, record_id: str, *, now: datetime) -> RecordView:
    """Read a record that was not forgotten. Raises: RecordNotFound."""
    record = records.readable(conn, record_id)
    ties = anchors.of(conn, [record_id]).get(record_id, [])
    following = browse.lines(conn, records.successors(conn, record_id)[:CHAIN_SHOWN])
    return RecordView(
        record=record,
        facts=_facts(record, usage.of(conn, record_id), now),
        said=tuple(_said(each, now) for each in evidence.trail(conn, record_id, limit=TRAIL_SHOWN)),
        ties=tuple(_tie(each, now) for each in ties),
        before=tuple(line(each, now) for each in browse.predecessors(conn, record_id, limit=CHAIN_SHOWN)),
        after=tuple(line(each, now) for each in following),
        events=tuple(_event(each, now) for each in audit.of_record(conn, record_id, limit=AUDIT_SHOWN)),
    )


def _facts(record: Record, used: Usage, now: datetime) -> tuple[Fact, ...]:
    last = "" if used.last_returned_at is None else f", last {wording.ago(used.last_returned_at, now)}"
    earned, asserted = wording.share(record.effective_confidence), wording.share(record.confidence)
    found = {
        "Namespace": record.namespace,
        "Writer": record.writer if record.model is None else f"{record.writer}, by {record.model}",
        "Origin": record.origin,
        "Session": record.session or "",
        "Written": f"{wording.moment(record.created_at, now)}, {wording.ago(record.created_at, now)}",
        "Changed": f"{wording.moment(record.updated_at, now)}, revision {record.revision}",
        "Confidence": f"{earned} earned, {asserted} asserted",
        "Evidence": f"{record.proof_count} for, {record.refutation_count} against",
        "Returned": f"{wording.count(used.returned, 'time')} by searches{last}",
        "Fetched": wording.count(used.fetched, "time"),
        "Tags": ", ".join(record.tags),
        "Id": record.id,
    }
    return tuple(Fact(name, value) for name, value in found.items() if value)


def _said(row: Observation, now: datetime) -> Said:
    return Said(wording.moment(row.at, now), wording.ago(row.at, now), row.witness, row.stance, row.quote)


def _tie(row: AnchorRow, now: datetime) -> Tie:
    since = "" if row.unavailable_since is None else f"unreachable since {wording.moment(row.unavailable_since, now)}"
    return Tie(row.anchor, row.state, ANCHOR_TONES[row.state], since)


def _event(row: AuditRow, now: datetime) -> Event:
    context = ", ".join(f"{wording.label(key)} {value}" for key, value in row.context.items() if value is not None)
    at, ago = wording.moment(row.at, now), wording.ago(row.at, now)
    return Event(at, ago, row.client, row.action, row.outcome, context)
