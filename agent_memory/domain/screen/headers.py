"""Authorization schemes, Basic credentials and cookies, wherever they are quoted."""

import base64
import binascii
import re

from agent_memory.domain.screen import names, values
from agent_memory.domain.screen.locators import Locator
from agent_memory.domain.screen.names import Promise
from agent_memory.domain.screen.rules import Structure, Window
from agent_memory.domain.screen.values import Look
from agent_memory.domain.screen.views import decoded_text
from agent_memory.domain.screen.work import Spend

_SCHEME_VALUE = re.compile(r"(?i)([a-z-]+)[\s\"'`:=]+([\w+/=.~:%!$-]+)")
_LINE_CHARS = 360  # of cookies that are read
_BETWEEN_PAIRS = re.compile(r"[\s;,'\"`&]+")
_NAME_END = re.compile(r"[\w.\-$]*")
_SESSION = re.compile(
    r"(?i)sess|sid$|auth|token|csrf|xsrf|jwt|remember|login|logged|sso|saml|ticket|identity|_id$|^id$"
)
_TRACKING = re.compile(r"(?i)^(?:_ga|_gid|_fbp|__utm|lang|locale|theme|consent|path|domain|max-age|expires|samesite)")


def _scheme(place: Window, spend: Spend) -> str | None:
    found = _SCHEME_VALUE.match(place.text + place.after)
    if found is None:
        return None
    scheme, value = found.group(1).lower(), found.group(2).rstrip(".,:")
    spend(values.cost_of(value))
    if values.is_placeholder(value) or values.is_documented(value):
        return None
    if scheme == "plain":
        return "basic-credentials" if _is_sasl(value) else None
    if scheme == "basic":
        return "basic-credentials" if _is_basic(value) else None
    shape = values.look(value)
    authorised = "authorization" in (place.before + place.text).lower()
    if scheme == "bearer" or authorised:
        strong = shape is Look.RANDOM or (shape is Look.STATED and re.search(r"\d", value) is not None)
        return "authorization" if strong and len(value) >= 12 and not values.is_measure(value) else None
    opaque = shape is Look.RANDOM and not values.is_hex(value) and not values.is_uuid(value)
    return "authorization" if opaque and "=" not in value.rstrip("=") else None


def _is_basic(value: str) -> bool:
    """Base64 of `user:password`, the password not a placeholder."""
    decoded = decoded_text(value) if len(value) >= 8 else None
    if decoded is None:
        return False
    user, colon, password = decoded.partition(":")
    return bool(colon and user and password.strip()) and not values.is_placeholder(password.strip())


def _is_sasl(value: str) -> bool:
    """SASL PLAIN (RFC 4616): base64 of NUL user NUL password."""
    try:
        parts = base64.b64decode(value + "=" * (-len(value) % 4)).decode().split("\0")
    except (binascii.Error, ValueError):
        return False
    return len(parts) == 3 and bool(parts[1]) and not values.is_placeholder(parts[2])


NAME_COST = 4  # microseconds, about, at most: of a cookie's, and one more for so many characters
NAME_CHARS = 8
PAIRS_CHARS = 16  # that are told apart in one


def _cookie(place: Window, spend: Spend) -> str | None:
    # What stands behind a next "cookie" is read at its own place.
    line = place.text + place.after.partition("\n")[0].partition("ookie")[0][:_LINE_CHARS]
    spend(len(line) // PAIRS_CHARS)
    for before, equals, value in (pair.partition("=") for pair in _BETWEEN_PAIRS.split(line)):
        backwards = _NAME_END.match(before[::-1]) if equals and value else None
        name = backwards.group()[::-1] if backwards else ""
        if not name:
            continue
        spend(NAME_COST + len(name) // NAME_CHARS + values.cost_of(value))
        if _TRACKING.match(name) or values.is_placeholder(value) or "${" in value or "{" in value:
            continue
        known = names.promise(name) is not Promise.NOTHING or _SESSION.search(name) is not None
        if known and (values.look(value) is Look.RANDOM or values.is_random(value, 10)):
            return "cookie"
        if not known and values.is_random(value, 24):
            return "cookie"
    return None


SCHEME = Structure(
    "authorization",
    (
        Locator(
            (
                "bearer",
                "basic",
                "plain",
                "token",
                "apikey",
                "api-key",
                "negotiate",
                "ntlm",
                "ssws",
                "splunk",
                "oauth",
                "geniekey",
                "genie-key",
                "sharedkey",
                "hmac",
            ),
            rb"\b(?:bearer|basic|plain|token|api-?key|negotiate|ntlm|ssws|splunk|oauth|genie-?key|sharedkey|hmac)"
            rb"[\"'`:=]{0,2}\s++[\"'`]?[\w+/=.~:-]{8}",
        ),
    ),
    _scheme,
    {
        "authorization": "an Authorization value is a key in itself",
        "basic-credentials": "Basic credentials are a user and a password in base64",
    },
    ("Authorization: Bearer {an40}", "AUTHORIZATION: BEARER {an40}", "expects `Api-Key {an36}`"),
    ("Authorization: Bearer <token>", 'Bearer realm="acme", error="invalid_token"', "the bearer token goes into"),
    cost=16,
)
COOKIE = Structure(
    "cookie",
    (
        Locator(
            ("cookie", *(f"{before}-b{behind}" for before in " \t\r\n" for behind in " \t\r\n")),
            rb"(?:cookies?\b|\s-b\s)[^\n=]*+=",
            cost=3,
        ),
    ),
    _cookie,
    {"cookie": "a session cookie opens the session it belongs to"},
    ("Cookie: sid={hex32}; lang=de", "curl -b 'connect.sid=s%3A{an32}' https://a.example"),
    ("Set-Cookie: theme=dark; Path=/; Max-Age=31536000", "Cookie: sessionid=<redacted>; lang=de"),
    cost=16,
)
