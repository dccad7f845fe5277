"""Credentials inside addresses: userinfo, connection strings and URLs that are secrets themselves (webhooks)."""

import re

from agent_memory.domain.screen import values
from agent_memory.domain.screen.locators import Locator
from agent_memory.domain.screen.rules import Structure, Window, at_once
from agent_memory.domain.screen.values import Look
from agent_memory.domain.screen.words import word_set
from agent_memory.domain.screen.work import Spend

_USERINFO = re.compile(r"://([^\s/?#@:\"'<>]*):([^\s\"'<>@]+)@")
_ASSUMED = word_set(
    "password passwd pass pwd pw secret token user username passwort kennwort contraseña senha hidden xxx "
    "pass123 mypassword mypass yourpassword db_password dbpassword password123 p4ss mot-de-passe"
)
_TEMPLATE = re.compile(r"\$\{|\$\(|\{\{|\{[\w.]*\}|%\(|#\{|<|\[\w+\]|^\$[A-Za-z_]+$|^%[A-Z_]+%$")
_LOCAL = re.compile(
    r"(?:mailto|sips?|xmpp|acct|im|tel|git|ssh|urn|npm|workspace|package|docker|image|http|https|to|cc)$"
)
_SEGMENT = re.compile(r"[\w.~@-]{16,}")  # no shorter one is random
_REVISION = re.compile(r"/(?:blob|tree|commit|commits|raw|tag|tags|compare|releases|archive)/")


def is_stated(password: str) -> bool:
    """Whether the password part of an address is one, and not a placeholder or the word itself."""
    if password.lower() in _ASSUMED or _TEMPLATE.search(password) or values.is_placeholder(password):
        return False
    return not re.match(r"\d{1,5}(?:/|$)", password)  # a port and a path with an @ further on


def _userinfo(place: Window) -> str | None:
    found = _USERINFO.search(place.text)
    if found is not None:
        return "url-password" if is_stated(found.group(2)) else None
    user = re.search(r"://([\w~.-]{20,})@", place.text)
    if user is not None and values.is_random(user.group(1), 20) and not values.is_hex(user.group(1)):
        return "url-password"
    return None


def _bare(place: Window) -> str | None:
    """`user:password@host` without a scheme, as proxies, Go drivers and Oracle clients write it."""
    found = re.match(
        r"([\w.+-]+)[:/]([^\s@\"'<>]{4,}?)@/{0,2}(tcp\(|unix\(|[\w.-]+(?::\d+|/|\.[a-z]{2,})?)", place.text
    )
    if found is None or place.before.endswith(("://", "/")) or _LOCAL.match(found.group(1)):
        return None
    user, password, host = found.groups()
    if host.startswith("sha") or not is_stated(password) or values.is_measure(password) or "/" in password:
        return None
    driver = host.endswith("(") or re.search(r"(?i)(?:thin:|sqlplus\s+|oracle:)$", place.before) is not None
    strong = values.look(password) >= Look.STATED and len(password) >= 6 and re.search(r"\d", password) is not None
    placed = re.search(r":\d+$|/$|\.[a-z]{2,}$", host) is not None
    return "url-password" if driver or (strong and placed and user) else None


def _hook(place: Window, spend: Spend) -> str | None:
    """A URL whose path holds a random segment after `hook`, `token` or `key`: who has it may use it."""
    path = re.match(r"[^\s\"'<>`)]*", place.text + place.after)
    address = path.group() if path else ""
    start = re.match(r"[^\s\"'<>`(]*", place.before[::-1])
    whole = (start.group()[::-1] if start else "") + address
    if _REVISION.search(whole) or not ("://" in whole or re.match(r"[\w-]+\.[\w.-]+/|/", whole)):
        return None
    for segment in _SEGMENT.findall(re.split(r"[?#]", address, maxsplit=1)[0].partition("/")[2]):
        spend(values.cost_of(segment))
        bare = segment.partition("@")[0]
        if values.is_placeholder(bare) or values.is_measure(bare):
            continue
        bare = bare.rpartition("-")[2] if re.match(r"[a-z]+-[0-9a-f]{20}", bare) else bare
        if re.fullmatch(r"[a-z0-9]{20,}", bare) and re.search(r"\d", bare):
            return "capability-url"
        if values.is_uuid(bare) or values.is_hex(bare) or values.is_random(bare, 16):
            return "capability-url"
    return None


# Words of a path behind which a segment opens what it names.
_OPENING = "token|tokens|key|keys|secret|secrets|ical|calendar|feed|feeds|reset|invite|magic|verify|activate"
USERINFO = Structure(
    "userinfo",
    (
        Locator(
            ("://",),
            rb"://(?:[^\s/?#@:\"'<>]*+:[^\s@\"'<>]++|[\w~.-]{20,64}+)@",
            rb"[\w+.-]{0,40}+",
            cost=5,
        ),
    ),
    at_once(_userinfo),
    {"url-password": "an address holds a password"},
    ("postgres://memo:Lantern{dig4}@db/memo", "redis://:{an24}@cache:6379/0", "https://{an30}@git.example/x.git"),
    (
        "postgres://memo@db.internal/memo",
        "https://user:$TOKEN@git.example/x.git",
        "scheme://user:password@host",
        "http://ha:8123/icons/logo@2x.png",
    ),
    cost=6,
)
BARE_USERINFO = Structure(
    "bare-userinfo",
    (
        Locator(
            ("@",),
            rb"(?<=[^\s@/:\"'<>(]{4})@/{0,2}(?:tcp\(|unix\(|[\w.-]+)",
            rb"[^\s@/:\"'<>(]{4,64}+[:/][\w.+-]{1,64}+",
        ),
    ),
    at_once(_bare),
    {},
    ("proxy jdoe:Ous{dig6}x@proxy.corp:3128", "root:Marble{dig4}@tcp(db:3306)/app"),
    ("mailto:anna2@lab.example", "memo:1.4.2@sha256:{hex64}", "time 12:30@office"),
    cost=20,
)
HOOK = Structure(
    "capability-url",
    (
        Locator(("hook",), rb"hooks?[\w.-]*+(?:/[\w/%.@:~-]{16}|())"),
        Locator(
            tuple(f"{word}/" for word in _OPENING.split("|")),
            rb"(?:" + _OPENING.encode() + rb")/[\w/%.@:~-]{16}",
            rb"(?:-[a-z]{1,40}+)?/",
        ),
    ),
    _hook,
    {"capability-url": "whoever has this URL may use it"},
    (
        "https://hooks.acme.example/services/T{up9}/B{up10}/{an24}",
        "https://acme.example/webhooks/{dig18}/{an68}",
        "https://a.example/trigger/x/with/key/{an22}",
    ),
    ("https://github.com/acme/webhook/blob/{hex40}/src/app.py", "src/hooks/use-token-list-provider.ts"),
    cost=15,
)
