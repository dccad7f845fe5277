"""What a person or an agent types, as a full-text match expression.

Every word is quoted by itself, so nothing typed is query syntax, and the words are joined by OR, so that a longer query
never finds less. It knows neither the index nor the counts of its words; `retrieval.plan` weighs the terms.
"""

from collections.abc import Iterator, Sequence

from agent_memory.domain import terms as words
from agent_memory.retrieval.stopwords import STOP_WORDS

MAX_TERMS = 64  # a pasted page must not become a query of a thousand words; the first 64 distinct terms stand for it
MAX_TERM_LENGTH = 100  # characters; a longer "word" is pasted data (base64, a hash list) that no record is looked up by


def query_terms(query: str) -> list[str]:
    """The terms to look a query up by, in the order typed, each once whatever its case.

    A word with inner punctuation (`POL-358`, `a.b`) is a term whole, and its parts are terms after it; so are the
    parts of a camelCase word; a run of Han, kana or Hangul gives its pairs of characters. Stop words are left out
    unless nothing else is left.

    Args:
      query: any text, NUL, lone surrogates and quotes included.
    Returns: at most MAX_TERMS terms, each holding at least one letter or digit and no quote; empty when the query has
      no letter or digit at all.
    """
    kept: dict[str, str] = {}
    dropped: dict[str, str] = {}
    for compound in words.compounds(query):
        for term in _terms(compound):
            if len(term) > MAX_TERM_LENGTH:
                continue
            into = dropped if term.lower() in STOP_WORDS else kept
            into.setdefault(term.lower(), term)
            if len(kept) >= MAX_TERMS:
                return list(kept.values())
    return list(kept.values()) or list(dropped.values())[:MAX_TERMS]


def fts_query(terms: Sequence[str]) -> str:
    """The terms as one FTS5 expression: each quoted, joined by OR.

    Returns: an expression that FTS5 accepts whatever the terms hold; empty for no terms, which means that there is
      nothing to match (FTS5 itself refuses an empty expression).
    """
    return " OR ".join('"' + term.replace('"', '""').replace("\x00", " ") + '"' for term in terms)


def _terms(compound: str) -> Iterator[str]:
    """The terms of one word as typed; may repeat."""
    if compound.lower() in STOP_WORDS:
        yield compound
        return
    simple = words.simple_words(compound)
    runs = words.cjk_runs(compound)
    if len(simple) > 1 and not runs:
        yield compound
    for word in simple:
        for run in runs and words.cjk_runs(word):
            yield from words.bigrams(run)
        for piece in words.outside_cjk(word):
            yield piece
            parts = words.case_parts(piece)
            if len(parts) > 1:
                yield from (part for part in parts if len(part) > 1)
            plain = words.without_umlauts(piece)
            if plain != piece:
                yield plain
    whole = words.joined(compound)
    if whole and not runs:
        yield whole
