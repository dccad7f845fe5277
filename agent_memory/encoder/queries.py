"""Query vectors: asked of whichever encoder made the answering vectors, and kept for the next time."""

from collections.abc import Sequence

from agent_memory.encoder.cache import QueryCache
from agent_memory.encoder.protocol import Encoder, EncoderUnavailable, Vector


def key_of(encoder: Encoder) -> str:
    """Names a model with its snapshot: vectors of the same key may be compared."""
    return f"{encoder.model}@{encoder.snapshot}"


class QueryVectors:
    """Gives a query's vector, or nothing when no encoder of the right model answers in time."""

    def __init__(self, encoders: Sequence[Encoder], cache: QueryCache) -> None:
        """
        Args:
          encoders: the configured one, and the one before it while its vectors still answer.
        """
        self.encoders = tuple(encoders)
        self._cache = cache

    def kept(self, key: str, query: str) -> Vector | None:
        """The vector of a query that was asked for lately, in the space that `key` names."""
        encoder = self._encoder(key)
        return None if encoder is None else self._cache.get(encoder.digest(query))

    async def ask(self, key: str, query: str) -> Vector | None:
        """The vector of a query in the space that `key` names. None: no encoder gives it; search by full text."""
        encoder = self._encoder(key)
        if encoder is None:
            return None
        digest = encoder.digest(query)
        try:
            vector = await encoder.encode_query(query)
        except EncoderUnavailable:
            return None
        self._cache.put(digest, vector)
        return vector

    def _encoder(self, key: str) -> Encoder | None:
        return next((each for each in self.encoders if key_of(each) == key and each.is_up), None)
