"""Two vector indexes at most: the one that answers, and the one a new model is filling.

Changing the model must not leave searches without vectors for the hours that embedding everything anew can take.
"""

from collections.abc import Iterable

from agent_memory.encoder.index import VectorIndex
from agent_memory.encoder.protocol import Vector


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

    def begin(self, key: str, width: int, records: Iterable[tuple[str, str]]) -> None:
        """Vectors of this key are coming for these live records; a half-filled index of another key is dropped.

        Args:
          records: (id, scope) of every live record.
        """
        if key in (self.key, self._next_key):
            return
        index = VectorIndex(width)
        for record_id, scope in records:
            index.expect(record_id, scope)
        if self.index is None:
            self.key, self.index = key, index
        else:
            self._next_key, self._next = key, index
            self.promote()

    def put(self, key: str, record_id: str, scope: str, vector: Vector) -> None:
        """Add a vector to the index of its key; one of an unknown key is ignored. May make the new index answer."""
        if key == self.key and self.index is not None:
            self.index.put(record_id, scope, vector)
        elif key == self._next_key and self._next is not None:
            self._next.put(record_id, scope, vector)
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
        if self._next is None or self._next.awaited():
            return False
        self.key, self.index = self._next_key, self._next
        self._next_key, self._next = "", None
        return True
