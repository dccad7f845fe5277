"""The difference of two texts by words: a pure function, bounded, for a person who compares a record with a new one."""

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

WORDS_MAX: Final = 400  # of each text; the comparison takes quadratic time at worst, here some 20 ms
_WORD: Final = re.compile(r"\S+\s*")


SHARED_MIN: Final = 0.3  # of the words; below it a comparison is harder to read than the two texts


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of words: `same`, `gone` (only in the old text) or `new` (only in the new one)."""

    kind: str
    text: str


def difference(old: str, new: str) -> tuple[Piece, ...]:
    """What turns the old text into the new one, in reading order, what went before what came.

    Returns: empty when the texts share too few words for a comparison to help.

    White space between words is kept for showing and not compared. Texts are compared up to WORDS_MAX words; what lies
    beyond is left out, and a last piece `same` with an ellipsis says so.
    """
    before, after = _WORD.findall(old), _WORD.findall(new)
    cut = len(before) > WORDS_MAX or len(after) > WORDS_MAX
    before, after = before[:WORDS_MAX], after[:WORDS_MAX]
    matcher = SequenceMatcher(None, [word.strip() for word in before], [word.strip() for word in after], autojunk=False)
    if matcher.ratio() < SHARED_MIN:
        return ()
    pieces: list[Piece] = []
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind == "equal":
            pieces.append(Piece("same", "".join(after[c:d])))
            continue
        if a < b:
            pieces.append(Piece("gone", "".join(before[a:b])))
        if c < d:
            pieces.append(Piece("new", "".join(after[c:d])))
    return (*pieces, Piece("same", "…")) if cut else tuple(pieces)
