"""The stems that the full-text index makes of a text, outside any query: the same tokenizer, on no file."""

import apsw

TOKENIZER = ("porter", "unicode61", "remove_diacritics", "2")  # as in the declaration of records_fts


class Stemmer:
    """Cuts text into stems exactly as `records_fts` does. Use it from one thread at a time."""

    def __init__(self) -> None:
        # A tokenizer belongs to a connection; this one is empty, in memory, and never runs a statement.
        self._connection = apsw.Connection(":memory:")
        self._tokenize = self._connection.fts5_tokenizer(TOKENIZER[0], list(TOKENIZER[1:]))

    def stems(self, text: str) -> list[str]:
        """The stems of a text in order, repeated as in the text; text must hold no lone surrogates."""
        flags = apsw.FTS5_TOKENIZE_DOCUMENT
        return [
            str(stem)
            for stem in self._tokenize(text.encode(), flags, None, include_offsets=False, include_colocated=False)
        ]
