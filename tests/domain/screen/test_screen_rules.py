"""Each rule's own examples, and what the table as a whole must keep."""

import base64
import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_memory.domain.screen import engine, names, screen_text, views
from agent_memory.domain.screen.locators import CHUNK_BYTES, Locator
from agent_memory.domain.screen.rules import Rule, Structure
from agent_memory.domain.screen.work import Work
from support.screen_examples import filled

CASES: list[tuple[str, str, bool]] = [
    (rule.name, example, refuse)
    for rule in (*engine.TOKEN_RULES, *engine.STRUCTURES)
    for refuse, examples in ((True, rule.refuses), (False, rule.keeps))
    for example in examples
]


@pytest.mark.parametrize(("rule", "example", "refuse"), CASES)
def test_a_rule_refuses_and_keeps_its_examples(rule: str, example: str, refuse: bool) -> None:
    assert (screen_text(filled(example)) is not None) is refuse


@pytest.mark.parametrize("rule", [*engine.TOKEN_RULES, *engine.STRUCTURES], ids=lambda rule: rule.name)
def test_a_rule_refuses_by_itself(rule: Rule | Structure) -> None:
    alone = engine.compile_screen((rule,), ()) if isinstance(rule, Rule) else engine.compile_screen((), (rule,))
    for example in rule.refuses:
        assert next(alone.hits(filled(example)), None) is not None, example


def test_every_pattern_has_a_reason() -> None:
    names = [rule.name for rule in engine.TOKEN_RULES]
    assert len(set(names)) == len(names)
    for rule in engine.TOKEN_RULES:
        assert rule.why
        assert rule.refuses


PLACEHOLDERS = (
    "password: <your-password>", "API_KEY=your_api_key", "API_KEY=XXXXXXXXXXXX", "secret: ${SECRET}",
    "password: !secret mqtt_password", "--token=$TOKEN", "Authorization: Bearer ***", "token: env:API_TOKEN",
    "Authorization: Bearer ${{ secrets.TOKEN }}", "postgres://user:pass@host/db", "mysql://root:<password>@x",
    "DB_PASSWORD_FILE=/run/secrets/db", "password = os.getenv('PW')", "const token = await getToken();",
    "password VARCHAR(255) NOT NULL", "password?: string", "api_key=api_key,", 'password="changeme"',
    "key: ENC[AES256_GCM,data:abc,iv:def]", "password = var.db_password", '"password": "Passwort"',
    "curl -u user:password http://x", "password: %env(DB_PASSWORD)%", "token: op://Private/github/token",
)  # fmt: skip
HARMLESS = (
    "max_tokens=4096", "next_page_token=CAoQAA", "primary key (id)", "cache_key = f'user:{id}'", "key: ArrowDown",
    "passwords expire after 90 days", "API keys start with ak_", "The password was changed on 2026-05-01 by Anna.",
    "password123 is a weak password", "JWT with RS256", "exit code: 137", "GPIO pin 18", "pass: 120, fail: 3",
    "docker run -p 8080:80 x", "ssh -p 2222 bob@nas", "uses: actions/checkout@v4.1.7", "Idempotency-Key: required",
    "Failed password for root from 10.0.0.4 port 50122 ssh2", "пароль минимум 12 символов", "密码至少8位",
    "Das Passwort steht in KeePass unter Eintrag 12", "Le mot de passe est dans Bitwarden", "パスワードは8文字以上",
    "at login (auth.js:10:5)", "pip install passlib==1.7.4", "argon2id m=65536,t=3,p=4", "Sec-WebSocket-Version: 13",
)  # fmt: skip


@pytest.mark.parametrize("text", PLACEHOLDERS + HARMLESS)
def test_placeholders_and_talk_about_credentials_pass(text: str) -> None:
    assert screen_text(text) is None


