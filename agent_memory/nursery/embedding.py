"""The tasks of the encoder: load what is stored, embed what is missing or stale, probe, and retire an older model."""

from collections.abc import Callable, Container
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import trio

from agent_memory.domain.errors import ServiceError
from agent_memory.encoder.protocol import Encoder, EncoderUnavailable, Matrix, TextRefused
from agent_memory.encoder.queries import key_of
from agent_memory.logs import Log
from agent_memory.retrieval.live import LiveIndexes
from agent_memory.store import embeddings, search
from agent_memory.store.embeddings import Embeddable, Embedding, Page
from agent_memory.store.worker import Store

log = Log("encoder")

PAGE: Final = 250  # records read at a time while loading: 5 ms of the store, between which searches run
BATCH: Final = 32  # records encoded between two looks at what is waiting
DROPPED: Final = 1_000  # vectors of an older model removed in one commit
PROBE_S: Final = 30.0  # seed 001, Embedding retrieval
IDLE_S: Final = 0.5
GATHER_S: Final = 0.05  # after a store, so that a burst of them is embedded together
AGAIN_MAX_S: Final = 30.0  # between tries while the encoder or the disk refuses; the first comes after IDLE_S
SHORTEST: Final = 400  # characters of a text that are still sent to an encoder that refuses longer ones


