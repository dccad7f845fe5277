"""The checkable parts of a text: numbers, versions, paths, identifiers and quoted phrases; says nothing of meaning."""

import re
import unicodedata
from dataclasses import dataclass

MAX_PHRASE_CHARS = 200  # a longer run between two quote marks is prose between two quotations, not one quotation

# A digit run that does not continue a word, path or dotted name; `1.52.0`, `2026`, `0.4`, `3,000` and the 60 of `60s`.
_NUMBER = re.compile(r"(?<![\w.,:])\d+(?:[.,:]\d+)*|(?<=[vV#~=<>])\d+(?:[.,:]\d+)*|(?<=[:.,])(?<![0-9][:.,])\d+")
_THOUSANDS = re.compile(r"(?<=\d)[,'\u2019\u00a0\u202f](?=\d{3}(?:\D|$))")
_DECIMAL_COMMA = re.compile(r"(?<=\d),(?=\d)")
_QUOTED = re.compile(
    r'"([^"\n]{2,200})"|`([^`\n]{1,200})`|\u201c([^\u201c\u201d\n]{2,200})\u201d|\u201e([^\u201c\u201d\u201e\n]{2,200})[\u201c\u201d]'
    r"|\u00ab([^\u00ab\u00bb\n]{2,200})\u00bb|\u300c([^\u300c\u300d\n]{1,200})\u300d|\u300e([^\u300e\u300f\n]{1,200})\u300f"
    r"|(?<!\w)'([^'\n]{2,200})'(?!\w)|(?<!\w)\u2018([^\u2018\u2019\n]{2,200})\u2019(?!\w)"
)
_TOKEN = re.compile(
    r"[^\s\"`'()\[\]{},;\u2018-\u201f\u00ab\u00bb\u3001\u3002\uff0c\uff1b\uff1a\uff08\uff09\u300c-\u300f]+"
)
_ASCII_RUN = re.compile(r"[!-~\u00c0-\u024f]+")  # a token is cut where CJK text meets Latin text without a space
_CLOCK_OR_DATE = re.compile(r"\d+(?:[-/:.]\d+)+(?:T[\d:.]+Z?)?\Z")
_NUMBER_WITH_UNIT = re.compile(r"[#~<>=+-]?v?\d+(?:[.,:]\d+)*(?:[a-z%\u00b0\u00b5\u20ac$/]|[KMGT]i?B?|[A-Z])*\Z")
_SMALL_NUMBERS = {
    word: str(value)
    for words in (
        "two three four five six seven eight nine ten eleven twelve",
        "zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
        "deux trois quatre cinq six sept huit neuf dix onze douze",
        "dos tres cuatro cinco seis siete ocho nueve diez once doce",
    )
    for value, word in enumerate(words.split(), start=2)
    if word not in {"once", "sept", "dos"}  # the English adverb, the month and the system are the likelier readings
}


@dataclass(frozen=True)
class Specifics:
    """What a text states that can be compared without understanding it; every entry is normalised.

    `numbers` holds digit strings ("0.4", "1.52.0", small number words as digits), `names` paths and identifiers,
    `phrases` quoted text. One word may appear under several of them.
    """

    numbers: frozenset[str]
    names: frozenset[str]
    phrases: frozenset[str]


