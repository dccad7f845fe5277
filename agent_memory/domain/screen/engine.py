"""First plain screen: key blocks, tokens of known shape, credentials in URLs and the do-not-store marker."""

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_DASHES = "-" * 5
MARKER = "do-not-store"

_PATTERNS: tuple[tuple[str, str, str], ...] = (
    (MARKER, r"(?i)\bdo-not-store\b", "the author asked for this text not to be kept"),
    ("private-key", _DASHES + r"BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?" + _DASHES + r"\s*[A-Za-z0-9+/=\\\s]{16}",
     "a private key block"),
    ("jwt", r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}", "a signed token"),
    ("github-token", r"(?i)\b(?:gh[pousr]_[a-z0-9]{30,}|github_pat_[a-z0-9_]{40,})", "a GitHub token"),
    ("gitlab-token", r"(?i)\bgl(?:pat|rt|dt|ptt|ft|soat|cbt)-[a-z0-9_-]{18,}", "a GitLab token"),
    ("aws-access-key", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b", "an AWS access key id"),
    ("slack-token", r"(?i)\bxox[abeoprs]-[a-z0-9-]{18,}|\bxapp-\d-[a-z0-9-]{18,}", "a Slack token"),
    ("model-key", r"(?i)\b(?:sk-[a-z0-9_-]{20,}|hf_[a-z0-9]{30,}|gsk_[a-z0-9]{30,}|aiza[a-z0-9_-]{30,})",
     "a key of a model provider"),
    ("payment-key", r"(?i)\b[rs]k_(?:live|test)_[a-z0-9]{16,}", "a payment provider's key"),
    ("registry-token", r"(?i)\b(?:npm_[a-z0-9]{30,}|pypi-[a-z0-9_-]{40,}|dckr_pat_[a-z0-9_-]{20,})",
     "a package registry's token"),
    ("url-password", r"\b[a-zA-Z][a-zA-Z0-9+.-]*://[^\s/?#@:'\"<>]*:[^\s/?#@'\"<>${}%*]+@[^\s]", "a password in a URL"),
)  # fmt: skip

_PARAMETER = r"[?&#;]([A-Za-z][\w.\-\[\]]{0,63})=([^\s&#;'\"<>${}\[\]*]{6,})"
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SECRET_WORDS = {
    "password",
    "passwd",
    "passphrase",
    "pass",
    "pwd",
    "pw",
    "secret",
    "token",
    "apikey",
    "sig",
    "signature",
    "accesstoken",
    "authtoken",
    "appid",
    "auth",
    "jwt",
    "sessionid",
    "sid",
    "credential",
}
_KEY_OWNERS = {"api", "access", "secret", "private", "auth", "master", "account", "app"}
_HARMLESS_TAILS = {"type", "count", "enabled", "name", "date", "expires", "length", "limit", "id", "hint", "method"}


@dataclass(frozen=True, slots=True)
class Hit:
    """One refusal inside a text: pattern, reason and where it stands (character offsets)."""

    pattern: str
    why: str
    start: int
    end: int


@functools.lru_cache(maxsize=1)
def _compiled() -> tuple[list[tuple[str, Any, str]], Any]:
    import re2  # here and not above: 20 ms that a start without any text need not pay

    return [(name, re2.compile(pattern), why) for name, pattern, why in _PATTERNS], re2.compile(_PARAMETER)


def _names_a_credential(name: str) -> bool:
    words = [word.lower() for word in _WORDS.findall(name)]
    if words[-2:] == ["session", "id"] or (words[-1:] == ["key"] and (len(words) == 1 or words[-2] in _KEY_OWNERS)):
        return True
    return bool(words) and words[-1] not in _HARMLESS_TAILS and any(word in _SECRET_WORDS for word in words)


def hits(text: str) -> Iterator[Hit]:
    """Every refusal in a text, in rule order."""
    rules, parameter = _compiled()
    text = text.encode("utf-8", "replace").decode()  # a lone surrogate becomes "?", so that offsets stay
    for name, pattern, why in rules:
        for match in pattern.finditer(text):
            if "EXAMPLE" not in match.group() and ":password@" not in match.group():
                yield Hit(name, why, match.start(), match.end())
    for match in parameter.finditer(text):
        if _names_a_credential(match.group(1)):
            yield Hit("url-credential", "a URL parameter named as a credential", match.start(), match.end())