class Embedder:
    """Keeps the vectors of the live records current for one encoder, while an older model's still answer."""

    def __init__(self, store: Store, indexes: LiveIndexes, encoder: Encoder, older: Encoder | None) -> None:
        self._store = store
        self._indexes = indexes
        self._encoder = encoder
        self._older = older
        self._key = ""  # whose stored vectors are in memory
        self._retired = False
        self._refused: set[str] = set()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Load, then embed whatever waits, for as long as the server runs. Until then searches use full text."""
        task_status.started()
        await self._load_older()
        again_s = IDLE_S
        with self._indexes.changes_meanwhile() as edited:
            while True:
                try:
                    busy = await self._go_on()
                    again_s = IDLE_S
                except (EncoderUnavailable, ServiceError) as error:
                    log.info("embedding-put-off", reason=type(error).__name__, again_s=again_s)
                    await trio.sleep(again_s)
                    again_s = min(again_s * 2, AGAIN_MAX_S)
                    continue
                if not busy:
                    with trio.move_on_after(IDLE_S):
                        await self._indexes.wait_change()
                        await trio.sleep(GATHER_S)
                self._refused -= edited.keys()  # a new text may please
                edited.clear()

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
        return filling.waiting if filling is not None else 0

    async def _load_older(self) -> None:
        """Let the vectors of the model before answer until the new are complete; without them full text does."""
        if self._older is None:
            return
        try:
            if await self._older.probe():
                await self._load(self._older)
        except (EncoderUnavailable, ServiceError) as error:
            log.info("older-model-unused", model=self._older.model, reason=type(error).__name__)

    async def _go_on(self) -> bool:
        """One step: load if the model changed, else embed a batch, else retire older ones. False: nothing to do."""
        # With nothing stored there is no need of a model yet: an idle server stays small.
        if not self._indexes.records or not self._encoder.is_up:
            return False
        if key_of(self._encoder) != self._key:
            self._key = await self._load(self._encoder)
            self._refused.clear()
            return True
        return await self._embed_some(self._key) or await self._retire_some(self._key)

    async def _load(self, encoder: Encoder) -> str:
        """Open an index for the encoder's key, and fill it with the stored vectors that are current.

        Returns: the key; empty when another snapshot turned up meanwhile, and all is to be done again.
        """
        key, width = key_of(encoder), len((await encoder.encode_records(["width"]))[0])
        # Room for a quarter more: growing copies every row.
        capacity = (self._indexes.records or await self._store.read(search.count_live)) * 5 // 4
        if not self._indexes.vectors.begin(key, width, capacity=capacity):
            return key
        digest_of, after = _digests(encoder), 0
        read = partial(embeddings.page, model=encoder.model, digest_of=digest_of, width=width, limit=PAGE)
        while True:
            with self._indexes.changes_meanwhile() as changed:
                page = await self._store.scan(partial(read, after=after))
                if key_of(encoder) != key:
                    return ""
                self._take(key, width, page, changed)
            if page.last is None:
                break
            after = page.last
        self._indexes.vectors.loaded(key)
        log.info("vectors-loaded", model=encoder.model, waiting=self.waiting())
        return key

    def _take(self, key: str, width: int, page: Page, changed: Container[str]) -> None:
        """Put a page of stored vectors into the index; of a record that changed since, the index knows better."""
        vectors = np.frombuffer(page.vectors, dtype=np.float32).reshape(-1, width)
        current = page.current
        if changed:
            kept = [place for place, (record_id, _) in enumerate(current) if record_id not in changed]
            vectors, current = vectors[kept], [current[place] for place in kept]
        self._indexes.vectors.fill(key, current, vectors)
        for record_id, scope in page.others:
            if record_id not in changed:
                self._indexes.vectors.announce(key, record_id, scope)

    async def _embed_some(self, key: str) -> bool:
        """Embed a batch of what waits; False when nothing does."""
        filling = self._indexes.vectors.filling
        awaited = [] if filling is None else filling.awaited(BATCH, without=self._refused)
        if not awaited:
            return False
        with self._indexes.changes_meanwhile() as changed:
            made = await self._encode(await self._store.read(partial(embeddings.texts, ids=awaited)))
            if key_of(self._encoder) != key:
                return True  # another snapshot: nobody can tell whose vectors these are
            # From here on nothing waits for the encoder, so no other snapshot can come between.
            stored = await self._store.write(partial(embeddings.keep, vectors=[each.row for each in made]))
            for each in made:
                if each.record.id in stored and each.record.id not in changed:
                    self._indexes.vectors.put(key, each.record.id, each.record.namespace, each.vector)
        return True

    async def _encode(self, records: list[Embeddable]) -> list["_Made"]:
        """The vectors of records; one that the encoder refuses is noted and left out."""
        texts = [self._encoder.record_text(record.title, record.content) for record in records]
        digests = [self._encoder.digest(text) for text in texts]
        try:
            vectors = await self._encoder.encode_records(texts)
        except TextRefused:
            if len(records) > 1:
                return [made for record in records for made in await self._encode([record])]
            cut = await self._encode_beginning(texts[0])
            if cut is None:
                self._refused.add(records[0].id)
                log.warning("embedding-refused", record=records[0].id)
                return []
            vectors = cut
        rows = zip(records, digests, vectors, strict=True)
        return [_Made(record, self._encoder.model, digest, vector) for record, digest, vector in rows]

    async def _encode_beginning(self, text: str) -> Matrix | None:
        """The vector of as much of a text as the encoder takes, found by halving; None when it takes none."""
        while len(text) > SHORTEST:
            text = text[: len(text) // 2]
            try:
                return await self._encoder.encode_records([text])
            except TextRefused:
                continue
        return None

    async def _retire_some(self, key: str) -> bool:
        """Once the configured model's vectors are complete, those of others are of no use. False when none is left."""
        vectors = self._indexes.vectors
        if self._retired or vectors.key != key or vectors.index is None or vectors.index.waiting:
            return False
        older, self._older = self._older, None
        if older is not None:
            await older.retire()
        others = [model for model in await self._store.read(embeddings.models) if model != self._encoder.model]
        for model in others:
            dropped = await self._store.write(partial(embeddings.drop_some, model=model, limit=DROPPED))
            if dropped < DROPPED:
                log.info("older-model-retired", model=model)
        self._retired = not others
        return bool(others)


@dataclass(frozen=True, slots=True)
class _Made:
    """A vector made of a record as it was read, under the digest that named its text before it was sent."""

    record: Embeddable
    model: str
    digest: str
    vector: Matrix

    @property
    def row(self) -> tuple[Embedding, str, str]:
        """As `embeddings.keep` takes it."""
        stored = Embedding(self.record.id, self.model, self.digest, self.vector.astype(np.float32).tobytes())
        return stored, self.record.title, self.record.content


def _digests(encoder: Encoder) -> Callable[[str, str], str]:
    return lambda title, content: encoder.digest(encoder.record_text(title, content))
