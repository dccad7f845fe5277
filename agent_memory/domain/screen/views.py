"""Undoes disguises: one text in, the few readings of it that the rules must see out.

Agents disguise secrets by accident: a log is URL-encoded, a JSON string escaped, a chat client inserts zero-width
characters, a terminal wraps a key over two lines. Each reading is built in linear time and only when the text holds a
sign of its disguise, so that plain text is read once.
"""

import binascii
import functools
import html
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from agent_memory.domain.screen.nearby import GAP, stretches
from agent_memory.domain.screen.work import Spend, TooDense

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

MAX_ROUNDS = 3  # a value encoded four times over was not encoded by accident
# Escapes decoded, and line breaks taken out, of one text. Each is a character or more of the text as sent, so a field
# of 16 KiB stays at a quarter; a text of more is refused unread, so that hostile text cannot buy time.
MAX_UNDONE = 1 << 16
# What stands around the disguises of one text and is read beside it. Where more does, the text is disguised as a whole
# (a JSON string, HTML, a log whose lines all may be wrapped keys), and no reading can be had twice.
MAX_NEAR_BYTES = 320 << 10
# Microseconds, about: of a KiB to look for disguises, to fold its look-alikes and to look for its escapes (both once a
# round), to join its lines, to read it for everything and for tokens only; of what may begin an escape, of an escape,
# of each different one, and of a stretch around a disguise.
SCAN_COST, FOLD_COST, SPLIT_COST, JOIN_COST, READ_COST, TOKENS_COST = 8, 12, 6, 20, 9, 6
PIECE_COST, ESCAPE_COST, NEW_ESCAPE_COST, STRETCH_COST = 0.16, 0.1, 3.3, 6
MAX_BACKSLASHES = 4  # before one escape: quoted twice over
MAX_BLOBS = 512  # base64 runs decoded per text; a text of more is data, whose first runs say what it is

_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
)
_HYPHENS = "\u058a\u1806\u2010-\u2015\u2043\u2212\u2e3a\u2e3b\ufe58\ufe63\uff0d\u30fb\u207b\u208b"
_WIDE = "\uff01-\uff5e\u3000"  # beside Chinese or Japanese they are that script's own punctuation
_LETTERS = "\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\U0001d400-\U0001d7ff\u24b6-\u24e9"
_SPACES = "\u00a0\u2002-\u200a\u202f"
_OTHERS = f"{_INVISIBLE}{_HYPHENS}{_LETTERS}{_SPACES}"
_GONE = 0xFFFFFFFF  # no code point
# The marker in RE2 syntax: any hyphen, a soft one included, and invisible characters or a line break anywhere inside.
_INSIDE = f"(?:[{_INVISIBLE}]|[\\\\\"']?\\r?\\n[ \\t>|*+\"']*)*"
MARKER_PATTERN = "(?i)d{z}o{z}{h}{z}n{z}o{z}t{z}{h}{z}s{z}t{z}o{z}r{z}e".replace("{z}", _INSIDE).replace(
    "{h}", f"[{_HYPHENS}\u00ad-]"
)
# Runs of base64, broken over lines or not.
BLOB_PATTERN = r"[A-Za-z0-9+/_-]{16,}(?:\r?\n[ \t>]*[A-Za-z0-9+/_-]{16,})*={0,2}"

# A run of backslashes is taken whole, so that a long one is looked at once, and its last four belong to the escape.
_ESCAPES = (
    ("&", re.compile(r"(&(?:\#\d{1,7}|\#[xX][0-9a-fA-F]{1,6}|[a-zA-Z]{2,8}\d?);)")),
    ("%", re.compile(r"(%[0-9A-Fa-f]{2}(?:%[0-9A-Fa-f]{2})*+)")),
    ("\\", re.compile(r"(\\\\*+(?:u[0-9a-fA-F]{4}(?:\\{1,4}u[0-9a-fA-F]{4})*+|x[0-9a-fA-F]{2}|[nrtfb\"'/])?)")),
)
_DISGUISED = re.compile(r"[&%\\]|[^\x00-\x7f]")  # what was decoded may be an escape again
# A line break between two characters that keys are made of; the indentation and quotes around it are gone by then.
_INDENT = re.compile(r"\n[ \t>|*+]+")
_BREAK = re.compile(r"\n(?<=[A-Za-z0-9_\-+/=.%~!:*&?^]\n)(?=[A-Za-z0-9_\-+/=.%~!*&?^])")
_CONTINUED = ("\\\n", '"\n"', "'\n'", '" +\n"', "' +\n'", '" .\n"', "' .\n'", '"\n+"', '" \n"', '",\n"', "',\n'")


