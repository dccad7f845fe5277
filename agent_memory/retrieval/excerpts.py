"""Fitting texts into a byte budget: how much room each hit gets, and which stretch of its text is shown."""

from collections.abc import Sequence
from typing import Final

from agent_memory.domain.budgets import ELLIPSIS, excerpt

_LEAD_SHARE: Final = 4  # a quarter of the room shows what stands before the first match


def allot(sizes: Sequence[int], budget: int) -> list[int]:
    """Share a budget among texts: equal parts, and what a short text leaves goes to the longer ones.

    Args:
      sizes: bytes of each text.
      budget: bytes in all, 0 or more.
    Returns: bytes for each, at most its size; their sum is at most the budget.
    """
    rooms = [0] * len(sizes)
    left = budget
    waiting = sorted(range(len(sizes)), key=lambda i: sizes[i])
    for place, index in enumerate(waiting):
        rooms[index] = min(sizes[index], left // (len(waiting) - place))
        left -= rooms[index]
    return rooms


def window(text: str, words: Sequence[str], max_bytes: int) -> str:
    """The stretch of a text around the first of the words that it holds, in at most that many bytes.

    Cut ends carry an ellipsis. A text that fits is returned whole; without any of the words its start is shown.
    """
    if len(text.encode()) <= max_bytes:
        return text
    folded = text.casefold()
    found = [at for at in (folded.find(word.casefold()) for word in words) if at >= 0]
    first = min(min(found, default=0), len(text))
    start = first - max_bytes // _LEAD_SHARE
    if start <= 0:
        return excerpt(text, max_bytes)
    space = text.find(" ", start, first)
    start = space + 1 if space >= 0 else start
    return ELLIPSIS + excerpt(text[start:], max_bytes - len(ELLIPSIS.encode())) if max_bytes > 16 else ""