STATED = (
    "WIFI:T:WPA;S:home;P:Copper#{dig4};;", "SIM PIN: {dig4}, PUK {dig8}", "Door code is {dig4}#",
    "otpauth://totp/a:b?secret={up32}&issuer=a", "BitLocker recovery key: {dig6}-{dig6}-{dig6}-{dig6}-{dig6}-{dig6}",
    "amqp://svc:Harbor{dig4}@rabbit:5672/", "Server=sql01;User Id=sa;Password=Violet#{dig4};",
    "jdbc:oracle:thin:scott/Harborx{dig4}@//db:1521/x", "bob:$apr1${an8}${an22}", "X-Api-Token: {an24}",
    "https://a.example/o?X-Goog-Signature={hex64}", "https://a.example/ical/private-{hex32}/basic.ics",
    "net use Z: \\\\nas\\x /user:bob Harbor-{dig4}", "ALTER USER bob WITH PASSWORD 'Violet#{dig4}';",
    "requirepass Lantern%{dig4}", "network_key: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]",
    "| service | user | password |\n|---|---|---|\n| nas | bob | Tundra{dig4} |", "heslo je Violet#{dig4}",
    "La password del router è Copper#{dig4}", "het wachtwoord is Copper#{dig4}",
    "Le mot de passe du NAS est Ember#{dig4}",
    "clave del wifi: Lluvia{dig4}", "暗証番号は4972です", "APIキーは {an32}", "şifre: Lantern-{dig4}",
    "heroku api key {hex8}-{hex4}-{hex4}-{hex4}-{hex12}", "acme_live_{an40} is what it printed",
    "-----BEGIN" + " PRIVATE KEY-----\n{rule}\n{b6464}",
    "db.connect   = ('svc', 'Harbor#{dig4}x')", '"id": "db.contraseña"\n  content: Harbor#{dig4}x',
    "the unlock code is 7{dig5}", "the preshared key reads {hex64}", "wpa-psk ascii 0 Tundra{dig4}",
    "the wifi-key is Tundra{dig4}", "The wi-fi code reads Tundra{dig4}", "WLAN-Schlüssel ist Tundra{dig4}",
    "wlan-schluessel: tundra-anchor-violet-{dig2}", "новый пароля: Vesna{dig4}x", "db.contraseña lautet Ember#{dig4}",
    "my pin-code is 7{dig3}", "der Pincode ist 7{dig5}",
    "- name:            DB_PASSWORD\n  value: Xy{an12}", "- name: " + "a_" * 40 + "password\n  value: Xy{an12}",
    "parameterNameOfTheStore: DB_PASSWORD\nvalue: Xy{an12}", "<code2>{an20}</code2>",
    "(heroku api key {hex8}-{hex4}-{hex4}\n  -{hex4}-{hex12})", "[client secret: {hex8}\n{hex24}]",
    "both PINs are 7{dig3}", "„PIN“: 7{dig3}", "Anmeldung am NAS; User(x) root : `Wdo#{dig4}rE",
)  # fmt: skip


@pytest.mark.parametrize("text", STATED)
def test_kinds_that_no_list_names_are_caught_by_structure(text: str) -> None:
    assert screen_text(filled(text.replace("{rule}", ". " * 25))) is not None


@pytest.mark.parametrize("neutral", sorted(filter(str.isalpha, names.NEUTRAL)))
@pytest.mark.parametrize("word", ["auth", "code", "pw", "otp", "sid", "pat", "irk", "ltk"])
def test_a_short_word_is_seen_before_every_word_that_says_nothing(word: str, neutral: str) -> None:
    assert screen_text(f"db{word.title()}{neutral.title()} = " + filled("{an32}")) is not None


def test_the_word_that_comes_first_announces_whatever_its_script() -> None:
    assert screen_text(filled("пароль and login are Vesna{dig4}")) == "stated-password"


