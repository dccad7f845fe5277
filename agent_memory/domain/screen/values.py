"""What a value looks like: nothing (placeholder, reference, code), a word, a stated value, or a random string."""

import enum
import hashlib
import itertools
import re
import string

from agent_memory.domain.screen.search import Search
from agent_memory.domain.screen.words import word_set


class Look(enum.IntEnum):
    """Shapes of a value, from harmless to certainly drawn at random."""

    NOTHING = 0  # <token>, ${TOKEN}, ****, os.environ[...], your-key-here, null
    WORD = 1  # letters only: a word of prose, an identifier, or a weak password
    NUMBER = 2  # digits only
    STATED = 3  # letters with digits or signs: somebody's password
    RANDOM = 4  # long and without the rhythm of words


RANDOM_CHARS = 16  # no shorter value is random, nor a hexadecimal one a key
MAX_READ = 80  # characters of a value that are read for a placeholder; bounds the work on each
MAX_SAMPLED = 160  # characters of a value that tell whether it is random
_OTHERS = bytes(set(range(256)) - set((string.ascii_letters + string.digits).encode()))
_KIND_OF = bytes.maketrans((string.ascii_letters + string.digits).encode(), b"a" * 26 + b"A" * 26 + b"0" * 10)
_CHANGES = tuple(map(bytes, itertools.permutations(b"aA0", 2)))
_LETTER = re.compile(r"[^\W\d_]")
_DIGIT_OR_SIGN = re.compile(r"[\d!#$%&*+@^~?=/\\|]")
_MASK = r"^[*•●·xX#?_.=-]{3,}$|\*{3}|•{2}|…|\.\.\.|[xX]{5}|_{4}|-{4}"
_WRAPPED = (
    r"<[^>]*>?|\$[\w{(]|\{\{?[^}]*\}?|%[A-Z_][A-Z0-9_]*%|%\w*\(|%s|#\{|\[(?:[A-Z _-]*|[a-z]+:[^\]]*|[a-z ]+)\]|\[\[|"
    r"\(|@[\w./]+(?:$|\()|!\w+|&\w+$|\\[a-z]|=$|\|$|>-?$|\*\w+$"
)
_REFERENCE = (
    r"(?:op|vault|secrets?|env|ssm|keyring|keychain|file|sops|bws|doppler|ref\+\w+|aws-?sm|gcp-?sm|kv|azure-?kv|"
    r"data|akv|conjur|pass)(?:://|:)|arn:|projects/|enc[\[(]|\$ansible_vault|https?://|/(?:run|etc|var|home|usr|opt|"
    r"srv|data|mnt|tmp|root|app|secrets|config|path|Users)\b|~/|\.\.?/|[a-z]:\\|sha(?:1|256|384|512)[-:]|md5[-:]|"
    r"refs?/|secret/|--\w|s-1-\d"
)
_SPOKEN = (
    r"example|placeholder|redacted|change[-_ ]?(?:me|it|this)|replace|insert|dummy|\btodo\b|\btbd\b|fixme|masked|"
    r"screened|goes[-_ ]?here|[-_ ]here\b|here$|\byour|^your|^my[-_]?(?:secret|token|key|pass|api|app|"
    r"super)|\bfake\b|"
    r"_your_|beispiel|ejemplo|exemple|exemplo|示例|你的|您的|あなた|\bdein|\bmein|\bvotre|\bvuestr|\btu[-_]|"
    r"\bseu\b|\bsua\b|"
    r"ваш|twoj|omitted|truncated|censored|sanitized|hidden|removed|fixture|^(?:foo|bar|baz|qux)+\d*$|"
    r"^(?:some|any|the)[-_]|"
    r"^(?:test|sample|default|demo)[-_]?(?:token|key|secret|password|pass|value)?\d{0,3}$|not[-_]?(?:a[-_]?)?real|"
    r"^abc\d*$|^abcd?e?f?\d{3,6}$|^(?:abc|xyz)[-_.]?(?:123|def|xyz)|enter[-_ ](?:your|the)|put[-_ ]"
)
_PLACEHOLDER = Search(f"{_MASK}|^(?:{_WRAPPED})|^(?i:{_REFERENCE})|(?i:{_SPOKEN})")
_VOID = word_set(
    "null none nil undefined true false yes no on off empty unset required optional string str int bool bytes "
    "number text any object secretstr default auto automatic generated random unknown n/a na todo tbd hidden "
    "masked ask see prompt stdin basic bearer digest oauth oauth2 ssh publickey plain plaintext void never "
    "always enabled disabled optional[str] self this new char varchar const let var return is not in and or "
    "the a an of for to from with as if else"
)
_CREDENTIAL_WORD = Search(
    r"(?i)pass(?:word|wd|wort|phrase|code)?\b|pass(?:word|wort)|pwd|secret|token|api[-_]?key|credential|kennwort|"
    r"contrase|senha|mot de passe|\bkey\b|密码|口令|パスワード|비밀번호|пароль|geheim|hasło"
)
_ROOTS = word_set(
    "self this os process settings config args req request ctx env environ response res data event props state "
    "options opts params user cfg app secrets vault session body form window document import credentials creds "
    "std viper context client auth row record obj item payload message msg cls super hass entry flask django "
    "crypto uuid base64 json yaml var local module input inputs github steps needs matrix values release"
)
_CHAIN = re.compile(r"[A-Za-z_$][\w$]*+(?:(?:\?\.|\.|::|->)[A-Za-z_$][\w$]*+)++")
_CALL = re.compile(
    r"(?:await |new |!|&|\*)?[A-Za-z_$][\w$]*+(?:(?:\?\.|\.|::|->)[A-Za-z_$][\w$]*+)*+(?:\(|\[(?!\d{3}))"
)
_HEX = re.compile(r"(?:0x)?[0-9a-fA-F]{16,}")
_UUID = re.compile(r"(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_VERSION = re.compile(
    r"(?i)[v~^<>=]*\d+(?:\.\w+)+(?:[-+][\w.]+)?|\d{4}-\d\d-\d\d(?:[T ][\d:.]+Z?)?|\d+[a-z%]{1,4}|[\d.,:/x×-]+|"
    r"\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?|(?:hmac|aes|rsa|sha|md|rs|hs|es|ed|utf|base|oauth|rfc|iso|tls|ssl|http|argon|"
    r"ecdsa|ps|bcrypt|scrypt|pbkdf|jwt|win|ipv|ec|arm|amd|python|node|web|fa|pm)[-_]?\d+[\w.-]{0,12}|"
    r"[a-z]\d{1,4}(?:\.\d+)*[a-z]?"
)
_RUN = Search(
    "|".join(run[i : i + 9] for run in ("abcdefghijklmnopqrstuvwxyz", "01234567890123456789") for i in range(10))
)
# First 16 hex digits of the SHA-256 of examples in public documents (AWS, Azurite, Stripe, jwt.io, RFC 6749, 6750 and
# 7617, the TOTP key URI format): harmless, and not to be repeated here.
_DOCUMENTED = word_set(
    "0011cc25eb432071 00cf4c781dc37003 051d093c4bdedbf2 0e9d220616f08345 1a5d44a2dca19669 "
    "2cafc0970149a84f 6c96130f130ab0d6 73f71af093fdf154 78314b11be2e5815 7f75367e78812551 "
    "8be5d113c0871ce1 aa6547439583c3a2 ad71fb4165536675 b8e148545b13c78b bdfeaef44475711c "
    "ca7459e2b26776de cf4d418ed3de92d7 da816f9f2c16e6c5 e4da07ad200089ce f2d6ca16515033e5"
)


