"""Reads the words of the full-text index with their record counts, in slices, for `retrieval.vocabulary`."""

import time
from typing import Final

from apsw import Connection

SLICE_S: Final = 0.01  # a slice ends behind the first word after this; words in most records take that long alone


def words_after(conn: Connection, word: str, *, slice_s: float = SLICE_S) -> list[tuple[str, int]]:
    """The next words of the index in byte order, with how many live records hold each: as many as the time allows.

    Args: word: the last one of the slice before; empty for the first.
    Returns: (stem, records) pairs; empty at the end.
    """
    found: list[tuple[str, int]] = []
    until = time.perf_counter() + slice_s
    for term, doc in conn.execute("SELECT term, doc FROM records_vocabulary WHERE term > ?", (word,)):
        found.append((str(term), int(str(doc))))
        if time.perf_counter() >= until:
            break
    return found
