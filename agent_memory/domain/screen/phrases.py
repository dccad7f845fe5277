"""Secrets that stand in lists or pairs of words: `user / password`, seed phrases, recovery codes, setup keys."""

import re

from agent_memory.domain.screen import values
from agent_memory.domain.screen.locators import Locator, ended, signs
from agent_memory.domain.screen.rules import Structure, Window, at_once
from agent_memory.domain.screen.values import Look
from agent_memory.domain.screen.words import STOP_WORDS

_LOGIN = re.compile(r"(?<![\w/.-])(?:[\w.@-]{2,32})\s?[/:|]\s?[\"'`]?(?P<value>[^\s\"'`]{6,64})")
_CODES = re.compile(r"\b[A-Za-z0-9]{4,8}(?:-[A-Za-z0-9]{4,8})+\b|\b\d{6,10}\b|\b\d{4} \d{4}\b|\b[A-Za-z0-9]{8,12}\b")


def _login(place: Window) -> str | None:
    """`log in with root / X`: the value must hold three kinds of characters, for hosts and dates stand here too."""
    line = (place.text + place.after).partition("\n")[0][:160]
    for found in _LOGIN.finditer(line):
        value = found.group("value").rstrip(".,;:)")
        kinds = sum(re.search(kind, value) is not None for kind in (r"[a-z]", r"[A-Z]", r"\d", r"[^\w./:-]"))
        if re.search(r"\.\w{2,4}$", value):
            continue
        if (
            kinds >= 3
            and (place.text[-1] in "/:|" or values.is_typed_password(value))
            and values.look(value) >= Look.STATED
            and not values.is_measure(value)
            and "/" not in value
        ):
            return "stated-password"
    return None


def _phrase(place: Window) -> str | None:
    """Twelve or more short words in a row, none of them a stop word: a seed phrase. Or a list of recovery codes."""
    text = re.sub(r"\d{1,2}[.):]\s*|[,\n\"'`|]+", " ", place.after[:400])
    announced = place.text.lower()
    if re.search(r"seed|mnemonic|phrase|bip|wallet|words", announced):
        run = re.search(r"\b[a-z]{3,8}(?:\s+[a-z]{3,8}){11,}\b", text)
        if run and not any(word in STOP_WORDS for word in run.group().split()[:12]):
            return "seed-phrase"
    if re.search(r"2fa|mfa|totp|authenticator|setup", announced) and re.match(
        r"\W{0,4}(?:[a-z2-7]{4} ){3,}[a-z2-7]{4}\b", place.after
    ):
        return "seed-phrase"
    if re.search(r"code|key|码|コード|schlüssel", announced):
        codes = [code for code in _CODES.findall(place.after[:300]) if re.search(r"\d", code)]
        codes = [
            code
            for code in codes
            if (code.count("-") >= 3 or not values.is_measure(code))
            and not re.fullmatch(r"(?:19|20)\d{2}-?\d*(?:-\d+)?", code)
        ]
        if len(codes) >= 2 or any(
            ("-" in code and re.search(r"[a-zA-Z]", code)) or code.count("-") >= 3 for code in codes
        ):
            return "recovery-codes"
    return None


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
        Locator((" / ",), rb" / [^\s]{0,100}[0-9]", rb"[\w.@-]{1,64}+"),
    ),
    at_once(_login),
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
    at_once(_phrase),
    {"seed-phrase": "twelve or more words of a seed phrase", "recovery-codes": "recovery codes open an account"},
    (
        "seed phrase: river ember quartz maple lantern falcon anchor copper tundra violet saddle pepper",
        "backup codes: {hex4}-1{hex3} {hex4}-2{hex3}",
    ),
    ("backup codes live in the safe", "the recovery key is stored in the vault since 2026-01-02"),
    cost=56,
)
