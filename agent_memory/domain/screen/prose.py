"""Passwords, keys and number codes stated in sentences, in the languages that the word lists hold."""

import functools
import re
from dataclasses import dataclass
from itertools import permutations
from typing import NamedTuple

from agent_memory.domain.screen import names, values
from agent_memory.domain.screen.locators import Locator, signs
from agent_memory.domain.screen.prose_values import STRONG, is_mixed, is_secret, may_be_secret, unquoted
from agent_memory.domain.screen.rules import Structure, Window
from agent_memory.domain.screen.search import Search, Spans
from agent_memory.domain.screen.words import (
    ANNOUNCE_OTHERS,
    ANNOUNCE_WORDS,
    ANNOUNCED,
    CODE_TEXT,
    KEY_OWNER,
    OWNED_CODES,
    PASSWORD,
    PASSWORD_TEXT,
    STOP_WORDS,
)
from agent_memory.domain.screen.work import Spend

# The verb or sign that says "and this is it". A few words may stand before it ("for the printer web page").
_SAYS = Spans(
    r"(?i)\b(?:is(?: now| still)?(?: set to)?|was|are|equals|reads|to|with|lautet|lauten|ist|hei(?:ß|ss)t|"
    r"auf|mit|es|era|son|est|war|waren|fue|var|je|on|jest|brzmi|a|now|jetzt)\b|"
    r"(?:^|[\s,])(?:é|são|foi|è|это|à)(?:\s|$)|=>?|:[\s\"'`*「]|->|→|\s[-–—]\s"
)
_VALUE = re.compile(r"[\s\"'`“„«「『‘*(_]*(?P<value>[!-~À-ž€£§]{4,})")
# Behind an announcement that is a word of its own: an ending, and then no sign of an identifier.
_ENDED = re.compile(r"(?:s|es|e|en|n|er)?(?![\w./}(\[$?&@-])|(?:s|es|e|en|n|er)?[.?!]?(?:\s|$)")
_ENDING = re.compile(r"^(?:s|es|e|en|n|er)\b")
_ESCAPED_END = re.compile(r"\\n(?=[ \\])")  # of an indented or empty line in a JSON string, and not a path
_CLAUSE = re.compile(r"[^\n.;:]{0,160}")
# What may be read behind an announcement: the last value begins where the last verb ends.
_TOLD = re.compile(r"(?s).{0,60}[!-~À-ž€£§]*+[\s\"'`“„«「『‘*(_]*+[!-~À-ž€£§]*+")
_CLAUSE_END = re.compile(r"[.;!?](?:\s|$)")
_GLUABLE = re.compile(r"(?i)passwor|kennwor|schl|token|code")
_LONG = re.compile(r"(?:[!-~]{0,15}+[^!-~]++)*+[!-~]{16}")  # sixteen characters in a row, each looked at once
# What there is behind a word that announces no password: a key, a code, or what somebody typed.
_MAY_HOLD = Search(
    r"[!-~]{16}|\p{Nd}{4}|\p{Nd}\p{Nd}-\p{Nd}\p{Nd}|"
    + "|".join(r"\S*".join(kinds) for kinds in permutations((r"\p{Nd}", "[A-Z]", r"(?:[!#$%^&*?~+@]|-\p{Nd}\p{Nd})")))
)
_ANNOUNCES_PASSWORD = Search("(?i)" + PASSWORD.decode())
_QUOTES = "\"'`“”„«»,;:()*"
_ENDS = ".,;:)]}"
# Phrases so plain about a credential that even a hexadecimal value or a UUID behind them is one.
_SPECIFIC = re.compile(
    r"(?i)(?:api|secret|client|access|app|bot|auth|private|signing|encryption|hmac|aes|license)[ _-]?(?:key|"
    r"token|secret)$"
)
_GAP_CHARS = 60
_MOST_FOUND = 4
_ANNOUNCED = Spans("(?i)" + ANNOUNCED.decode())
# Words between the announcement and the verb that make the sentence speak about passwords instead of stating one.
_ABOUT = Search(
    r"(?i)polic|reset|rotat|length|hash|manager|expir|require|must|should|minim|maxim|count|limit|strength|"
    r"\bnot\b|never|"
    r"\blänge|mindest|longueur|longitud|regex|pattern|prefix|format|algorithm|digest|sha\d|id\b|name\b|bucket|budget"
)
_QUOTED = re.compile(r"^(?P<gap>[^\n\"'`“„«「『.;]{0,60}+)[\"'`“„«「『](?P<value>[^\"'`”“»」』\n]{4,80})[\"'`”“»」』]")
_CJK = re.compile(
    r"^[^\n，。、；;!-~]{0,14}?(?P<says>是|为|為|：|:|は|が|은|는|이|=|\s|「|『|“|"
    r"(?=[!-~]))[\s「『“\"'`:：]*(?P<value>[!-~]{4,})(?P<next>.?)"
)
_CJK_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_UNITS = re.compile(
    r"^\s*(?:%|[°-]?(?:char|zeichen|sign|digit|bit|byte|day|tag|hour|stund|minute|month|year|second|word|"
    r"ms\b|s\b|h\b|d\b|x\b|"
    r"time|mal|try|tries|attempt|user|request|token|key|secret|password|people|device|policy|policies|"
    r"caract|jours|días|dias|"
    r"mois|zn|симв|位|天|个|個|字|文字|자|年|月|日|分|次|小时))"
)
_REVERSED = re.compile(
    r"(?i)(?<![^\s\"'`“„«])(?P<value>[^\s\"'`“„«]{6,}+)[\"'`”»]?\s+(?:is|as|ist|als|est|comme|es|como|é|è|come|это|"
    r"как)\s+[^\n.;:]{0,40}$"
)


