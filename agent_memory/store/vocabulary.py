"""Reads the words of the full-text index with their record counts, in slices, for `retrieval.vocabulary`."""

from apsw import Connection

# Made beside records_fts, by its migration: a view of the index that holds nothing itself.
VOCABULARY_TABLE = "CREATE VIRTUAL TABLE IF NOT EXISTS records_vocab USING fts5vocab(records_fts, row)"
SLICE = 5_000  # words a unit of work reads: about 10 ms where each is in a handful of records


def words_after(conn: Connection, word: str, limit: int = SLICE) -> list[tuple[str, int]]:
    """The next words of the index in byte order, with how many records hold each.

    Args:
      word: the last one of the slice before; empty for the first.
      limit: largest number read.
    Returns: (stem, records) pairs; empty at the end.
    """
    rows = conn.execute("SELECT term, doc FROM records_vocab WHERE term > ? LIMIT ?", (word, limit))
    return [(str(term), int(doc)) for term, doc in rows]


def record_counts(conn: Connection, stems: list[str]) -> list[tuple[str, int]]:
    """How many records hold each of these stems now, 0 included, in the order given."""
    counts = []
    for stem in stems:
        row = conn.execute("SELECT doc FROM records_vocab WHERE term = ?", (stem,)).fetchone()
        counts.append((stem, int(row[0]) if row else 0))
    return counts
