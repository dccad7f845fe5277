"""Two vector indexes at most: the one that answers, and the one a new model is filling.

Changing the model must not leave searches without vectors for the hours that embedding everything anew can take.
"""

from collections.abc import Sequence

from agent_memory.encoder.index import VectorIndex
from agent_memory.encoder.protocol import Matrix, Vector


class Generations:
    """Keeps the answering index until every live record has a vector of the newer model.

    `key` names a model with its snapshot. The answering key says whose vectors a query must be compared with: a query
    encoded by another model has no meaning there.
    """

    def __init__(self) -> None:
        self.key = ""
        self.index: VectorIndex | None = None
        self._next_key = ""
        self._next: VectorIndex | None = None

    @property
    def filling(self) -> VectorIndex | None:
        """The index that new vectors go into: the next one while there is one, else the answering one."""
        return self._next if self._next is not None else self.index

    def begin(self, key: str, width: int, *, capacity: int = 0) -> bool:
        """Open an index for vectors of this key; a half-filled one of another key is dropped.

        Until `loaded` is called it answers nothing, as live records may still be announced.
        Args: capacity: rows to make room for at once.
        Returns: whether it must be filled; False when an index of this key is there and loaded.
        """
        if self._next is not None and self._next_key != key:
            self._next_key, self._next = "", None
        there = self._of(key)
        if there is not None and not there.loading:
            return False
        index = VectorIndex(width, capacity=capacity, loading=True)
        if self.index is None or key == self.key:
            self.key, self.index = key, index
        else:
            self._next_key, self._next = key, index
        return True

    def announce(self, key: str, record_id: str, scope: str) -> None:
        """While loading: a live record has no current vector of this key."""
        if (index := self._of(key)) is not None:
            index.expect(record_id, scope)

    def fill(self, key: str, records: Sequence[tuple[str, str]], vectors: Matrix) -> None:
        """While loading: stored vectors, as `VectorIndex.fill` takes them; of an unknown key they are ignored."""
        if (index := self._of(key)) is not None:
            index.fill(records, vectors)

    def loaded(self, key: str) -> None:
        """Every live record was announced or has its vector. May make the new index answer."""
        if (index := self._of(key)) is not None:
            index.loaded()
            self.promote()

    def put(self, key: str, record_id: str, scope: str, vector: Vector) -> None:
        """Add a vector to the index of its key; one of an unknown key is ignored. May make the new index answer."""
        if (index := self._of(key)) is not None:
            index.put(record_id, scope, vector)
            self.promote()

    def expect(self, record_id: str, scope: str) -> None:
        """A record was stored or edited: both indexes wait for its new vector."""
        for index in (self.index, self._next):
            if index is not None:
                index.expect(record_id, scope)

    def remove(self, record_id: str) -> None:
        """A record is no longer live."""
        for index in (self.index, self._next):
            if index is not None:
                index.remove(record_id)
        self.promote()

    def promote(self) -> bool:
        """Let the new index answer if it waits for no vector; True when it does from now on."""
        if self._next is None or self._next.loading or self._next.waiting:
            return False
        self.key, self.index = self._next_key, self._next
        self._next_key, self._next = "", None
        return True

    def _of(self, key: str) -> VectorIndex | None:
        if self.index is not None and key == self.key:
            return self.index
        return self._next if key == self._next_key else None