def announced_in(text: str, start: int) -> list[tuple[int, int]]:
    """Where the announcing words of a text stand, from an offset on: the first few, a sentence has no more."""
    return _ANNOUNCED(text, start, _MOST_FOUND)


@dataclass(frozen=True, slots=True)
class _Word:
    """What an announcing word announces, and how it may stand."""

    password: bool
    code: bool
    unspaced: bool  # Chinese, Japanese and Korean write the value right behind it
    gluable: bool  # may end a longer word, as in "Adminpasswort"


@functools.lru_cache(maxsize=512)  # the words of the list in their spellings, never a value
def _word(word: str) -> _Word:
    return _Word(
        PASSWORD_TEXT.fullmatch(word) is not None,
        CODE_TEXT.search(word) is not None,
        _CJK_WORD.search(word) is not None,
        _GLUABLE.match(word) is not None,
    )


REVERSED_COST = 14  # microseconds, about, at most: to look before an announcing word
# Microseconds, about, at most: to find the announcing words of a place, to hear what one announces, to find the verbs
# behind it, and to look behind each.
WORDS_COST, WORD_COST, VERBS_COST, VERB_COST = 6, 7, 10, 4
VALUE_COST = 20  # where it is not known beforehand how long it is


def _stated(place: Window, spend: Spend) -> str | None:
    line = _line(place)
    if not (_MAY_HOLD(line[: len(place.text) + 130]) or _ANNOUNCES_PASSWORD(place.text)):  # which may be anything
        return None
    spend(WORDS_COST)
    located = line[: len(place.text)]
    left = 3
    for start, end in reversed(announced_in(located, max(0, len(located) - 120))):
        if _is_word(place.before, line, start, end):
            verdict = _after(line[start:end], line[end:], place, line[:start], spend)
            left -= 1
            if verdict is not None or not left:
                return verdict
    return None


def _line(place: Window) -> str:
    line = (place.text + place.after).partition("\n")[0] if "\n" not in place.text else place.text + place.after
    return _ESCAPED_END.split(line, maxsplit=1)[0]


def _is_word(before: str, line: str, start: int, end: int) -> bool:
    """Whether the announcement is a word of prose, not a piece of an identifier or of a longer word."""
    previous = line[start - 1] if start else before[-1:]
    if not line[start:end].isascii():
        return previous not in ("_", "$", "{")
    if previous.isascii() and previous.isalpha():
        return _word(line[start:end]).gluable and _ENDED.match(line, end) is not None
    if previous.isdigit() or previous in ("_", ".", "/", "$", "{", "\\", "=", "@", "+"):
        return False  # of an identifier, a path or base64
    return _ENDED.match(line, end) is not None


class _Said(NamedTuple):
    """What stands behind an announcing word."""

    password: bool
    announced: str  # the word, and some of what stands before it
    plural: bool
    rest: str
    clause: str
    joined: bool


def _after(word: str, rest: str, place: Window, before: str, spend: Spend) -> str | None:
    spend(WORD_COST)
    said = _word(word)
    stated = "stated-password" if said.password else "stated-key"
    if said.unspaced:
        spend(VALUE_COST)
        return stated if _unspaced(rest, said.password, place.joined) else None
    plural = rest[:2].strip() == "s"
    rest = _ENDING.sub("", rest, count=1)
    if said.code:
        spend(VALUE_COST)
        return "stated-code" if _code(rest) else None
    clause = _CLAUSE_END.split(rest[: _GAP_CHARS + 20], maxsplit=1)[0]
    if not said.password:
        # Only a random string would be a key, or right here what can be nothing but a password.
        typed = values.is_typed_password((clause.split() or [""])[0].strip(_QUOTES))
        if not (typed or _LONG.match(rest, 0, _told_end(rest))):
            return None
        if names.is_plainly_owned((before or place.before)[-24:] + word):
            return None
        if typed and not _LONG.match(rest, 0, 2 * _GAP_CHARS):
            return stated
    heard = _Said(said.password, (place.before + before)[-16:] + word, plural, rest, clause, place.joined)
    return stated if _is_stated(heard, spend) else None


