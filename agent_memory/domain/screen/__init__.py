"""The screen: may this text be kept? Asked of every text on its way to a write; the answer never holds the value."""

from collections.abc import Iterable
from dataclasses import dataclass

from agent_memory.domain.screen.engine import MARKER, Hit, hits

__all__ = ["Explanation", "Finding", "explain", "marked_do_not_store", "screen", "screen_text", "screened"]


@dataclass(frozen=True, slots=True)
class Finding:
    """Which field was refused and by which pattern; never the value."""

    field: str
    pattern: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """One refusal for a person to look at: where it stands (lines and columns from 1, end exclusive), and why."""

    pattern: str
    why: str
    line: int
    column: int
    end_line: int
    end_column: int


def screen_text(text: str) -> str | None:
    """Name of the first pattern that refuses the text, None when the text may be kept."""
    found: Hit | None = next(hits(text), None)
    return None if found is None else found.pattern


def screen(fields: Iterable[tuple[str, str]]) -> Finding | None:
    """First refusal among named texts, in the order given; None when all may be kept."""
    for field, text in fields:
        pattern = screen_text(text)
        if pattern is not None:
            return Finding(field, pattern)
    return None


def marked_do_not_store(text: str) -> bool:
    """Whether the do-not-store marker stands anywhere in the text."""
    return any(hit.pattern == MARKER for hit in hits(text))


def screened(text: str) -> str:
    """The text itself, or `[screened:<pattern>]` when it carries a secret; for audit context."""
    pattern = screen_text(text)
    return text if pattern is None else f"[screened:{pattern}]"


def explain(text: str) -> list[Explanation]:
    """Every refusal in the text with its place, ordered by place."""
    return [_explanation(text, hit) for hit in sorted(hits(text), key=lambda hit: (hit.start, hit.end))]


def _explanation(text: str, hit: Hit) -> Explanation:
    line, column = _place(text, hit.start)
    end_line, end_column = _place(text, hit.end)
    return Explanation(hit.pattern, hit.why, line, column, end_line, end_column)


def _place(text: str, offset: int) -> tuple[int, int]:
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)
