"""`name = value` in every writing: env files, INI, YAML, JSON, code, XML, URL parameters, tables, flags with `=`."""

import re
from typing import NamedTuple

from agent_memory.domain.screen import names, values
from agent_memory.domain.screen.locators import Locator
from agent_memory.domain.screen.names import Promise
from agent_memory.domain.screen.rules import Structure, Window
from agent_memory.domain.screen.values import Look
from agent_memory.domain.screen.words import IN_NAMES, NAMED, STOP_WORDS, word_set
from agent_memory.domain.screen.work import Spend

_NAME_BACKWARDS = re.compile(r"[\w.$@/\-\[\]]*")
_HEAD = re.compile(r"[\w.\-]*")
SHORTEST = 4  # characters of anything that is refused by its name
NAME_CHARS = 65  # before the word that makes a name one
_OPENERS = "\"'`“„«「『‘"
_CLOSERS = {"“": "”", "„": "“", "«": "»", "「": "」", "『": "』", "‘": "’"}
_LEAD = re.compile(r"[ \t]*(?:[fbruN@]{1,2}(?=[\"']))?")
_NEXT_LINE = re.compile(r"[ \t]*+\\?\r?\n[ \t>|*-]*(?:\r?\n[ \t>]*)?")
_BARE = re.compile(r"[^\s\"'`<>|,;，。、；）」』]+")
_TYPED = re.compile(r"[\w\[\]<>&*?|. ]{1,40}?=[ \t]*(?=[\"'`])")
_TEMPLATE = re.compile(r"\$\{|\{\{|\$\(|%\(|#\{|\{[\w.]+\}|<%|\{%|%\{|<[\w -]+>|\\[sSwWdDbB]|\[\^|\(\?")
_PATH_SIGNS = re.compile(r"[/\[\]@]")
_OWNER_BACKWARDS = re.compile(r"\n?[ _-]?([A-Za-z]+)")
_OTHER_PARAMETER = re.compile(r"&[\w.-]+=")
_DIGIT = re.compile(r"\d")
_DIGIT_OR_CAPITAL = re.compile(r"[\dA-Z]")
_ALONE = re.compile(r"[ \t\"'`,;)}\]|<]*(?:$|[\r\n#<|&]|--|//)")
_BYTE_LIST = re.compile(r"(?i)[ \t]*[\[{(][ \t]*(?:(?:0x)?[0-9a-f]{1,3}[ \t]*,[ \t]*){15}")
_BENIGN = word_set(
    "username user email name wrong invalid incorrect correct missing given provided supplied stored saved "
    "unchanged updated changed "
    "expired private public encrypted hashed protected rotated shared local remote manual manually internal "
    "external below above later same different unique strong weak short long mandatory forbidden allowed "
    "denied minimum maximum length field input forgotten forgot reset needed used valid show type enter "
    "confirm current previous rotate rotation readonly static dynamic custom managed inherit inherited file "
    "prompted keychain bitwarden onepassword vault keepass lastpass fail failed failure success passed skipped "
    "error warning left right north south east west first second third one two low high medium fast slow free "
    "busy open closed locked unlocked battery"
)


class _Name(NamedTuple):
    """A name, what it promises, and whether it is that of a URL parameter."""

    text: str
    promise: Promise
    in_url: bool


class Written(NamedTuple):
    """A value without its quotes, whether it stood in them, and what stands behind."""

    value: str
    quoted: bool
    rest: str


def named_value(
    name: str, value: str, *, quoted: bool, alone: bool, in_url: bool = False, compared: bool = False
) -> str | None:
    """Judge a value by the name beside it.

    Args:
      name: the whole name, in any case style.
      value: the value without its quotes.
      quoted: the value stood in quotes, so that it is text and not an expression.
      alone: nothing but the value stands after the separator, so that a single word is a value and not prose.
      in_url: a URL parameter.
      compared: the two are compared, so that a word is no value.
    Returns: the pattern's name, or None when the pair states no credential.
    """
    if len(value) < SHORTEST:
        return None
    promise = names.promise(name, in_url=in_url)
    if promise is Promise.NOTHING:
        return None
    shape = values.look(value)
    return _by_shape(_Name(name, promise, in_url), value, shape, quoted=quoted, alone=alone, compared=compared)


def _by_shape(named: _Name, value: str, shape: Look, *, quoted: bool, alone: bool, compared: bool) -> str | None:
    name, promise, in_url = named
    if shape is Look.NOTHING or (shape is Look.WORD and compared) or _TEMPLATE.search(value):
        return None
    if (not quoted and values.is_code(value)) or values.is_documented(value):
        return None
    if promise is Promise.PASSWORD:
        return "named-password" if _is_password(name, value, shape, quoted, alone) else None
    if promise is Promise.KEY:
        return ("url-credential" if in_url else "named-key") if _is_key(value, shape, in_url) else None
    return _perhaps(name, value, shape, alone=alone, in_url=in_url)


