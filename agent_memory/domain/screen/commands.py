"""Passwords on command lines: flags named for a credential, and the short flags of tools that take a password."""

import re

from agent_memory.domain.screen import names, values
from agent_memory.domain.screen.assign import value_at
from agent_memory.domain.screen.locators import Locator, backwards, signs
from agent_memory.domain.screen.names import Promise
from agent_memory.domain.screen.rules import Structure, Window
from agent_memory.domain.screen.urls import is_stated
from agent_memory.domain.screen.values import Look
from agent_memory.domain.screen.words import IN_NAMES
from agent_memory.domain.screen.work import Spend

# Tools that take a password: by their whole name, and by its beginning where several share it.
_TOOLS = (
    *signs(
        "sshpass docker podman helm nerdctl redis-cli valkey-cli curl wget htpasswd az smbclient ipmitool sqlcmd bcp "
        "twine xfreerdp rdesktop openssl 7z 7za zip unzip lftp rclone influx nmcli wpa_passphrase http https xh kinit "
        "clickhouse-client cqlsh cypher-shell vault svn ftp sftp rsync oc cf skopeo crane buildah regctl nats occ adb "
        "cmdkey impdp expdp sqlplus isql db2 bteq hdbsql borg vncviewer tsh sshuttle gpg gpg2 jarsigner "
        "keytool useradd usermod restic doctl hcloud flyctl heroku gh glab sonar-scanner sentry-cli mc"
    ),
    "net use",
    "net user",
)
_FAMILIES = signs(
    r"mysql\w*+ mariadb[\w-]*+ ldap\w++ mosquitto_\w++ mongo\w*+ snmp\w++ rabbitmq\w++ ncftp\w*+ kafka\w*+ winrm\w*+ "
    r"psexec\w*+"
)
_USER_PAIR = re.compile(r"\s(?:-[a-zA-Z]{0,4}[uUaA]|--(?:proxy-)?user)[ =]?[\"']?([\w.@$\\+-]*)[:%]([^\s\"']+)")
_ATTACHED = re.compile(r"\s-p([\"']?)([^\s\"'=-][^\s\"']*)")
_SHORT = re.compile(r"\s-([pPwaWAXkDct])\s*[\"']?([^\s\"'-][^\s\"']{3,})")
_PASS_WORD = re.compile(r"(?:\bpass:|/p(?:ass(?:word)?)?:)([^\s\"']+)")
_GIVES_USER = re.compile(r"(?i)^(?:net|rabbitmq\w+|useradd|usermod|htpasswd|cmdkey|restic|mc)\b")
_ATTACHING = re.compile(r"(?i)^(?:mysql|mariadb|7z|sshpass|rdesktop)")


LINE_CHARS = 8  # whose words are looked at in a microsecond
ARGUMENT_COST = 8  # microseconds, about, at most: of one, beside those of its value


def looks_typed(value: str, least: int = 6) -> bool:
    """Whether a bare argument is a password: letters with digits or signs, no path, port, version or host."""
    if values.is_measure(value) or values.is_placeholder(value) or values.is_code(value):
        return False
    if re.search(
        r"^[a-z_]{2,16}=|^[\w.-]+:\d+|/.*/|^\d+:\d+|\.(?:ya?ml|json|txt|sql|zip|pem|key|crt|conf|sh|py|gz)$", value
    ):
        return False
    return len(value) >= least and values.look(value) >= Look.STATED and re.search(r"\d|[!#%^&*?~]", value) is not None


