"""Where configuration comes from, which source wins, and how a mistake in it is reported."""

import dataclasses
import json
from datetime import time
from pathlib import Path
from typing import Any

import pytest

from agent_memory import config
from agent_memory.config import Settings, data_folder, load
from agent_memory.options.errors import OptionError
from agent_memory.options.table import OPTIONS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data"


def settings(folder: Path, options: Any = None, **environment: str) -> Settings:
    folder.mkdir(exist_ok=True)
    if options is not None:
        (folder / "options.json").write_text(json.dumps(options), encoding="utf-8")
    return load(str(folder), None, environment)


def refusal(folder: Path, options: Any = None, **environment: str) -> str:
    with pytest.raises(OptionError) as caught:
        settings(folder, options, **environment)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_nothing_configured_gives_the_defaults(folder: Path) -> None:
    found = settings(folder)
    assert [(c.name, c.scopes) for c in found.clients] == [
        ("claude-code", {"read", "write", "delete"}),
        ("codex", {"read", "write", "delete"}),
    ]
    assert (found.review_at, found.fusion, found.embed_url, found.ollama_models) == (time(3, 0), "score", None, {})
    assert (found.data_dir, found.options_file, found.given) == (folder, None, frozenset())
    assert found.home_assistant is None
    assert not found.in_addon


def test_settings_have_one_field_for_every_option() -> None:
    fields = {field.name for field in dataclasses.fields(Settings)}
    own = {"data_dir", "options_file", "given", "home_assistant", "in_addon"}
    assert fields - own == {option.name for option in OPTIONS}


def test_the_environment_wins_over_the_file_and_the_file_over_the_default(folder: Path) -> None:
    options = {"anchor_sweep_hours": 12, "retention_deleted_days": 7}
    found = settings(folder, options, AGENT_MEMORY_ANCHOR_SWEEP_HOURS="24")
    assert (found.anchor_sweep_hours, found.retention_deleted_days, found.candidate_expiry_days) == (24, 7, 14)
    assert found.given == {"anchor_sweep_hours", "retention_deleted_days"}


def test_an_empty_text_and_null_mean_unset_in_every_source(folder: Path) -> None:
    options = {"ollama_url": "", "review_at": "", "anchor_sweep_hours": None, "hubs": [""], "clients": ""}
    found = settings(folder, options, AGENT_MEMORY_GITHUB_OWNER="", AGENT_MEMORY_HUBS=" ")
    assert (found.ollama_url, found.review_at, found.anchor_sweep_hours, found.hubs) == (None, time(3, 0), 6, ())
    assert len(found.clients) == 2
    assert found.github_owner is None


def test_the_environment_holds_scalars_plainly_and_lists_as_json_or_commas(folder: Path) -> None:
    found = settings(
        folder,
        AGENT_MEMORY_CLIENTS='[{"name": "x", "scopes": ["read"]}]',
        AGENT_MEMORY_FORGE_HOSTS="git.example.org, 192.168.1.5,",
        AGENT_MEMORY_HUBS='["github/o/r"]',
        AGENT_MEMORY_SUMMARY_CANDIDATES="yes",
        AGENT_MEMORY_EMBED_TIMEOUT_S="0.5",
        AGENT_MEMORY_EMBED_URL="off",
    )
    assert [client.name for client in found.clients] == ["x"]
    assert found.forge_hosts == ("git.example.org", "192.168.1.5")
    assert (found.hubs, found.summary_candidates, found.embed_timeout_s) == (("github/o/r",), True, 0.5)
    assert found.embed_url == "off"


def test_a_bad_value_in_the_environment_names_its_variable(folder: Path) -> None:
    text = refusal(folder, AGENT_MEMORY_ANCHOR_SWEEP_HOURS="often")
    assert text == (
        "option anchor_sweep_hours (from AGENT_MEMORY_ANCHOR_SWEEP_HOURS): "
        "found 'often'; allowed: a whole number from 1 to 168"
    )
    assert "not JSON" in refusal(folder, AGENT_MEMORY_CLIENTS="zqsecret")
    assert "zqsecret" not in refusal(folder, AGENT_MEMORY_CLIENTS="[zqsecret")