def _is_stated(said: _Said, spend: Spend) -> bool:
    """Whether a value that stands in quotes, or behind the word or a verb, is what was announced."""
    quoted = _QUOTED.match(said.rest)
    if quoted and _in_quotes(quoted.group("gap"), quoted.group("value"), said.password, spend):
        return True
    told = _told_end(said.rest)
    if not (STRONG.search(said.rest, 0, told) or _LONG.match(said.rest, 0, told)):
        return False
    spend(VERBS_COST)
    ends = _verb_ends(said.clause)
    spend(VERB_COST * len(ends))
    for end, says in [(0, False), *((end, True) for end in ends)]:
        if said.plural and said.rest[end:].strip()[:6].isdigit():
            return False
        found = _VALUE.match(said.rest, end)
        if found is None:
            continue
        value = found.group("value")[: values.MAX_SAMPLED]
        specific = len(value) >= values.RANDOM_CHARS and _is_specific(said.announced, value)
        if specific or may_be_secret(value, password=said.password, joined=said.joined):
            spend(values.cost_of(value))
            if specific or _states(said, value, said.rest[found.end() :], says):
                return not _ABOUT(said.rest[:end])  # nor would any value behind it be one
    words = [word.strip(_QUOTES) for word in said.clause[:48].split() if len(word) >= 8]
    typed = next(filter(values.is_typed_password, words), None)
    if typed and (said.password or typed == said.clause.split()[0].strip(_QUOTES)):
        return not _ABOUT(said.rest[: max(ends, default=0)])
    return False


def _told_end(rest: str) -> int:
    """How far is read behind an announcement."""
    return _TOLD.match(rest).end()  # type: ignore[union-attr]  # it matches nothing, too


def _is_specific(announced: str, value: str) -> bool:
    """Whether a hexadecimal value or a UUID is a credential because of what was announced; it may end a bracket."""
    bare = value.rstrip(_ENDS)
    return (values.is_hex(bare) or values.is_uuid(bare)) and _SPECIFIC.search(announced) is not None


def _states(said: _Said, value: str, tail: str, says: bool) -> bool:
    value = unquoted(value)
    return not (value.isdigit() and _UNITS.match(tail)) and is_secret(value, says, said.password, said.joined)


def _verb_ends(text: str) -> list[int]:
    """Where the verbs and signs end that say "and this is it", among the characters that may stand before a value."""
    return [end for _, end in _SAYS(text[:_GAP_CHARS], 0, _MOST_FOUND)]


def _unspaced(rest: str, password: bool, joined: bool) -> bool:
    """Whether a value stands right behind a word of Chinese, Japanese or Korean."""
    found = _CJK.match(rest)
    if found is None or _UNITS.match(found.group("next")):
        return False
    says = found.group("says") != ""
    return (says or not found.start("value")) and is_secret(found.group("value"), says, password, joined)


def _code(rest: str) -> bool:
    """Four to eight digits after a verb, not followed by a unit."""
    if re.match(r"[\s#]*(?:\d{3,4}-\d{2,3}-\d{3,4}|\d{4,8}#)(?!\w)", rest):
        return True
    for end in _verb_ends(rest):
        digits = re.match(
            r"[\s\"'`*]*(?:\d{4,8}(?![\w.:/-])|\d\d(?:-\d\d){2,3}\b|\d{3,4}-\d{2,3}-\d{3,4}\b|\*?\d{4,8}#)",
            rest[end:],
        )
        if digits and not _UNITS.match(rest[end + digits.end() :]):
            return True
    return False


def _in_quotes(gap: str, value: str, password: bool, spend: Spend) -> bool:
    """A quoted value with a verb before it, or right behind the word."""
    phrase = " " in value
    if not (password and _is_phrase(value) if phrase else is_mixed(value, password=password)):
        return False
    spend(VALUE_COST)
    says = any(not gap[end:].strip() for end in _verb_ends(gap))
    if phrase:
        return says and not values.names_itself(value)
    return (says or not gap.strip()) and is_secret(value, says, password, False)


def _is_phrase(value: str) -> bool:
    words = re.findall(r"[^\W\d_]+", value.lower())
    return 3 <= len(words) <= 10 and not any(word in STOP_WORDS for word in words)


