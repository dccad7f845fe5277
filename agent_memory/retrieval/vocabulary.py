"""The words of the full-text index with the number of records holding each, held in memory for planning queries.

It answers three questions about a stem: how many records hold it, which stems look like it, and which stems are made
with it (German compounds). Counts may lag behind the index by a moment: they steer weights and add terms, and never
decide alone whether a record is found. It reads no database; `store.vocabulary` gives it its rows.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from agent_memory.retrieval.spelling import edit_distance

MAX_WORDS = 300_000  # words kept for look-alikes: 9 bytes each in arrays beside about 100 in strings
NEAR_KEPT = 2_000  # mistyped words whose look-alikes are remembered
SCAN = 64  # longer words looked at for compounds
MIN_PART = 4  # letters of a compound's other part
JOINTS = ("", "s", "n", "en", "es", "er", "e")
_LETTERS = {letter: 1 << n for n, letter in enumerate("abcdefghijklmnopqrstuvwxyz0123456789")}


class Vocabulary:
    """Stems and their record counts. Not safe to change from one thread while another one reads.

    Look-alikes and compounds are looked for in sorted forms (`Shapes`): `shapes_after` makes them anew, outside the
    event loop, and `take` puts them to use.
    """

    def __init__(self, rows: Iterable[tuple[str, int]] = ()) -> None:
        self._counts: dict[str, int] = dict(rows)
        self._shapes = Shapes(self._counts)

    def __len__(self) -> int:
        return len(self._counts)

    def documents(self, stem: str) -> int:
        """How many records hold the stem, 0 when unknown."""
        return self._counts.get(stem, 0)

    def update(self, rows: Iterable[tuple[str, int]]) -> None:
        """Take the counts of these stems as they are now; a count of 0 forgets the stem."""
        for stem, count in rows:
            if count > 0:
                self._counts[stem] = count
            else:
                self._counts.pop(stem, None)

    def add(self, stems: Mapping[str, int]) -> None:
        """Count so many records more for each of these stems; less, where the number is negative."""
        self.update((stem, self._counts.get(stem, 0) + change) for stem, change in stems.items())

    def shapes_after(self, changes: Mapping[str, int]) -> "Shapes | None":
        """The sorted forms for when these changes are added, if those in use are then stale: if the stems have become
        more or fewer by a twentieth. In a worker thread: sorting 300,000 stems takes half a second.
        """
        new = sum(not self.documents(stem) for stem in changes)
        if abs(len(self._counts) + new - self._shapes.made_of) * 20 <= self._shapes.made_of:
            return None
        counts = dict(self._counts)
        counts.update((stem, counts.get(stem, 0) + change) for stem, change in changes.items())
        return Shapes(counts)

    def take(self, shapes: "Shapes") -> None:
        """Use these sorted forms from now on."""
        self._shapes = shapes

    def look_alikes(self, stem: str, limit: int = 2) -> list[str]:
        """The known stems that a mistyped stem was probably meant to be.

        One edit apart (see `spelling.edit_distance`) for a stem of 3 to 6 characters, up to two for longer ones, two
        only with the same first letter. Only the nearest distance that has any is returned.

        Args:
          limit: largest number returned.
        Returns: stems, those with the same first letter before others, then the most used first; empty for stems of
          one or two characters.
        """
        allowed = 0 if len(stem) < 3 else 1 if len(stem) < 7 else 2
        if not allowed:
            return []
        found: dict[int, list[str]] = {}
        for distance, word in self._shapes.near(stem, allowed):
            if (distance < 2 or word[0] == stem[0]) and self.documents(word):
                found.setdefault(distance, []).append(word)
        nearest = found[min(found)] if found else []
        return sorted(nearest, key=lambda word: (word[0] != stem[0], -self.documents(word), word))[:limit]

    def beginning_with(self, stem: str, limit: int) -> list[str]:
        """Known stems that start with this one and are longer, in alphabetical order, at most `limit`."""
        words = self._shapes.words
        start = bisect_left(words, stem)
        longer = (word for word in words[start : start + limit + 1] if word != stem)
        return [word for word in longer if word.startswith(stem) and self.documents(word)][:limit]

    def ending_with(self, stem: str, limit: int) -> list[str]:
        """Known stems that end with this one and are longer, in alphabetical order of their reversed letters."""
        words = self._shapes.by_ending
        start = bisect_left(words, stem[::-1], key=_reversed)
        longer = (word for word in words[start : start + limit + 1] if word != stem)
        return [word for word in longer if word.endswith(stem) and self.documents(word)][:limit]

    def compounds(self, stem: str, limit: int) -> list[str]:
        """Known stems that are this one and another known one written together, as German does (`Heizungspumpe`).

        The other part has at least MIN_PART letters and may be joined by s, n, en, es, er or e.
        Returns: at most `limit`, those that end with the stem first: the last part says what the thing is.
        """
        ending = [word for word in self.ending_with(stem, SCAN) if self._is_word(word[: -len(stem)], at_end=False)]
        starting = [word for word in self.beginning_with(stem, SCAN) if self._is_word(word[len(stem) :], at_end=True)]
        return (ending + starting)[:limit]

    def _is_word(self, rest: str, *, at_end: bool) -> bool:
        """Whether what is left of a compound is a known stem, as it is or without a joint."""
        for joint in JOINTS:
            if at_end and rest.startswith(joint):
                part = rest[len(joint) :]
            elif not at_end and rest.endswith(joint):
                part = rest[: len(rest) - len(joint)]
            else:
                continue
            if len(part) >= MIN_PART and self.documents(part):
                return True
        return False


class Shapes:
    """Sorted words with their lengths and letter sets in arrays, to sift all of them in one pass.

    Making them takes 1.5 microseconds a word. Of more than MAX_WORDS the commonest are kept.
    """

    def __init__(self, counts: Mapping[str, int]) -> None:
        self.made_of = len(counts)
        kept: Iterable[str] = counts
        if len(counts) > MAX_WORDS:
            kept = sorted(counts, key=lambda word: (-counts[word], word))[:MAX_WORDS]
        self.words = words = sorted(kept)
        self._near: dict[tuple[str, int], list[tuple[int, str]]] = {}
        self.by_ending = sorted(words, key=_reversed)
        self._lengths: npt.NDArray[np.int16] = np.array([min(len(word), 999) for word in words], dtype=np.int16)
        self._letters: npt.NDArray[np.uint64] = np.array([_letter_set(word) for word in words], dtype=np.uint64)
        self._first: npt.NDArray[np.uint32] = np.array([ord(word[:1] or " ") for word in words], dtype=np.uint32)

    def near(self, stem: str, distance: int) -> list[tuple[int, str]]:
        """The words within one edit, or within two and with the same first letter; with their distance.

        Args: distance: largest of interest, 1 or 2. Kept for a while, as queries come again.
        """
        found = self._near.get((stem, distance))
        if found is None:
            apart = ((edit_distance(stem, word, distance), word) for word in self._similar(stem, distance))
            found = [pair for pair in apart if pair[0] <= distance]
            if len(self._near) >= NEAR_KEPT:
                self._near.clear()
            self._near[stem, distance] = found
        return found

    def _similar(self, stem: str, distance: int) -> list[str]:
        """The words that may be near: one edit changes the length by at most one and the set of letters by at most two.
        Never leaves out one that is. One look at all words in C, as an edit distance each takes 5 microseconds."""
        longer = np.abs(self._lengths - len(stem))
        apart = np.bitwise_count(self._letters ^ np.uint64(_letter_set(stem)))
        similar = (longer <= 1) & (apart <= 2)
        if distance > 1:
            similar |= (longer <= distance) & (apart <= 2 * distance) & (self._first == ord(stem[0]))
        return [self.words[i] for i in np.flatnonzero(similar)]


def _reversed(word: str) -> str:
    return word[::-1]


def _letter_set(word: str) -> int:
    """Which characters a word holds, one bit each for a-z and 0-9, 28 shared ones for the rest."""
    bits = 0
    for letter in word:
        bits |= _LETTERS.get(letter) or 1 << (36 + ord(letter) % 28)
    return bits
