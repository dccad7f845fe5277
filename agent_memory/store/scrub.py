"""Leaving no trace: after an erasure, nothing of the erased text stays in any file of the data folder.

SQLite's `secure_delete` and FTS5's `secure-delete` zero what a statement deletes, and three kinds of trace outlive them
(each was found in files): copies in the unused middle of pages whose cells SQLite once moved elsewhere, words that FTS5
keeps in `records_fts_idx` to tell its pages apart, and older frames of the WAL. Safety copies and what a restore
replaced hold the past as a whole.
"""

import shutil
from bisect import bisect_left
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import apsw
from apsw import Connection

from agent_memory.domain.errors import ServiceError
from agent_memory.logs import Log
from agent_memory.store import audit, backup
from agent_memory.store.connection import BUSY_MS, fold_log
from agent_memory.store.migrations import drop_safety_copies
from agent_memory.store.worker import Store

log = Log("scrub")

ERASURES: Final = ("purge", "forget-hard")  # audit actions that leave traces behind
SCRUB: Final = "scrub"
_MAIN_INDEX: Final = b"0"  # in front of every separator of an FTS5 table without prefix indexes


async def leave_no_trace(store: Store, *, now: str) -> None:
    """Scrub if something was erased. A scrub that fails is logged and stays due: the hourly retention tries again."""
    try:
        await store.maintain(partial(scrub, path=store.path, now=now))
    except (ServiceError, OSError) as problem:
        log.warning("scrub-put-off", reason=type(problem).__name__)


def due(conn: Connection) -> bool:
    """Whether something was erased since the last scrub; read from the audit, so that a crash forgets no scrub."""
    return _latest(conn, ERASURES) > _latest(conn, (SCRUB,))


def hard_forget_waits(conn: Connection, *, since: str) -> bool:
    """Whether a hard forget since a moment was not followed by a scrub yet: the one it asked for was put off."""
    sql = "SELECT EXISTS (SELECT 1 FROM audit WHERE action = 'forget-hard' AND outcome = 'ok' AND seq > ? AND at >= ?)"
    return bool(conn.execute(sql, (_latest(conn, (SCRUB,)), since)).get)


def scrub(conn: Connection, *, path: Path, now: str) -> bool:
    """Remove the traces of every erasure so far. Runs outside a transaction, and bears repeating.

    Costs one rewrite of the file: 10,000 records (25 MB) take about 0.15 s, and twice the file in room on the disk.
    With words of the erased still in the index, 60,000 records (120 MB) take about 3 s, in which the store waits.
    Returns: False when there was nothing to do.
    Raises: apsw.Error: a reader in another process holds the WAL, or the disk is full; OSError: a copy cannot be
      removed. The scrub stays due.
    """
    if not due(conn):
        return False
    drop_safety_copies(path)
    backup.drop_replaced(path.parent)
    for left in path.parent.glob(f"{backup.RESTORING}*"):  # a crash ended a restore; this process holds the folder now
        shutil.rmtree(left)
    try:
        if dead_separators(conn):
            merge_index(conn)
            if dead_separators(conn):
                rebuild_index(conn)
        rewrite(conn.filename, conn.open_vfs)
    except apsw.FullError:
        # What was written until the disk was full stays in the log, which would keep the disk full until the next one.
        with suppress(apsw.Error):
            fold_log(conn)
        raise
    fold_log(conn)
    audit.note(conn, at=now, client="server", action=SCRUB)
    return True


def rewrite(path: str, vfs: str) -> None:
    """Write the whole file anew, by way of a file without a name in the data folder; a crash leaves nothing of it.

    On a connection of its own: the store's keeps all that is temporary in memory (statement journals hold what is being
    erased), which for this would be as much as the file is large, and a Raspberry Pi has not got it.
    Raises: apsw.Error: a reader in another process, or the disk is full.
    """
    conn = Connection(path, vfs=vfs)
    try:
        conn.set_busy_timeout(BUSY_MS)
        conn.pragma("secure_delete", True)
        conn.pragma("temp_store", 1)
        conn.pragma("temp_store_directory", str(Path(path).parent))
        conn.execute("VACUUM")
    finally:
        conn.pragma("temp_store_directory", "")  # it is the process's, not the connection's
        conn.close()


def dead_separators(conn: Connection) -> list[bytes]:
    """Separators between pages of the full-text index that begin no word of a live record."""
    stems = sorted(str(row[0]).encode() for row in conn.execute("SELECT term FROM records_vocabulary"))
    separators = (bytes(row[0]) for row in conn.execute("SELECT term FROM records_fts_idx WHERE length(term) > 0"))
    return [each for each in separators if not _begins_one(each.removeprefix(_MAIN_INDEX), stems)]


def merge_index(conn: Connection) -> None:
    """Merge the full-text index into one segment, whose pages are told apart by words that are there.

    Takes a sixth of what indexing all texts again takes: 60,000 records (120 MB) 0.8 s for 4.8. FTS5 leaves a single
    segment as it is, so one record is taken out and indexed again first.
    """
    one = "seq, title, content, terms FROM records WHERE status IN ('active', 'candidate') ORDER BY seq LIMIT 1"
    with conn:
        conn.execute(f"INSERT INTO records_fts (records_fts, rowid, title, content, terms) SELECT 'delete', {one}")
        conn.execute(f"INSERT INTO records_fts (rowid, title, content, terms) SELECT {one}")
    with conn:
        conn.execute("INSERT INTO records_fts (records_fts) VALUES ('optimize')")


def rebuild_index(conn: Connection) -> None:
    """Write the full-text index anew. Not FTS5's own `rebuild`: that would index forgotten records too."""
    with conn:
        conn.execute("INSERT INTO records_fts (records_fts) VALUES ('delete-all')")
        conn.execute(
            "INSERT INTO records_fts (rowid, title, content, terms)"
            " SELECT seq, title, content, terms FROM records WHERE status IN ('active', 'candidate')"
        )


def _begins_one(start: bytes, stems: Sequence[bytes]) -> bool:
    place = bisect_left(stems, start)
    return place < len(stems) and stems[place].startswith(start)


def _latest(conn: Connection, actions: Sequence[str]) -> int:
    found = (conn.execute("SELECT max(seq) FROM audit WHERE action = ?", (action,)).get for action in actions)
    return max(int(seq or 0) for seq in found)
