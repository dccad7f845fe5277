"""The audit's last 24 hours as a chart: counts by hour, gathered into series by action or by client."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from agent_memory.store.statistics import HourCount
from agent_memory.web.page.drawings import Series
from agent_memory.web.page.facts import HOURS

SERIES_MAX: Final = 7  # as many tones as stay apart by eye; the rest is one series
OTHER: Final = "other"


@dataclass(frozen=True, slots=True)
class Chart:
    """A day by hours.

    Fields:
      times: the 24 hours as the server's clock shows them, oldest first; the last one is the present hour.
      series: the largest kinds first, the rest summed as `other`.
      peak: the most in one hour. total: all of the day.
    """

    times: tuple[str, ...]
    series: tuple[Series, ...]
    peak: int
    total: int


def chart(hours: Sequence[HourCount], kind: Callable[[HourCount], str], now: datetime) -> Chart:
    """Gather counts by kind.

    Args:
      hours: counts of UTC hours; those outside of the last 24 are passed over.
      kind: the series a count belongs to.
      now: the present, in the time zone that hours are shown in.
    """
    first = now.astimezone(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(hours=HOURS - 1)
    starts = [first + timedelta(hours=place) for place in range(HOURS)]
    places = {f"{start:%Y-%m-%dT%H}": place for place, start in enumerate(starts)}
    sums: Counter[str] = Counter()
    for count in hours:
        if count.hour in places:
            sums[kind(count)] += count.rows
    ranked = sorted(sums, key=lambda name: (-sums[name], name))
    names = ranked if len(ranked) <= SERIES_MAX + 1 else [*ranked[:SERIES_MAX], OTHER]
    values = {name: [0] * HOURS for name in names}
    for count in hours:
        if count.hour in places:
            name = kind(count)
            values[name if name in values else OTHER][places[count.hour]] += count.rows
    series = tuple(Series(name, tuple(values[name]), str(place + 1)) for place, name in enumerate(names))
    columns = [sum(each.values[place] for each in series) for place in range(HOURS)]
    times = tuple(f"{start.astimezone(now.tzinfo):%H:%M}" for start in starts)
    return Chart(times, series, max(columns, default=0), sum(columns))
