"""An encoder that stands in for one outside: its vectors follow from the words, and tests say when it answers."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import trio

from agent_memory.encoder.cache import QueryCache
from agent_memory.encoder.protocol import EncoderUnavailable, Matrix, TextRefused, Vector, text_digest
from agent_memory.encoder.queries import QueryVectors
from agent_memory.nursery.embedding import Embedder
from agent_memory.nursery.words import load_words
from support.world import World

WIDTH = 64


@dataclass
class WordsEncoder:
    """Texts with the same words are near each other. Every text asked for is kept in `queries` or `batches`."""

    model: str = "words"
    snapshot: str = "v1"
    width: int = WIDTH
    failure: str = ""
    takes_s: float = 0.0
    longest: int = 1_000_000  # characters; longer texts are refused
    refuses: str = "\0"  # texts with this in them too
    queries: list[str] = field(default_factory=list)
    batches: list[list[str]] = field(default_factory=list)
    probes: int = 0
    gate: trio.Event | None = None
    query_gate: trio.Event | None = None

    @property
    def is_up(self) -> bool:
        return not self.failure

    @property
    def state(self) -> str:
        return self.failure or f"{self.model} {self.snapshot}"

    @property
    def texts(self) -> list[str]:
        """Every record text that was asked for, without the one that tells the width."""
        return [text for batch in self.batches for text in batch if text != "width"]

    def record_text(self, title: str, content: str) -> str:
        return f"{title}\n{content}"

    def digest(self, text: str) -> str:
        return text_digest(self.model, self.snapshot, text)

    async def probe(self) -> bool:
        self.probes += 1
        return self.is_up

    async def encode_query(self, query: str) -> Vector:
        self.queries.append(query)
        if self.query_gate is not None:
            await self.query_gate.wait()
        if self.failure:
            raise EncoderUnavailable(self.failure)
        return self.vector(query)

    async def encode_records(self, texts: Sequence[str]) -> Matrix:
        self.batches.append(list(texts))
        made = [self.vector(text) for text in texts]
        if self.gate is not None and list(texts) != ["width"]:
            await self.gate.wait()
        await trio.sleep(self.takes_s)
        if self.failure:
            raise EncoderUnavailable(self.failure)
        if any(len(text) > self.longest or self.refuses in text for text in texts):
            raise TextRefused("too long")
        return np.array(made, dtype=np.float32)

    async def retire(self) -> None:
        self.failure = "retired"

    def vector(self, text: str) -> Vector:
        """Of these weights, for any text."""
        found = np.zeros(self.width, dtype=np.float32)
        for word in text.lower().split():
            seed = zlib.crc32(f"{self.model} {self.snapshot} {word}".encode())
            found += np.random.default_rng(seed).standard_normal(self.width).astype(np.float32)
        return np.asarray(found / np.linalg.norm(found), dtype=np.float32)


@dataclass
class Embedding:
    """A world whose records are embedded by `encoder`."""

    world: World
    embedder: Embedder

    async def settle(self, seconds: float = 5.0) -> None:
        """Let the tasks do what they can; for the virtual clock."""
        await trio.sleep(seconds)

    async def ranking(self, query: str, **arguments: object) -> str:
        """Which ranking answers a search here."""
        found = await self.world.call("search", query=query, **{"namespace": "github/acme/app", **arguments})
        return str(found["ranking"])


async def embed(
    world: World, nursery: trio.Nursery, encoder: WordsEncoder, older: WordsEncoder | None = None
) -> Embedding:
    """Start the encoder's tasks over a world, as the nursery of the server does."""
    encoders = [each for each in (encoder, older) if each is not None]
    object.__setattr__(world.services, "query_vectors", QueryVectors(encoders, QueryCache()))
    indexes = world.services.indexes
    embedder = Embedder(world.store, indexes, encoder, older)
    await nursery.start(load_words, indexes, world.store)
    await nursery.start(embedder.run)
    await nursery.start(embedder.run_probe)
    return Embedding(world, embedder)
