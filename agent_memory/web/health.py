"""What GET /health says: version, store, and how each part fares. No content and no addresses with credentials."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agent_memory import __version__
from agent_memory.domain.records import stamp
from agent_memory.store import statistics
from agent_memory.store.worker import Store


class Health:
    """Gathers the health report; each part that can fail has its own entry."""

    def __init__(self, store: Store, data_dir: Path, *, started_at: datetime) -> None:
        self._store = store
        self._data_dir = data_dir
        self._started_at = started_at

    async def report(self) -> dict[str, Any]:
        """The body of GET /health."""
        by_status = await self._store.read(statistics.records_by_status)
        return {
            "ok": True,
            "version": __version__,
            "started_at": stamp(self._started_at),
            "uptime_s": round((datetime.now(UTC) - self._started_at).total_seconds()),
            "store": {
                "records": {state: by_status.get(state, 0) for state in ("active", "candidate", "superseded")},
                "journal_mode": self._store.journal_mode,
                "database_bytes": sum(file.stat().st_size for file in self._data_dir.glob("memory.db*")),
            },
        }