@dataclass(frozen=True, slots=True)
class View:
    """One reading of a text, in UTF-8. `plain` is the text as sent; `joined` has its lines joined, so its values need
    be long; `tokens_only` is not read for structures."""

    data: bytes
    plain: bool = False
    joined: bool = False
    tokens_only: bool = False


def readings(text: str, decode_blobs: Callable[[bytes], str], spend: Spend) -> Iterator[View]:
    """Readings of a text, the text as sent first and the joined one last; they hold only what stands around a disguise.

    `decode_blobs` answers the texts that stand in base64 inside a text, joined by newlines; `spend` hears in the
    engine's units what it costs to build a reading, before it is built.
    Raises: TooDense: where a reading would be that cannot be built in bounded time.
    """
    data = text.encode("utf-8", "replace")  # a lone surrogate becomes "?", so that offsets stay
    near = stretches(data, _escaped())
    whole = len(near) > MAX_NEAR_BYTES  # then its structures are read once, undisguised
    spend(_kib(SCAN_COST, data) + STRETCH_COST * near.count(GAP))
    if not whole:
        spend(_kib(READ_COST, data))
        yield View(data, plain=True)
    near = data if whole else near
    spend(_kib(READ_COST, near))
    opened = _changed(near, partial(undisguised, spend=spend))
    if opened or whole:
        yield View(opened or data)
    known = [opened or data] if whole else [data, opened]
    blobs = "\n".join(filter(None, map(decode_blobs, known))).encode()
    spend(_kib(READ_COST, blobs))
    if blobs:
        yield View(undisguised(blobs.decode(), spend).encode())
    near = GAP.join(stretches(each, _broken()) for each in known if each)
    tokens_only = len(near) > MAX_NEAR_BYTES
    spend(_kib(JOIN_COST + (TOKENS_COST if tokens_only else READ_COST), near) + STRETCH_COST * near.count(GAP))
    joined = _changed(near, _joined)
    if joined:
        yield View(joined, joined=True, tokens_only=tokens_only)


def _kib(cost: int, data: bytes) -> int:
    return cost * len(data) >> 10


def _changed(near: bytes, undo: Callable[[str], str]) -> bytes:
    """What stands around disguises with the disguises undone; nothing when that changes nothing."""
    text = near.decode("utf-8", "ignore")
    undone = undo(text)
    return undone.encode("utf-8", "replace") if undone != text else b""


@functools.lru_cache(maxsize=1)
def _escaped() -> Any:
    """Finds what `undisguised` undoes."""
    import re2  # here and not above: a start that screens nothing need not pay for it

    return re2.compile(
        r"\\+[unrtfbx\"'/]|%[0-9A-Fa-f]{2}|&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z]{2,8}\d?);|"
        f"[{_OTHERS}]|[{_WIDE}][!-~]|[!-~][{_WIDE}]"
    )


@functools.lru_cache(maxsize=1)
def _broken() -> Any:
    """Finds line breaks that may stand inside a key: one of the words beside the break holds a digit among characters.

    The other has three characters, for a key that lost two is found without them. Code is full of lines that end with a
    number, which is why the digit does not suffice.
    """
    import re2

    key = r"[A-Za-z0-9_\-+/=.%~!*&?^]"
    end = r"(?::|[\\\"'][ \t]?[+.,]?)"  # of a line that goes on in the next
    indent = r"\r?\n[ \t>|*+]*[\"']?"
    piece = f"(?:[0-9]{key}{{3}}|{key}{{3}}[0-9])"
    return re2.compile(f"{piece}{key}*{end}?{indent}{key}{{3}}|{key}{{2}}(?:{key}|{end}){indent}{key}*{piece}")


def _joined(text: str) -> str:
    """The text with its lines joined where a key may have been broken: wraps, indents, continued literals."""
    if "\n" not in text:
        return text
    joined = _INDENT.sub("\n", text.replace("\r\n", "\n"))
    for ending in _CONTINUED:
        if ending[0] in joined:
            joined = joined.replace(ending, "")
    joined, breaks = _BREAK.subn("", joined, MAX_UNDONE)
    if breaks == MAX_UNDONE:
        raise TooDense
    return joined if len(joined) != len(text) else text


@functools.lru_cache(maxsize=1)
def folds() -> "npt.NDArray[np.uint32]":
    """What each character up to the last that is disguised stands for, by code point."""
    import numpy as np

    table = np.arange(max(map(ord, _OTHERS)) + 1, dtype=np.uint32)
    for code in _codes(f"{_WIDE}{_LETTERS}{_SPACES}"):
        table[code] = ord(unicodedata.normalize("NFKC", chr(code)))
    table[_codes(_HYPHENS)] = ord("-")
    table[_codes(_INVISIBLE)] = _GONE
    return table


