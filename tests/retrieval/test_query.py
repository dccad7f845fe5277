"""Whatever is typed becomes a query that FTS5 accepts and that finds what its words say."""

from collections.abc import Iterator

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.domain.terms import index_terms
from agent_memory.retrieval.query import MAX_TERMS, fts_query, query_terms
from agent_memory.retrieval.stopwords import STOP_WORDS


@pytest.fixture(scope="module")
def index() -> Iterator[apsw.Connection]:
    with apsw.Connection(":memory:") as conn:
        conn.execute(
            "CREATE VIRTUAL TABLE t USING fts5(title, content, terms, tokenize='porter unicode61 remove_diacritics 2')"
        )
        yield conn


def found(conn: apsw.Connection, text: str, query: str) -> bool:
    conn.execute("DELETE FROM t")
    conn.execute("INSERT INTO t VALUES (?, ?, ?)", ("a title", text, index_terms("a title", text)))
    match = fts_query(query_terms(query))
    return bool(match) and bool(conn.execute("SELECT rowid FROM t WHERE t MATCH ?", (match,)).fetchall())


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("raises POL-358 on start", "POL-358"),
        ("raises POL-358 on start", "pol358"),
        ("raises POL358 on start", "POL-358"),
        ("set cacheMaxMemorySize", "memory size"),
        ("set max_memory", "maxMemory"),
        ("call maxMemory", "max_memory"),
        ("see agent_memory.domain.terms", "terms"),
        ("pass --dry-run", "dryrun"),
        ("written in C++", "C++"),
        ("don't do that", "don't"),
        ("東京都の設定", "東京"),
        ("設定API変更", "API"),
        ("메모리를 늘린다", "메모리"),
        ("die Störung", "Stoerung"),
        ("die Stoerung", "Störung"),
        ("naïve café", "naive CAFE"),
        ("a mémo", "me\u0301mo"),
        ("हिन्दी में", "हिन्दी"),
        ("to be or not to be", "to be"),
        ("the build", "how does the build work and what would a much longer question change"),
    ],
)
def test_a_record_is_found_by(index: apsw.Connection, text: str, query: str) -> None:
    assert found(index, text, query)


@pytest.mark.parametrize(
    "query", ["", " ", '"', "*", "\x00", "🎉", "\ud800", "++", "'", "NEAR", "a:b", 'x" OR "y', "^a -b"]
)
def test_odd_queries_never_error(index: apsw.Connection, query: str) -> None:
    found(index, "anything", query)


@pytest.mark.parametrize("query", ["", " ", '"*', "\x00", "🎉", "\ud800", "--"])
def test_a_query_without_a_letter_matches_nothing(query: str) -> None:
    assert fts_query(query_terms(query)) == ""


def test_stop_words_are_dropped_while_others_are_left() -> None:
    assert query_terms("what is the port of the broker") == ["port", "broker"]
    assert query_terms("what is it") == ["what", "is", "it"]


@given(st.text())
def test_any_text_is_a_valid_query(index: apsw.Connection, query: str) -> None:
    terms = query_terms(query)
    assert len(terms) <= MAX_TERMS
    match = fts_query(terms)
    match.encode("utf-8")
    if match:
        index.execute("SELECT rowid FROM t WHERE t MATCH ?", (match,)).fetchall()


@given(st.lists(st.text(alphabet='abcXYZ09"*:()^-+. ', min_size=1), max_size=5))
def test_any_terms_quote_to_a_valid_query(index: apsw.Connection, terms: list[str]) -> None:
    match = fts_query(terms)
    if match:
        index.execute("SELECT rowid FROM t WHERE t MATCH ?", (match,)).fetchall()


@given(st.text(alphabet="abcde -", min_size=1), st.text(alphabet="abcde -"))
def test_a_longer_query_keeps_the_terms_of_a_shorter_one(query: str, more: str) -> None:
    """Unless the shorter one was all stop words."""
    short = query_terms(query)
    if not set(short) & STOP_WORDS:
        assert set(short) <= set(query_terms(f"{query} {more}")) or len(query_terms(f"{query} {more}")) == MAX_TERMS
