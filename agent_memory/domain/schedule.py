"""When a task that runs once a day at a local clock time is due next; keeps no clock and sleeps for nothing."""

from datetime import UTC, date, datetime, time, timedelta, tzinfo


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
