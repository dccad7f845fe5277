"""Passwords, keys and number codes stated in sentences, in the languages that the word lists hold."""

import re

from agent_memory.domain.screen import values
from agent_memory.domain.screen.rules import Structure, Window
from agent_memory.domain.screen.values import Look
from agent_memory.domain.screen.words import ANNOUNCED, ANNOUNCED_TEXT, CODE_TEXT, PASSWORD_TEXT, STOP_WORDS

# The verb or sign that says "and this is it". A gap of a few words may stand before it ("for the printer web page").
_SAYS = (
    r"\bis(?: now| set to| still)?\b|\bwas\b|\bare\b|\bequals\b|\breads\b|\bto\b|\bwith\b|\blautet\b|\blauten\b|\bist\b|\bhei(?:ß|ss)t\b|"
    r"\bauf\b|\bes\b|\bera\b|\best\b|\bé\b|\bsão\b|\bè\b|\bjest\b|\bto jest\b|\bbrzmi\b|\bэто\b|=>?|:|->|→|\s[-–—]\s|\bà\b|\ba\b|"
    r"是|为|為|は|が|은|는|이|を|로|です|,"
)
_GAP = re.compile(
    rf"(?i)^(?P<gap>[^\n\"'`“„«「『:=]{{0,60}}?)(?P<says>{_SAYS})?[\s\"'`“„«「『‘*(_]*(?P<value>[!-~À-ž€£§]{{4,}})"
)
_QUOTED = re.compile(r"^(?P<gap>[^\n\"'`“„«「『.;]{0,60}?)[\"'`“„«「『](?P<value>[^\"'`”“»」』\n]{4,80})[\"'`”“»」』]")
_CJK = re.compile(
    r"^[^\n，。、；;!-~]{0,14}?(?:是|为|為|：|:|は|が|은|는|이|=|\s|「|『|“)[\s「『“\"'`:：]*(?P<value>[!-~]{4,})(?P<next>.?)"
)
_UNITS = re.compile(
    r"^\s*(?:%|[°-]?(?:char|zeichen|sign|digit|bit|byte|day|tag|hour|stund|minute|month|year|second|word|ms\b|s\b|h\b|d\b|x\b|"
    r"time|mal|try|tries|attempt|user|request|token|key|secret|password|people|device|policy|policies|caract|jours|días|dias|"
    r"mois|zn|симв|位|天|个|個|字|文字|자|年|月|日|分|次|小时))"
)
_REVERSED = re.compile(
    r"(?i)(?P<value>[^\s\"'`“„«]{6,})[\"'`”»]?\s+(?:is|as|ist|als|est|comme|es|como|é|è|come|это|как)\s+[^\n.;:]{0,40}$"
)
_LOGIN = re.compile(r"(?:[\w.@-]{2,32})\s?[/:|]\s?[\"'`]?(?P<value>[^\s\"'`]{6,64})")
_CODES = re.compile(r"\b[A-Za-z0-9]{4,8}(?:-[A-Za-z0-9]{4,8})+\b|\b\d{6,10}\b|\b[A-Za-z0-9]{8,12}\b")


def _stated(place: Window) -> str | None:
    line = place.text + place.after
    tail = line[: len(place.text)][-200:]
    announced = [m for m in ANNOUNCED_TEXT.finditer(tail)]
    for word in reversed(announced[-3:]):
        rest = line[len(place.text) - len(tail) + word.end() :]
        before = tail[max(0, word.start() - 1) : word.start()] or place.before[-1:]
        after = rest[:1]
        if not word.group().isascii() or not (before.isascii() and before.isalpha()) and not re.match("[a-z]{3}", after):
            found = _after(word.group(), rest, place)
            if found:
                return found
    return None


