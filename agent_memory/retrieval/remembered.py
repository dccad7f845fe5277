"""Rankings made lately, for when the same is asked again before a record or a vector has changed.

Agents do ask again: sessions of a project begin with the same questions, hooks look the same things up with every
prompt, and a call that was cut off is sent once more. Most of a search is then full text, vectors and ranking over what
has not changed.
"""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final

from agent_memory.retrieval.candidates import Hit
from agent_memory.retrieval.fusion import Ranking

ROOM: Final = 4_000  # hits, and one more for each ranking: of some 450 bytes, 1.8 MB; 360 searches for ten hits


@dataclass(frozen=True, slots=True)
class Ranked:
    """What ranking made of one query.

    Attributes:
      hits: best first.
      ranking: which ranking made them.
      text_hits: records that hold a word of the query, at most the pool's size.
      coverage: how near the best of them comes to an ideal match, 0 to 1.
      weak: whether nothing found is convincing.
    """

    hits: tuple[Hit, ...]
    ranking: Ranking
    text_hits: int
    coverage: float
    weak: bool


class Remembered:
    """The most recently used rankings, all made of the same records and vectors. Serves one thread at a time.

    `state` stands for the records and vectors as they are: two that are equal mean that nothing has changed between.
    With another state than the last one everything is forgotten, so that nothing older than its asker is ever found.
    """

    def __init__(self, room: int = ROOM) -> None:
        """Args: room: how many hits are kept in all, each ranking counting as one more."""
        self._most = room
        self._held = 0
        self._state: Hashable = None
        self._rankings: OrderedDict[bytes, Ranked] = OrderedDict()

    def __len__(self) -> int:
        return len(self._rankings)

    def get(self, question: bytes, state: Hashable) -> Ranked | None:
        """The ranking kept under a digest of all else it depends on, which then counts as just used; None: none is."""
        self._keep_to(state)
        ranked = self._rankings.get(question)
        if ranked is not None:
            self._rankings.move_to_end(question)
        return ranked

    def put(self, question: bytes, state: Hashable, ranked: Ranked) -> None:
        """Keep a ranking made of this state; the longest unused ones go when there is no more room."""
        self._keep_to(state)
        self._let_go(question)
        self._rankings[question] = ranked
        self._held += _room(ranked)
        while self._held > self._most:
            self._let_go(next(iter(self._rankings)))

    def _keep_to(self, state: Hashable) -> None:
        if state != self._state:
            self._rankings.clear()
            self._held, self._state = 0, state

    def _let_go(self, question: bytes) -> None:
        ranked = self._rankings.pop(question, None)
        if ranked is not None:
            self._held -= _room(ranked)


def _room(ranked: Ranked) -> int:
    return len(ranked.hits) + 1
