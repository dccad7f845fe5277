"""Numbers, names and quoted phrases, and which of them another text lacks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.domain.specifics import missing_specifics, normalise, specifics_of

TEXT = 'Playwright 1.52.0 in `package.json`; see src/pump/guard.rs, BIL-4221 and "counter row locked" after 72 h.'


def test_each_sort_of_specific_is_found() -> None:
    found = specifics_of(TEXT)
    assert {"1.52.0", "72"} <= found.numbers
    assert {"package.json", "src/pump/guard.rs", "bil-4221"} <= found.names
    assert {"package.json", "counter row locked"} <= found.phrases


@pytest.mark.parametrize(
    ("part", "whole"),
    [
        ("kept 72 hours", "expire after 72h"),
        ("3,000 requests", "above 3000 rps"),
        ("0,7 Punkte", "0.7 points"),
        ("two boards", "flashed 2 boards"),
        ("zwei Platinen", "two boards"),
        ("on 22 November 2026", "until 22 Nov 2026"),
        ("since 2026-05-03", "3 5 2026"),
        ("writer.go limits it", "see internal/datev/writer.go."),
        ("`--partition-table` is needed", "flash with --partition-table partitions.csv"),
        ("VerifyWebhook reads bytes", "before psp.VerifyWebhook."),
        ("says “Ungültiger Vorlauf”", 'gives "ungültiger  vorlauf".'),
        ("die Spalte store_calendar", "学習データのstore_calendarの行"),
        ("read/write and and/or are prose", ""),
        ("Plain words need nothing", ""),
    ],
)
def test_a_specific_is_held_in_another_wording(part: str, whole: str) -> None:
    assert missing_specifics(part, whole) == ()


@pytest.mark.parametrize(
    ("part", "whole", "missing"),
    [
        ("version 1.52", "version 1.52.0", "1.52"),
        ("6 minutes", "60 minutes", "6"),
        ("48 h", "72 h", "48"),
        ("data/weather.dvc", "data/sales.dvc", "data/weather.dvc"),
        ("GPIO4", "GPIO5 and GPIO40", "gpio4"),
        ("api_v2", "api_v2_beta", "api_v2"),
        ("HP-12", "HP-1 and 12", "hp-12"),
        ('"row locked"', "the row is locked", "row locked"),
        ("`make mlflow`", "make test", "make mlflow"),
        ("MAX_DELIVER=5", "max_deliver 5", "max_deliver=5"),
        ("setInputFiles", "set input files", "setinputfiles"),
        ("six minutes", "ten minutes", "6"),
    ],
)
def test_a_specific_that_the_other_text_lacks_is_named(part: str, whole: str, missing: str) -> None:
    assert missing in missing_specifics(part, whole)


@given(st.text())
def test_every_text_holds_its_own_numbers(text: str) -> None:
    assert not specifics_of(text).numbers - specifics_of(f"{text}").numbers


@given(st.sampled_from(TEXT.split()), st.lists(st.sampled_from(TEXT.split())))
def test_more_text_never_holds_less(word: str, more: list[str]) -> None:
    assert set(missing_specifics(word, " ".join([word, *more]))) <= set(missing_specifics(word, word))


@given(st.text(), st.text())
def test_no_text_is_too_odd_to_compare(part: str, whole: str) -> None:
    assert missing_specifics(part, whole) == tuple(sorted(set(missing_specifics(part, whole))))
    assert normalise(normalise(part)) == normalise(part)


def test_a_long_text_is_compared_quickly() -> None:
    text = "a." * 8000 + '"' * 4000 + "1," * 4000 + "/x" * 4000
    assert isinstance(missing_specifics(text, text), tuple)
