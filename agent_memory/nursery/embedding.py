"""The tasks of the encoder: load what is stored, embed what is missing or stale, probe, and retire an older model."""

from functools import partial
from typing import Final

import numpy as np
import trio
from apsw import Connection

from agent_memory.domain.errors import ServiceError
from agent_memory.encoder.protocol import Encoder, EncoderUnavailable, Matrix, TextRefused
from agent_memory.encoder.queries import key_of
from agent_memory.logs import Log
from agent_memory.retrieval.live import LiveIndexes
from agent_memory.store import embeddings
from agent_memory.store.embeddings import Embeddable, Embedding
from agent_memory.store.worker import Store

log = Log("encoder")

PAGE: Final = 500  # records read at a time while loading: a visit to the store of a few milliseconds
BATCH: Final = 32  # records encoded between two looks at what is waiting
PROBE_S: Final = 30.0  # seed 001, Embedding retrieval
IDLE_S: Final = 0.5


class Embedder:
    """Keeps the vectors of the live records current for one encoder, while an older model's still answer."""

    def __init__(self, store: Store, indexes: LiveIndexes, encoder: Encoder, older: Encoder | None) -> None:
        self._store = store
        self._indexes = indexes
        self._encoder = encoder
        self._older = older
        self._refused: set[str] = set()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Load, then embed whatever waits, for as long as the server runs. Until then searches use full text."""
        task_status.started()
        if self._older is not None and await self._older.probe():
            await self._load(self._older)
        key = ""
        while True:
            try:
                # With nothing stored there is no need of a model yet: an idle server stays small.
                if self._indexes.records and self._encoder.is_up and key_of(self._encoder) != key:
                    await self._load(self._encoder)
                    key = key_of(self._encoder)
                busy = bool(key) and self._encoder.is_up and await self._embed_some(key)
            except (EncoderUnavailable, ServiceError) as error:
                log.info("embedding-put-off", reason=type(error).__name__)
                busy = False
            if not busy:
                await trio.sleep(IDLE_S)

    async def run_probe(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Find out every 30 s whether the encoders answer, and under which snapshot."""
        task_status.started()
        while True:
            if self._indexes.records:
                await self._probe()
            await trio.sleep(PROBE_S if self._indexes.records else IDLE_S)

    async def _probe(self) -> None:
        for encoder in filter(None, (self._encoder, self._older)):
            before = encoder.state
            await encoder.probe()
            if encoder.state != before:
                log.info("encoder", state=encoder.state)

    def waiting(self) -> int:
        """How many live records have no current vector of the configured model yet."""
        filling = self._indexes.vectors.filling
        return len(filling.awaited()) if filling is not None else 0

    async def _load(self, encoder: Encoder) -> None:
        """Open an index for the encoder's key, and fill it with the stored vectors that are current."""
        key, width = key_of(encoder), await self._width(encoder)
        with self._indexes.changes_meanwhile() as changed:
            scopes = dict(await self._store.read(embeddings.scopes))
            scopes |= {record.id: record.namespace for record in changed.values()}
            live = [(i, scope) for i, scope in scopes.items() if i not in changed or changed[i].live]
            self._indexes.vectors.begin(key, width, live)
        after = 0
        while True:
            with self._indexes.changes_meanwhile() as changed:
                page = await self._store.read(partial(embeddings.page, model=encoder.model, after=after, limit=PAGE))
                for record in page:
                    if record.vector is not None and record.id not in changed and _is_current(encoder, record, width):
                        vector = np.frombuffer(record.vector, dtype=np.float32)
                        self._indexes.vectors.put(key, record.id, record.namespace, vector)
            if not page:
                break
            after = page[-1].seq
        log.info("vectors-loaded", model=encoder.model, waiting=self.waiting())

    async def _width(self, encoder: Encoder) -> int:
        """Dimensions of an encoder's vectors: of one that is stored, or of one made now."""
        stored = await self._store.read(partial(embeddings.width, model=encoder.model))
        return stored or len((await encoder.encode_records(["width"]))[0])

    async def _embed_some(self, key: str) -> bool:
        """Embed a batch of what waits; False when nothing does."""
        filling = self._indexes.vectors.filling
        awaited = [] if filling is None else [i for i in filling.awaited() if i not in self._refused][:BATCH]
        if not awaited:
            await self._retire_older(key)
            return False
        with self._indexes.changes_meanwhile() as changed:
            records = await self._store.read(partial(embeddings.texts, ids=awaited))
            vectors = await self._encode(records)
            made = [(record, vectors[place]) for place, record in enumerate(records) if record.id not in self._refused]
            stored = await self._store.write(partial(_keep, encoder=self._encoder, made=made))
            for record, vector in made:
                if record.id in stored and record.id not in changed:
                    self._indexes.vectors.put(key, record.id, record.namespace, vector)
        return True

    async def _encode(self, records: list[Embeddable]) -> Matrix:
        """The vectors of records, in order. One that the encoder refuses is noted and gets a row of zeros."""
        texts = [self._encoder.record_text(record.title, record.content) for record in records]
        try:
            return await self._encoder.encode_records(texts)
        except TextRefused:
            if len(records) == 1:
                self._refused.add(records[0].id)
                log.warning("embedding-refused", record=records[0].id)
                return np.zeros((1, 1), dtype=np.float32)
        return np.concatenate([await self._encode([record]) for record in records])

    async def _retire_older(self, key: str) -> None:
        """Once the configured model's vectors are complete, those of others are of no use."""
        if self._indexes.vectors.key == key and self._older is not None:
            dropped = await self._store.write(partial(embeddings.drop_other_models, model=self._encoder.model))
            log.info("older-model-retired", model=self._older.model, vectors=dropped)
            self._older = None


def _is_current(encoder: Encoder, record: Embeddable, width: int) -> bool:
    digest = encoder.digest(encoder.record_text(record.title, record.content))
    return record.digest == digest and record.vector is not None and len(record.vector) == 4 * width


def _keep(conn: Connection, encoder: Encoder, made: list[tuple[Embeddable, Matrix]]) -> set[str]:
    rows = [
        (
            Embedding(
                record.id,
                encoder.model,
                encoder.digest(encoder.record_text(record.title, record.content)),
                vector.astype(np.float32).tobytes(),
            ),
            record.title,
            record.content,
        )
        for record, vector in made
    ]
    return set(embeddings.keep(conn, rows))