def test_an_unknown_option_is_refused_with_the_nearest_name(folder: Path) -> None:
    assert refusal(folder, {"review-at": "03:00"}) == "option review-at: unknown; did you mean 'review_at'?"
    assert "did you mean 'ollama_url'" in refusal(folder, {"ollama_ulr": "x"})
    assert "known: clients, github_owner" in refusal(folder, {"zzz": 1})
    assert "did you mean 'forge_hosts'" in refusal(folder, {}, AGENT_MEMORY_FORGE_HOST="x")
    assert "\n" not in refusal(folder, {"a\nb": 1})


def test_variables_of_client_side_commands_are_no_options(folder: Path) -> None:
    names = ("DATA", "URL", "TOKEN", "TOKEN_CLAUDE", "TOKEN_CODEX", "HOOK_TIMEOUT")
    assert settings(folder, None, **{f"AGENT_MEMORY_{name}": "x" for name in names}).given == frozenset()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b'{"hubs": [zqsecret', "not JSON at line 1, column 11"),
        (b"[]", "expected one JSON object"),
        (b"\xff\xfe", "not UTF-8"),
        (b'{"hubs": [], "hubs": []}', "'hubs' stands twice"),
        (b"[" * 100_000, "nested too deep"),
        (b" " * (1 << 20) + b"{}", "over 1048576 bytes"),
        (b"", "not JSON"),
    ],
)
def test_a_file_that_is_no_json_object_is_refused_without_its_content(
    folder: Path, content: bytes, problem: str
) -> None:
    folder.mkdir()
    (folder / "options.json").write_bytes(content)
    text = refusal(folder)
    assert str(folder / "options.json") in text
    assert problem in text
    assert "zqsecret" not in text


def test_a_byte_order_mark_does_no_harm(folder: Path) -> None:
    folder.mkdir()
    (folder / "options.json").write_bytes(b'\xef\xbb\xbf{"fusion": "score"}')
    assert settings(folder).fusion == "score"


def test_a_named_options_file_must_exist_and_replaces_the_data_folders(folder: Path, tmp_path: Path) -> None:
    settings(folder, {"fusion": "rrf"})
    other = tmp_path / "mine.json"
    with pytest.raises(OptionError, match=r"mine\.json: cannot be read \(No such file"):
        load(str(folder), str(other), {})
    other.write_text("{}")
    found = load(str(folder), str(other), {})
    assert (found.fusion, found.options_file) == ("score", other)


def test_the_home_assistant_token_never_stands_in_a_repr(folder: Path) -> None:
    found = settings(
        folder,
        {"home_assistant_url": "http://ha:8123", "home_assistant_token": "zqsecret-long"},
        SUPERVISOR_TOKEN="zqsup",
    )
    assert found.home_assistant is not None
    assert (found.home_assistant.url, found.home_assistant.token) == ("http://ha:8123", "zqsecret-long")
    assert "zqs" not in repr(found)


def test_inside_the_addon_home_assistant_is_reached_through_the_supervisor(folder: Path) -> None:
    found = settings(folder, None, SUPERVISOR_TOKEN="zqsup")
    assert found.in_addon
    assert found.home_assistant == config.HomeAssistant("http://supervisor/core", "zqsup")


def test_an_empty_row_of_the_addons_form_is_no_row(folder: Path) -> None:
    rows = {
        "clients": [{"name": "x", "scopes": ["read"]}, {"name": "", "scopes": []}],
        "namespace_renames": [{"from": "", "to": ""}],
        "project_links": [{"project": "", "namespaces": []}, {"project": None}, {}],
    }
    found = settings(folder, rows)
    assert [client.name for client in found.clients] == ["x"]
    assert (found.namespace_renames, dict(found.project_links)) == ((), {})


