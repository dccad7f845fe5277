"""What a record is findable by, beyond what the full-text tokenizer sees."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.domain import terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cacheMaxMemorySize", {"cache", "max", "memory", "size"}),
        ("parseHTTPUrl", {"parse", "http", "url"}),
        ("rate_limit", {"ratelimit"}),
        ("--dry-run", {"dryrun"}),
        ("POL-358", {"pol358"}),
        ("E4021 raised", {"4021"}),
        ("app.cacheSize/readOnly", {"cache", "size", "read", "only"}),
        ("東京都", {"東", "京", "都", "東京", "京都"}),
        ("設定API変更", {"api", "設定", "変更"}),
        ("메모리 서버", {"메모", "모리", "서버"}),
        ("ﾒﾓﾘ", {"メモ", "モリ"}),
        ("Störung", {"stoerung"}),
        ("Straße", {"strasse"}),
    ],
)
def test_a_record_is_found_by_the_parts_of_its_words(text: str, expected: set[str]) -> None:
    assert expected <= set(terms.index_terms("", text).split())
    assert expected <= set(terms.index_terms(text, "").split())


@pytest.mark.parametrize("text", ["", "plain words Only HERE", "1.2.3 10", "\x00 \ud800", "🎉 ++ *"])
def test_ordinary_text_adds_nothing(text: str) -> None:
    assert terms.index_terms(text, text) == ""


@given(st.text(), st.text())
def test_terms_can_always_be_stored_and_hold_each_word_once(title: str, content: str) -> None:
    found = terms.index_terms(title, content)
    found.encode("utf-8")
    assert "\x00" not in found
    words = found.split(" ") if found else []
    assert len(words) == len(set(words))
    assert all(words)


@given(st.text())
def test_terms_do_not_depend_on_the_normal_form(text: str) -> None:
    assert terms.index_terms("", text) == terms.index_terms("", unicodedata.normalize("NFKC", text))


@given(st.text(alphabet=st.characters(categories=["Lu", "Ll", "Nd"]), min_size=1))
def test_case_parts_lose_nothing(word: str) -> None:
    assert "".join(terms.case_parts(word)) == word


@given(st.text(alphabet="東京都メモリ메모리", min_size=2))
def test_every_pair_of_a_run_is_indexed(run: str) -> None:
    assert set(terms.bigrams(run)) <= set(terms.index_terms(run, "").split())
