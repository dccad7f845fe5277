"""Receipts of session closes: a retried close gets the first one's result, and never a second effect."""

from apsw import Connection

from agent_memory.domain.errors import Conflict, Expired
from agent_memory.store.statement_screen import Composed


def replay(conn: Connection, op_id: str, *, client: str, digest: str) -> str | None:
    """The result kept under an op_id, as the JSON it was answered with, or None for an op_id not seen yet.

    Raises: Conflict: the op_id belongs to another client or to other inputs. Expired: its result is past retention.
    """
    row = conn.execute("SELECT client, digest, result FROM receipts WHERE op_id = ?", (op_id,)).fetchone()
    if row is None:
        return None
    owner, inputs, result = row
    if owner != client:
        raise Conflict("this op_id belongs to another client; use a fresh one")
    if inputs != digest:
        raise Conflict("this op_id was used for another close; use a fresh one for new inputs")
    if result is None:
        raise Expired("this op_id is past its retention; the close was recorded then and is not repeated")
    return str(result)


def keep(conn: Connection, op_id: str, *, client: str, digest: str, result: str, now: str) -> None:
    """Keep a close's result, in the close's own transaction."""
    conn.execute(
        "INSERT INTO receipts (op_id, client, digest, at, result) VALUES (?, ?, ?, ?, ?)",
        (op_id, client, digest, now, Composed(result)),
    )
