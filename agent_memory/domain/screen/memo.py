"""Remembers which texts passed the screen, so that one on its way through several guards is judged once."""

import re
from collections import OrderedDict
from collections.abc import Iterable
from hashlib import blake2b
from typing import Final

from agent_memory.domain.errors import SecretRefused
from agent_memory.domain.screen import screen_text

MEMO_MAX: Final = 4_096  # digests of 16 bytes each
# What the server itself writes beside every text: ids (UUIDv7 in hex) and times. No credential has either shape.
_OWN: Final = re.compile(r"[0-9a-f]{12}7[0-9a-f]{19}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


class ScreenMemo:
    """The screen with a short memory of clean texts; it keeps digests, never a text, and never a refusal."""

    def __init__(self, size: int = MEMO_MAX) -> None:
        self._size = size
        self._clean: OrderedDict[bytes, None] = OrderedDict()

    def pattern(self, text: str) -> str | None:
        """Name of the pattern that refuses the text, None when it may be kept."""
        if _OWN.fullmatch(text):
            return None
        digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if digest in self._clean:
            return None
        found = screen_text(text)
        if found is None:
            self._clean[digest] = None
            if len(self._clean) > self._size:
                self._clean.popitem(last=False)
        return found

    def refuse(self, fields: Iterable[tuple[str, str]]) -> None:
        """Pass named texts through the screen. Raises: SecretRefused: names field and pattern, never the value."""
        for field, text in fields:
            pattern = self.pattern(text)
            if pattern is not None:
                raise SecretRefused(field, pattern)
