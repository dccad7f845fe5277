"""How the page says numbers, sizes, times and ages: pure functions from values to short English text."""

from datetime import datetime, timedelta
from typing import Final

from agent_memory.domain.records import parse_stamp

_SIZES: Final = ("B", "KB", "MB", "GB", "TB")
_AGES: Final = ((86_400, "d"), (3_600, "h"), (60, "min"))


def number(value: int) -> str:
    """A whole number with thin groups: 12 345."""
    return f"{value:,}".replace(",", "\u202f")


def count(value: int, noun: str) -> str:
    """A number with its noun, in the plural where it needs one: 1 record, 2 records."""
    return f"{number(value)} {noun}{'' if value == 1 else 's'}"


def size(value: int) -> str:
    """Bytes in the largest unit that leaves at least one, decimal: 4.2 MB."""
    amount = float(value)
    for unit in _SIZES:
        if amount < 1000 or unit == _SIZES[-1]:
            return f"{amount:.0f} {unit}" if unit == "B" or amount >= 100 else f"{amount:.1f} {unit}"
        amount /= 1000
    raise AssertionError("the last unit always returns")


def span(length: timedelta) -> str:
    """A length of time in its two largest units: 3 d 4 h, 5 min, 12 s."""
    seconds = max(int(length.total_seconds()), 0)
    parts: list[str] = []
    for unit_s, name in _AGES:
        if seconds >= unit_s or parts:
            parts.append(f"{seconds // unit_s} {name}")
            seconds %= unit_s
        if len(parts) == 2:
            break
    return " ".join(part for part in parts if not part.startswith("0 ")) or f"{seconds} s"


def ago(at: str, now: datetime) -> str:
    """How long a stored time lies back, in one unit: 3 h ago, just now."""
    seconds = int((now - parse_stamp("at", at)).total_seconds())
    for unit_s, name in _AGES:
        if seconds >= unit_s:
            return f"{seconds // unit_s} {name} ago"
    return "just now"


def moment(at: str, now: datetime) -> str:
    """A stored time on the clock of the server: 2026-11-30 08:17."""
    return parse_stamp("at", at).astimezone(now.tzinfo).strftime("%Y-%m-%d %H:%M")


def share(value: float) -> str:
    """A number from 0 to 1 as a percentage."""
    return f"{value * 100:.0f} %"


def label(name: str) -> str:
    """A key of an audit context as words: `anchors_checked` → anchors checked."""
    return name.replace("_", " ").replace("-", " ")