def _after(word: str, rest: str, place: Window) -> str | None:
    rest = re.sub(r"^[a-zäöüß]{0,2}\b", "", rest, count=1)
    line, _, following = rest.partition("\n")
    password = PASSWORD_TEXT.fullmatch(word) is not None
    if not word.isascii() and re.match(r"[\u0400-\u30ff\u3400-\u9fff\uac00-\ud7af]", word):
        found = _CJK.match(line)
        if found and not _UNITS.match(found.group("next")) and _says_secret(found.group("value"), True, password, False):
            return "stated-password" if password else "stated-key"
        if "\u0400" > word[0] or word[0] > "\u04ff":
            return None
    code = CODE_TEXT.search(word) is not None
    quoted = _QUOTED.match(line)
    if quoted and _in_quotes(quoted.group("gap"), quoted.group("value"), password):
        return "stated-password" if password else "stated-key"
    found = _GAP.match(line)
    while found:
        says = found.group("says") is not None
        tail = line[found.end() :]
        value = re.split(r"[\"'`”“»」』]", found.group("value"))[0] if "'" not in found.group("gap") else found.group("value")
        if found.group("gap").strip() and not says:
            return None
        if code:
            digits = re.match(r"\d{4,8}(?![\w-])|\d\d(?:-\d\d){2,3}\b|\*?\d{4,8}#", value)
            return "stated-code" if says and digits and not _UNITS.match(tail) else None
        if not (value.isdigit() and _UNITS.match(tail)) and _says_secret(value, says, password, place.joined):
            return "stated-password" if password else "stated-key"
        found = _further(line, found)
    return None


def _further(line: str, found: "re.Match[str]") -> "re.Match[str] | None":
    """The next verb in the same clause: "the password for pi is set to X"."""
    start = found.start("value")
    if start > 90 or re.search(r"[.;]\s", line[:start]) or not re.match(r"[A-Za-zÀ-ž-]+\s", line[start:]):
        return None
    again = _GAP.match(line[start:])
    if again is None or again.group("says") is None:
        return None
    return _GAP_AT(line, start)


def _GAP_AT(line: str, start: int) -> "re.Match[str] | None":  # noqa: N802
    return re.compile(_GAP.pattern.replace("^", "", 1)).match(line, start)


def _says_secret(value: str, says: bool, password: bool, joined: bool) -> bool:
    value = value.rstrip(".,;:)]}>」』。")
    if values.is_measure(value) or values.is_code(value) or values.is_documented(value) or "://" in value:
        return False
    shape = values.look(value)
    if re.search(r"^[\w.+-]+@[\w-]+\.\w+$|^[\w-]+\.[a-z]{2,4}(?::\d+)?$|^\w+\(|^[A-Z_]{2,}=?$|=\S*[$<{]|^#\d+$|/\w+/|'s$|n't$", value):
        return False
    digit = re.search(r"\d", value) is not None
    if password:
        if shape is Look.NUMBER:
            return says and len(value) >= 4 and not re.fullmatch(r"(?:19|20)\d\d", value)
        if shape is Look.STATED:
            letters = sum(map(str.isalpha, value))
            enough = digit and letters >= 2 and len(value) >= (8 if joined else 6 if not says else 5)
            signs = says and re.search(r"\w[!#$%^*?~+@&]+\w", value) is not None and not re.search(r"[A-Za-z]/[A-Za-z]", value)
            return (enough or signs) and not re.fullmatch(r"[A-Z]+-\d{1,6}|[a-z_]+\d?", value)
        return shape is Look.RANDOM
    if shape is not Look.RANDOM or values.is_uuid(value):
        return False
    if values.is_hex(value):
        return says and len(value) >= 32 and len(value) != 40
    return not re.search(r"[/.]\D*[/.]", value) and len(value) >= 16


def _in_quotes(gap: str, value: str, password: bool) -> bool:
    """A quoted value with a verb before it, or right behind the word."""
    says = re.search(rf"(?i)(?:{_SAYS})\s*$", gap) is not None
    if " " in value:
        words = re.findall(r"[^\W\d_]+", value.lower())
        phrase = password and 3 <= len(words) <= 10 and not any(w in STOP_WORDS for w in words)
        return phrase and says and not values.names_itself(value)
    if not (says or not gap.strip()):
        return False
    return _says_secret(value, says, password, False)


def _reversed(place: Window) -> str | None:
    text = place.text
    for word in ANNOUNCED_TEXT.finditer(text):
        found = _REVERSED.search(text[: word.start()])
        if found:
            value = found.group("value")
            password = PASSWORD_TEXT.fullmatch(word.group()) is not None
            signs = re.search(r"\d", value) is not None and re.search(r"[A-Za-z]", value) is not None
            if signs and len(value) >= 8 and _says_secret(value, True, password, False):
                return "stated-password" if password else "stated-key"
    return None


