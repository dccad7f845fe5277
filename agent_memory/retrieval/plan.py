"""How a query is carried out: the terms to look up, what they weigh, mistyped words put right, translations added.

A plan depends on the words of the index (`Vocabulary`) and never on the records; making one reads no database.
"""

import math
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

from agent_memory.domain import terms as words
from agent_memory.retrieval.concepts import (
    ENGLISH_COLUMN,
    GERMAN_COLUMN,
    MARKERS,
    MARKERS_NEEDED,
    Concepts,
    Expression,
    Typed,
)
from agent_memory.retrieval.query import fts_query, query_terms
from agent_memory.retrieval.stopwords import STOP_WORDS
from agent_memory.retrieval.vocabulary import Vocabulary
from agent_memory.retrieval.weights import WEIGHTS, Weights
from agent_memory.store.stems import Stemmer

MIN_COMPOUND = 5  # letters; shorter words end or begin too many unrelated ones
MAX_COMPOUNDS = 6  # words made with one query word that are looked up beside it
FEW = 5  # records; in a store of a dozen, a fifth would be none at all
MAX_TRANSLATIONS = 48  # expressions; a long question can touch every idea of the table


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """What to ask the full-text index and the encoder for one query.

    Attributes:
      match: FTS5 expression; empty when the query has no letter or digit, and then nothing can match.
      translated: FTS5 expression of the query's ideas in other languages; empty when there are none in the index.
      text: the query with mistyped words put right; what the encoder should read.
      ideal: sum of the idf of the terms in `match` that the index holds, 0 or more; scales bm25 (see `fusion`).
      corrected: (typed, read as) pairs, in the order typed.
      unknown: share of the terms that the index does not hold, not even put right, 0 to 1.
    """

    match: str
    translated: str
    text: str
    ideal: float
    corrected: tuple[tuple[str, str], ...] = ()
    unknown: float = 0.0


@dataclass(frozen=True, slots=True)
class _Term:
    text: str
    documents: int


