"""Undoes disguises: one text in, the few readings of it that the rules must see out.

Agents disguise secrets by accident: a log is URL-encoded, a JSON string escaped, a chat client inserts zero-width
characters, a terminal wraps a key over two lines. Each reading is built in linear time and only when the text holds a
sign of its disguise, so that plain text is read once.
"""

import base64
import binascii
import html
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

MAX_ROUNDS = 3  # a value encoded four times over was not encoded by accident
MAX_BLOBS = 512  # base64 runs decoded per text; a text of more is data, whose first runs say what it is

_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
)
_HYPHENS = "\u058a\u1806\u2010-\u2015\u2043\u2212\u2e3a\u2e3b\ufe58\ufe63\uff0d\u30fb\u207b\u208b"
_FOLDABLE = re.compile(f"[{_INVISIBLE}{_HYPHENS}\uff01-\uff5e\u3000\u00a0\u2002-\u200a\u202f\U0001d400-\U0001d7ff\u24b6-\u24e9]")
_INVISIBLE_RUN = re.compile(f"[{_INVISIBLE}]+")
_HYPHEN = re.compile(f"[{_HYPHENS}]")
# Letters of other scripts that look like Latin ones, folded only beside Latin letters so that Russian stays Russian.
_MARKER = re.compile(
    "(?i)d{z}o{z}h{z}n{z}o{z}t{z}h{z}s{z}t{z}o{z}r{z}e".replace("{z}", f"[{_INVISIBLE}]*").replace(
        "h", f"(?:[{_HYPHENS}\u00ad-])"
    )
)

_ESCAPE = re.compile(
    r"(&(?:\#\d{1,7}|\#[xX][0-9a-fA-F]{1,6}|[a-zA-Z]{2,8}\d?);|(?:%[0-9A-Fa-f]{2})+|(?:\\+u[0-9a-fA-F]{4})+|"
    r"\\+x[0-9a-fA-F]{2}|\\+[nrtfb\"'/])"
)
_HAS_ESCAPE = re.compile(r"&[#a-zA-Z][^&;\s]{1,8};|%[0-9A-Fa-f]{2}|\\")
# A line break between two characters that keys are made of, with what editors, mail and code put around it.
_WRAP = re.compile(
    r"(?<=[A-Za-z0-9_\-+/=.%~!:*&?^])"
    r"(?:[\"'`][ \t]*(?:[+.&\\,][ \t]*)?\\?\r?\n[ \t>|*+]*[\"'`]|[ \t]?\\?\r?\n[ \t>|]*)"
    r"(?=[A-Za-z0-9_\-+/=.%~!*&?^])"
)
_BLOB = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{16,}(?:\r?\n[ \t>]*[A-Za-z0-9+/_-]{16,})*={0,2}")


@dataclass(frozen=True, slots=True)
class View:
    """One reading of a text. `plain` is the text as sent; `joined` has its lines joined, so its values need be long."""

    text: str
    plain: bool = False
    joined: bool = False


def views(text: str) -> Iterator[View]:
    """Readings of a text, the text as sent first; the later ones only where they differ."""
    text = text.encode("utf-8", "replace").decode()  # a lone surrogate becomes "?", so that offsets stay
    yield View(text, plain=True)
    opened = undisguised(text)
    if opened != text:
        yield View(opened)
    joined = _WRAP.sub("", opened)
    if joined != opened:
        yield View(joined, joined=True)
    blobs = "\n".join(_decoded_blobs(opened))
    if blobs:
        opened_blobs = undisguised(blobs)
        yield View(opened_blobs)


def undisguised(text: str) -> str:
    """The text with escapes decoded, invisible characters removed and look-alikes folded to ASCII."""
    for _ in range(MAX_ROUNDS):
        before = text
        if not text.isascii() and _FOLDABLE.search(text):
            text = _HYPHEN.sub("-", _INVISIBLE_RUN.sub("", text))
            text = unicodedata.normalize("NFKC", text)
        if _HAS_ESCAPE.search(text):
            pieces = _ESCAPE.split(text)
            pieces[1::2] = map(_unescape, pieces[1::2])
            text = "".join(pieces)
        if text == before:
            break
    return text


def marked(text: str) -> bool:
    """Whether the do-not-store marker stands in this reading, its hyphens and invisible characters as they come."""
    return _MARKER.search(text) is not None


_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "b": " "}


def _unescape(escape: str) -> str:
    """One escape decoded; itself when it does not stand for text."""
    if escape[0] == "&":
        return html.unescape(escape)
    if escape[0] == "%":
        return _text_or(bytes.fromhex(escape.replace("%", "")), escape)
    bare = escape.lstrip("\\")
    if bare[0] == "u":
        units = bytes.fromhex(re.sub(r"\\*u", "", bare))
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


def _decoded_blobs(text: str) -> Iterator[str]:
    """Texts that stand in base64 inside the text: whole blobs, and blobs that fill lines of their own."""
    for count, match in enumerate(_BLOB.finditer(text)):
        if count >= MAX_BLOBS:
            return
        decoded = decoded_text(match.group())
        if decoded is not None:
            yield decoded


def decoded_text(blob: str) -> str | None:
    """The text that a base64 string encodes, None when it encodes something else (an image, a digest, a word)."""
    body = re.sub(r"[\s>=]", "", blob).replace("-", "+").replace("_", "/")
    body = body[: len(body) // 4 * 4] if len(body) % 4 == 1 else body + "=" * (-len(body) % 4)
    try:
        head = base64.b64decode(body[:16])
        if any(byte < 9 or 13 < byte < 32 or byte == 127 for byte in head):
            return None
        data = base64.b64decode(body)
    except (binascii.Error, ValueError):
        return None
    text = data.decode("utf-8", "replace")
    printable = sum(map(str.isprintable, text[:200])) + text[:200].count("\n") + text[:200].count("\t")
    return text if printable >= 0.97 * len(text[:200]) and text[:200].count("\ufffd") <= 1 else None