def cost_of(value: str) -> int:
    """Microseconds, about, that it takes at most to judge a value; the names beside it are another matter."""
    return 8 + min(len(value), MAX_SAMPLED) // 5


def is_documented(value: str) -> bool:
    """Whether the value is one that a vendor's public documentation uses as its example."""
    return hashlib.sha256(value.encode("utf-8", "replace")).hexdigest()[:16] in _DOCUMENTED


def is_placeholder(value: str) -> bool:
    """Whether the value stands for another one: masked, wrapped, referred to, or a documented example."""
    value = value[:MAX_READ]
    if not value or value.lower().rstrip("!?") in _VOID:
        return True
    return _PLACEHOLDER(value) or is_sequence(value)


def is_sequence(value: str) -> bool:
    """Runs such as 1234567890 or abcdefghij, and one or two characters repeated, are made up by hand."""
    folded = value.lower()
    if len(folded) >= 8 and len(set(folded)) <= 3:
        return True
    return len(folded) >= 10 and _RUN(folded)


def is_hex(value: str) -> bool:
    """Sixteen or more hexadecimal digits and nothing else."""
    return _HEX.fullmatch(value) is not None


def is_uuid(value: str) -> bool:
    """A UUID in its usual writing."""
    return _UUID.fullmatch(value) is not None


