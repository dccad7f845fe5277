"""Anchors: what records lean on, what clients report of it, and the sweep over Home Assistant's entities."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Final, Literal

from apsw import Connection
from pydantic import BaseModel, Field

from agent_memory.domain import namespaces
from agent_memory.domain.anchor_sweep import MISSES_APART, sweep
from agent_memory.domain.anchors import Change, apply_report
from agent_memory.domain.errors import InvalidArgument, RecordNotFound
from agent_memory.domain.records import REASON_MAX_CHARS, check_line, parse_stamp, stamp
from agent_memory.domain.screen import screened
from agent_memory.store import anchors, audit, evidence, records
from agent_memory.store.anchors import AnchorRow
from agent_memory.store.evidence import Observation
from agent_memory.tools.registry import Arguments, Call, Result, tool
from agent_memory.tools.services import Services
from agent_memory.tools.writing import full_id, read_anchor

LISTED_MAX: Final = 500
SWEEPER: Final = "server"
NO_HOME_ASSISTANT: Final = "no Home Assistant to ask: set home_assistant_url and home_assistant_token"
NO_ANSWER: Final = "Home Assistant gave no list of its entities"

Kind = Literal["entity", "path", "host", "url"]


class AnchorsArguments(Arguments):
    namespace: str | None = None
    kind: Kind | None = None
    state: Literal["unchecked", "ok", "missing"] | None = None


class ListedAnchor(BaseModel):
    id: str = Field(description="The record's.")
    namespace: str
    anchor: str
    state: str
    unavailable_since: str | None = None


class AnchorsResult(Result):
    anchors: list[ListedAnchor]


@tool("read", read_only=True)
async def memory_anchors(call: Call, args: AnchorsArguments) -> AnchorsResult:
    """List anchors of live records with their state, for a hook that checks paths, hosts and URLs."""
    namespace = None if args.namespace is None else namespaces.validate(args.namespace)
    rows = await call.services.store.read(
        partial(anchors.listed, namespace=namespace, kind=args.kind, state=args.state, limit=LISTED_MAX + 1)
    )
    shown = [
        ListedAnchor(
            id=row.record_id,
            namespace=name,
            anchor=row.anchor,
            state=row.state,
            unavailable_since=row.unavailable_since,
        )
        for row, name in rows[:LISTED_MAX]
    ]
    return AnchorsResult(anchors=shown, truncated=len(rows) > LISTED_MAX)


class Report(Arguments):
    id: str
    anchor: str
    state: Literal["ok", "missing", "unavailable"]
    detail: str | None = None


class ReportArguments(Arguments):
    reports: Annotated[list[Report], Field(min_length=1, max_length=200)]


class Refusal(BaseModel):
    id: str
    anchor: str
    reason: str


class ReportResult(Result):
    applied: int
    unchanged: int
    refused: list[Refusal]


@tool("write", idempotent=True)
async def memory_anchor_report(call: Call, args: ReportArguments) -> ReportResult:
    """Report what became of path:, host: and url: anchors you can see; unavailable means you could not look."""
    await call.services.refuse([("reports.detail", report.detail or "") for report in args.reports])
    now = call.services.stamp()

    def work(conn: Connection) -> ReportResult:
        result = ReportResult(applied=0, unchanged=0, refused=[])
        for report in args.reports:
            try:
                moved = _report(conn, report, witness=call.identity.name, now=now)
            except (InvalidArgument, RecordNotFound) as problem:
                result.refused.append(Refusal(id=report.id[:64], anchor=report.anchor[:200], reason=str(problem)))
                continue
            result.applied += moved
            result.unchanged += not moved
        return result

    return await call.services.store.write(work)


class SweepArguments(Arguments):
    pass


class SweepResult(Result):
    checked: int
    changed: int
    unavailable: int
    note: str | None = Field(default=None, description="Why nobody could look.")


@tool("write", idempotent=True)
async def memory_anchor_sweep(call: Call, args: SweepArguments) -> SweepResult:
    """Check every entity: anchor against Home Assistant now, as the timed sweep does."""
    done = await sweep_entities(call.services, client=call.identity.name)
    note = None if done.looked else (NO_HOME_ASSISTANT if call.services.entity_states is None else NO_ANSWER)
    return SweepResult(checked=done.checked, changed=done.changed, unavailable=done.unavailable, note=note)


@dataclass(frozen=True, slots=True)
class Swept:
    """One sweep: entity anchors looked at, those whose state changed, and those nobody could look at, as Home Assistant
    was not there to ask.
    """

    checked: int
    changed: int
    unavailable: int
    looked: bool


async def sweep_entities(services: Services, *, client: str) -> Swept:
    """Read all entities once, then move every entity anchor in one transaction with its evidence and audit row."""
    present = None if services.entity_states is None else await services.entity_states.read()
    now = services.now()

    def work(conn: Connection) -> Swept:
        rows = {(row.record_id, row.anchor): row for row in anchors.of_kind(conn, "entity")}
        states = {key: (row.anchor.removeprefix("entity:"), row.anchor_state) for key, row in rows.items()}
        recent = stamp(now - MISSES_APART)
        just_missed = {key for key, row in rows.items() if row.misses and (row.checked_at or "") > recent}
        done = sweep(states, present, now, just_missed=just_missed)
        for key, change in done.changes.items():
            _move(conn, rows[key], change, witness=SWEEPER, detail=None, now=stamp(now))
        swept = Swept(done.checked, done.changed, done.unavailable, looked=present is not None)
        counts = {"checked": swept.checked, "changed": swept.changed, "unavailable": swept.unavailable}
        audit.note(conn, at=stamp(now), client=client, action="anchor-sweep", context=counts)
        return swept

    return await services.store.write(work)


def _report(conn: Connection, report: Report, *, witness: str, now: str) -> bool:
    """Apply one report. Returns: whether anything changed. Raises: InvalidArgument, RecordNotFound."""
    record = records.live(conn, full_id("id", report.id))
    detail = None if report.detail is None else check_line("detail", report.detail, REASON_MAX_CHARS)
    ties = {row.anchor: row for row in anchors.of(conn, [record.id]).get(record.id, ())}
    # As listed first: rules that became stricter since it was stored must not make an anchor impossible to report.
    row = ties.get(report.anchor) or ties.get(read_anchor(report.anchor)[1])
    if row is None:
        raise InvalidArgument("anchor", "the record has no such anchor")
    if row.kind == "entity":
        raise InvalidArgument("anchor", "entity: anchors are checked by the server's own sweep")
    change = apply_report(row.anchor_state, report.state, parse_stamp("now", now))
    if change.after == row.anchor_state:
        return False
    _move(conn, row, change, witness=witness, detail=detail, now=now)
    audit.note(
        conn,
        at=now,
        client=witness,
        action="anchor-report",
        record_id=record.id,
        namespace=record.namespace,
        context={"kind": row.kind, "state": report.state},
    )
    return True


def _move(conn: Connection, row: AnchorRow, change: Change, *, witness: str, detail: str | None, now: str) -> None:
    """Write an anchor's new state, with the observation and the revision that go with it."""
    anchors.set_state(conn, row, change.after, now=now)
    if change.observation is not None:
        stance = "contradicts" if change.observation == "missing" else "corroborates"
        said = f"{row.anchor} is {change.observation}" + (f": {detail}" if detail else "")
        # Each part passed the screen when it came; together they may not read like a credential and stop a sweep.
        evidence.observe(conn, row.record_id, Observation(now, "anchor", witness, stance, screened(said)))
    if change.advances:
        records.advance(conn, row.record_id, now=now)
        evidence.derive(conn, row.record_id)


TOOLS: tuple[Any, ...] = (memory_anchors, memory_anchor_report, memory_anchor_sweep)
