"""When a task that runs once a day at a local clock time is due next; keeps no clock and sleeps for nothing."""

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from agent_memory.domain.errors import InvalidArgument

DEFAULT_REVIEW_AT = "03:00"
OFF = "off"


def parse_daily(text: str, field: str = "review_at") -> time | None:
    """Read a local `HH:MM`; None means off, an empty text the default 03:00.

    Raises: InvalidArgument: anything else.
    """
    value = text.strip().lower() or DEFAULT_REVIEW_AT
    if value == OFF:
        return None
    match = re.fullmatch(r"([01][0-9]|2[0-3]):([0-5][0-9])", value)
    if match is None:
        raise InvalidArgument(field, f"found {text!r}; allowed: a local time HH:MM from 00:00 to 23:59, or off")
    return time(int(match[1]), int(match[2]))


def next_daily(at: time, now: datetime, zone: tzinfo | None) -> datetime:
    """The next moment after `now` at which a daily task is due, in UTC; there is exactly one per local date.

    A clock time that spring forward skips is due as much later as the clocks moved; one that autumn repeats is due the
    first time only (PEP 495, fold 0).

    Args:
      at: local clock time.
      now: the present, with a time zone.
      zone: the local zone with its daylight rules (a ZoneInfo); None uses the platform's own local time rules. A fixed
        offset is a zone without such rules.
    """
    # a skipped time may fall on the next date in UTC, so the day before is asked too
    first = now.astimezone(zone).date() - timedelta(days=1)
    moments = (_moment(at, first + timedelta(days=days), zone) for days in range(4))
    return next(moment for moment in moments if moment > now)


def _moment(at: time, day: date, zone: tzinfo | None) -> datetime:
    local = datetime.combine(day, at.replace(fold=0), tzinfo=zone)
    return local.astimezone(UTC)
