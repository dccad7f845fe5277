"""The task that purges what is past `retention_deleted_days`, once an hour."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Final

import structlog
import trio

from agent_memory.domain.errors import ServiceError
from agent_memory.domain.records import stamp
from agent_memory.store import retention
from agent_memory.store.worker import Store

log = structlog.get_logger("retention")

EVERY_S: Final = 3600.0
FIRST_S: Final = 30.0  # after the start, so that a start stays quick


async def run_retention(
    store: Store,
    *,
    days: int,
    now: Callable[[], datetime],
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Purge soon after the start and then hourly."""
    task_status.started()
    await trio.sleep(FIRST_S)
    while True:
        try:
            await purge_once(store, days=days, now=now())
        except ServiceError as error:
            log.warning("purge-put-off", reason=type(error).__name__)
        await trio.sleep(EVERY_S)


async def purge_once(store: Store, *, days: int, now: datetime) -> retention.Purged:
    """Purge what is older than that many days, and leave no trace of it in any file."""
    before = stamp(now - timedelta(days=days))
    purged = await store.write(partial(retention.purge, before=before))
    if purged.any():
        await retention.scrub(store)
        log.info("purged", records=purged.records, queries=purged.queries, receipts=purged.receipts)
    return purged