def _reversed(place: Window, spend: Spend) -> str | None:
    text = place.text + _CLAUSE.match(place.after).group()  # type: ignore[union-attr]  # it matches nothing, too
    for start, end in announced_in(text, 0):
        spend(REVERSED_COST)
        found = _REVERSED.search(text[max(0, start - 140) : start])
        if found:
            value = found.group("value")
            spend(values.cost_of(value))
            password = _word(text[start:end]).password
            signs = re.search(r"\d", value) is not None and re.search(r"[A-Za-z]", value) is not None
            if signs and len(value) >= 8 and not values.names_itself(value) and is_secret(value, True, password, False):
                return "stated-password" if password else "stated-key"
    return None


_WHY = {
    "stated-password": "a sentence states a password",
    "stated-key": "a sentence states a key or token",
    "stated-code": "a sentence states a PIN or door code",
}
# A word of prose and no piece of an identifier, as `_is_word` judges it.
_WORD_END = rb"(?=[a-z]{2,24}+(?:(?![\w./}(\[$?&@-])|[.?!]?(?:\s|\Z)))"
_A_WORD = rb"(?<![_./${\\=@])" + _WORD_END
_A_KEY = rb"key(?:s|es|e|en|n|er)?(?:(?![\w./}(\[$?&@-])|[.?!]?(?:\s|\Z))"  # no keyboard
# From an announcement to the first sign or digit of its line: few words are without one and secret all the same.
# Quotes of other scripts are looked for where a letter of one stands: to give back what was read takes time.
_TO_SIGN = rb"[^\n0-9!#$%^*+@&?~\"'`=]{0,160}"
_TO_VALUE = (
    rb"[^\n0-9!#$%^*+@&?~\"'`=\x80-\xff]{0,160}+(?:[0-9!#$%^*+@&?~\"'`=]|(?=[\x80-\xff])(?:"
    + _TO_SIGN
    + rb"+[0-9!#$%^*+@&?~\"'`=]|"
    + _TO_SIGN
    + rb"(?:\xe3\x80[\x8c\x8e]|\xe2\x80[\x98\x9c\x9e]|\xc2\xab)))"
)
STATED = Structure(
    "statement",
    (
        Locator(ANNOUNCE_WORDS, _A_WORD + _TO_VALUE, cost=2),
        Locator(ANNOUNCE_OTHERS, _TO_VALUE, cost=2.5),
        Locator(("wpa2 key", "wpa2-key"), rb"wpa2" + _TO_VALUE, cost=2),
        Locator(("key",), rb"(?=" + _A_KEY + rb")" + _TO_VALUE, KEY_OWNER, cost=1.2),
        Locator(OWNED_CODES, _TO_VALUE, cost=2.5),
    ),
    _stated,
    _WHY,
    (
        "The admin password for the switch is Willow#{dig4}, user is admin.",
        "Das WLAN-Kennwort lautet tundra-anchor-violet-{dig2}.",
        "mot de passe : Ember#{dig4}",
        "la contraseña del router es Lluvia{dig4}",
        "a senha do banco é Chuva{dig4}!",
        "路由器的管理密码是 D8sj_{an8}，不要改。",
        "パスワードは Ok{an8} です",
        "비밀번호: YX{an8}4",
        "пароль от роутера: Vesna{dig4}",
        "hasło do bazy: kwarc-klon-{dig2}",
        "the alarm panel's PIN code is 7{dig5}",
        "the deploy token for staging is {an32}",
        'the guest wifi password is "correct horse battery staple"',
    ),
    (
        "The password is stored in Bitwarden under 'NAS admin'.",
        "Das Passwort muss mindestens 12 Zeichen haben.",
        "パスワードは12文字以上にしてください。",
        "密钥长度：256位；令牌有效期：30天",
        "commit {hex40} fixes the token refresh race",
        "primary key is 9c851029-29d5-4a96-b22f-eeaf20321f7e",
    ),
    cost=4,
)
_VERBS = signs("is as ist als est comme es como é è come")
REVERSED = Structure(
    "reversed-statement",
    (
        Locator(
            tuple(f"{before}{verb}{after}" for verb in _VERBS for before in " \t" for after in " \t"),
            rb"[ \t]\S+[ \t]",
            rb"[ \t]*+[^\s0-9]{0,100}+[0-9]\S{0,60}+",
        ),
    ),
    _reversed,
    {},
    ("use Tundra{dig4}x as the admin password", "`{an32}` is the new api key"),
    ("v2.1.0 is the token service", "4f2c91d is the commit for the token fix"),
    cost=10,
)