def _perhaps(name: str, value: str, shape: Look, *, alone: bool, in_url: bool) -> str | None:
    """A value beside a name such as `key` or `pin`, which are harmless words too."""
    if names.is_pin(name):
        return "named-pin" if shape is Look.NUMBER and 4 <= len(value) <= 8 and alone else None
    if values.is_typed_password(value):
        return "named-key"
    owned = len(names.words_of(name)) > 1
    if (
        values.is_hex(value)
        and owned
        and alone
        and len(value) in (32, 48, 64, 96, 128)
        and name.lower().endswith("key")
    ):
        return "named-key"
    if (
        shape is Look.RANDOM
        and not values.is_hex(value)
        and not values.is_uuid(value)
        and len(value) >= (16 if owned else 20)
    ):
        return ("url-credential" if in_url else "named-key") if not re.search(r"[/.:]\D*[/.]", value) else None
    return None


def _is_password(name: str, value: str, shape: Look, quoted: bool, alone: bool) -> bool:
    if shape is Look.RANDOM:
        return True
    if shape is Look.NUMBER:
        return len(value) >= 4 and alone and names.words_of(name)[-1] != "pass"
    if shape is Look.STATED:
        if " " in value:
            return quoted and not _is_prose(value)
        return len(value) >= 4 and not values.is_measure(value) and not _is_alternative(value)
    if " " in value:
        words = value.split()
        return quoted and len(words) >= 3 and not _is_prose(value) and all(len(word) < 12 for word in words)
    word = value.lower().rstrip(".,:;!?")
    if word in _BENIGN or values.names_itself(value) or not value.isascii() or len(word) < 5:
        return False
    return alone and re.fullmatch(r"[A-Za-z]+(?:[-_.][A-Za-z]+)*", word) is not None


def _is_key(value: str, shape: Look, in_url: bool) -> bool:
    if shape is Look.RANDOM:
        return " " not in value
    if shape is not Look.STATED or " " in value or values.is_measure(value) or _is_alternative(value):
        return False
    if values.names_itself(value) and not values.is_random(value, 12):
        return False
    if re.fullmatch(r"[A-Za-z]+(?:[_.-][A-Za-z]+)*\d{0,2}", value):  # an identifier
        return False
    return len(value) >= (6 if in_url else 8) and any(char.isdigit() for char in value)


def _is_prose(value: str) -> bool:
    words = re.findall(r"[^\W\d_]+", value.lower())
    return len(words) > 12 or any(word in STOP_WORDS for word in words) or values.names_itself(value)


def _is_alternative(value: str) -> bool:
    """`yes/no`, `name=value`, `user@host` and paths: signs between words, without a digit that would make "
    "a password."""
    return re.fullmatch(r"[A-Za-z._-]*(?:[/=@\\|&+][A-Za-z._-]*)+", value) is not None


def value_at(text: str) -> Written:
    """The value at the start of a text."""
    lead = _LEAD.match(text)
    at = lead.end() if lead else 0
    if at < len(text) and text[at] in _OPENERS:
        quote = text[at]
        close = _CLOSERS.get(quote, quote)
        run = 3 if text.startswith(quote * 3, at) else 1
        end = text.find(close, at + run)
        if 0 <= end <= at + 220 and "\n" not in text[at + run : end]:
            return Written(text[at + run : end], True, text[end + 1 :])
        at += run
    bare = _BARE.match(text, at)
    if bare is None:
        return Written("", False, text[at:])
    return Written(bare.group()[: values.MAX_SAMPLED], False, text[bare.end() :])


def name_around(place: Window) -> tuple[str, str]:
    """What stands before the name, and the whole name, of which the locator found a credential's word."""
    walked = _NAME_BACKWARDS.match(place.before[:-NAME_CHARS:-1])
    head = _HEAD.match(place.text)
    at = len(place.before) - (walked.end() if walked else 0)
    return place.before[:at], place.before[at:] + (head.group() if head else "")


READ_COST = 4  # microseconds, about, at most
NAME_CHARS_READ = 8  # in another


