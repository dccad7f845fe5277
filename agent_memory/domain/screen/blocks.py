"""Credentials whose name and value stand apart: pairs of fields, tables, password files, Wi-Fi codes."""

import re

from agent_memory.domain.screen import names, values
from agent_memory.domain.screen.assign import SHORTEST, named_value, value_at
from agent_memory.domain.screen.locators import Locator, backwards
from agent_memory.domain.screen.names import Promise
from agent_memory.domain.screen.rules import Structure, Window, at_once
from agent_memory.domain.screen.urls import is_stated
from agent_memory.domain.screen.values import Look
from agent_memory.domain.screen.words import IN_NAMES, NAMED
from agent_memory.domain.screen.work import Spend

_OF_CODE = re.compile(r"[\"'(){}=]")
_FIELD = re.compile(
    r"(?i)(?:name|key|id|variable|param\w*|field|setting|label)[\"']?[ \t]*[:= >][ \t]*[\"']?([\w.-]+)[\"']?"
)


VALUE_OF_COST = 30  # microseconds, about, at most
# From a field's name to its value: into the braces or the tag that follow, or on among the fields beside it.
_VALUE_OF = re.compile(
    r"(?i)(?:(?=[^{}<>=:]*[,\s/])|[^{}<>=:]*+[{>][{,\s>/]*+)[^{}<>]*?[\"']?\b(?:value|default|val|content|text|password)"
    r"[\"']?[ \t]*[:=>]"
)


def _pair(place: Window, spend: Spend) -> str | None:
    """`name: DB_PASSWORD` and `value: x`, however far apart up to 200 characters."""
    field = _FIELD.match(place.text)
    if field is None or names.promise(field.group(1)) < Promise.KEY:
        return None
    spend(VALUE_OF_COST)
    stated = _VALUE_OF.match(place.after)
    if stated is None:
        return None
    value, quoted, rest = value_at(place.after[stated.end() :])
    value = value.rstrip("}])")
    alone = quoted or not rest.strip(" ") or rest[:1] in "\n\r<"
    return named_value(field.group(1), value, quoted=quoted, alone=alone)


CELLS_CHARS = 16  # whose cells are told apart in a microsecond


