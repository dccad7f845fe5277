"""Purging what is past its retention, and making sure that nothing of it is left in any file."""

from dataclasses import dataclass

from apsw import Connection

from agent_memory.store import records
from agent_memory.store.migrations import drop_safety_copies
from agent_memory.store.worker import Store


@dataclass(frozen=True, slots=True)
class Purged:
    """How many rows a purge removed or emptied."""

    records: int
    queries: int
    receipts: int
    audit_contexts: int
    jobs: int

    def any(self) -> bool:
        """Whether anything went."""
        return any((self.records, self.queries, self.receipts, self.audit_contexts, self.jobs))


def purge(conn: Connection, *, before: str) -> Purged:
    """Remove forgotten records, recorded queries and finished jobs from before a moment; empty receipts and contexts.

    Vectors, usage, anchors and observations go with their record, and its index rows went when it was forgotten.
    """
    forgotten = conn.execute("SELECT id FROM records WHERE status = 'deleted' AND deleted_at < ?", (before,))
    erased = records.erase(conn, [str(row[0]) for row in forgotten.fetchall()])
    conn.execute("DELETE FROM queries WHERE at < ?", (before,))
    queries = conn.changes()
    conn.execute("UPDATE receipts SET result = NULL WHERE at < ? AND result IS NOT NULL", (before,))
    receipts = conn.changes()
    # The latest sweep and review still tell how the server is doing, however old.
    conn.execute(
        "UPDATE audit SET context = NULL WHERE at < ? AND context IS NOT NULL"
        " AND seq NOT IN (SELECT max(seq) FROM audit"
        " WHERE action IN ('anchor-sweep', 'candidate-review') GROUP BY action)",
        (before,),
    )
    contexts = conn.changes()
    conn.execute("DELETE FROM jobs WHERE state IN ('done', 'parked') AND updated_at < ?", (before,))
    return Purged(erased, queries, receipts, contexts, conn.changes())


async def scrub(store: Store) -> None:
    """After an erasure: fold the log into the file (freed pages are zeroed) and drop safety copies: they hold the past.

    Best effort on the log: a reader in another process keeps it until the next scrub or stop.
    """

    def work(conn: Connection) -> None:
        conn.pragma("wal_checkpoint(TRUNCATE)")
        drop_safety_copies(store.path)

    await store.read(work)