def _judge(place: Window, spend: Spend) -> str | None:
    """The name at a place; where it stands in no template and promises something, its value is to be read."""
    spend(len(place.text) // NAME_CHARS_READ)
    start, name = name_around(place)
    if start.endswith(("${", "{{", "{{ ", "%(", "$(")):
        return None
    in_url = start.endswith(("?", "&", "#", "&amp;")) or (start.endswith(";") and place.text.endswith("="))
    name = _own_name(start, name)
    promise = names.promise(name, in_url=in_url)
    return _read(place, _Name(name, promise, in_url), spend) if promise else None


def _own_name(start: str, name: str) -> str:
    """The name without the path before it, and with its owner when it is only `key`."""
    if not name.isidentifier():
        name = _PATH_SIGNS.split(name)[-1] if not name.startswith("//") else name.rpartition(":")[2] or name
    owner = _OWNER_BACKWARDS.match(start[::-1]) if name.lower() in ("key", "keys") else None
    return f"{owner.group(1)[::-1]} {name}" if owner else name


def _read(place: Window, named: _Name, spend: Spend) -> str | None:
    spend(READ_COST)
    after = place.after
    new_line = _NEXT_LINE.match(after)
    if new_line:
        after = after[new_line.end() :]
    elif _BYTE_LIST.match(after):
        return "named-key" if named.promise >= Promise.KEY else None
    written = value_at(after)
    verdict = _verdict(named, written, place, spend, wrapped=new_line is not None)
    typed = _TYPED.match(after) if verdict is None and not written.quoted else None
    if typed:
        named = _Name(named.text, names.promise(named.text), False)
        written = value_at(after[typed.end() :])
        verdict = _verdict(named, written, place, spend, wrapped=False) if named.promise else None
    return verdict


def _verdict(named: _Name, written: Written, place: Window, spend: Spend, *, wrapped: bool) -> str | None:
    value = written.value
    if len(value) < SHORTEST:
        return None
    if not written.quoted:
        if named.in_url or _OTHER_PARAMETER.search(value):
            value = re.split(r"[&#]", value, maxsplit=1)[0] if named.in_url else _OTHER_PARAMETER.split(value)[0]
        value = value.rstrip(".,:") if not value.endswith("...") else value
        value = value.rstrip(")]}") if not re.search(r"[(\[{]", value) else value
    if not _may_keep(named, value):
        return None
    spend(values.cost_of(value))
    return _judge_value(named, Written(value, written.quoted, written.rest), place, wrapped)


def _may_keep(named: _Name, value: str) -> bool:
    """Whether a value is long and mixed enough to be what the name promises.

    A password may be a word. Any other credential has a digit, or it is long and mixes capitals in.
    """
    if named.promise is Promise.PASSWORD or names.is_pin(named.text):
        return len(value) >= SHORTEST
    if len(value) >= values.RANDOM_CHARS:
        return _DIGIT_OR_CAPITAL.search(value) is not None
    if named.promise is Promise.PERHAPS:
        return values.is_typed_password(value)
    return len(value) >= (6 if named.in_url else 8) and _DIGIT.search(value) is not None


def _judge_value(named: _Name, written: Written, place: Window, wrapped: bool) -> str | None:
    name, (value, quoted, rest) = named.text, written
    shape = values.look(value)
    if shape is Look.NOTHING:
        return None
    flag = place.before.endswith("--") or "--" in place.before[-len(name) - 2 :]
    alone = (flag and place.text.endswith("=")) or (
        not place.text.rstrip().endswith(",") and ((quoted and not place.joined) or _ALONE.match(rest) is not None)
    )
    listed = place.text.rstrip().endswith((",", "|", "->"))  # a list or an alternation: a word there is no value
    unpacked = not quoted and place.before.rstrip("*_ abcdefghijklmnopqrstuvwxyz").endswith(",") and "=" in place.text
    tight = not quoted and place.text.endswith(":") and not place.after[:1].isspace()
    if (listed or unpacked or tight) and shape is Look.WORD:
        return None
    if listed and names.promise(name) is Promise.KEY and shape is Look.STATED:
        return None
    if wrapped or place.joined:
        if re.match(r"[ \t]*[:=]", rest) or shape < Look.STATED or not _DIGIT.search(value):
            return None
        alone = False
    return _by_shape(named, value, shape, quoted=quoted, alone=alone, compared="==" in place.text)


STRUCTURE = Structure(
    "assignment",
    (
        Locator(
            IN_NAMES,
            NAMED + rb"[\w.\x80-\xff-]{1,120}+"
            rb"(?:[ \t]*+[\"'`*_\])}]*+[ \t]*+(?:[=-]>|<<<|:?={1,3}|::?|\||\xe2\x86\x92|[\"'],|(?<=[\"']),)|>)",
            cost=1,
        ),
    ),
    _judge,
    {
        "named-password": "a value stands beside the name of a password",
        "named-key": "a value that is no word stands beside the name of a key or token",
        "named-pin": "a number code stands beside its name",
        "url-credential": "a URL parameter is named as a credential",
    },
    (
        "DB_PASSWORD=willow-ember-{dig2}",
        "acme_api_key: {an24}",
        '{"clientSecret": "{an32}"}',
        "https://a.example/x?session_id={hex32}",
        'let token: &str = "{an32}";',
        "password:\n  Xy{an10}",
        "<password>Tundra{dig4}</password>",
    ),
    (
        "password: required, minimum length 12",
        "api_key: str | None = None",
        "token = os.environ['TOKEN']",
        "https://a.example/x?author=heidi&session_count=42",
        "primary_key: {hex32}",
        "DB_PASS=${DB_PASS}",
        "keyboard: de-latin1",
    ),
    cost=5,
)
