"""The stretches of a text around its disguises, so that a second reading costs what was disguised and not the whole."""

from typing import Any

NEAR_BYTES = 128  # kept before a disguise, and twice as much behind it: a name, a separator and a long password
FAR_BYTES = 384  # and so far, or twice as far, where that makes the stretch begin and end with a line
TAIL_BYTES = 64  # a disguise so near the end of a stretch makes it longer
GAP = b"\n\n\n"  # between stretches: no rule reads on over it


def stretches(data: bytes, sign: Any) -> bytes:
    """The text around every place of a sign (RE2), in whole lines where lines are short; linear in the text."""
    parts: list[bytes] = []
    start = end = 0
    place = sign.search(data)
    while place is not None:
        begin = _before(data, place.end())
        if begin > end:
            parts.append(data[start:end])
            start = begin
        end = _behind(data, place.end())
        place = sign.search(data, end - TAIL_BYTES) if end < len(data) else None
    parts.append(data[start:end])
    return GAP.join(filter(None, parts))


def _before(data: bytes, at: int) -> int:
    """Where a stretch begins: with a line, else with a word, else somewhere."""
    least, most = max(0, at - FAR_BYTES), max(0, at - NEAR_BYTES)
    if not least:
        return 0
    return data.rfind(b"\n", least, most) + 1 or data.rfind(b" ", least, most) + 1 or least


def _behind(data: bytes, at: int) -> int:
    """Where it ends."""
    least, most = at + 2 * NEAR_BYTES, at + 2 * FAR_BYTES
    ends = (data.find(mark, least, most) for mark in (b"\n", b" "))
    return next((end for end in ends if end >= 0), min(most, len(data)))