CONTRADICTIONS: list[tuple[dict[str, Any], str]] = [
    (
        {"clients": [{"name": "x", "scopes": []}] * 1 + [{"name": "x", "scopes": ["read"]}]},
        "clients: x is listed twice",
    ),
    ({"clients": [{"name": "x", "scopes": ["read"]}] * 2}, "clients: x is listed twice"),
    ({"namespace_renames": [{"from": "github/a", "to": "github/b"}] * 2}, "github/a is moved twice"),
    ({"clients": [{"name": "x", "scopes": [], "ip": "::1", "token_sha256": "0" * 64}]}, "give one of them"),
    (
        {"context_budget_tokens": 9000},
        "found the number 9000; allowed: at most hard_context_limit_tokens, which is 8000",
    ),
    ({"hard_context_limit_tokens": 3000}, "context_budget_tokens: found the number 4000"),
    ({"ollama_fallback_url": "http://b"}, "ollama_fallback_url: is set without ollama_url"),
    ({"ollama_direct_urls": ["http://b"]}, "ollama_direct_urls: is set without ollama_url"),
    ({"ollama_url": "http://b", "ollama_fallback_url": "http://b/"}, "the same server"),
    ({"forge_owner": "o"}, "forge_owner: is set without forge_hosts"),
    ({"forge_hosts": ["github.com"]}, "GitHub needs no entry"),
    ({"home_assistant_url": "http://ha"}, "home_assistant_url: is set without home_assistant_token"),
    ({"home_assistant_token": "zqsecret-long"}, "home_assistant_token: is set without home_assistant_url"),
    ({"project_links": [{"project": "x", "namespaces": ["topics/x"]}]}, "found 'topics/x'; allowed: github/"),
    ({"project_links": [{"project": "x", "namespaces": ["nope"]}]}, r"project_links[0].namespaces[0]: found 'nope'"),
    ({"project_links": [{"project": "a/b", "namespaces": []}]}, "project_links[0].project"),
    (
        {"project_links": [{"project": p, "namespaces": []} for p in ("X", "projects/x")]},
        "projects/x is listed twice",
    ),
    ({"namespace_renames": [{"from": "github/a", "to": "github/b"}, {"from": "github/b", "to": "github/a"}]}, "cycle"),
    ({"namespace_renames": [{"from": "github/a", "to": "b"}]}, "namespace_renames[0].to: found 'b'"),
    ({"namespace_renames": [{"from": "github/a"}]}, "to is missing"),
]


@pytest.mark.parametrize(("options", "problem"), CONTRADICTIONS, ids=lambda value: str(value)[:40])
def test_a_contradiction_stops_the_start(folder: Path, options: dict[str, Any], problem: str) -> None:
    text = refusal(folder, options)
    assert problem in text
    assert "zqsecret" not in text


def test_links_and_hubs_follow_the_owner_renames(folder: Path) -> None:
    found = settings(
        folder,
        {
            "namespace_renames": [{"from": "github/Old", "to": "github/new"}],
            "hubs": ["github/old/hub"],
            "project_links": [{"project": "Home", "namespaces": ["github/old/a", "local/b"]}],
        },
    )
    assert found.namespace_renames == (("github/old", "github/new"),)
    assert found.hubs == ("github/new/hub",)
    assert found.project_links == {"projects/home": ("github/new/a", "local/b")}


def test_model_chains_keep_their_order(folder: Path) -> None:
    found = settings(folder, {"ollama_url": "http://b", "ollama_models": ["extract:a:1", "answer:b", "extract:c"]})
    assert found.ollama_models == {"extract": ("a:1", "c"), "answer": ("b",)}


def test_options_that_do_nothing_yet_are_told_only_when_someone_set_them(folder: Path) -> None:
    assert settings(folder).without_effect() == ()
    unbuilt = [option.name for option in OPTIONS if not option.built]
    found = settings(folder, {"page_actions": True, "hubs": []})
    assert found.without_effect() == tuple(name for name in unbuilt if name == "page_actions")


def test_the_data_folder_is_absolute_and_chosen_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    addon = tmp_path / "addon"
    named = {"AGENT_MEMORY_DATA": "named"}
    assert data_folder(None, named, addon) == tmp_path / "named"
    assert data_folder(None, {}, addon).is_absolute()
    assert data_folder(None, {}, addon).name == "agent-memory"
    addon.mkdir()
    assert data_folder(None, named, addon) == tmp_path / "named"
    (addon / "options.json").write_text("{}")
    assert data_folder(None, named, addon) == addon
    assert data_folder("given", named, addon) == tmp_path / "given"


def test_a_relative_model_folder_lies_in_the_data_folder(folder: Path) -> None:
    assert settings(folder, {"embed_model_dir": "models/x"}).embed_model_dir == folder / "models" / "x"
