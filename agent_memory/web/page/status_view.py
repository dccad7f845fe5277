"""The status page as a value: one dataclass that its template draws, built from facts by pure functions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from agent_memory.domain.records import STATES, TYPES, parse_stamp
from agent_memory.store.audit import AuditRow
from agent_memory.store.statistics import totals
from agent_memory.web.page import wording
from agent_memory.web.page.activity import Chart, chart
from agent_memory.web.page.connect_view import ClientCard
from agent_memory.web.page.drawings import Part
from agent_memory.web.page.facts import UNUSED_AFTER, UNUSED_SHOWN, Facts
from agent_memory.web.page.machines import EncoderCard, ServerCard
from agent_memory.web.page.tiles import Server, Tile, tiles

NAMESPACES_SHOWN: Final = 12
# Counts of a timed task's audit row that hold others of the same row, or are held by them: shown beside the bar.
SUMS: Final = frozenset({"candidates", "changed", "pending", "read", "reviewed", "total"})
STATE_WORDS: Final = {state: state for state in STATES} | {"deleted": "forgotten"}


@dataclass(frozen=True, slots=True)
class Row:
    """A labelled bar: its parts by state, their sum, and the query part of its link into the list of records."""

    label: str
    parts: tuple[Part, ...]
    total: int
    argument: str


@dataclass(frozen=True, slots=True)
class Run:
    """The last run of a timed task, from its audit row.

    Fields:
      parts: the counts that add up, for a bar. counts: the others. other: what is no count.
    """

    at: str
    ago: str
    outcome: str
    parts: tuple[Part, ...]
    counts: tuple[Part, ...]
    other: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class UnusedLine:
    """An unused record: where it is, its title, how old it is, and when it was last returned."""

    id: str
    title: str
    namespace: str
    type: str
    age: str
    returned: str


@dataclass(frozen=True, slots=True)
class AuditLine:
    """An audited event: without the context, which may quote people; a refusal names its pattern or code."""

    at: str
    ago: str
    client: str
    action: str
    outcome: str
    record_id: str | None
    namespace: str
    why: str


@dataclass(frozen=True, slots=True)
class StatusView:
    """The status page.

    Fields:
      tiles: the row of numbers at the top.
      states: every record by state. types: one row a type that has records; widest: what fills such a row.
      namespaces: the largest ones, with what fills a row, and how many more there are.
      by_action, by_client: the audit's last 24 hours, drawn twice.
      servers, encoder: the machines that enrich; empty and None when none is configured.
      review, sweep: the last runs, None before the first.
      unused: the oldest unused records; unused_more: whether there are others; counting_days: days until usage has
        been counted long enough to tell, 0 when it has.
      audit: the latest rows. clients: one card a client.
    """

    tiles: tuple[Tile, ...]
    states: Row
    types: tuple[Row, ...]
    widest_type: int
    namespaces: tuple[Row, ...]
    widest_namespace: int
    namespaces_more: int
    by_action: Chart
    by_client: Chart
    servers: tuple[ServerCard, ...]
    encoder: EncoderCard | None
    review: Run | None
    sweep: Run | None
    unused: tuple[UnusedLine, ...]
    unused_more: bool
    counting_days: int
    audit: tuple[AuditLine, ...]
    clients: tuple[ClientCard, ...]
    clients_more: tuple[str, ...]


def action_name(action: str) -> str:
    """An audited action as the page writes it: what was refused has the tool's name, what was done has dashes."""
    return action.replace("_", "-")


def state_row(facts: Facts) -> Row:
    """All records as one bar by state."""
    return _row("All records", {state: totals(facts.counts, state) for state in STATES}, "")


def type_rows(facts: Facts) -> tuple[Row, ...]:
    """One bar a type that has records, in the order of the types."""
    found = {name: dict.fromkeys(STATES, 0) for name in TYPES}
    for count in facts.counts:
        found[count.type][count.status] += count.records
    return tuple(_row(name, states, name) for name, states in found.items() if any(states.values()))


