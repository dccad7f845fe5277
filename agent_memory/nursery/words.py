"""The task that loads the words of the index into memory, whether or not there is an encoder."""

import trio

from agent_memory.domain.errors import ServiceError
from agent_memory.logs import Log
from agent_memory.retrieval.live import LiveIndexes
from agent_memory.store import search
from agent_memory.store.worker import Store

log = Log("words")

AGAIN_S = 1.0


async def load_words(
    indexes: LiveIndexes, store: Store, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> None:
    """Load once and end. Until then queries are planned by the words of what was stored since the start."""
    task_status.started()
    while True:
        try:
            words, records = await store.read(lambda conn: (search.words(conn), search.count_live(conn)))
        except ServiceError as error:
            log.info("words-put-off", reason=type(error).__name__)
            await trio.sleep(AGAIN_S)
        else:
            indexes.load_words(words, records)
            return
