"""An external encoder: the `/v1/embeddings` of an OpenAI-style server, by the seed's Embedding retrieval table."""

from collections.abc import Sequence
from urllib.parse import quote, urlsplit

import httpx
import numpy as np
import trio
from pydantic import BaseModel, ValidationError

from agent_memory.encoder.protocol import EncoderUnavailable, Matrix, TextRefused, Vector, text_digest

QUERY_INSTRUCTION = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
RECORDS_TIMEOUT_S = 60.0  # a batch on a busy CPU server; nobody waits for it
PROBE_TIMEOUT_S = 10.0


class _Embedding(BaseModel):
    index: int
    embedding: list[float]


class _Embeddings(BaseModel):
    data: list[_Embedding]


class _ModelEntry(BaseModel):
    id: str = ""
    root: str | None = None


class _Models(BaseModel):
    data: list[_ModelEntry]


class RemoteEncoder:
    """Counts as down until its first probe is answered, and after a miss until the next."""

    def __init__(self, client: httpx.AsyncClient, url: str, model: str, *, timeout_s: float = 2.0) -> None:
        """Args:
        client: closed by whoever made it.
        url: of the server's `/v1`.
        model: as the server names it.
        timeout_s: longest wait for a query's vector, from asking to the last byte.
        """
        self._client = client
        self._url = url.rstrip("/")
        self._model = model
        self._timeout_s = timeout_s
        self._snapshot = ""
        self._width = 0
        self._failure = "not probed yet"

    @property
    def model(self) -> str:
        return self._model

    @property
    def snapshot(self) -> str:
        return self._snapshot

    @property
    def is_up(self) -> bool:
        return not self._failure

    @property
    def state(self) -> str:
        where = urlsplit(self._url).netloc.rpartition("@")[2]  # never the credentials of a URL
        return f"{self._model} at {where}: {self._failure or 'answers'}"

    def record_text(self, title: str, content: str) -> str:
        return f"{title}\n{content}"

    def digest(self, text: str) -> str:
        return text_digest(self._model, self._snapshot, text)

    async def probe(self) -> bool:
        """Ask for the server's models, and for the snapshot behind ours. A new snapshot may have another width."""
        with trio.move_on_after(PROBE_TIMEOUT_S) as scope:
            try:
                snapshot = await self._find_snapshot()
            except EncoderUnavailable as error:
                self._failure = str(error)
                return False
            if snapshot != self._snapshot:
                self._snapshot, self._width = snapshot, 0
            self._failure = ""
        if scope.cancelled_caught:
            self._failure = f"no answer to a probe in {PROBE_TIMEOUT_S:g} s"
        return self.is_up

    async def encode_query(self, query: str) -> Vector:
        if not self.is_up:
            raise EncoderUnavailable(self._failure)
        vectors = await self._embed([QUERY_INSTRUCTION + query], self._timeout_s)
        vector: Vector = vectors[0]
        return vector

    async def encode_records(self, texts: Sequence[str]) -> Matrix:
        if not self.is_up:
            raise EncoderUnavailable(self._failure)
        return await self._embed(list(texts), RECORDS_TIMEOUT_S) if texts else np.zeros((0, self._width), np.float32)

    async def retire(self) -> None:
        """The model is its server's."""

    async def _embed(self, texts: list[str], timeout_s: float) -> Matrix:
        """Vectors of texts; any failure but a refusal of the texts marks the encoder down."""
        vectors = None
        try:
            with trio.move_on_after(timeout_s):
                reply = await self._post(texts)
                vectors = self._vectors(reply, len(texts))
        except TextRefused:
            raise
        except EncoderUnavailable as error:
            self._failure = str(error)
            raise
        if vectors is None:
            self._failure = f"no vectors in {timeout_s:g} s"
            raise EncoderUnavailable(self._failure)
        return vectors

    async def _post(self, texts: list[str]) -> _Embeddings:
        body = {"model": self._model, "input": [text.encode("utf-8", "replace").decode() for text in texts]}
        try:
            # The deadline around the call is the only one: httpx's own restart with every byte.
            answer = await self._client.post(f"{self._url}/embeddings", json=body, timeout=None)
        except httpx.HTTPError as error:
            raise EncoderUnavailable(f"no connection ({type(error).__name__})") from error
        if answer.status_code in (400, 413, 422):
            raise TextRefused(f"the server answered {answer.status_code}")
        if answer.status_code != 200:
            raise EncoderUnavailable(f"the server answered {answer.status_code}")
        try:
            return _Embeddings.model_validate_json(answer.content)
        except ValidationError as error:
            raise EncoderUnavailable("the server's answer holds no embeddings") from error

    def _vectors(self, reply: _Embeddings, count: int) -> Matrix:
        """The reply's vectors in the order asked, checked and scaled to unit length."""
        if sorted(item.index for item in reply.data) != list(range(count)):
            raise EncoderUnavailable(f"{len(reply.data)} vectors for {count} texts")
        rows = [item.embedding for item in sorted(reply.data, key=lambda item: item.index)]
        width = self._width or len(rows[0])
        if width == 0 or any(len(row) != width for row in rows):
            raise EncoderUnavailable(f"vectors of another width than {width}")
        vectors = np.array(rows, dtype=np.float32)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or (lengths == 0).any():
            raise EncoderUnavailable("vectors without a direction")
        self._width = width
        return np.asarray(vectors / lengths, dtype=np.float32)

    async def _find_snapshot(self) -> str:
        """The last path segment of `root`, from the server's models or from llama-swap's upstream; empty for neither.

        The upstream is asked only while the snapshot is unknown or the encoder was down: asking makes llama-swap load
        the model, and every 30 s would never let it go.
        """
        root = await self._root(f"{self._url}/models")
        if root is None and self._snapshot and self.is_up:
            return self._snapshot
        if root is None:
            base = self._url.removesuffix("/v1")
            try:
                root = await self._root(f"{base}/upstream/{quote(self._model, safe='')}/v1/models")
            except EncoderUnavailable:
                root = None  # not llama-swap, or an upstream without a model list: the server itself did answer
        return (root or "").rstrip("/").rpartition("/")[2]

    async def _root(self, url: str) -> str | None:
        """The `root` of our model (or of the only one listed); None when there is none."""
        try:
            answer = await self._client.get(url, timeout=None)
        except httpx.HTTPError as error:
            raise EncoderUnavailable(f"no connection ({type(error).__name__})") from error
        if answer.status_code != 200:
            raise EncoderUnavailable(f"the server answered {answer.status_code}")
        try:
            entries = _Models.model_validate_json(answer.content).data
        except ValidationError as error:
            raise EncoderUnavailable("the server's answer lists no models") from error
        ours = [entry for entry in entries if entry.id == self._model] or (entries if len(entries) == 1 else [])
        return next((entry.root for entry in ours if entry.root), None)
