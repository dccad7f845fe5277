"""What GET /health says: version, store, and how each part fares. No content and no addresses with credentials."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from apsw import Connection

from agent_memory import __version__
from agent_memory.domain.records import stamp
from agent_memory.encoder.protocol import Encoder
from agent_memory.store import audit, jobs, statistics
from agent_memory.store.worker import Store


class Waiting(Protocol):
    """Knows how many records wait for their vector."""

    def waiting(self) -> int: ...


class Health:
    """Gathers the health report; each part that can fail has its own entry."""

    def __init__(
        self, store: Store, data_dir: Path, *, started_at: datetime, encoder: Encoder | None, embedder: Waiting | None
    ) -> None:
        self._store = store
        self._data_dir = data_dir
        self._started_at = started_at
        self._encoder = encoder
        self._embedder = embedder

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
            "jobs": from_store["jobs"],
            "anchor_sweep": from_store["anchor_sweep"],
            "candidate_review": from_store["candidate_review"],
        }

    def _encoder_report(self) -> dict[str, Any]:
        if self._encoder is None:
            return {"live": False, "state": "off"}
        waiting = self._embedder.waiting() if self._embedder else 0
        return {"live": self._encoder.is_up, "state": self._encoder.state, "waiting": waiting}


def _from_store(conn: Connection) -> dict[str, Any]:
    by_status = statistics.records_by_status(conn)
    return {
        "records": {state: by_status.get(state, 0) for state in ("active", "candidate", "superseded")},
        "jobs": jobs.depth(conn),
        "anchor_sweep": _last(conn, "anchor-sweep"),
        "candidate_review": _last(conn, "candidate-review"),
    }


def _last(conn: Connection, action: str) -> dict[str, Any] | None:
    """The latest run of a timed task, read back from its audit row, so that a restart does not forget it."""
    rows = audit.latest(conn, limit=1, action=action)
    return {"at": rows[0].at, **rows[0].context} if rows else None
