"""What a sentence may state: whether a value behind an announcement is a password or a key; `prose` finds both."""

import re

from agent_memory.domain.screen import values
from agent_memory.domain.screen.search import Search
from agent_memory.domain.screen.values import Look

STRONG = re.compile(r"[\d!#$%^*?~+@&]")  # one of them stands in every password of fewer than `values.RANDOM_CHARS`
_W = r"\w\pL\pN"  # what `\w` is for `re`, and not for RE2
_NO_SECRET = Search(
    rf"^[{_W}.+-]+@[{_W}-]+\.[{_W}]+$|^[{_W}-]+\.[a-z]{{2,4}}(?::\d+)?$|^[{_W}]+\(|^[A-Z_]{{2,}}=?$|=[^\s=]*[$<{{]|"
    rf"^#\d+$|/[{_W}]+/|'s$|n't$"
)
_CODE_SIGN = re.compile(r"[()=\[\]{};]")
_QUOTE_MARK = re.compile(r"[\"'`”“»」』]")


def may_be_secret(value: str, *, password: bool, joined: bool) -> bool:
    """Whether a value begins as no sign does, is no code and is mixed: told for little."""
    if value[0] in "=:|>,;)" or (joined and _CODE_SIGN.search(value)):
        return False
    return is_mixed(unquoted(value), password=password)


def is_mixed(value: str, *, password: bool) -> bool:
    """Whether a value is as long as a key, or has a digit or sign as every shorter password has."""
    return len(value) >= values.RANDOM_CHARS or (password and STRONG.search(value) is not None)


def unquoted(value: str) -> str:
    """A value up to the quote that closes it."""
    return _QUOTE_MARK.split(value, maxsplit=1)[0] or value


def is_secret(value: str, says: bool, password: bool, joined: bool) -> bool:
    """Whether a value is what was announced.

    Args:
      value: what stands there, without quotes.
      says: a verb or sign stands before it.
      password: a password was announced, which may be weaker than a key.
      joined: lines were joined, so a short value may be the sum of two words.
    """
    value = value.rstrip(".,;:)]}>」』。")
    return _looks_secret(value, says, password, joined) and not values.is_documented(value)


def _looks_secret(value: str, says: bool, password: bool, joined: bool) -> bool:
    if value.isdigit():
        return password and says and len(value) >= 4 and not re.fullmatch(r"(?:19|20)\d\d", value)
    if value.isalpha() and len(value) < 16:
        return False  # most words of prose: too short for a random string, and nothing in it that makes a password
    if not (password or values.is_hex(value) or values.is_random(value)):
        return False  # told first, for all that follows takes four times as long
    if len(value) < values.RANDOM_CHARS and not STRONG.search(value):
        return False
    if values.is_measure(value) or "//" in value[:12]:
        return False
    shape = values.look(value)
    if shape < Look.STATED or values.is_code(value) or _NO_SECRET(value):
        return False
    digit = re.search(r"\d", value) is not None
    if password:
        if shape is Look.STATED:
            letters = sum(map(str.isalpha, value))
            enough = digit and letters >= 2 and len(value) >= (8 if joined else 6 if not says else 5)
            signs = (
                says
                and re.search(r"\w[!#$%^*?~+@&]+\w", value) is not None
                and not re.search(r"[A-Za-z]/[A-Za-z]", value)
            )
            return (enough or signs) and not re.fullmatch(r"[A-Z]+-\d{1,6}|[a-z_]+\d?", value)
        return shape is Look.RANDOM
    if shape is not Look.RANDOM or values.is_uuid(value):
        return False
    if values.is_hex(value):
        return says and len(value) >= 32 and len(value) != 40
    return not re.search(r"[/.]\D*[/.]", value) and len(value) >= 16