class Planner:
    """Makes plans. Use it from the thread that updates its vocabulary."""

    def __init__(
        self,
        stemmer: Stemmer,
        vocabulary: Vocabulary,
        *,
        concepts: Concepts | None = None,
        known_words: Container[str] = frozenset(),
        weights: Weights = WEIGHTS,
    ) -> None:
        """Args:
        concepts: the table of translations; None for no translations.
        known_words: lower-case words that are spelt right though no record holds them (the encoder's vocabulary).
        """
        self._stemmer = stemmer
        self._vocabulary = vocabulary
        self._concepts = concepts
        self._known = known_words
        self._weights = weights
        self._markers = {
            column: [stem for word in markers for stem in stemmer.stems(word)] for column, markers in MARKERS.items()
        }

    def plan(self, query: str, records: int) -> QueryPlan:
        """Plan a query.

        Args:
          query: any text.
          records: how many records the index holds in all; 0 or more, may lag a little behind.
        """
        terms = [_Term(term, self._documents(self._stemmer.stems(term))) for term in query_terms(query)]
        corrected: list[tuple[str, str]] = []
        extra: list[_Term] = []
        for term in terms:
            extra += self._beside(term, corrected)
        kept = self._rare([*terms, *extra], records)
        text = words.clean(query)
        for typed, meant in corrected:
            text = text.replace(typed, meant)
        return QueryPlan(
            match=fts_query([term.text for term in kept]),
            translated=self._translated(text, terms, records),
            text=text,
            ideal=sum(_idf(term.documents, records) for term in kept if term.documents),
            corrected=tuple(corrected),
            unknown=_share(not term.documents and term.text not in dict(corrected) for term in terms),
        )

    def _documents(self, stems: Sequence[str]) -> int:
        """An upper bound for the records that hold a term: those holding its rarest stem."""
        return min((self._vocabulary.documents(stem) for stem in stems), default=0)

    def _rare(self, terms: list[_Term], records: int) -> list[_Term]:
        """The terms without those that too many records hold, unless no rarer one is in the index.

        In a large store rarer ones are too many together: the commonest then go, as each match costs time.
        """
        limit = records * self._weights.common_share
        rare = [term for term in terms if term.documents <= limit]
        if not any(term.documents for term in rare):
            rare = terms
        spent, most = 0, 0
        for documents in sorted(term.documents for term in rare):
            spent += documents
            if spent <= self._weights.postings_most or not most:
                most = documents
        return [term for term in rare if term.documents <= most] if most else rare

    def _beside(self, term: _Term, corrected: list[tuple[str, str]]) -> list[_Term]:
        """What to look up beside a word that is not known to be spelt right: where notes are German, the compounds that
        it is part of; for one that no record holds, what it was meant to be, else what begins or ends with it."""
        word, stems = term.text, self._stemmer.stems(term.text)
        plain = len(stems) == 1 and not any(letter.isdigit() for letter in word) and not words.cjk_runs(word)
        if not plain or word.lower() in self._known:
            return []
        stem = stems[0]
        if term.documents:
            if len(word) < MIN_COMPOUND or not self._is_spoken(GERMAN_COLUMN):
                return []
            found = self._vocabulary.compounds(stem, MAX_COMPOUNDS)
            return [_Term(longer, self._vocabulary.documents(longer)) for longer in found if self._is_stem(longer)]
        found = [like for like in self._vocabulary.look_alikes(stem) if self._is_stem(like)]
        if found:
            ending = word[len(stem) :] if word.lower().startswith(stem) else ""
            corrected.append((word, found[0] + ending))
        elif len(word) >= MIN_COMPOUND:
            longer = self._vocabulary.ending_with(stem, MAX_COMPOUNDS)
            longer += self._vocabulary.beginning_with(stem, MAX_COMPOUNDS - len(longer))
            found = [other for other in longer if self._is_stem(other)]
        return [_Term(stem, self._vocabulary.documents(stem)) for stem in found]

    def _is_stem(self, stem: str) -> bool:
        """Whether a stem, used as a word in a query, is found again; the stemmer cuts some stems twice."""
        return self._stemmer.stems(stem) == [stem]

    def _translated(self, text: str, terms: list[_Term], records: int) -> str:
        if self._concepts is None:
            return ""
        typed = {stem for term in terms for stem in self._stemmer.stems(term.text)}
        limit = min(max(records * self._weights.common_share, FEW), self._weights.translated_most)
        pieces: list[str] = []
        for expression in self._concepts.translations(text, self._typed(text)):
            cjk = bool(words.cjk_runs(expression.text))
            stems = words.bigrams(expression.text) if cjk else list(expression.stems)
            # In this order: most expressions are in no record, and whether one misleads takes longest to tell.
            in_use = 0 < self._documents(stems) <= limit and not set(stems) <= typed
            if in_use and not self._is_misleading(expression, stems):
                pieces.append(_all_of(stems) if cjk else fts_query([expression.text]))
        return " OR ".join(pieces[:MAX_TRANSLATIONS])

    def _is_misleading(self, expression: Expression, stems: Sequence[str]) -> bool:
        """Whether a translation brings up records on something else."""
        word, column = expression.text.lower(), expression.column
        if word in STOP_WORDS or (column in self._markers and not self._is_spoken(column)):
            return True
        # French `place`, `décision` or `événement` (stem `even`) would bring up English records.
        looks = (word, words.without_accents(word), *stems)
        return column != ENGLISH_COLUMN and any(look in self._known for look in looks)

    def _is_spoken(self, column: int) -> bool:
        """Whether the index holds notes in the language of this column."""
        return sum(self._vocabulary.documents(marker) > 0 for marker in self._markers[column]) >= MARKERS_NEEDED

    def _typed(self, text: str) -> list[Typed]:
        found = []
        for word in words.simple_words(text):
            stems = self._stemmer.stems(word) if word.lower() not in STOP_WORDS else []
            found += [Typed(stem, word.lower() in self._known) for stem in stems]
        return found


def _all_of(pairs: list[str]) -> str:
    """An expression for records that hold every pair of a run: near enough to holding the run."""
    return "(" + " AND ".join(fts_query([pair]) for pair in pairs) + ")"


def _share(flags: Iterable[bool]) -> float:
    """How many of the flags are set, 0 for none at all."""
    found = list(flags)
    return sum(found) / len(found) if found else 0.0


def _idf(documents: int, records: int) -> float:
    """BM25's inverse document frequency, floored like FTS5's (a term in half of all records or more weighs nothing)."""
    odds = (records - documents + 0.5) / (documents + 0.5)
    return max(math.log(odds), 1e-6) if odds > 0 else 1e-6
