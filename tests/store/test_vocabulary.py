"""The vocabulary read in slices is that of the index, and the stemmer cuts as the index does."""

from collections.abc import Iterator

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.store.stems import TOKENIZER, Stemmer
from agent_memory.store.vocabulary import words_after

TEXTS = ["The brokers are broken", "Störung der Heizungspumpe", "cacheMaxSize = 12", "東京都の設定", "broker port 8883"]


@pytest.fixture
def conn() -> Iterator[apsw.Connection]:
    with apsw.Connection(":memory:") as opened:
        opened.execute(f"CREATE VIRTUAL TABLE records_fts USING fts5(title, content, tokenize='{' '.join(TOKENIZER)}')")
        opened.execute("CREATE VIRTUAL TABLE records_vocabulary USING fts5vocab(records_fts, row)")
        opened.executemany("INSERT INTO records_fts VALUES ('x', ?)", [(text,) for text in TEXTS])
        yield opened


@pytest.mark.parametrize("slice_s", [0, 1])
def test_slices_make_up_the_whole(conn: apsw.Connection, slice_s: float) -> None:
    found: list[tuple[str, int]] = []
    while rows := words_after(conn, found[-1][0] if found else "", slice_s=slice_s):
        assert slice_s or len(rows) == 1
        found += rows
    assert found == conn.execute("SELECT term, doc FROM records_vocabulary").fetchall()
    assert dict(found)["broker"] == 2


def test_the_stemmer_agrees_with_the_index(conn: apsw.Connection) -> None:
    stems = {stem for text in [*TEXTS, "x"] for stem in Stemmer().stems(text)}
    assert stems == {word for word, _ in words_after(conn, "")}


@given(st.text().map(lambda text: text.encode("utf-8", "replace").decode()))
def test_any_text_has_stems(text: str) -> None:
    assert all(Stemmer().stems(text))
