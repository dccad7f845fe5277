"""The next local HH:MM, through both changes of the clocks, and `off`."""

from datetime import UTC, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.domain.schedule import next_daily

BERLIN = ZoneInfo("Europe/Berlin")  # clocks go 02→03 on 29 March 2026 and 03→02 on 25 October 2026
zones = st.sampled_from(
    [
        ZoneInfo(name)
        for name in (
            "Europe/Berlin",
            "America/New_York",
            "Australia/Lord_Howe",
            "Asia/Kolkata",
            "UTC",
            "Pacific/Apia",
            "Africa/Cairo",
        )
    ]
)
times = st.times().map(lambda at: at.replace(second=0, microsecond=0))
moments = st.datetimes(datetime(2024, 1, 1), datetime(2028, 1, 1)).map(lambda at: at.replace(tzinfo=UTC))


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type,misc]


@pytest.mark.parametrize(
    ("at", "now", "due"),
    [
        (time(3), utc(2026, 11, 30, 1), utc(2026, 11, 30, 2)),
        (time(3), utc(2026, 11, 30, 2), utc(2026, 12, 1, 2)),  # exactly due is over
        (time(2, 30), utc(2026, 3, 28, 12), utc(2026, 3, 29, 1, 30)),  # 02:30 is skipped: 03:30 summer time
        (time(2, 30), utc(2026, 3, 29, 1, 30), utc(2026, 3, 30, 0, 30)),
        (time(2, 30), utc(2026, 10, 24, 12), utc(2026, 10, 25, 0, 30)),  # 02:30 comes twice: the first one
        (time(2, 30), utc(2026, 10, 25, 0, 30), utc(2026, 10, 26, 1, 30)),  # and not the second
        (time(0), utc(2026, 12, 31, 22, 59), utc(2026, 12, 31, 23)),
    ],
)
def test_the_next_occurrence_in_berlin(at: time, now: datetime, due: datetime) -> None:
    assert next_daily(at, now, BERLIN) == due


@given(times, moments, zones)
def test_it_is_after_now_and_within_about_a_day(at: time, now: datetime, zone: ZoneInfo) -> None:
    due = next_daily(at, now, zone)
    assert now < due <= now + timedelta(hours=25, minutes=1)
    assert due.tzinfo is UTC


@given(times, moments, zones)
def test_a_year_of_occurrences_has_one_for_each_local_date(at: time, now: datetime, zone: ZoneInfo) -> None:
    dates = []
    for _ in range(120):
        now = next_daily(at, now, zone)
        dates.append(now.astimezone(zone).date())
    assert all(later - earlier == timedelta(days=1) for earlier, later in pairwise(dates))


@given(times, moments)
def test_the_platforms_own_zone_can_be_used(at: time, now: datetime) -> None:
    due = next_daily(at, now, None)
    assert now < due <= now + timedelta(hours=26)
