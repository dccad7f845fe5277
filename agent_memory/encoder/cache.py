"""The vectors of recent queries, so that a repeated question does not wait for the encoder."""

from collections import OrderedDict

from agent_memory.encoder.protocol import Vector

MAX_QUERIES = 1_000  # 1.5 MB of 384 float32


class QueryCache:
    """The most recently used vectors, by digest of model, snapshot and query text (no query is kept in clear)."""

    def __init__(self, size: int = MAX_QUERIES) -> None:
        self._size = size
        self._vectors: OrderedDict[str, Vector] = OrderedDict()

    def __len__(self) -> int:
        return len(self._vectors)

    def get(self, digest: str) -> Vector | None:
        """The vector kept under a digest, which then counts as just used; None when there is none."""
        vector = self._vectors.get(digest)
        if vector is not None:
            self._vectors.move_to_end(digest)
        return vector

    def put(self, digest: str, vector: Vector) -> None:
        """Keep a vector; the longest unused one goes when there are too many."""
        self._vectors[digest] = vector
        self._vectors.move_to_end(digest)
        while len(self._vectors) > self._size:
            self._vectors.popitem(last=False)
