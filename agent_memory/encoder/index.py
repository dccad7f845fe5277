"""The vectors of live records in memory: found by cosine, within scopes, while others are added and removed.

One thread changes it; searches may run in worker threads beside that, and see the rows as they were when they began.
It stores nothing: at start it is filled from the table, and after each commit by the embedding worker.
"""

from collections import Counter
from collections.abc import Collection, Container, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float32]
Vector = npt.NDArray[np.float32]

EXACT_ROWS = 50_000  # up to here one product over all rows takes under 10 ms; above, sign bits sift first
RESCORED = 1_000  # rows rescored exactly after sifting; the first 20 stay the same on our sets (evals RETRIEVAL.md)
_DEAD = -1


@dataclass(slots=True)
class _Rows:
    """Arrays with room to grow. Rows below `used` never change except that their scope may become _DEAD; growing or
    compacting makes new arrays, so that a search that holds the old ones is not disturbed."""

    vectors: Matrix
    signs: npt.NDArray[np.uint64]  # (words, capacity): one bit a dimension, so that each word is one straight pass
    scopes: npt.NDArray[np.int32]
    ids: list[str] = field(default_factory=list)
    row_of: dict[str, int] = field(default_factory=dict)
    used: int = 0


class VectorIndex:
    """Unit vectors of one model, by record id, each within one scope (its record's namespace)."""

    def __init__(self, width: int, *, capacity: int = 0, loading: bool = False, exact_rows: int = EXACT_ROWS) -> None:
        """Args:
        width: dimensions of every vector.
        capacity: rows to make room for at once; growing later copies every row.
        loading: whether live records may still be announced that the index was not told of; see `loaded`.
        exact_rows: from more live rows than this on, searches sift by sign bits first.
        """
        self.width = width
        self.loading = loading
        self.state = object()  # another one after every change: while it is the same, so is what searches find
        self._exact_rows = exact_rows
        self._rows = self._room(max(1024, capacity))  # pages of zeros take no memory before they are written
        self._scope_codes: dict[str, int] = {}
        self._awaited: dict[str, str] = {}
        self._awaited_in: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._rows.row_of)

    def __contains__(self, record_id: str) -> bool:
        return record_id in self._rows.row_of

    def put(self, record_id: str, scope: str, vector: Vector) -> None:
        """Add a record's vector, or put it in the place of the one it has.

        Args:
          vector: float32, shape (width,), any length but 0; scaled to unit length here.
        Raises: ValueError: the width differs, or the vector is not finite or is all zeros.
        """
        self.fill([(record_id, scope)], unit_vector(vector, self.width)[np.newaxis])

    def fill(self, records: Sequence[tuple[str, str]], vectors: Matrix) -> None:
        """Add many vectors at once, as `put` does one; a record whose vector has no direction is awaited instead.

        Args:
          records: (id, scope) pairs, each id once.
          vectors: float32, shape (len(records), width).
        """
        lengths = np.linalg.norm(vectors, axis=1)
        sound = np.isfinite(lengths) & (lengths > 0)
        for place in np.flatnonzero(~sound):
            self.expect(*records[int(place)])
        if not sound.all():
            records = [record for record, good in zip(records, sound, strict=True) if good]
            vectors, lengths = vectors[sound], lengths[sound]
        for record_id, _ in records:
            self._kill(record_id)
        first, last = self._rows.used, self._rows.used + len(records)
        if last > len(self._rows.scopes):
            self._rows = self._copied(max(1024, last * 3 // 2))
            first, last = self._rows.used, self._rows.used + len(records)
        rows = self._rows
        rows.vectors[first:last] = vectors / lengths[:, np.newaxis]
        rows.signs[:, first:last] = _signs(rows.vectors[first:last])
        rows.scopes[first:last] = [self._scope_codes.setdefault(scope, len(self._scope_codes)) for _, scope in records]
        rows.ids += [record_id for record_id, _ in records]
        rows.row_of.update((record_id, first + place) for place, (record_id, _) in enumerate(records))
        rows.used = last
        self.state = object()
        for record_id, _ in records:
            self._arrived(record_id)

    def remove(self, record_id: str) -> None:
        """Forget a record, awaited or not; unknown ids are ignored. Its numbers are overwritten."""
        self._arrived(record_id)
        self._kill(record_id)

    def expect(self, record_id: str, scope: str) -> None:
        """A live record in this scope has no current vector yet; an older one of it no longer counts."""
        self._kill(record_id)
        self._arrived(record_id)
        self._awaited[record_id] = scope
        self._awaited_in[scope] += 1

    def loaded(self) -> None:
        """Every live record was announced: from now on the index can be complete."""
        self.loading = False

    def is_complete(self, scopes: Collection[str]) -> bool:
        """Whether every live record of these scopes has its current vector. Never while loading."""
        return not self.loading and not any(self._awaited_in[scope] for scope in scopes)

    @property
    def scopes(self) -> Iterable[str]:
        """The scopes of all records put or announced, now or before."""
        return self._scope_codes.keys() | self._awaited_in.keys()

    @property
    def waiting(self) -> int:
        """How many announced records have no current vector."""
        return len(self._awaited)

    def awaited(self, limit: int | None = None, *, without: Container[str] = frozenset()) -> list[str]:
        """Ids of records without a current vector, in the order they were announced: at most `limit`, some left out."""
        return list(islice((record_id for record_id in self._awaited if record_id not in without), limit))

    def search(
        self, query: Vector, scopes: Collection[str], limit: int, *, within: Collection[str] | None = None
    ) -> list[tuple[str, float]]:
        """The records nearest to a query.

        Exact up to `exact_rows` live rows; above that, the RESCORED rows (or `limit`, if more) whose sign bits differ
        least from the query's are compared exactly.

        Args:
          query: float32, shape (width,).
          scopes: only records of these.
          limit: largest number returned, 0 or more.
          within: only these ids; None for all.
        Returns: (id, cosine) pairs, best first, equal ones by id; cosine in [-1, 1].
        Raises: ValueError: as `put`.
        """
        unit = unit_vector(query, self.width)
        rows, used = self._rows, self._rows.used
        mask = self._mask(rows, used, scopes)
        if within is not None:
            chosen = np.zeros(used, dtype=bool)
            chosen[[row for row in map(rows.row_of.get, within) if row is not None and row < used]] = True
            mask &= chosen
        wanted = np.flatnonzero(mask)
        if len(wanted) > self._exact_rows:
            wanted = _sifted(rows.signs[:, :used], unit, mask, max(RESCORED, limit))
        everything = len(wanted) * 8 > used  # gathering rows copies them; reading all in one pass is faster until then
        cosines = (rows.vectors[:used] @ unit)[wanted] if everything else rows.vectors[wanted] @ unit
        return _best(cosines, wanted, rows.ids, limit)

    def cosines(self, query: Vector, record_ids: Sequence[str]) -> dict[str, float]:
        """Cosine of each of these records to a query; records without a vector are left out."""
        rows = self._rows
        known = {record_id: row for record_id in record_ids if (row := rows.row_of.get(record_id)) is not None}
        if not known:
            return {}
        found = rows.vectors[list(known.values())] @ unit_vector(query, self.width)
        return dict(zip(known, np.clip(found, -1.0, 1.0).tolist(), strict=True))

    def similarity(self, record_ids: Sequence[str]) -> Matrix:
        """Cosines between records: float32, shape (n, n); 0 in the row and column of one without a vector."""
        vectors = np.zeros((len(record_ids), self.width), dtype=np.float32)
        rows = self._rows
        for place, record_id in enumerate(record_ids):
            row = rows.row_of.get(record_id)
            if row is not None:
                vectors[place] = rows.vectors[row]
        return vectors @ vectors.T

    def _mask(self, rows: _Rows, used: int, scopes: Collection[str]) -> npt.NDArray[np.bool_]:
        allowed = np.zeros(len(self._scope_codes) + 1, dtype=bool)  # the last entry is that of _DEAD, never allowed
        for scope in scopes:
            if scope in self._scope_codes:
                allowed[self._scope_codes[scope]] = True
        return allowed[rows.scopes[:used]]

    def _kill(self, record_id: str) -> None:
        row = self._rows.row_of.pop(record_id, None)
        if row is None:
            return
        self._rows.scopes[row] = _DEAD
        self._rows.vectors[row] = 0.0
        self._rows.signs[:, row] = 0
        self.state = object()
        dead = self._rows.used - len(self._rows.row_of)
        if dead > 1024 and dead * 4 > self._rows.used:
            self._rows = self._copied(len(self._rows.scopes))

    def _arrived(self, record_id: str) -> None:
        scope = self._awaited.pop(record_id, None)
        if scope is not None:
            self._awaited_in[scope] -= 1

    def _copied(self, capacity: int) -> _Rows:
        """The live rows, in order, in new arrays."""
        old, new = self._rows, self._room(capacity)
        live = np.flatnonzero(old.scopes[: old.used] != _DEAD)
        new.used = len(live)
        new.vectors[: new.used] = old.vectors[live]
        new.signs[:, : new.used] = old.signs[:, live]
        new.scopes[: new.used] = old.scopes[live]
        new.ids = [old.ids[row] for row in live]
        new.row_of = {record_id: row for row, record_id in enumerate(new.ids)}
        return new

    def _room(self, capacity: int) -> _Rows:
        words = -(-self.width // 64)
        return _Rows(
            vectors=np.zeros((capacity, self.width), dtype=np.float32),
            signs=np.zeros((words, capacity), dtype=np.uint64),
            scopes=np.full(capacity, _DEAD, dtype=np.int32),
        )


def unit_vector(vector: Vector, width: int) -> Vector:
    """The vector scaled to length 1, float32.

    Raises: ValueError: it does not have `width` dimensions, or is not finite, or is all zeros.
    """
    vector = np.asarray(vector, dtype=np.float32)
    if vector.shape != (width,):
        raise ValueError(f"a vector of {vector.shape} where ({width},) is needed")
    length = float(np.linalg.norm(vector))
    if not np.isfinite(length) or length == 0.0:
        raise ValueError("a vector that has no direction")
    return np.asarray(vector / np.float32(length), dtype=np.float32)


def _signs(vectors: Matrix) -> npt.NDArray[np.uint64]:
    """Shape (words, n): one bit a dimension, set where it is positive, padded with zeros to whole words of 64."""
    bits = np.zeros((len(vectors), -(-vectors.shape[1] // 64) * 64), dtype=bool)
    bits[:, : vectors.shape[1]] = vectors > 0
    return np.packbits(bits, axis=1).view(np.uint64).T


def _sifted(
    signs: npt.NDArray[np.uint64], unit: Vector, mask: npt.NDArray[np.bool_], keep: int
) -> npt.NDArray[np.intp]:
    """The rows of the mask whose signs differ least from the query's: `keep`, and all that tie for the last place."""
    apart = np.zeros(signs.shape[1], dtype=np.uint16)
    for word, wanted in zip(signs, _signs(unit[np.newaxis])[:, 0], strict=True):
        apart += np.bitwise_count(word ^ wanted)
    apart[~mask] = np.iinfo(np.uint16).max
    counts = np.bincount(np.minimum(apart, len(unit) + 1), minlength=len(unit) + 2)[: len(unit) + 1]
    last = int(np.searchsorted(np.cumsum(counts), min(keep, int(counts.sum()))))
    return np.flatnonzero(apart <= last)


def _best(cosines: Vector, rows: npt.NDArray[np.intp], ids: Sequence[str], limit: int) -> list[tuple[str, float]]:
    """The `limit` highest with their ids, best first, ties by id (all that tie for the last place compete for it)."""
    if limit <= 0 or not len(cosines):
        return []
    places: npt.NDArray[np.intp] = np.arange(len(cosines))
    if len(cosines) > limit:
        edge = np.partition(cosines, len(cosines) - limit)[len(cosines) - limit]
        places = np.flatnonzero(cosines >= edge)
    values = np.clip(cosines[places], -1.0, 1.0).tolist()
    named = [(ids[int(rows[place])], value) for place, value in zip(places, values, strict=True)]
    return sorted(named, key=lambda pair: (-pair[1], pair[0]))[:limit]
