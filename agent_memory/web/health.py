"""What GET /health says: version, store, and how each part fares. No content and no addresses with credentials."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Protocol

from apsw import Connection

from agent_memory import __version__
from agent_memory.domain.records import stamp
from agent_memory.encoder.protocol import Encoder
from agent_memory.llm.servers import ServerStatus
from agent_memory.store import audit, jobs, statistics
from agent_memory.store.worker import Store

PARKED_SHOWN: Final = 5


class Servers(Protocol):
    """The model servers, as a router knows them."""

    @property
    def enabled(self) -> bool: ...

    def status(self) -> Sequence[ServerStatus]: ...


class Running(Protocol):
    """Knows whether a candidate review is on."""

    @property
    def running(self) -> bool: ...


class Waiting(Protocol):
    """Knows how many records wait for their vector."""

    def waiting(self) -> int: ...


class Health:
    """Gathers the health report; each part that can fail has its own entry."""

    def __init__(
        self,
        store: Store,
        data_dir: Path,
        *,
        started_at: datetime,
        encoder: Encoder | None,
        embedder: Waiting | None,
        servers: Servers,
        review: Running,
    ) -> None:
        self._store = store
        self._data_dir = data_dir
        self._started_at = started_at
        self._encoder = encoder
        self._embedder = embedder
        self._servers = servers
        self._review = review

    async def report(self) -> dict[str, Any]:
        """The body of GET /health."""
        from_store = await self._store.read(_from_store)
        return {
            "ok": True,
            "version": __version__,
            "started_at": stamp(self._started_at),
            "uptime_s": round((datetime.now(UTC) - self._started_at).total_seconds()),
            "store": {
                "records": from_store["records"],
                "journal_mode": self._store.journal_mode,
                "database_bytes": sum(file.stat().st_size for file in self._data_dir.glob("memory.db*")),
            },
            "encoder": self._encoder_report(),
            "enrichment": self._enrichment_report(),
            "jobs": from_store["jobs"],
            "anchor_sweep": from_store["anchor_sweep"],
            "candidate_review": self._review_report(from_store["candidate_review"]),
        }

    def _enrichment_report(self) -> dict[str, Any]:
        servers = [
            {
                "url": server.url,
                "live": server.live,
                "in_flight": server.in_flight,
                "latency_ms": None if server.latency_ms is None else round(server.latency_ms, 1),
                "direct": server.direct,
            }
            for server in self._servers.status()
        ]
        return {"enabled": self._servers.enabled, "servers": servers}

    def _review_report(self, last: dict[str, Any] | None) -> dict[str, Any] | None:
        """The last run, and whether one is on; None before the first."""
        if last is None and not self._review.running:
            return None
        return {**(last or {}), "running": self._review.running}

    def _encoder_report(self) -> dict[str, Any]:
        if self._encoder is None:
            return {"live": False, "state": "off"}
        waiting = self._embedder.waiting() if self._embedder else 0
        return {"live": self._encoder.is_up, "state": self._encoder.state, "waiting": waiting}


def _from_store(conn: Connection) -> dict[str, Any]:
    by_status = statistics.records_by_status(conn)
    return {
        "records": {state: by_status.get(state, 0) for state in ("active", "candidate", "superseded")},
        "jobs": _jobs(conn),
        "anchor_sweep": _last(conn, "anchor-sweep"),
        "candidate_review": _last(conn, "candidate-review"),
    }


def _jobs(conn: Connection) -> dict[str, Any]:
    """Jobs by state, and the latest parked ones with what failed; an error never holds content."""
    depth: dict[str, Any] = dict.fromkeys(("queued", "leased", "done", "parked"), 0) | jobs.depth(conn)
    if depth["parked"]:
        fields = ("id", "kind", "attempts", "error", "updated_at")
        parked = jobs.parked(conn, limit=PARKED_SHOWN)
        depth["last_parked"] = [{field: getattr(job, field) for field in fields} for job in parked]
    return depth


def _last(conn: Connection, action: str) -> dict[str, Any] | None:
    """The latest run of a timed task, read back from its audit row, so that a restart does not forget it."""
    rows = audit.latest(conn, limit=1, action=action)
    return {"at": rows[0].at, **rows[0].context} if rows else None
