"""The task that looks once an hour for what is past `retention_deleted_days`, and purges it."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final

import trio

from agent_memory.domain.errors import ServiceError
from agent_memory.domain.records import stamp
from agent_memory.logs import Log
from agent_memory.store import backup, retention, scrub
from agent_memory.store.retention import Purged
from agent_memory.store.worker import Store

log = Log("retention")

EVERY_S: Final = 3600.0
FIRST_S: Final = 30.0  # after the start, so that a start stays quick


async def run_retention(
    store: Store,
    *,
    days: int,
    now: Callable[[], datetime],
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Purge soon after the start and then hourly; a scrub that a crash or a reader prevented is made up for."""
    task_status.started()
    await trio.sleep(FIRST_S)
    while True:
        try:
            await purge_once(store, days=days, now=now())
        except ServiceError as error:
            log.warning("purge-put-off", reason=type(error).__name__)
        await trio.sleep(EVERY_S)


async def purge_once(store: Store, *, days: int, now: datetime) -> Purged:
    """Purge what is older than that many whole days, and leave no trace of it in any file.

    The limit is a midnight (UTC): recorded queries then go once a day, and the file is rewritten once, not hourly.
    For a day after a restore nothing is purged: an old backup holds much that is past its time, and a purge of it would
    take along what the restore replaced, which nobody can bring back then. A hard forget since then waits for nothing.
    """
    restored = backup.undoable(store.path.parent, now)
    if restored is not None:
        log.info("purge-put-off", reason="restored-today")
        if await store.read(partial(scrub.hard_forget_waits, since=stamp(restored))):
            await scrub.leave_no_trace(store, now=stamp(now))
        return Purged(0, 0, 0, 0, 0)
    limit = (now.astimezone(UTC) - timedelta(days=days)).replace(hour=0, minute=0, second=0, microsecond=0)
    purged = await store.write(partial(retention.purge, before=stamp(limit), now=stamp(now)))
    await scrub.leave_no_trace(store, now=stamp(now))
    if purged.any():
        log.info("purged", records=purged.records, queries=purged.queries, receipts=purged.receipts)
    return purged
