"""The stretches of a text around its disguises, so that a second reading costs what was disguised and not the whole."""

from typing import Any

NEAR_BYTES = 128  # kept on either side of a disguise: a name and a separator, or a long password
FAR_BYTES = 384  # and so far before, or twice as far behind, where that makes the stretch begin and end with a line
MOST_BYTES = 4096
TAIL_BYTES = 64  # a disguise so near the end of a stretch makes it longer
GAP = b"\n\n\n"  # between stretches: no rule reads on over it


def stretches(data: bytes, sign: Any) -> bytes:
    """The text around every place of a sign (RE2), in whole lines where lines are short; linear in the text."""
    parts: list[bytes] = []
    start = end = 0
    reach = NEAR_BYTES
    place = sign.search(data)
    while place is not None:
        begin = _before(data, place.end())
        if begin > end:
            parts.append(data[start:end])
            start, reach = begin, NEAR_BYTES
        else:
            reach = min(2 * reach, MOST_BYTES)  # where signs stand close, fewer and longer steps
        end = _behind(data, place.end(), reach)
        place = sign.search(data, end - TAIL_BYTES) if end < len(data) else None
    parts.append(data[start:end])
    return GAP.join(filter(None, parts))


def _before(data: bytes, at: int) -> int:
    """Where a stretch begins: with a line, else with a word, else somewhere."""
    least, most = max(0, at - FAR_BYTES), max(0, at - NEAR_BYTES)
    if not least:
        return 0
    return data.rfind(b"\n", least, most) + 1 or data.rfind(b" ", least, most) + 1 or least


def _behind(data: bytes, at: int, reach: int) -> int:
    """Where it ends, `reach` bytes on or a little later."""
    least, most = at + reach, at + reach + 2 * FAR_BYTES
    ends = (data.find(mark, least, most) for mark in (b"\n", b" "))
    return next((end for end in ends if end >= 0), min(most, len(data)))
