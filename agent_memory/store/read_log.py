"""What readings leave behind (usage counts, asked queries), gathered in memory so that no search waits for a sync."""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from apsw import Connection

from agent_memory.store import queries, usage
from agent_memory.store.queries import AskedQuery
from agent_memory.store.usage import Readings
from agent_memory.store.worker import Store

QUERIES_MAX: Final = 10_000  # asked queries held between two flushes; beyond it the oldest are dropped


class ReadLog:
    """Counts and queries since the last flush. A crash loses at most that much of them, and never a record."""

    def __init__(self) -> None:
        self._returned = Readings(Counter(), {})
        self._fetched = Readings(Counter(), {})
        self._asked: list[AskedQuery] = []

    def returned(self, ids: Iterable[str], now: str) -> None:
        """Hits of a search, a recall or a project context."""
        self._returned.note(ids, now)

    def fetched(self, ids: Iterable[str], now: str) -> None:
        """Records that were read whole."""
        self._fetched.note(ids, now)

    def asked(self, query: AskedQuery) -> None:
        """A query for the demand signal; the caller has screened it."""
        self._asked.append(query)
        del self._asked[:-QUERIES_MAX]

    async def flush(self, store: Store) -> None:
        """Write what was gathered, in one transaction.

        Raises: Busy, StoreUnavailable: the store did not take it; what was gathered until now is dropped, for counts
          are not worth a growing memory.
        """
        returned, fetched, asked = self._returned, self._fetched, self._asked
        if not (returned.counts or fetched.counts or asked):
            return
        self._returned, self._fetched, self._asked = Readings(Counter(), {}), Readings(Counter(), {}), []

        def work(conn: Connection) -> None:
            usage.add(conn, returned=returned, fetched=fetched)
            queries.add(conn, asked)

        await store.write(work)
