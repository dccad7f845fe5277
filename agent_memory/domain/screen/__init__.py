"""The screen: may this text be kept? Asked of every text on its way to a write; the answer never holds the value."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agent_memory.domain.screen import engine
from agent_memory.domain.screen.engine import MARKER
from agent_memory.domain.screen.work import Work

SPANS_MOST = 10  # disguised patterns of a text whose lines are looked for: each takes a few dozen screenings

__all__ = ["MARKER", "Explanation", "explain", "screen_text", "screened"]


@dataclass(frozen=True, slots=True)
class Explanation:
    """One refusal for a person to look at: why, and where it stands (lines and columns from 1, end exclusive).

    A disguised secret has no exact place in the text as sent; its explanation covers the lines that hold it.
    """

    pattern: str
    why: str
    line: int
    column: int
    end_line: int
    end_column: int


def screen_text(text: str) -> str | None:
    """Name of the first pattern that refuses the text, None when the text may be kept."""
    found = next(engine.default().hits(text), None)
    return None if found is None else found.pattern


def screened(text: str) -> str:
    """The text itself, or `[screened:<pattern>]` when it carries a secret; for audit context."""
    pattern = screen_text(text)
    return text if pattern is None else f"[screened:{pattern}]"


def explain(text: str, *, bounded: bool = False) -> list[Explanation]:
    """Every refusal in the text with its place, ordered by place; one for each pattern and place.

    A text too dense to be judged within bounds is read to its end all the same, for the person who looks; `bounded` it
    is not, and the answer is what the server would say.
    """
    work = Work()
    hits = list(engine.default().hits(text, work))
    if not bounded and work.exceeded:
        hits += engine.default().hits(text, bounded=False)
    plain = {(hit.start, hit.end, hit.pattern) for hit in hits if hit.plain}
    at = _characters(text, {offset for start, end, _ in plain for offset in (start, end)})
    found = {(at[start], at[end], pattern) for start, end, pattern in plain}
    disguised = {hit.pattern for hit in hits if not hit.plain} - {pattern for _, _, pattern in plain}
    for i, pattern in enumerate(sorted(disguised)):
        looked_for = pattern != engine.TOO_DENSE and i < SPANS_MOST
        found.add((*(_span_of(text, pattern) if looked_for else (0, len(text))), pattern))
    line_starts = [0, *(newline.end() for newline in re.finditer("\n", text))]
    return [_explanation(line_starts, start, end, pattern) for start, end, pattern in sorted(found)]


def _characters(text: str, offsets: Iterable[int]) -> dict[int, int]:
    """Offsets in characters for offsets in UTF-8, in one pass."""
    data = text.encode("utf-8", "replace")
    characters, at, last = {}, 0, 0
    for offset in sorted(offsets):
        at += len(data[last:offset].decode("utf-8", "replace"))
        characters[offset], last = at, offset
    return characters


def _span_of(text: str, pattern: str) -> tuple[int, int]:
    """The smallest run of lines that still shows a disguised pattern, by halving; the whole text if none does."""
    lines = text.splitlines(keepends=True)
    if len(lines) < 2:
        return 0, len(text)
    first = _last_that_shows(lines, pattern)
    count = _fewest_that_show(lines[first:], pattern)
    start = sum(map(len, lines[:first]))
    return start, start + len("".join(lines[first : first + count]).rstrip("\r\n"))


def _shows(lines: list[str], pattern: str) -> bool:
    return any(hit.pattern == pattern for hit in engine.default().hits("".join(lines)))


def _last_that_shows(lines: list[str], pattern: str) -> int:
    """Largest start from which the remaining lines still show the pattern."""
    low, high = 0, len(lines) - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _shows(lines[middle:], pattern) else (low, middle - 1)
    return low


def _fewest_that_show(lines: list[str], pattern: str) -> int:
    """Smallest number of leading lines that show the pattern."""
    low, high = 1, len(lines)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _shows(lines[:middle], pattern) else (middle + 1, high)
    return low


def _explanation(line_starts: Sequence[int], start: int, end: int, pattern: str) -> Explanation:
    line, column = _place(line_starts, start)
    end_line, end_column = _place(line_starts, end)
    return Explanation(pattern, engine.WHY[pattern], line, column, end_line, end_column)


def _place(line_starts: Sequence[int], offset: int) -> tuple[int, int]:
    line = bisect_right(line_starts, offset)
    return line, offset - line_starts[line - 1] + 1
