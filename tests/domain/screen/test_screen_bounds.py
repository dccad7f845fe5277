"""What holds for every text: no crash, no refusal of prose, and work that grows no faster than the text."""

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_memory.domain.records import CONTENT_MAX_BYTES
from agent_memory.domain.screen import engine, explain, screen_text, screened, views
from agent_memory.domain.screen.work import MAX_COST, Work
from support.screen_examples import filled

# Words of ordinary sentences, credential words among them: prose about passwords is not a password.
WORDS = {
    "en": "the password token key secret login was changed reset is stored in vault by our team after update and never "
    "logged please rotate access session cookie because nightly review kept old records with author notes",
    "de": "das Passwort Kennwort der Schlüssel Token ist im Tresor und wird nach der Umstellung von Anna geändert "
    "weil die Anmeldung jetzt über den Server läuft nicht mehr im Skript steht",
    "fr": "le mot de passe est dans le coffre et la clé du jeton change après la mise à jour par notre équipe",
    "es": "la contraseña del servidor está en la caja y la clave cambia cada seis meses porque el equipo lo pide así",
    "pt": "a senha do banco está no cofre e a chave muda depois da atualização porque o time pediu assim no domingo",
    "ru": "пароль и ключ лежат в сейфе потому что токен истёк и команда меняет доступ после обновления сервера",
    "zh": "密码 已经 更新 新 密钥 在 保险箱 里 令牌 过期 后 需要 重新 登录 由 管理员 轮换",
    "ja": "パスワード は 金庫 に あります トークン が 切れたら 管理者 に 連絡 して 鍵 を 交換 する",
}
SENTENCES = st.sampled_from(sorted(WORDS)).flatmap(
    lambda language: st.lists(st.sampled_from(WORDS[language].split()), min_size=1, max_size=40)
)


@given(st.lists(SENTENCES, min_size=1, max_size=6), st.sampled_from([". ", ".\n", ", ", "; ", "!\n\n"]))
@settings(max_examples=300, deadline=None)
def test_prose_in_any_language_is_never_refused(sentences: list[list[str]], end: str) -> None:
    assert screen_text(end.join(" ".join(words) for words in sentences)) is None


@given(st.text(max_size=400))
@settings(max_examples=300, deadline=None)
def test_any_text_is_answered(text: str) -> None:
    pattern = screen_text(text)
    assert screened(text) == (text if pattern is None else f"[screened:{pattern}]")
    assert bool(explain(text)) is (pattern is not None)


PIECES = ["password", "=", ":", "token", "://", "@", "%41", "&#x41;", "\\u0041", "\n", " ", "-p", "eyJ", ".",
          "key ", "1", "-----BEGIN PRIVATE KEY-----", "is", "\u200b", "ａ", "密码", "|", "hook/",
          '"', "'", "<", "ghp_", "abc", "Aa1!"]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=4), st.sampled_from([200, 4000]))
@settings(max_examples=200, deadline=None)
def test_repeated_pieces_stay_within_the_budget(pieces: list[str], times: int) -> None:
    work = Work()
    for _ in engine.default().hits("".join(pieces) * times, work):
        pass
    assert work.cost <= MAX_COST


@pytest.mark.parametrize("lone", ["\ud800", "x\udfff password: y", "\x00", "\U0001f600"])
def test_odd_characters_do_not_raise(lone: str) -> None:
    screen_text(lone)


def test_a_text_too_dense_to_read_is_refused() -> None:
    source = random.Random(1)
    dense = "\n".join(f"token{source.random()}: <x>" for _ in range(MAX_COST))
    assert screen_text(dense) == engine.TOO_DENSE
    found = {each.pattern: each.line for each in explain(dense + "\npostgres://memo:" + "Lantern4147" + "@db/memo")}
    # A person who looks is told of what stands behind the bound, too.
    assert found["url-password"] == MAX_COST + 1
    assert found.keys() == {engine.TOO_DENSE, "url-password"}


def test_signs_alone_count_too() -> None:
    """Nothing here may be a credential, and to find that out takes time."""
    work = Work()
    signs = "pass " * 4_000  # more than a field holds, and far from the bound
    assert next(engine.default().hits(signs, work), None) is None
    assert work.cost > 2 * 4_000
    assert screen_text("pass " * MAX_COST) == engine.TOO_DENSE


@pytest.mark.parametrize(
    "line",
    [
        "password for host{n}: see vault, token {n} expired, key={n}\n",
        "set key={n}&lt; in the file that holds the others\n",
        "pw{n}=<x> ",
        "# the token of host{n} is in the vault\nSMTP_PASSWORD=<password>\nAPI_KEY=your-api-key-here\nTOKEN_{n}=\n",
        "  host{n}-password: REPLACE_ME_{n}\n  host{n}-token: <token>\n  host{n}-key: <key>\n",
        '  "password.reset.token.{n}": "Reset your password with token {n}",\n',
        '  "login.password.{n}": "Пароль для host{n}",\n  "token.expired": "Токен истёк, ключ {n}",\n',
        "- Set the API key of {n} with `--api-key <key>`; the password is `<your-password>`, the token `<token>`.\n",
        '{{\\"at\\": \\"10:00:{n}\\", \\"token\\": \\"<x>\\", \\"password\\": \\"***\\"}}\\n',
        "10:00:{n} INFO auth: token refreshed for user host{n}, session=<hidden> key={n}\n",
    ],
)
def test_a_field_of_nothing_but_placeholders_is_read_to_its_end(line: str) -> None:
    text = "".join(line.format(n=n) for n in range(10, 4000))[: CONTENT_MAX_BYTES - 40]
    assert screen_text(text) is None
    assert screen_text(text + "\nsee postgres://memo:" + "Lantern4147" + "@db/memo") == "url-password"


