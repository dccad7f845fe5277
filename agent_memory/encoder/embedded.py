"""The embedded encoder: a `TextModel` behind the `Encoder` protocol, loaded on first need in a worker thread."""

from collections.abc import Callable, Sequence

import numpy as np
import trio

from agent_memory.encoder.catalogue import Recipe
from agent_memory.encoder.heap import give_back
from agent_memory.encoder.protocol import EncoderUnavailable, Matrix, Vector, text_digest
from agent_memory.encoder.textmodel import DEFAULT, TextModel, load_default

RECORDS_AT_ONCE = 16  # texts; between two slices of a batch, a waiting query gets the model


class EmbeddedEncoder:
    """Loads its model once, at the first probe or call; a failed load is kept as its state and not tried again."""

    def __init__(
        self, load: Callable[[int], TextModel] = load_default, *, recipe: Recipe = DEFAULT, threads: int = 1
    ) -> None:
        """Args:
        load: makes the model, given the number of threads; runs in a worker thread.
        recipe: what `load` will load; known beforehand, for digests.
        threads: CPU threads of one run.
        """
        self._load = load
        self._recipe = recipe
        self._threads = threads
        self._model: TextModel | None = None
        self._failure = ""
        self._turn = trio.Lock()  # one run at a time, in order of asking: two would share the same cores
        self._thread = trio.CapacityLimiter(1)

    @property
    def model(self) -> str:
        return self._recipe.name

    @property
    def snapshot(self) -> str:
        return self._recipe.weights_sha256[:16]

    @property
    def is_up(self) -> bool:
        return not self._failure

    @property
    def state(self) -> str:
        loaded = "ready" if self._model else "loads on first need"
        return self._failure or f"{self._recipe.name}, embedded, {loaded}"

    def record_text(self, title: str, content: str) -> str:
        # One pass over the template: braces in a title or content stay as they are.
        return self._recipe.record_template.format(title=title, content=content)

    def digest(self, text: str) -> str:
        return text_digest(self.model, self.snapshot, text)

    async def probe(self) -> bool:
        """Load the model if it is not; True once it is there."""
        try:
            await self.encode_records(())
        except EncoderUnavailable:
            return False
        return True

    async def encode_query(self, query: str) -> Vector:
        vectors = await self._encode([self._recipe.query_template.format(query=query)])
        vector: Vector = vectors[0]
        return vector

    async def encode_records(self, texts: Sequence[str]) -> Matrix:
        parts = [await self._encode(texts[at : at + RECORDS_AT_ONCE]) for at in range(0, len(texts), RECORDS_AT_ONCE)]
        return np.concatenate(parts) if parts else await self._encode(())

    async def retire(self) -> None:
        async with self._turn:
            self._failure, self._model = "retired", None
        await trio.to_thread.run_sync(give_back)

    async def _encode(self, texts: Sequence[str]) -> Matrix:
        async with self._turn:
            if self._failure:
                raise EncoderUnavailable(self._failure)
            try:
                return await trio.to_thread.run_sync(self._run, list(texts), limiter=self._thread)
            except EncoderUnavailable as error:
                if self._model is None:
                    self._failure = str(error)
                raise

    def _run(self, texts: list[str]) -> Matrix:
        """In the worker thread; only ever one at a time."""
        if self._model is None:
            try:
                self._model = self._load(self._threads)
            except EncoderUnavailable:
                raise
            except ImportError as error:  # a platform without onnxruntime or tokenizers
                raise EncoderUnavailable(f"{error.name or 'a library'} cannot be imported") from error
            except Exception as error:  # a library built for another platform or numpy raises what it likes
                raise EncoderUnavailable(f"{self.model} cannot be loaded ({type(error).__name__})") from error
        return self._model.embed(texts)
