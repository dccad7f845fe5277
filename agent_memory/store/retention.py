"""Purging what is past its retention. `scrub` then makes sure that nothing of it is left in any file."""

from dataclasses import asdict, dataclass

from apsw import Connection

from agent_memory.store import audit, records


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
        return any(asdict(self).values())


def purge(conn: Connection, *, before: str, now: str) -> Purged:
    """Remove forgotten records, recorded queries and jobs from before a moment; empty receipts and contexts.

    Vectors, usage, anchors and observations go with their record, and its index rows went when it was forgotten. A
    purge that removed anything is audited, and a scrub is due then.
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
    # Waiting ones too: notes queued for a model server that never came back are kept no longer than anything else.
    conn.execute("DELETE FROM jobs WHERE state <> 'leased' AND updated_at < ?", (before,))
    purged = Purged(erased, queries, receipts, contexts, conn.changes())
    if purged.any():
        audit.note(conn, at=now, client="server", action="purge", context=asdict(purged))
    return purged