def _table(place: Window, spend: Spend) -> str | None:
    """Rows under a header that has a credential's column, of Markdown or comma-separated tables."""
    header = place.before.rpartition("\n")[2] + place.text.partition("\n")[0]
    mark = next((mark for mark in "|\t;," if mark in header), None)
    if mark is None or (mark != "|" and _OF_CODE.search(header)):
        return None
    spend(len(header) // CELLS_CHARS)
    columns = [cell.strip(' *`"') for cell in header.split(mark)]
    wanted = [(i, name) for i, name in enumerate(columns) if len(name) < 40 and names.promise(name) >= Promise.KEY]
    if not wanted:
        return None
    spend(len(place.after) // CELLS_CHARS)
    for row in (place.text + place.after).splitlines()[1:12]:
        cells = [cell.strip(' *`"') for cell in row.split(mark)]
        if len(cells) != len(columns):
            break
        for i, name in wanted:
            cell = cells[i]
            if " " in cell or len(cell) < SHORTEST or (cell.isalpha() and len(cell) < values.RANDOM_CHARS):
                continue
            spend(values.cost_of(cell))
            if values.look(cell) >= Look.STATED:
                verdict = named_value(name, cell, quoted=True, alone=True)
                if verdict:
                    return verdict
    return None


def _line(place: Window) -> str | None:
    """The one password of a .netrc, .pgpass, Wi-Fi code, call or heading; the locator has said where it stands."""
    text = place.text + place.after
    netrc = re.match(r"(?is)(?:machine\s+\S+|default)\s+login\s+\S+\s+password\s+(\S+)", text)
    wifi = re.match(r"WIFI:[^\n]*?;P:((?:\\.|[^;\n\\])+);", text) or re.match(r"WIFI:P:([^;\n]+);", text)
    call = re.match(r"(?i)[\w.]*+\s*+(?:=\s*+)?\(\s*+[\"'][^\"'\n]*[\"']\s*,\s*[\"']([^\"'\n]{4,80})[\"']", text)
    pgpass = re.match(r"\n?[\w.*-]+:(?:\d{2,5}|\*):[\w*-]+:[\w*.-]+:(\S{4,})", text)
    for found in (netrc, wifi, pgpass):
        if found and is_stated(found.group(1)):
            return "file-password"
    if call:
        value = call.group(1)
        stated = is_stated(value) and values.look(value) >= Look.STATED and not values.is_measure(value)
        return "call-password" if stated and len(value) >= 6 and " " not in value else None
    return None


def _heading(place: Window, spend: Spend) -> str | None:
    """A heading that names a credential, and under it a line of one random value."""
    title = (place.before.rpartition("\n")[2] + place.text).partition("\n")[0].strip(" #*:=`-")
    value = re.match(r"[^\s`\"']*", place.text.rpartition("\n")[2].lstrip(" >`\"'-*") + place.after)
    if value is None or len(title) > 48 or names.promise(title) < Promise.KEY:
        return None
    found = value.group()
    spend(values.cost_of(found))
    if values.is_hex(found) and len(found) == 40:
        return None
    strong = values.look(found) is Look.RANDOM or (
        names.promise(title) is Promise.PASSWORD and values.look(found) is Look.STATED and re.search(r"\d", found)
    )
    return "headed-value" if strong and not values.is_code(found) and not values.is_measure(found) else None


def _snmp(place: Window, spend: Spend) -> str | None:
    value, _, _ = value_at((place.text[-1:] if place.text[-1:] in "\"'" else "") + place.after)
    spend(values.cost_of(value))
    stated = values.look(value) is Look.RANDOM or (
        values.look(value) is Look.STATED and not values.is_measure(value) and re.search(r"\d", value)
    )
    return "device-password" if stated and len(value) >= 5 else None


PAIR = Structure(
    "field-pair",
    (
        Locator(
            IN_NAMES,
            rb"[\w.\x80-\xff-]{1,64}+[\"']?",
            # A sign among blanks, or blanks alone: read as one class, each would be tried as the sign.
            rb"[\w.\x80-\xff-]{0,100}+[\"']?(?:[ \t]{0,48}+[:=>][ \t]{0,48}+|[ \t]{1,48}+)[\"']?"
            rb"(?:" + backwards("name|key|id|variable|field|setting|label") + rb"|\w{0,32}marap)",
        ),
    ),
    _pair,
    {},
    ("- name: DB_PASSWORD\n  value: Xy{an12}", '<add key="SmtpPassword" value="Tn{an10}" />',
     'variable "db_password" {\n  type = string\n  default = "Xy{an12}"\n}'),
    ("- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef:\n      name: pg",),
    cost=5,
)  # fmt: skip
TABLE = Structure(
    "table",
    (
        Locator(
            IN_NAMES,
            NAMED + rb"[^\n:=]{1,300}+\n"
            rb"(?:[ \t]*+\|?[ \t]*+:?--[-:| \t]*+\n|[^\n|:=][^\n|:=,;\t]{0,200}+[,;\t])",
            cost=1.4,
        ),
    ),
    _table,
    {},
    ("| user | password |\n|---|---|\n| bob | Tundra{dig4} |", "username,password\nbob,Tundra{dig4}"),
    ("| field | token |\n|---|---|\n| bob | optional |",),
    cost=4,
)
LINE = Structure(
    "password-file",
    (
        Locator(("machine",), rb"\bmachine\s++\S++\s++login\s++\S++\s++password\s"),
        Locator(("wifi:",), rb"\bWIFI:"),
        Locator(
            ("auth", "login", "credential", "connect(", "connect ", "connect=", "connect\t", "usernamepassword"),
            rb"(?:auth\w*+|\b(?:login|credentials?|connect|usernamepassword\w*+))"
            rb"(?:[ \t]*+=?[ \t]*+\([ \t]*+[\"'][^\"'\n]*+[\"'][ \t]*+,[ \t]*+[\"']|())",
        ),
    ),
    at_once(_line),
    {"file-password": "a password file's line", "call-password": "a call passes user and password"},
    ("machine git.example login bob password tundra", "WIFI:T:WPA;S:home;P:Tundra{dig4};;",
     "requests.get(url, auth=('svc', 'Wdo#{dig4}re'))", "db.lan:5432:memo:memo:Tundra{dig4}"),
    ("auth=('user', 'password')", "12:30:45:00:ok"),
    shape=rb"(?m:^)[\w.*-]+:(?:\d{2,5}|\*):[\w*-]+:[\w*.-]+:",
    cost=14,
)  # fmt: skip
HEADING = Structure(
    "heading",
    (
        Locator(
            IN_NAMES,
            NAMED + rb"[\w\x80-\xff]{1,64}+(?: \w{1,64}+)?+[ \t:*`]{0,40}+\r?\n[-=~#\s>*`]{0,200}+[\"'`]?"
            rb"[\w+/=.~:!@#$%^&*-]{8}",
        ),
    ),
    _heading,
    {"headed-value": "a heading names a credential and the value stands under it"},
    ("API key\n-------\n{an40}", "## Access token\n\n`{an40}`"),
    ("Token\n-----\nTokens are created per client and shown once.", "password\n- minimum length 12"),
    cost=8,
)
DEVICE = Structure(
    "device-password",
    (
        Locator(
            (
                "snmp-server community",
                "community",
                "enable secret",
                "enable password",
                "username ",
                "key-string",
                "psk",
                "requirepass",
                "masterauth",
                "pre-shared-",
                "identified by",
                "convertto-securestring",
            ),
            rb"\b(?:snmp-server community|community(?: string)?(?: is)?|enable (?:secret|password)(?: [0-9])?|"
            rb"username \S+ (?:privilege \d+ )?(?:secret|password)(?: [0-9])?|key-string|psk(?: ascii 0)?|requirepass|"
            rb"masterauth|pre-shared-(?:secret|key)|identified by|convertto-securestring(?: -string)?)[ \t]+[\"']?",
        ),
        Locator(
            ("password(", "passwd(", "passphrase(", "apikey(", "api_key(", "token(", "secret("),
            rb"\w+\([ \t]*[\"']",
            rb"\.|_?" + backwards("set|with|add") + rb"\b",
        ),
    ),
    _snmp,
    {"device-password": "a network device's configuration holds a password"},
    ("snmp-server community S3cr{dig4} RO", "username ada password 7 0{hex14}"),
    ("the community is friendly", "snmp-server community public RO"),
    cost=14,
)