def normalise(text: str) -> str:
    """Fold case, compatibility forms, quote marks and white space, so that the same wording compares equal."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(folded.replace("\u2019", "'").split())


def specifics_of(text: str) -> Specifics:
    """Find the numbers, versions, paths, identifiers and quoted phrases of a text, in any order."""
    phrases = {normalise(next(filter(None, match.groups()))).strip(" .,;:!?") for match in _QUOTED.finditer(text)}
    names = {name for token in _tokens(text) if (name := _name(token)) is not None}
    return Specifics(_numbers(text), frozenset(names), frozenset(phrases - {""}))


def missing_specifics(part: str, whole: str) -> tuple[str, ...]:
    """The specifics of one text that another text does not hold, sorted; empty when it holds every one of them.

    A number is held as a whole number ("1.52" is not held by "1.52.0"), a name or phrase wherever it stands between
    word boundaries ("writer.go" is held by "internal/datev/writer.go").
    """
    wanted, held = specifics_of(part), _numbers(whole)
    text = normalise(whole)
    missing = {number for number in wanted.numbers if number not in held}
    missing |= {name for name in wanted.names if not _stands_in(name, text)}
    missing |= {phrase for phrase in wanted.phrases if not _stands_in(phrase, text)}
    return tuple(sorted(missing))


def _numbers(text: str) -> frozenset[str]:
    plain = _THOUSANDS.sub("", unicodedata.normalize("NFKC", text))
    plain = _DECIMAL_COMMA.sub(".", plain)
    found = {_trim_zeros(match.group()) for match in _NUMBER.finditer(plain)}
    parts = re.findall(r"(?<=\D)\d+(?=-)|(?<=-)\d+(?=\D|$)", plain)  # of a date or a range
    found |= {_trim_zeros(part) for part in parts}
    found |= {_SMALL_NUMBERS[word] for word in re.findall(r"[^\W\d_]+", plain.casefold()) if word in _SMALL_NUMBERS}
    return frozenset(found)


def _trim_zeros(number: str) -> str:
    """`03` of a date or clock is `3`; `0.50` and `1.0` stay, since a version may mean them."""
    return number.lstrip("0") or "0" if number.isdigit() else number


def _tokens(text: str) -> list[str]:
    return [run for token in _TOKEN.findall(text) for run in _ASCII_RUN.findall(token)]


def _name(token: str) -> str | None:
    """The normalised path or identifier that a token is, or None for a plain word or a plain number."""
    bare = token.strip(".,;:!?*=<>|&").rstrip("/") or token
    if len(bare) < 2 or not any(char.isalnum() for char in bare):
        return None
    if _CLOCK_OR_DATE.match(bare) or _NUMBER_WITH_UNIT.match(bare):
        return None
    return normalise(bare) if _is_path(bare) or _is_identifier(bare) else None


def _is_path(bare: str) -> bool:
    if "/" in bare or "\\" in bare:
        parts = [part for part in re.split(r"[/\\]", bare) if part]
        # "and/or" and "read/write" are prose; a path has depth, a dot, a root or a placeholder
        return bare[0] in "/~." or len(parts) > 2 or any(re.search(r"[.<>_\d*:-]", part) for part in parts)
    return bool(re.search(r"\w\.[A-Za-z_]\w*", bare) or re.match(r"\.[a-z]\w+", bare))


def _is_identifier(bare: str) -> bool:
    letters = any(char.isalpha() for char in bare)
    digits = any(char.isdigit() for char in bare)
    if letters and (digits or "_" in bare or "=" in bare or "::" in bare or "@" in bare):
        return True
    if re.match(r"--?[A-Za-z]", bare) or bare[0] in "$#@":
        return letters
    if re.search(r"[a-z][A-Z]", bare):  # camelCase and setInputFiles, not the plural of an acronym (URLs)
        return True
    core = re.sub(r"s\Z", "", bare)
    return core.isascii() and core.isalpha() and core.isupper() and len(core) > 2


def _stands_in(needle: str, text: str) -> bool:
    start = text.find(needle)
    while start >= 0:
        before, after = text[start - 1 : start], text[start + len(needle) : start + len(needle) + 1]
        if not (_joins(needle[0]) and _joins(before)) and not (_joins(needle[-1]) and _joins(after)):
            return True
        start = text.find(needle, start + 1)
    return False


def _joins(char: str) -> bool:
    """Whether a character continues a name: ASCII letters, digits, `_` and `-`; CJK text may touch a name."""
    return bool(char) and (char in "_-" or (char.isalnum() and ord(char) < 0x250))
