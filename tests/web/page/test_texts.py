"""How the page says things, compares texts and gathers a day."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.store.statistics import HourCount
from agent_memory.web.page import wording
from agent_memory.web.page.activity import OTHER, SERIES_MAX, chart
from agent_memory.web.page.difference import WORDS_MAX, Piece, difference
from agent_memory.web.page.listing import Listing, from_form, from_link

NOW = datetime(2026, 11, 30, 8, 20, tzinfo=UTC)


def test_numbers_sizes_and_times_are_short() -> None:
    assert [wording.number(n) for n in (0, 999, 1000, 1234567)] == ["0", "999", "1\u202f000", "1\u202f234\u202f567"]
    assert [wording.size(n) for n in (0, 999, 4_200_000, 123_456_789)] == ["0 B", "999 B", "4.2 MB", "123 MB"]
    assert [wording.span(timedelta(seconds=s)) for s in (0, 59, 3600, 3720, 273_900)] == [
        "0 s", "59 s", "1 h", "1 h 2 min", "3 d 4 h"
    ]  # fmt: skip
    assert wording.ago("2026-11-30T08:19:30.000Z", NOW) == "just now"
    assert wording.ago("2026-11-28T08:19:30.000Z", NOW) == "2 d ago"
    assert (
        wording.moment("2026-11-30T08:19:30.000Z", NOW.astimezone(timezone(timedelta(hours=1)))) == "2026-11-30 09:19"
    )


def test_a_difference_is_by_words_and_keeps_the_reading_order() -> None:
    assert difference("The cache holds prices for thirty seconds.", "The cache holds prices for sixty seconds.") == (
        Piece("same", "The cache holds prices for "),
        Piece("gone", "thirty "),
        Piece("new", "sixty "),
        Piece("same", "seconds."),
    )


def test_texts_that_share_little_are_not_compared_and_long_ones_are_cut() -> None:
    assert difference("one two three four", "five six seven eight") == ()
    assert difference("same word " * WORDS_MAX, "same word " * WORDS_MAX)[-1] == Piece("same", "…")


@given(
    st.lists(st.sampled_from(["a ", "b\n", "c "]), max_size=30),
    st.lists(st.sampled_from(["a ", "b ", "d "]), max_size=30),
)
def test_what_is_same_and_new_reads_as_the_new_text(old: list[str], new: list[str]) -> None:
    pieces = difference("".join(old), "".join(new))
    if pieces:
        assert "".join(piece.text for piece in pieces if piece.kind != "gone") == "".join(new)


def test_a_day_has_24_hours_of_the_servers_clock_and_ends_now() -> None:
    counts = [
        HourCount("2026-11-30T08", "store", "codex", 3),
        HourCount("2026-11-29T09", "forget", "codex", 1),
        HourCount("2026-11-29T08", "store", "codex", 99),
    ]
    day = chart(counts, lambda count: count.action, NOW.astimezone(timezone(timedelta(hours=2))))
    assert (day.times[0], day.times[-1], len(day.times)) == ("11:00", "10:00", 24)
    assert [(each.label, each.values[0], each.values[-1]) for each in day.series] == [("store", 0, 3), ("forget", 1, 0)]
    assert (day.total, day.peak) == (4, 3)


def test_more_kinds_than_tones_become_other() -> None:
    counts = [HourCount("2026-11-30T08", f"kind-{i}", "codex", 20 - i) for i in range(SERIES_MAX + 3)]
    day = chart(counts, lambda count: count.action, NOW)
    assert len(day.series) == SERIES_MAX + 1
    assert day.series[-1].label == OTHER
    assert day.total == sum(count.rows for count in counts)


texts = st.text(st.characters(codec="utf-8"), max_size=80)


@given(texts, st.sampled_from(["live", "all", "superseded"]), st.sampled_from(["", "fact"]), st.integers(0, 10**9))
def test_a_link_says_what_the_form_said(text: str, status: str, kind: str, start: int) -> None:
    asked = from_form({"text": text, "status": status, "type": kind, "namespace": "github/acme/app"}).at(start)
    query = asked.query()
    assert not set(query) - set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_/=&")
    assert from_link(dict(part.split("=") for part in query.split("&"))) == asked


@pytest.mark.parametrize(
    "arguments", [{"words": "%%%"}, {"words": "_w"}, {"start": "-1"}, {"start": "9" * 40}, {"type": "x"}]
)
def test_a_crooked_link_shows_the_first_page(arguments: dict[str, str]) -> None:
    assert from_link(arguments) == Listing()