def is_code(value: str) -> bool:
    """Whether an unquoted value is an expression: a call, an index, or a chain of attributes."""
    if _CALL.match(value):
        return True
    chain = _CHAIN.match(value)
    if chain is None:
        return False
    root = re.split(r"\W", chain.group(), maxsplit=1)[0].lower()
    return root in _ROOTS or (chain.group() == value and _CREDENTIAL_WORD(value))


def is_random(value: str, least: int = 16) -> bool:
    """Whether a string of at least `least` characters lacks the rhythm of words.

    Words and identifiers change between lower case, upper case and digit about once in five characters; base62 drawn
    at random does so at six of ten places, hexadecimal at five, base32 at three.
    """
    sample = value[:MAX_SAMPLED]
    kinds = _kinds(sample)
    if len(kinds) < least:
        return False
    changes, digits = _rhythm(kinds), kinds.count(b"0")
    if digits == 0:
        drawn = changes >= 0.38 and len(kinds) >= 20
    elif digits == 1:
        drawn = changes >= 0.35
    else:
        drawn = changes >= 0.22 and digits < len(kinds)
    return drawn and len(set(sample.encode("ascii", "ignore").translate(None, _OTHERS))) >= 8


def rhythm(text: str) -> float:
    """Share of neighbours among ASCII letters and digits that differ in kind: lower case, upper case, digit."""
    return _rhythm(_kinds(text))


def _kinds(text: str) -> bytes:
    """Every ASCII letter and digit of a text as its kind."""
    return text.encode("ascii", "ignore").translate(_KIND_OF, _OTHERS)


def _rhythm(kinds: bytes) -> float:
    return sum(map(kinds.count, _CHANGES)) / max(1, len(kinds) - 1)


def look(value: str) -> Look:
    """Shape of a value that stands alone; quotes and surrounding signs already taken off."""
    if is_placeholder(value):
        return Look.NOTHING
    if value.isdigit():
        return Look.NUMBER
    if is_uuid(value) or is_hex(value) or is_random(value):
        return Look.RANDOM
    letters = _LETTER.search(value) is not None
    if letters and _DIGIT_OR_SIGN.search(value.rstrip(".,;:!?)")):
        return Look.STATED
    if letters:
        return Look.WORD
    return Look.STATED if len(value) >= 6 and not _VERSION.fullmatch(value) else Look.NOTHING


def is_measure(value: str) -> bool:
    """Versions, dates, sizes, algorithms and addresses: digits beside letters that nobody chose as a password."""
    return _VERSION.fullmatch(value) is not None


def names_itself(value: str) -> bool:
    """Whether a value of letters only is itself a word for a credential (`password: password`, a translation)."""
    return _CREDENTIAL_WORD(value)


_TYPED_KINDS = tuple(map(re.compile, (r"\d", r"[A-Z]", r"[a-z]", r"[!#$%^&*?~+@]|\w-\d{3}")))
_CODE_SIGNS = re.compile(r"[/(){}\[\]<>=|\\]|::")


def is_typed_password(value: str) -> bool:
    """Whether a string reads as a password by itself: lower and upper case, digits and a sign, and "
    "nothing of code."""
    if len(value) < 8 or _CODE_SIGNS.search(value):
        return False
    for kind in _TYPED_KINDS:
        if not kind.search(value):
            return False
    return not (is_placeholder(value) or is_measure(value) or re.search(r"@[\w-]+\.|%[0-9A-F]{2}[A-Za-z]", value))
