"""The product's own retrieval over a labelled set: its index layout in memory, its plans, vector index and fusion."""

from collections.abc import Sequence
from dataclasses import replace

import apsw
import numpy as np
import numpy.typing as npt
from sets import LabelledSet, Query

from agent_memory.domain.terms import index_terms
from agent_memory.encoder.index import VectorIndex
from agent_memory.retrieval.candidates import Candidate, Hit
from agent_memory.retrieval.concepts import Concepts
from agent_memory.retrieval.fusion import Ranking, is_weak, rank
from agent_memory.retrieval.plan import Planner, QueryPlan
from agent_memory.retrieval.sessions import NEIGHBOURS
from agent_memory.retrieval.vocabulary import Vocabulary
from agent_memory.retrieval.weights import WEIGHTS, Weights
from agent_memory.store.stems import Stemmer

Matrix = npt.NDArray[np.float32]


class Engine:
    """Ranks the queries of one set."""

    def __init__(
        self,
        labelled: LabelledSet,
        vectors: Matrix | None,
        *,
        concepts: Concepts | None = None,
        known_words: frozenset[str] = frozenset(),
        stemmer: Stemmer | None = None,
        weights: Weights = WEIGHTS,
        spelling: bool = True,
    ) -> None:
        """Args:
        vectors: float32, one row a record, in the set's order; None for full text alone.
        concepts, known_words: as the planner takes them.
        spelling: False plans with counts alone: no typing mistakes, no compounds.
        """
        self._records = {record.id: record for record in labelled.records}
        self._places = {(record.session, record.position): record for record in labelled.records if record.session}
        self._weights = weights
        self._conn = _indexed(labelled)
        vocabulary = Vocabulary(self._conn.execute("SELECT term, doc FROM records_vocab"))
        if not spelling:
            vocabulary = _CountsOnly(self._conn.execute("SELECT term, doc FROM records_vocab"))
        self._planner = Planner(
            stemmer or Stemmer(), vocabulary, concepts=concepts, known_words=known_words, weights=weights
        )
        self._index: VectorIndex | None = None
        if vectors is not None:
            self._index = VectorIndex(vectors.shape[1])
            for record, vector in zip(labelled.records, vectors, strict=True):
                if record.live:
                    self._index.put(record.id, record.namespace, vector)

    def plan(self, query: Query) -> QueryPlan:
        """What the planner makes of a query; `text` is what to embed for `ranked`."""
        return self._planner.plan(query.text, len(self._records))

    def ranked(self, query: Query, vector: Matrix | None, ranking: Ranking, limit: int) -> tuple[list[Hit], bool]:
        """The hits of a query and whether they look weak; `vector` is that of the plan's text."""
        plan = self.plan(query)
        candidates = self._candidates(plan, query, vector if ranking != "fts5" else None)
        similarity = self._index.similarity if self._index is not None else None
        hits = rank(candidates, plan, ranking=ranking, limit=limit, similarity=similarity, weights=self._weights)
        return hits, is_weak(candidates, plan, self._weights)

    def nearest(self, query: Query, vector: Matrix, limit: int) -> list[str]:
        """The ids that cosine alone gives."""
        assert self._index is not None
        return [record_id for record_id, _ in self._index.search(vector, query.scopes, limit)]

    def _candidates(self, plan: QueryPlan, query: Query, vector: Matrix | None) -> list[Candidate]:
        found: dict[str, Candidate] = {}
        matching = self._matching(plan.match, query)
        beside = [near for record_id, _ in matching[: self._weights.around] for near in self._around(record_id)]
        for record_id, score in matching:
            found[record_id] = replace(self._candidate(record_id), bm25=score)
        for record_id, score in self._matching(plan.translated, query):
            found[record_id] = replace(found.get(record_id) or self._candidate(record_id), translated=score)
        if vector is not None and self._index is not None:
            near = dict(self._index.search(vector, query.scopes, self._weights.pool))
            others = [record_id for record_id in (*found, *beside) if record_id not in near]
            cosines = near | self._index.cosines(vector, others)
            for record_id, cosine in cosines.items():
                found[record_id] = replace(found.get(record_id) or self._candidate(record_id), cosine=cosine)
        return list(found.values())

    def _around(self, record_id: str) -> list[str]:
        """The ids of the record's neighbours in its session (a session of these sets lies within one scope)."""
        record = self._records[record_id]
        steps = range(-NEIGHBOURS, NEIGHBOURS + 1) if record.session else ()
        beside = [self._places.get((record.session, record.position + step)) for step in steps]
        return [near.id for near in beside if near is not None and near.live]

    def _candidate(self, record_id: str) -> Candidate:
        record = self._records[record_id]
        return Candidate(
            id=record.id,
            title=record.title,
            content=record.content,
            type=record.type,
            namespace=record.namespace,
            created=record.created,
            session=record.session,
            position=record.position,
        )

    def _matching(self, match: str, query: Query) -> list[tuple[str, float]]:
        if not match:
            return []
        marks = ",".join("?" * len(query.scopes))
        w = self._weights
        return self._conn.execute(
            f"SELECT r.id, bm25(records_fts, {w.bm25_title}, {w.bm25_content}, {w.bm25_terms}) AS score"
            f" FROM records_fts JOIN records r ON r.rowid = records_fts.rowid"
            f" WHERE records_fts MATCH ? AND r.live AND r.namespace IN ({marks}) ORDER BY score, r.id LIMIT ?",
            (match, *sorted(query.scopes), w.pool),
        ).fetchall()


class _CountsOnly(Vocabulary):
    """A vocabulary that knows how many, and suggests nothing."""

    def look_alikes(self, stem: str, limit: int = 2) -> list[str]:
        return []

    def beginning_with(self, stem: str, limit: int) -> list[str]:
        return []

    def ending_with(self, stem: str, limit: int) -> list[str]:
        return []


def _indexed(labelled: LabelledSet) -> apsw.Connection:
    """The product's full-text layout in memory."""
    conn = apsw.Connection(":memory:")
    conn.execute("CREATE TABLE records (id TEXT, namespace TEXT, live INTEGER, title TEXT, content TEXT, terms TEXT)")
    conn.execute(
        "CREATE VIRTUAL TABLE records_fts USING fts5(title, content, terms, content='records',"
        " tokenize='porter unicode61 remove_diacritics 2')"
    )
    conn.execute("CREATE VIRTUAL TABLE records_vocab USING fts5vocab(records_fts, row)")
    with conn:
        for record in labelled.records:
            terms = index_terms(record.title, record.content)
            row = (record.id, record.namespace, record.live, record.title, record.content, terms)
            conn.execute("INSERT INTO records VALUES (?, ?, ?, ?, ?, ?)", row)
            conn.execute(
                "INSERT INTO records_fts(rowid, title, content, terms) VALUES (last_insert_rowid(), ?, ?, ?)", row[3:]
            )
    return conn


def texts_of(labelled: LabelledSet) -> Sequence[str]:
    return [record.text for record in labelled.records]
