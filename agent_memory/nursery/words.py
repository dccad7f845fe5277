"""The task that loads the words of the index into memory, whether or not there is an encoder."""

from functools import partial
from typing import TypeVar

import trio

from agent_memory.domain.errors import ServiceError
from agent_memory.logs import Log
from agent_memory.retrieval.live import LiveIndexes
from agent_memory.store import search
from agent_memory.store.vocabulary import words_after
from agent_memory.store.worker import Store, Work

log = Log("words")

T = TypeVar("T")

AGAIN_S = 1.0


async def load_words(
    indexes: LiveIndexes, store: Store, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> None:
    """Load once, in slices between which searches run, and end. Until then queries are planned by the words that are
    loaded, and of what was stored since the start."""
    task_status.started()
    # No commit is applied while a unit of work runs, so what `by_namespace` has noticed by then is part of the count.
    counted, noticed = await _read(store, lambda conn: (search.count_by_namespace(conn), indexes.by_namespace.copy()))
    indexes.by_namespace.update(counted)
    indexes.by_namespace.subtract(noticed)
    word = ""
    while words := await _read(store, partial(words_after, word=word)):
        indexes.load_words(words)
        word = words[-1][0]
    await indexes.words_loaded()
    log.info("words-loaded", records=indexes.records)


async def _read(store: Store, work: Work[T]) -> T:
    """Read, as often as it takes."""
    while True:
        try:
            return await store.scan(work)
        except ServiceError as error:
            log.info("words-put-off", reason=type(error).__name__)
            await trio.sleep(AGAIN_S)