@pytest.mark.parametrize(("entries", "told"), [(30, True), (300, False)])
def test_what_is_wrapped_in_a_page_is_found_unless_the_page_is_nothing_but_names(entries: int, told: bool) -> None:
    """Its joined reading comes last; a person who looks is told all the same."""
    page = "".join(f"  host{n}-password: REPLACE_ME_{n}\n  host{n}-key: <key{n}>\n" for n in range(100, 100 + entries))
    key = filled("{an40}")
    text = f"{page}\n\nacme_api_key: {key[:7]}\n{key[7:]}\n"
    assert (screen_text(text) == "named-key") is told
    assert "named-key" in {found.pattern for found in explain(text)}


@pytest.mark.parametrize("piece", ["token='{n}%41secret: \" é", "login='aB{n}|", "пароль>k{n}.x(‐", "pin:0x{n}\u200b"])
def test_a_field_made_to_take_long_is_refused(piece: str) -> None:
    """Each glues to one another values that must be judged, and takes longer than any page written to be read."""
    text = "".join(piece.format(n=n) for n in range(10, 4000))[:CONTENT_MAX_BYTES]
    assert screen_text(text) == engine.TOO_DENSE


# Where many signs stand before what all their patterns look for, each must not read on to it.
@pytest.mark.parametrize(
    "unit",
    [
        "echo " * 50 + "|" + "a" * 250,
        "key" * 21 + "\n" + "`" * 200 + "\n",
        "user " * 100,
        "mocode",
        "-" * 20 + "irkenv",
        "eyj---",
        "".join(random.Random(1).choices("MNO-a", k=1 << 20)),
    ],
    ids=["pipe", "heading", "login", "code", "flag", "token", "drawn"],
)
def test_a_megabyte_made_to_take_long_is_answered_soon(unit: str) -> None:
    screen_text("compiled")
    text = (unit * ((1 << 20) // len(unit) + 1))[: 1 << 20]
    begun = time.process_time()
    screen_text(text)
    assert time.process_time() - begun < 0.4  # 50 to 80 ms on a quiet machine


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("password-file", "machine a login b password " + "\t" * 400),
        ("capability-url", "https://a.example/hooks/" + "a" * 16 + "/b" * 200),
        ("statement", "key=#" * 100),
    ],
)
def test_a_place_made_to_take_long_is_judged_soon(name: str, text: str) -> None:
    alone = engine.compile_screen((), tuple(each for each in engine.STRUCTURES if each.name == name))
    next(alone.hits(text), None)
    begun = time.process_time()
    for _ in range(10):
        assert next(alone.hits(text), None) is None
    assert time.process_time() - begun < 0.5


@pytest.mark.parametrize("piece", ["&#60;", "%41x", "abc1\n", "\\x41"])
def test_more_disguises_than_a_field_can_hold_are_refused_and_a_full_field_is_read(piece: str) -> None:
    assert screen_text(piece * (views.MAX_UNDONE + 1)) == engine.TOO_DENSE
    field = piece * (16 * 1024 // len(piece))
    assert screen_text(field) is None


@pytest.mark.parametrize("disguise", ["a&lt;b", "x%41y", "\\u0041", "a\u200bb", "ab12\ncd34"])
def test_a_second_reading_holds_what_is_near_a_disguise_and_not_the_whole(disguise: str) -> None:
    prose = "The nightly review ran at three and forgot duplicates again. " * 5000
    plain, *others = views.readings(f"{prose}\n{disguise}\n{prose}", lambda data: "", lambda cost: None)
    assert len(plain.data) > 600_000
    assert 0 < sum(len(view.data) for view in others) < 4096


def _cost(text: str) -> float:
    work = Work()
    assert next(engine.default().hits(text, work), None) is None
    return work.cost


@pytest.mark.parametrize(
    ("cheap", "dear", "each"),
    [
        (["\\u4e00 word"] * 2_000, [f"\\u{code:04x} word" for code in range(0x4E00, 0x4E00 + 2_000)], 2),
        (["ghp-" + "a" * 36] * 500, ["ghp_" + "a" * 36] * 500, 10),
    ],
    ids=["different escapes", "tokens"],
)
def test_what_takes_longer_is_counted_for_more(cheap: list[str], dear: list[str], each: int) -> None:
    assert _cost("\n".join(dear)) > _cost("\n".join(cheap)) + each * len(dear)


def test_a_refused_place_is_counted_as_judged_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "\n".join(filled(f"password: Tundra{{dig4}}k{n}") for n in range(20))
    costs = []
    for cost in (0, 100):
        monkeypatch.setattr(engine, "HIT_COST", cost)
        work = Work()
        hits = list(engine.default().hits(text, work))
        costs.append(work.cost)
    assert len(hits) >= 20
    assert costs[1] == costs[0] + 100 * len(hits)
