"""How text becomes searchable words: the extra index terms of a record, and the words that a query is cut into.

The full-text table stems and folds by itself (`porter unicode61 remove_diacritics 2`), and splits at everything that
is not a letter or a digit. Left to it, a run of Chinese is one long word, `cacheMaxSize` is one word, and `POL-358`
and `POL358` have nothing in common. This module adds what is missing, as plain words for the column `terms`.
It knows no SQL and no query syntax; `retrieval.query` builds match expressions from it.
"""

import re
import unicodedata
from collections.abc import Iterator

# Marks count as part of a word (Latin, Cyrillic, Hebrew and Arabic marks, and the Indic to Myanmar blocks whole, whose
# vowel signs are marks): cut there, a query word would no longer equal the word in the text.
_MARKS = "\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u109f"
_LETTER = rf"[^\W_]|[{_MARKS}]"
# A word and what is glued to it: `a.b`, `snake_case`, `--dry-run` (without its dashes), `host:8080`, `it's`, `a/b`.
_COMPOUND = re.compile(rf"(?:{_LETTER})+(?:[-._:/@'’](?:{_LETTER}|_)*(?:{_LETTER})+|_+(?:{_LETTER})+)*")
_SIMPLE = re.compile(rf"(?:{_LETTER})+")
# Scripts written without spaces, or (Hangul) with particles glued on: Han with its iteration and zero signs, kana with
# the long-vowel sign but without the middle dot, Hangul syllables and letters.
_CJK_CLASS = (
    "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    "\u3041-\u3096\u3099\u309a\u309d\u309e\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
    "\uac00-\ud7a3\u1100-\u11ff\u3131-\u318e"
)
_CJK = re.compile(f"[{_CJK_CLASS}]+")
_NOT_TEXT = re.compile("[\x00\ud800-\udfff]")
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})

MAX_JOINED = 48  # characters; the longest joined form kept (`rate_limit` → `ratelimit`), beyond it nobody types one


def index_terms(title: str, content: str) -> str:
    """The words to index beside a record's title and content, so that it is found by parts the tokenizer hides.

    They are: single characters and pairs of every run of Han, kana and Hangul; what stands glued to such a run; the
    parts of camelCase words and of words that mix letters and digits (two characters or more each); the joined form
    of snake_case, kebab-case and codes (`POL-358` → `pol358`); and German words spelt without umlauts (`ä` → `ae`).

    Args:
      title, content: any text, of any length.
    Returns: lower-case words, each once, in order of first appearance, joined by spaces; empty when there is nothing
      to add. Never holds NUL or lone surrogates.
    """
    found: dict[str, None] = {}
    for word in dict.fromkeys(compounds(f"{title}\n{content}")):
        for term in _word_terms(word):
            found.setdefault(term)
    return " ".join(found)


def clean(text: str) -> str:
    """The text in normal form KC, with NUL and lone surrogates (which SQLite cannot hold) turned to spaces."""
    return unicodedata.normalize("NFKC", _NOT_TEXT.sub(" ", text))


def compounds(text: str) -> list[str]:
    """The words of a text as people write them, inner punctuation kept (`a.b`, `POL-358`, `don't`), in order."""
    return _COMPOUND.findall(clean(text))


def simple_words(word: str) -> list[str]:
    """What the tokenizer makes of a word, before folding: its stretches of letters and digits, in order."""
    return _SIMPLE.findall(word)


def cjk_runs(word: str) -> list[str]:
    """The runs of Han, kana and Hangul in a word, in order."""
    return _CJK.findall(word)


def outside_cjk(word: str) -> list[str]:
    """The stretches of a word outside its runs of Han, kana and Hangul, in order, none empty."""
    return [piece for piece in _CJK.split(word) if piece]


def bigrams(run: str) -> list[str]:
    """Neighbouring pairs of characters, in order; a run of one character is its own only pair."""
    return [run] if len(run) < 2 else [run[i : i + 2] for i in range(len(run) - 1)]


def case_parts(word: str) -> list[str]:
    """Cut a word of letters and digits where its case or kind changes: `parseHTTPUrl2` → parse, HTTP, Url, 2.

    Returns: the parts in order; the word itself, alone, when nothing changes inside it.
    """
    parts: list[str] = []
    start = 0
    for i in range(1, len(word)):
        before, here, after = word[i - 1], word[i], word[i + 1 : i + 2]
        rises = before.islower() and here.isupper()
        falls = before.isupper() and here.isupper() and after.islower()
        if rises or falls or before.isdigit() != here.isdigit():
            parts.append(word[start:i])
            start = i
    parts.append(word[start:])
    return parts


def joined(compound: str) -> str:
    """The form of a code without its dashes and underscores, lower case; empty where there is none to give.

    Only stretches held together by `-` and `_` join; a path, a host or a version does not: `a.b` is not `ab`.
    """
    if ("-" not in compound and "_" not in compound) or any(sign in compound for sign in ".:/@'’"):
        return ""
    whole = "".join(_SIMPLE.findall(compound)).lower()
    return whole if len(whole) <= MAX_JOINED and not whole.isdigit() else ""


def without_umlauts(word: str) -> str:
    """The word with ä, ö, ü and ß written ae, oe, ue and ss; the same word when it has none."""
    return word.translate(_UMLAUTS)


def without_accents(word: str) -> str:
    """The word with every combining mark left out: `décision` → `decision`."""
    parts = unicodedata.normalize("NFD", word)
    return "".join(letter for letter in parts if not unicodedata.combining(letter))


def _word_terms(compound: str) -> Iterator[str]:
    """The extra terms of one word, lower case, in a fixed order; may repeat."""
    if compound.isascii() and compound.isalpha() and (compound.islower() or compound.istitle() or compound.isupper()):
        return  # the usual word: the tokenizer needs no help
    runs = cjk_runs(compound)
    for run in runs:
        yield from run
        yield from bigrams(run)
    for word in simple_words(compound):
        pieces = outside_cjk(word) if runs else [word]
        for piece in pieces:
            if runs:
                yield piece.lower()
            parts = case_parts(piece)
            if len(parts) > 1:
                yield from (part.lower() for part in parts if len(part) > 1)
            plain = without_umlauts(piece)
            if plain != piece:
                yield plain.lower()
    whole = joined(compound)
    if whole and not runs:
        yield whole
