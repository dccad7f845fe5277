"""What retrieval keeps in memory of the live records: the words of the index and the vectors, in step with commits."""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import trio

from agent_memory.domain.namespaces import Scopes
from agent_memory.encoder.generations import Generations
from agent_memory.encoder.index import VectorIndex
from agent_memory.retrieval.concepts import Concepts
from agent_memory.retrieval.plan import Planner, QueryPlan
from agent_memory.retrieval.vocabulary import Shapes, Vocabulary
from agent_memory.store.changes import ChangedRecord
from agent_memory.store.stems import Stemmer


@dataclass(frozen=True, slots=True)
class Digest:
    """What a commit changes here: per stem, how many more records hold it; the records themselves; and the sorted forms
    of all stems when those in use have become stale.
    """

    words: Counter[str]
    records: tuple[ChangedRecord, ...]
    shapes: Shapes | None


@dataclass(frozen=True, slots=True)
class Answering:
    """Vectors of the model that `key` names, and the namespaces to search among."""

    key: str
    index: VectorIndex
    reach: tuple[str, ...]


class LiveIndexes:
    """A follower of the store. Everything but `digest` runs on the event loop."""

    def __init__(self, concepts: Concepts, stemmer: Stemmer, known_words: Container[str] = frozenset()) -> None:
        """
        Args:
          concepts: translations for queries.
          stemmer: for planning; commits are digested with one of their own, as a stemmer serves one thread.
          known_words: words that are spelt right though no record holds them.
        """
        self.vectors = Generations()
        self.by_namespace: Counter[str] = Counter()
        self._vocabulary = Vocabulary()
        self._planner = Planner(stemmer, self._vocabulary, concepts=concepts, known_words=known_words)
        self._words_loaded = False
        self._commit_stemmer = Stemmer()
        self._listeners: list[dict[str, ChangedRecord]] = []
        self._change = trio.Event()

    @property
    def records(self) -> int:
        """How many live records there are."""
        return self.by_namespace.total()

    def share(self, scopes: Scopes) -> float:
        """About how many of the live records are in these scopes, 0 to 1; a record that is erased stays counted."""
        inside = sum(self.by_namespace[name] for name in scopes.among(self.by_namespace))
        return min(inside / self.records, 1.0) if self.records else 0.0

    def load_words(self, rows: Iterable[tuple[str, int]]) -> None:
        """Take the counts of these words as they are in the database; `words_loaded` ends the loading."""
        self._vocabulary.update(rows)

    async def words_loaded(self) -> None:
        """All words are there: sort them for look-alikes and compounds, in a worker thread."""
        shapes = await trio.to_thread.run_sync(self._vocabulary.shapes_after, {})
        if shapes is not None:
            self._vocabulary.take(shapes)
        self._words_loaded = True

    @contextmanager
    def changes_meanwhile(self) -> Iterator[dict[str, ChangedRecord]]:
        """The records that commits change while the block runs, by id: what was read before may be older than them."""
        changed: dict[str, ChangedRecord] = {}
        self._listeners.append(changed)
        try:
            yield changed
        finally:
            # Not `remove`: it compares by value, and would take another listener that has heard the same.
            self._listeners = [each for each in self._listeners if each is not changed]

    async def wait_change(self) -> None:
        """Until a commit changes a record from now on."""
        await self._change.wait()

    def plan(self, query: str) -> QueryPlan:
        """How to carry a query out, by the words of the index."""
        return self._planner.plan(query, self.records)

    def answering(self, scopes: Scopes) -> Answering | None:
        """The vectors to compare a query with; None unless every live record in these scopes has its current one."""
        index = self.vectors.index
        if index is None:
            return None
        reach = scopes.among(index.scopes)
        return Answering(self.vectors.key, index, reach) if index.is_complete(reach) else None

    def digest(self, changed: Sequence[ChangedRecord]) -> Digest:
        """Count the words that come and go. Counts steer weights only, so a text edited in place is not recounted."""
        words: Counter[str] = Counter()
        for record in changed:
            change = int(record.live) - int(record.was_live)
            if change:
                text = f"{record.title}\n{record.content}\n{record.terms}"
                for stem in set(self._commit_stemmer.stems(text)):
                    words[stem] += change
        return Digest(words, tuple(changed), self._vocabulary.shapes_after(words) if self._words_loaded else None)

    def apply(self, digested: Digest) -> None:
        """Take a commit's changes over, before its writers are answered."""
        self._vocabulary.add(digested.words)
        if digested.shapes is not None:
            self._vocabulary.take(digested.shapes)
        for record in digested.records:
            for changed in self._listeners:
                changed[record.id] = record
            self.by_namespace[record.namespace] += int(record.live) - int(record.was_live)
            if record.live:
                self.vectors.expect(record.id, record.namespace)
            else:
                self.vectors.remove(record.id)
        self._change.set()
        self._change = trio.Event()