def _codes(ranges: str) -> list[int]:
    """The code points of a character class."""
    pairs = re.findall("(.)(?:-(.))?", ranges)
    return [code for first, last in pairs for code in range(ord(first), ord(last or first) + 1)]


def _folded(text: str) -> str:
    """The text without invisible characters, and with ASCII for what looks like it."""
    if text.isascii():
        return text
    import numpy as np  # here and not above: a start that screens nothing need not pay for it

    table = folds()
    codes = np.array(np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32))
    known = np.flatnonzero((codes >= 0x80) & (codes < len(table)))
    codes[known] = table[codes[known]]
    return str(codes[codes != _GONE].tobytes(), "utf-32-le", "surrogatepass")


def undisguised(text: str, spend: Spend) -> str:
    """The text with escapes decoded, invisible characters removed and look-alikes folded to ASCII.

    Raises: TooDense: more than `MAX_UNDONE` escapes, or more different ones than `spend` allows.
    """
    left = MAX_UNDONE
    for _ in range(MAX_ROUNDS):
        spend(len(text) * ((0 if text.isascii() else FOLD_COST) + SPLIT_COST) >> 10)
        nested, text = False, _folded(text)
        for sign, escape in _ESCAPES:
            begun = text.count(sign)
            if not begun:
                continue
            spend(PIECE_COST * min(begun, left))
            pieces = escape.split(text, left)
            left -= len(pieces) // 2
            if left <= 0:
                raise TooDense
            found = set(pieces[1::2])
            spend(ESCAPE_COST * (len(pieces) // 2) + NEW_ESCAPE_COST * len(found))
            known = {piece: _unescape(piece) for piece in found}
            nested = nested or any(_DISGUISED.search(new) for old, new in known.items() if new != old)
            pieces[1::2] = [known[piece] for piece in pieces[1::2]]
            text = "".join(pieces)
        if not nested:
            break
    return text


_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "b": " "}


def _unescape(escape: str) -> str:
    """One escape decoded; itself when it does not stand for text."""
    if escape[0] == "&":
        return html.unescape(escape)
    if escape[0] == "%":
        return _text_or(bytes.fromhex(escape.replace("%", "")), escape)
    bare = escape.lstrip("\\")
    if not bare:
        return escape
    kept = "\\" * (len(escape) - len(bare) - MAX_BACKSLASHES)
    return kept + _unescape_bare(bare, escape[len(kept) :])


def _unescape_bare(bare: str, escape: str) -> str:
    """A backslash escape decoded, given without its first backslashes and with them."""
    if bare[0] == "u":
        units = bytes.fromhex(bare.replace("\\", "").replace("u", ""))
        try:
            return units.decode("utf-16-be")
        except UnicodeDecodeError:
            return escape
    if bare[0] == "x":
        return _text_or(bytes.fromhex(bare[1:]), escape)
    return _CONTROLS.get(bare, bare)


def _text_or(data: bytes, otherwise: str) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return otherwise
    return text if text.isprintable() or text in "\r\n\t" or "\n" in text else otherwise


_URL_SAFE = bytes.maketrans(b"-_", b"+/")
_CONTROLS_IN_BYTES = bytes([*range(9), *range(14, 32), 127])
_HEAD = 16  # characters of base64 that tell most identifiers and images from a text
_SAMPLE = 200  # characters of a decoded blob that say what it is


def decoded_text(blob: str) -> str | None:
    """The text that a base64 string encodes, None when it encodes something else (an image, a digest, a word)."""
    if not blob.isascii():
        return None
    body = blob.encode().translate(_URL_SAFE, b" \t\r\n\f\v>=")
    try:
        if len(body) >= _HEAD and _is_binary(binascii.a2b_base64(body[:_HEAD])):
            return None
        body = body[: len(body) // 4 * 4] if len(body) % 4 == 1 else body + b"=" * (-len(body) % 4)
        data = binascii.a2b_base64(body)
    except binascii.Error:  # signs of no base64 among them
        return None
    if _is_binary(data[: _HEAD * 3 // 4]):
        return None
    sample = data[: 4 * _SAMPLE].decode("utf-8", "replace")[:_SAMPLE]
    printable = sum(map(str.isprintable, sample)) + sample.count("\n") + sample.count("\t")
    readable = printable >= 0.97 * len(sample) and sample.count("\ufffd") <= 1
    return data.decode("utf-8", "replace") if readable else None


def _is_binary(data: bytes) -> bool:
    return len(data.translate(None, _CONTROLS_IN_BYTES)) < len(data)