def _login(place: Window) -> str | None:
    """`log in with root / X`: the value must hold three kinds of characters, for hosts and dates stand here too."""
    line = (place.text + place.after).partition("\n")[0][:160]
    for found in _LOGIN.finditer(line):
        value = found.group("value").rstrip(".,;:)")
        kinds = sum(re.search(kind, value) is not None for kind in (r"[a-z]", r"[A-Z]", r"\d", r"[^\w./:-]"))
        if kinds >= 3 and values.look(value) >= Look.STATED and not values.is_measure(value) and "/" not in value:
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
    if re.search(r"code|key|码|コード|schlüssel", announced):
        codes = [code for code in _CODES.findall(place.after[:300]) if re.search(r"\d", code)]
        codes = [code for code in codes if not values.is_measure(code) and not re.fullmatch(r"(?:19|20)\d{2}-?\d*(?:-\d+)?", code)]
        if len(codes) >= 2 or any(code.count("-") >= 1 and re.search(r"[a-zA-Z]", code) for code in codes):
            return "recovery-codes"
    return None


_WHY = {
    "stated-password": "a sentence states a password",
    "stated-key": "a sentence states a key or token",
    "stated-code": "a sentence states a PIN or door code",
}
STATED = Structure(
    "statement",
    rb"(?i)" + ANNOUNCED + rb"[^\n0-9!#$%^*+@&?~\"'`=]*(?:[0-9!#$%^*+@&?~\"'`=]|\xe3\x80[\x8c\x8e]|\xe2\x80[\x98\x9c\x9e]|\xc2\xab)",
    _stated,
    _WHY,
    (
        "The admin password for the switch is Willow#{dig4}, user is admin.",
        "Das WLAN-Kennwort lautet tundra-anchor-violet-{dig2}.",
        "mot de passe : Ember#{dig4}",
        "la contraseña del router es Lluvia{dig4}",
        "a senha do banco é Chuva{dig4}!",
        "路由器的管理密码是 D8sj_{an8}，不要改。",
        "パスワードは Ok{an8} です",
        "비밀번호: YX{an8}",
        "пароль от роутера: Vesna{dig4}",
        "hasło do bazy: kwarc-klon-{dig2}",
        "the alarm panel's PIN code is 7{dig5}",
        "the deploy token for staging is {an32}",
        'the guest wifi password is "correct horse battery staple"',
    ),
    (
        "The password is stored in Bitwarden under 'NAS admin'.",
        "Das Passwort muss mindestens 12 Zeichen haben.",
        "パスワードは12文字以上にしてください。",
        "密钥长度：256位；令牌有效期：30天",
        "commit {hex40} fixes the token refresh race",
        "primary key is 9c851029-29d5-4a96-b22f-eeaf20321f7e",
    ),
)
REVERSED = Structure(
    "reversed-statement",
    rb"(?i)[^\s]*[0-9][^\s]*[ \t]+(?:is|as|ist|als|est|comme|es|como|\xc3\xa9|\xc3\xa8|come)[ \t]+[^\n.;:]*?" + ANNOUNCED,
    _reversed,
    {},
    ("use Tundra{dig4}x as the admin password", "`{an32}` is the new api key"),
    ("v2.1.0 is the token service", "4f2c91d is the commit for the token fix"),
)
LOGIN = Structure(
    "login-pair",
    rb"(?i)\b(?:log(?:ged)?[ -]?in|login|sign in|credentials?|creds|account|user(?:name)?|anmeld\w*|zugang\w*|identifiants?|\xe7\x99\xbb\xe5\xbd\x95)\b[^\n/:|]*[/:|]",
    _login,
    {},
    ("Log in to pfSense with root / Emys+{an6}1Z and disable the rule.",),
    ("log in at nas.lan:5001 / the page", "user docs: see docs/login/How-To2.md"),
)
PHRASE = Structure(
    "phrases",
    rb"(?i)\b(?:(?:seed|recovery|backup|mnemonic|wallet|scratch|rescue|emergency|bip-?39|2fa|mfa|totp|secret)[ -]?"
    rb"(?:phrase|words?|codes?|keys?|mnemonic)|mnemonic|bip-?39|wiederherstellungs\w*|notfall-?codes?)",
    _phrase,
    {"seed-phrase": "twelve or more words of a seed phrase", "recovery-codes": "recovery codes open an account"},
    (
        "seed phrase: river ember quartz maple lantern falcon anchor copper tundra violet saddle pepper",
        "backup codes: {hex4}-1{hex3} {hex4}-2{hex3}",
    ),
    ("backup codes live in the safe", "the recovery key is stored in the vault since 2026-01-02"),
)
