"""The task that writes usage counts and asked queries, a little later than they were made."""

from typing import Final

import trio

from agent_memory.domain.errors import ServiceError
from agent_memory.logs import Log
from agent_memory.store.read_log import ReadLog
from agent_memory.store.worker import Store

log = Log("readings")

FLUSH_S: Final = 2.0
LAST_FLUSH_S: Final = 2.0


async def run_read_log(
    read_log: ReadLog, store: Store, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> None:
    """Flush every two seconds, and once more when the server stops."""
    task_status.started()
    try:
        while True:
            await trio.sleep(FLUSH_S)
            await _flush(read_log, store)
    finally:
        with trio.move_on_after(LAST_FLUSH_S, shield=True):
            await _flush(read_log, store)


async def _flush(read_log: ReadLog, store: Store) -> None:
    try:
        await read_log.flush(store)
    except ServiceError as error:
        log.warning("readings-lost", reason=type(error).__name__)
