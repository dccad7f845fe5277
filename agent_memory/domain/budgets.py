"""How large an answer may be: token estimates and the budgets of the reading tools."""

from typing import Final

# Four bytes of UTF-8 a token: the seed's own equation of 500 tokens with 2,000 bytes.
BYTES_PER_TOKEN: Final = 4

BOOTSTRAP_BYTES: Final = 2_000
SEARCH_TOKENS: Final = 750
RECORDS_TOKENS: Final = 2_000

ELLIPSIS: Final = "…"


def estimate_tokens(size_bytes: int) -> int:
    """Tokens of a text of that many bytes, rounded up."""
    return -(-size_bytes // BYTES_PER_TOKEN)


def excerpt(text: str, max_bytes: int) -> str:
    """The start of a text in at most that many bytes of UTF-8, cut at a word where one is near, ending in an ellipsis.

    A text that fits is returned as it is; a budget too small for the ellipsis gives an empty string.
    """
    raw = text.encode()
    if len(raw) <= max_bytes:
        return text
    room = max_bytes - len(ELLIPSIS.encode())
    if room <= 0:
        return ""
    cut = raw[:room].decode(errors="ignore")
    space = cut.rfind(" ")
    return (cut[:space] if space > len(cut) // 2 else cut).rstrip() + ELLIPSIS
