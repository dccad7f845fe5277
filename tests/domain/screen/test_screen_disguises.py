"""The disguises that agents put on by accident, and the marker in each."""

import base64
import html
import json
import unicodedata
from collections.abc import Callable
from urllib.parse import quote

import pytest

from agent_memory.domain.screen import MARKER, explain, screen_text
from agent_memory.domain.screen.views import undisguised
from support.screen_examples import filled


def _wide(text: str) -> str:
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)


DISGUISES: dict[str, Callable[[str], str]] = {
    "url": lambda text: quote(text, safe=""),
    "url every byte": lambda text: "".join(f"%{byte:02X}" for byte in text.encode()),
    "url twice": lambda text: quote(quote(text, safe=""), safe=""),
    "html numbers": lambda text: "".join(f"&#{ord(c)};" if not c.isalnum() else c for c in text),
    "html hex": lambda text: "".join(f"&#x{ord(c):x};" for c in text),
    "json": lambda text: "".join(f"\\u{ord(c):04x}" if not c.isalnum() else c for c in text),
    "json twice": lambda text: "".join(f"\\\\u{ord(c):04x}" if not c.isalnum() else c for c in text),
    "zero width": lambda text: "\u200b".join(text),
    "word joiner": lambda text: "\u2060".join(text),
    "full width": _wide,
    "base64": lambda text: base64.b64encode(f"note: {text} and no more".encode()).decode(),
}
SECRETS = (
    "postgres://memo:Lantern{dig4}@db/memo",
    "DB_PASSWORD=Harbor{dig4}x",
    "ghp_{an36}",
    "password: Tundra#{dig4}",
)


@pytest.mark.parametrize("disguise", DISGUISES)
@pytest.mark.parametrize("secret", SECRETS)
def test_a_disguised_secret_is_refused(disguise: str, secret: str) -> None:
    assert screen_text("see " + DISGUISES[disguise](filled(secret))) is not None


@pytest.mark.parametrize("disguise", [*DISGUISES, "plain"])
def test_the_marker_is_seen_in_any_disguise(disguise: str) -> None:
    assert screen_text("x " + DISGUISES.get(disguise, str)("do-not-store") + " y") == MARKER


@pytest.mark.parametrize("hyphen", "\u2010\u2011\u2012\u2013\u2014\u2212\ufe63\uff0d\u00ad")
def test_a_hyphen_look_alike_does_not_hide_the_marker(hyphen: str) -> None:
    assert screen_text(f"DO{hyphen}Not{hyphen}store") == MARKER


def test_every_look_alike_stands_for_one_character() -> None:
    styled = [*range(0xFF21, 0xFF3B), *range(0x1D400, 0x1D6A4), *range(0x1D7CE, 0x1D800), *range(0x24B6, 0x24EA)]
    text = "".join(map(chr, styled))
    assert (
        undisguised(f"\u200b{text}\u00a0-\u2212.", spend=lambda cost: None)
        == unicodedata.normalize("NFKC", text) + " --."
    )


@pytest.mark.parametrize(
    "text", ["do-not-\nstore", "do-\n  not-store", "(do-not-store)", "#DO-NOT-STORE", "xdo-not-storey"]
)
def test_the_marker_may_stand_anywhere(text: str) -> None:
    assert screen_text(text) == MARKER


@pytest.mark.parametrize("text", ["Please do not store build artefacts.", "Cache-Control: no-store", "donut store"])
def test_ordinary_words_are_not_the_marker(text: str) -> None:
    assert screen_text(text) is None
    assert screen_text(text) is None


@pytest.mark.parametrize("gap", ["\n", "\n  ", "\\\n", '"\n  "', '" +\n  "', "\r\n", "\n> "])
def test_a_key_broken_over_lines_is_refused(gap: str) -> None:
    token = filled("glpat-{an20}")
    assert screen_text(f'the runner has "{token[:9]}{gap}{token[9:]}" now') is not None


def test_harmless_encoded_text_passes() -> None:
    for text in ('Tom & Jonas said "rotate the keys"', "https://a.example/posts?author=heidi&session_count=3"):
        assert screen_text(quote(text, safe="")) is None
        assert screen_text(html.escape(text)) is None
        assert screen_text(base64.b64encode(text.encode()).decode()) is None


def test_a_sentence_ends_with_its_line_in_a_json_string() -> None:
    text = "# they may hold a (password) and be too long\n    debug_log = 'run shell command %r' % command\n"
    assert screen_text(text) is None
    assert screen_text(json.dumps(text)) is None


def test_an_explanation_of_a_disguised_secret_covers_its_line_only() -> None:
    text = "first line\nsecond\n" + DISGUISES["url every byte"]("DB_PASSWORD=" + filled("Harbor{dig4}")) + "\nlast"
    found = explain(text)
    assert found
    assert {(hit.line, hit.end_line) for hit in found} == {(3, 3)}
    assert all("Harbor" not in repr(hit) for hit in found)
