"""Secrets that stand in lists or pairs of words: `user / password`, seed phrases, recovery codes, setup keys."""

import re

from agent_memory.domain.screen import values
from agent_memory.domain.screen.locators import Locator, ended, signs
from agent_memory.domain.screen.rules import Structure, Window
from agent_memory.domain.screen.values import Look
from agent_memory.domain.screen.words import STOP_WORDS
from agent_memory.domain.screen.work import Spend

_LOGIN = re.compile(r"(?<![\w/.-])[\w.@-]{2,32}+\s?[/:|]\s?[\"'`]?(?P<value>[^\s\"'`]{6,64})")
_KINDS = tuple(map(re.compile, (r"[a-z]", r"[A-Z]", r"\d", r"[^\w./:-]")))
_FILE_ENDING = re.compile(r"\.\w{2,4}$")
_DIGIT = re.compile(r"\d")
_CODES = re.compile(
    r"\b(?=[A-Za-z0-9]{4})(?:[A-Za-z0-9]{4,8}(?:-[A-Za-z0-9]{4,8})+\b|\d{6,10}\b|\d{4} \d{4}\b|[A-Za-z0-9]{8,12}\b)"
)
_DATE = re.compile(r"(?:19|20)\d{2}-?\d*(?:-\d+)?")
_OF_WORDS = re.compile(r"seed|mnemonic|phrase|bip|wallet|words")
_OF_SETUP = re.compile(r"2fa|mfa|totp|authenticator|setup")
_OF_CODES = re.compile(r"code|key|码|コード|schlüssel")
_NUMBERS_AND_SIGNS = re.compile(r"\d{1,2}[.):]\s*|[,\n\"'`|]+")
_WORDS_IN_A_ROW = re.compile(r"\b[a-z]{3,8}+(?:\s++[a-z]{3,8}+\b){11,}+")
_SETUP_KEY = re.compile(r"\W{0,4}(?:[a-z2-7]{4} ){3,}[a-z2-7]{4}\b")
# Microseconds, about, at most: of a pair, of what may be words in a row, of finding codes, and of one.
PAIR_COST, WORDS_COST, CODES_COST, CODE_COST = 4, 40, 20, 2


def _login(place: Window, spend: Spend) -> str | None:
    """`log in with root / X`: the value must hold three kinds of characters, for hosts and dates stand here too."""
    line = (place.text + place.after).partition("\n")[0][:160]
    for found in _LOGIN.finditer(line):
        spend(PAIR_COST)
        value = found.group("value").rstrip(".,;:)")
        if "/" in value or sum(kind.search(value) is not None for kind in _KINDS) < 3 or _FILE_ENDING.search(value):
            continue
        spend(values.cost_of(value))
        typed = place.text[-1] in "/:|" or values.is_typed_password(value)
        if typed and values.look(value) >= Look.STATED and not values.is_measure(value):
            return "stated-password"
    return None


def _phrase(place: Window, spend: Spend) -> str | None:
    """Twelve or more short words in a row, none of them a stop word: a seed phrase. Or a list of recovery codes."""
    announced = place.text.lower()
    if _OF_WORDS.search(announced):
        spend(WORDS_COST)
        run = _WORDS_IN_A_ROW.search(_NUMBERS_AND_SIGNS.sub(" ", place.after[:400]))
        if run and not any(word in STOP_WORDS for word in run.group().split()[:12]):
            return "seed-phrase"
    if _OF_SETUP.search(announced) and _SETUP_KEY.match(place.after):
        return "seed-phrase"
    if _OF_CODES.search(announced) and _DIGIT.search(place.after, 0, 300):
        spend(CODES_COST)
        return "recovery-codes" if _are_codes(_CODES.findall(place.after[:300]), spend) else None
    return None


def _are_codes(found: list[str], spend: Spend) -> bool:
    """Whether two strings are codes, or one that is in groups."""
    codes = 0
    for code in found:
        if not _DIGIT.search(code):
            continue
        spend(CODE_COST)
        groups = code.count("-")
        if (groups < 3 and values.is_measure(code)) or _DATE.fullmatch(code):
            continue
        codes += 1
        if codes == 2 or groups >= 3 or (groups and re.search(r"[a-zA-Z]", code)):
            return True
    return False


LOGIN = Structure(
    "login-pair",
    (
        Locator(
            (
                "login",
                "log in",
                "log-in",
                "logged in",
                "logged-in",
                "loggedin",
                "sign in",
                "credential",
                "creds",
                "account",
                "username",
                *ended("user"),
                "anmeld",
                "zugang",
                "identifiant",
                "登录",
            ),
            rb"\b(?:log(?:ged)?[ -]?in|login|sign in|credentials?|creds|account|user(?:name)?|anmeld\w*|"
            rb"zugang\w*|identifiants?|\xe7\x99\xbb\xe5\xbd\x95)\b[^\n/:|]*+[/:|]",
            cost=3,
        ),
        Locator((" / ",), rb" / [^\s]{0,100}[0-9]", rb"[\w.@-]{1,64}+", cost=1.2),
    ),
    _login,
    {},
    ("Log in to pfSense with root / Emys+{an6}1Z and disable the rule.",),
    ("log in at nas.lan:5001 / the page", "user docs: see docs/login/How-To2.md"),
    cost=10,
)
_OWNERS = (
    "seed|recovery|backup|mnemonic|wallet|setup|authenticator|scratch|rescue|emergency|bip39|bip-39|2fa|mfa|totp|secret"
)
_WORDS = signs("phrase word code key mnemonic")
PHRASE = Structure(
    "phrases",
    (
        Locator(
            (
                *(f"{owner}{gap}{word}" for owner in _OWNERS.split("|") for gap in ("", " ", "-") for word in _WORDS),
                "mnemonic",
                "bip39",
                "bip-39",
                "wiederherstellungs",
                "notfallcode",
                "notfall-code",
            ),
            rb"\b(?:(?:" + _OWNERS.encode() + rb")[ -]?"
            rb"(?:phrase|words?|codes?|keys?|mnemonic)|mnemonic|bip-?39|wiederherstellungs\w*|notfall-?codes?)",
        ),
    ),
    _phrase,
    {"seed-phrase": "twelve or more words of a seed phrase", "recovery-codes": "recovery codes open an account"},
    (
        "seed phrase: river ember quartz maple lantern falcon anchor copper tundra violet saddle pepper",
        "backup codes: {hex4}-1{hex3} {hex4}-2{hex3}",
    ),
    ("backup codes live in the safe", "the recovery key is stored in the vault since 2026-01-02"),
    cost=5,
)