def _tool(place: Window, spend: Spend) -> str | None:
    line = place.text + place.after
    for end in ("\n", ";", "`", "&&", "||"):
        line = line.partition(end)[0]
    tool = place.text.strip().lower()
    pair = _USER_PAIR.search(line)
    if pair and not re.match(r"docker|podman|nerdctl", tool):
        password = pair.group(2)
        spend(values.cost_of(password))
        if is_stated(password) and not password.startswith("$") and not values.is_measure(password):
            return "command-password"
    openssl = _PASS_WORD.search(line) if "pass:" in line or "/" in line else None
    if openssl and not values.is_placeholder(openssl.group(1)):
        return "command-password"
    if _ATTACHING.match(tool):
        attached = _ATTACHED.search(line)
        if attached and _is_attached(attached.group(2)):
            return "command-password"
    if tool in ("curl", "wget", "http", "https", "rsync", "oc") or (
        re.match(r"docker|podman|nerdctl|helm|skopeo|buildah|crane|az", tool) and "login" not in line
    ):
        return None
    for flag, value in _SHORT.findall(line):
        spend(ARGUMENT_COST + values.cost_of(value))
        if looks_typed(value) and not (flag == "D" and "=" in value):
            return "command-password"
    if _GIVES_USER.match(tool):
        spend(len(line) // LINE_CHARS)
        if any(values.is_typed_password(word.strip("\"'")) for word in line.split()[1:]):
            return "command-password"
    if tool == "wpa_passphrase":
        return "command-password" if looks_typed(line.split()[-1], 8) else None
    return None


def _is_attached(value: str) -> bool:
    return not values.is_placeholder(value) and not value.startswith("$") and not value.isdigit() and len(value) >= 4


def _flag(place: Window, spend: Spend) -> str | None:
    text = re.sub(r"^(?:set|setx|setenv|put)\s+", "", place.text)
    name = re.split(r"[\s\"',:=]", text.lstrip(" \t\r\n\"'`([,-/"), maxsplit=1)[0]
    promise = names.promise(name)
    value, quoted, _ = value_at(place.after)
    if promise <= Promise.PERHAPS or value.startswith("-"):
        return None
    spend(values.cost_of(value))
    if values.is_placeholder(value):
        return None
    if re.fullmatch(r"[A-Z_]+", value) or re.match(r"\w+=|\$", value) or "${" in value or values.is_documented(value):
        return None
    shape = values.look(value)
    if promise is Promise.PASSWORD:
        stated = shape is Look.STATED or shape is Look.RANDOM or (shape is Look.NUMBER and len(value) >= 4)
        return "command-password" if (stated and not values.is_measure(value)) or _phrase(value, quoted) else None
    return "command-token" if shape is Look.RANDOM or looks_typed(value, 8) else None


def _phrase(value: str, quoted: bool) -> bool:
    return quoted and len(value) >= 8 and " " not in value and value.isalpha() and not values.names_itself(value)


def _piped(place: Window, spend: Spend) -> str | None:
    found = re.match(r"(?:echo|printf)\s+(?:-\w+\s+)*[\"']?([^\s\"'|]+)[\"']?\s*\|", place.text)
    if found is None:
        return None
    value = found.group(1).rpartition(":")[2]
    spend(values.cost_of(value))
    return "command-password" if looks_typed(value, 5) else None


TOOL = Structure(
    "tool-password",
    (
        Locator(
            tuple(tool + end for tool in _TOOLS for end in (" ", "\t", ".exe")),
            rb"\b(?:" + "|".join(_TOOLS).encode() + rb")(?:\.exe)?[ \t]",
        ),
        Locator(
            tuple(re.split(r"\\w|\[", family)[0] for family in _FAMILIES),
            rb"\b(?:" + "|".join(_FAMILIES).encode() + rb")(?:\.exe)?[ \t]",
        ),
    ),
    _tool,
    {"command-password": "a command line holds a password", "command-token": "a command line holds a token"},
    (
        "mysql -u root -pTundra{dig4} wiki",
        "sshpass -p 'Umber{dig4}' ssh pi@10.0.0.9",
        "curl -su ada:Copper{dig4} http://x",
        "redis-cli -h cache -a {an24} ping",
    ),
    (
        "mysql -u root -p wiki < dump.sql",
        "curl -u anna http://x",
        "docker run -p 127.0.0.1:8080:80 app:1.2",
        "curl -u admin:$PW x",
    ),
    cost=20,
)
FLAG = Structure(
    "credential-flag",
    (
        Locator(
            IN_NAMES,
            rb"[\w\x80-\xff-]{1,64}+(?:[ \t]+|[\"'],?[ \t]*[\"']?)",
            rb"[\w.-]{0,64}+(?:(?:(?<=-)|/)(?:\Z|[\s\"'`(\[,])|[ \t]++" + backwards("set|setx|setenv|put") + rb"\b)",
        ),
    ),
    _flag,
    {},
    ("./deploy.sh --api-key {an36} --dry-run", "tool --password Umber{dig4}", "['--token', '{an30}']"),
    ("docker login --password-stdin", "tool --token TOKEN", "tool --secret id=npm,src=x", "tool --password --yes"),
    cost=14,
)
PIPED = Structure(
    "piped-password",
    (
        Locator(
            ("echo", "printf"),
            # One word to print, as `_piped` has it: read on to any pipe, a line of commands is read again for each.
            rb"\b(?:echo|printf)[ \t]++(?:-\w{1,16}+[ \t]++){0,4}[\"']?[^\s\"'|]++[\"']?[ \t]*+\|[^\n|]*?"
            rb"(?:stdin|sudo -S|with-token|chpasswd|passwd|login|gpg|cryptsetup)",
            cost=25,
        ),
    ),
    _piped,
    {},
    ("echo Umber{dig4}x | docker login -u ci --password-stdin", "echo 'bob:Tundra{dig4}' | chpasswd"),
    ("echo $TOKEN | docker login --password-stdin", "echo hello | docker login --help"),
    cost=14,
)
