"""The numbers at the top of the status page: a pure function from facts to tiles."""

from dataclasses import dataclass
from datetime import datetime

from agent_memory.store.statistics import totals
from agent_memory.web.page import wording
from agent_memory.web.page.facts import Facts


@dataclass(frozen=True, slots=True)
class Tile:
    """One number: its name, the number as text, and a line that puts it in place. `alert` when it needs a look."""

    label: str
    value: str
    note: str
    alert: bool = False


@dataclass(frozen=True, slots=True)
class Server:
    """What the page knows of the server itself."""

    version: str
    started_at: datetime
    database_bytes: int
    journal_mode: str


def tiles(facts: Facts, server: Server, now: datetime) -> tuple[Tile, ...]:
    """The numbers at the top."""
    live = totals(facts.counts, "active")
    pending = totals(facts.counts, "candidate")
    waiting, running = facts.jobs.get("queued", 0), facts.jobs.get("leased", 0)
    parked = facts.jobs.get("parked", 0)
    return (
        Tile("Records", wording.number(live), "active"),
        Tile("Candidates", wording.number(pending), "waiting for review", alert=pending > 0),
        Tile("Questions", wording.number(facts.standing), f"{wording.number(facts.queries)} searches remembered"),
        Tile("Sessions", wording.number(facts.sessions), "closed"),
        Tile(
            "Jobs",
            wording.number(waiting + running),
            f"{running} running, {parked} parked",
            alert=parked > 0,
        ),
        Tile("Database", wording.size(server.database_bytes), f"journal {server.journal_mode}"),
        Tile("Version", server.version, "Agent Memory"),
        Tile(
            "Uptime",
            wording.span(now - server.started_at),
            f"since {server.started_at.astimezone(now.tzinfo):%b %d, %H:%M}",
        ),
    )