def namespace_rows(facts: Facts) -> tuple[Row, ...]:
    """One bar a namespace, the largest first, equal ones by name."""
    found: dict[str, dict[str, int]] = {}
    for count in facts.counts:
        states = found.setdefault(count.namespace, dict.fromkeys(STATES, 0))
        states[count.status] += count.records
    rows = [_row(name, states, name) for name, states in found.items()]
    return tuple(sorted(rows, key=lambda row: (-row.total, row.label)))


def run_of(row: AuditRow | None, now: datetime) -> Run | None:
    """A timed task's last run: counts that add up become a bar, everything else stands as text."""
    if row is None:
        return None
    counts = {
        key: value for key, value in row.context.items() if type(value) is int and not key.endswith(("_s", "_ms"))
    }
    shares = [key for key in counts if key not in SUMS]
    parts = tuple(Part(wording.label(key), counts[key], f"run-{i % 5 + 1}") for i, key in enumerate(shares))
    sums = tuple(Part(wording.label(key), counts[key], "") for key in counts if key in SUMS)
    other = tuple((wording.label(key), _fact(value)) for key, value in row.context.items() if key not in counts)
    return Run(wording.moment(row.at, now), wording.ago(row.at, now), row.outcome, parts, sums, other)


def audit_line(row: AuditRow, now: datetime) -> AuditLine:
    """An audit row as the page shows it."""
    facts: Mapping[str, object] = row.context if row.outcome == "refused" else {}
    why = ", ".join(str(facts[key]) for key in ("code", "field", "pattern", "more") if facts.get(key))
    return AuditLine(
        at=wording.moment(row.at, now),
        ago=wording.ago(row.at, now),
        client=row.client,
        action=action_name(row.action),
        outcome=row.outcome,
        record_id=row.record_id,
        namespace=row.namespace or "",
        why=why,
    )


def build(
    facts: Facts,
    server: Server,
    *,
    servers: Sequence[ServerCard],
    encoder: EncoderCard | None,
    clients: Sequence[ClientCard],
    clients_more: Sequence[str],
    now: datetime,
) -> StatusView:
    """The whole view. `now` carries the time zone that times are shown in."""
    types, namespaces = type_rows(facts), namespace_rows(facts)
    unused = tuple(
        UnusedLine(
            each.id,
            each.title,
            each.namespace,
            each.type,
            wording.ago(each.created_at, now),
            "never" if each.last_returned_at is None else wording.ago(each.last_returned_at, now),
        )
        for each in facts.unused[:UNUSED_SHOWN]
    )
    return StatusView(
        tiles=tiles(facts, server, now),
        states=state_row(facts),
        types=types,
        widest_type=max((row.total for row in types), default=0),
        namespaces=namespaces[:NAMESPACES_SHOWN],
        widest_namespace=max((row.total for row in namespaces), default=0),
        namespaces_more=max(len(namespaces) - NAMESPACES_SHOWN, 0),
        by_action=chart(facts.hours, lambda count: action_name(count.action), now),
        by_client=chart(facts.hours, lambda count: count.client, now),
        servers=tuple(servers),
        encoder=encoder,
        review=run_of(facts.review, now),
        sweep=run_of(facts.sweep, now),
        unused=unused,
        unused_more=len(facts.unused) > UNUSED_SHOWN,
        counting_days=_days_left(facts.counting_since, now),
        audit=tuple(audit_line(row, now) for row in facts.audit),
        clients=tuple(clients),
        clients_more=tuple(clients_more),
    )


def _days_left(since: str | None, now: datetime) -> int:
    """Days until usage has been counted long enough; a started day counts."""
    began = now if since is None else parse_stamp("at", since)
    left = began + UNUSED_AFTER - now
    return max(-(-left // timedelta(days=1)), 0)


def _row(label: str, states: Mapping[str, int], argument: str) -> Row:
    parts = tuple(Part(STATE_WORDS[state], states[state], state) for state in STATES)
    return Row(label, parts, sum(states.values()), argument)


def _fact(value: object) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    return str(value)[:200]