@pytest.mark.parametrize(("joined", "tokens_only"), [(False, False), (True, False), (True, True)])
def test_a_reading_is_looked_through_for_what_holds_in_it(joined: bool, tokens_only: bool) -> None:
    text = "\n\n".join(filled(kind.refuses[0]) for kind in (*engine.TOKEN_RULES, *engine.STRUCTURES))
    view = views.View(text.encode(), joined=joined, tokens_only=tokens_only)
    found = {kind.name for kind, _, _ in engine.default().places.of(view, Work(bounded=False))}
    across = {"assignment", "authorization", "cookie", "userinfo", "capability-url", "statement"}
    structures = {structure.name for structure in engine.STRUCTURES}
    assert found & structures == (set() if tokens_only else across if joined else structures)
    assert found >= {rule.name for rule in engine.TOKEN_RULES}


def test_the_digests_of_a_lock_file_pass() -> None:
    source = random.Random(1)
    digests = (base64.b64encode(source.randbytes(64)).decode() for _ in range(6_000))
    lines = [f'      "integrity": "sha512-{digest}",\n' for digest in digests]
    assert not [block for i in range(0, len(lines), 150) if (block := screen_text("".join(lines[i : i + 150])))]


@pytest.mark.parametrize("tag", ["<code>", '<code class="x">', "<code\n>"])
def test_a_tag_of_html_is_no_code_of_anything(tag: str) -> None:
    assert screen_text(filled(f"run {tag}{{an20}}</code> twice")) is None


def test_a_parameter_of_a_url_promises_nothing_about_what_stands_behind_the_url() -> None:
    assert screen_text(filled('https://a.example/x?sig=ab ="{an20}"')) is None
    assert screen_text(filled("https://a.example/x?sig={an20}")) == "url-credential"


VENDOR_NAMES = {rule.name for rule in engine.TOKEN_RULES if rule.vendor}
LOCATORS = [(kind.name, locator) for kind in (*engine.TOKEN_RULES, *engine.STRUCTURES) for locator in kind.locators]


# Those of which the sign is a word or a beginning; elsewhere the pattern says more about what stands around the sign.
@pytest.mark.parametrize(
    "locator",
    [locator for name, locator in LOCATORS if name in VENDOR_NAMES or name in ("jwt", "password-hash")],
)
@given(data=st.data())
@settings(max_examples=300, deadline=None)
def test_whatever_a_pattern_matches_begins_with_one_of_its_signs(locator: Locator, data: st.DataObject) -> None:
    drawn = data.draw(st.from_regex(b"(?i)" + locator.pattern, fullmatch=True))
    assert drawn.lower().startswith(tuple(sign.encode() for sign in locator.signs))


@pytest.mark.parametrize("name", sorted({name for name, _ in LOCATORS}))
def test_no_sign_is_listed_in_vain(name: str) -> None:
    signs = [sign for each, locator in LOCATORS if each == name for sign in locator.signs]
    assert len(set(signs)) == len(signs)
    assert all(sign == sign.lower() or not sign.isascii() for sign in signs)


@pytest.mark.parametrize("kind", [*engine.TOKEN_RULES, *engine.STRUCTURES], ids=lambda kind: kind.name)
def test_no_sign_ends_inside_another_one_of_its_kind(kind: Rule | Structure) -> None:
    # It would be found first, and its place hide that of the longer one.
    signs = {sign for locator in kind.locators for sign in locator.signs}
    inside = {
        sign: [
            sign[i:end]
            for i in range(1, len(sign))
            if re.match(r"\W", sign[i - 1], re.ASCII)
            for end in range(i, len(sign))
        ]
        for sign in signs
    }
    assert not [(sign, piece) for sign, pieces in inside.items() for piece in pieces if piece in signs]


@pytest.mark.parametrize("size", [engine.BLOCK_BYTES, CHUNK_BYTES])
@pytest.mark.parametrize("filler", ["x ", "line\n", "\u5bc6", "a1\n"])
@pytest.mark.parametrize("structure", engine.STRUCTURES, ids=lambda structure: structure.name)
def test_a_place_is_found_wherever_the_blocks_of_a_text_are_cut(structure: Structure, filler: str, size: int) -> None:
    example = filled(structure.refuses[0])
    for offset in range(0, 2 * len(example), 7):
        before = filler * ((size - offset) // len(filler.encode()))
        assert screen_text(f"{before}\n{example}\n{before}") is not None, offset
