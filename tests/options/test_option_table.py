"""Every option's kind: what it takes, what it refuses, and what a refusal says."""

from datetime import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.options.errors import OptionError
from agent_memory.options.table import BY_NAME, OPTIONS, as_markdown

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)


def read(name: str, value: Any) -> Any:
    return BY_NAME[name].kind.read(name, value)


def refusal(name: str, value: Any) -> str:
    with pytest.raises(OptionError) as caught:
        read(name, value)
    text = str(caught.value)
    assert text.startswith(f"option {name}")
    assert "\n" not in text
    return text


SEED_DEFAULTS = {
    "review_at": "03:00",
    "candidate_expiry_days": 14,
    "summary_candidates": False,
    "anchor_sweep_hours": 6,
    "context_budget_tokens": 4000,
    "hard_context_limit_tokens": 8000,
    "retention_deleted_days": 30,
    "ollama_model": "qwen3.5:9b",
    "ollama_timeout_s": 120,
    "embed_model": "qwen3-emb-0.6b",
    "embed_timeout_s": 2,
}
SEED_UNSET = ["github_owner", "forge_owner", "ollama_url", "ollama_fallback_url", "embed_url"]
SEED_NONE = ["forge_hosts", "project_links", "hubs", "namespace_renames", "ollama_direct_urls", "ollama_models"]


def test_every_default_of_the_seed_is_the_default() -> None:
    for name, default in SEED_DEFAULTS.items():
        assert BY_NAME[name].default == default
    assert all(BY_NAME[name].default is None for name in SEED_UNSET)
    assert all(BY_NAME[name].default == [] for name in SEED_NONE)
    assert BY_NAME["clients"].default == [
        {"name": "claude-code", "scopes": ["read", "write", "delete"]},
        {"name": "codex", "scopes": ["read", "write", "delete"]},
    ]


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_every_option_accepts_its_own_default_and_has_one_line_for_people(option: Any) -> None:
    if option.default is not None:
        option.kind.read(option.name, option.default)
    assert option.effect.endswith(".")
    assert "\n" not in option.effect
    assert option.kind.allowed
    assert f"| `{option.name}` |" in as_markdown()


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
@given(value=json_values)
def test_any_json_value_is_read_or_refused_in_one_line(option: Any, value: Any) -> None:
    refused = ""
    try:
        option.kind.read(option.name, value)
    except OptionError as error:
        refused = str(error)
    assert not refused or refused.startswith(f"option {option.name}")
    assert refused.isprintable()


@pytest.mark.parametrize("option", [o for o in OPTIONS if o.secret], ids=lambda option: option.name)
@pytest.mark.parametrize("value", ["zqs", "zqsecret zqsecret", 4711471147, ["zqsecret"], {"zqsecret": "zqsecret"}])
def test_a_secret_option_is_never_shown(option: Any, value: Any) -> None:
    text = refusal(option.name, value)
    assert "zqs" not in text
    assert "4711" not in text


def test_numbers_keep_their_ranges_and_types() -> None:
    assert read("anchor_sweep_hours", 168) == 168
    assert read("anchor_sweep_hours", 6.0) == 6
    assert read("embed_timeout_s", 0.5) == 0.5
    assert "found the number 169; allowed: a whole number from 1 to 168" in refusal("anchor_sweep_hours", 169)
    assert "found the number 6.5" in refusal("anchor_sweep_hours", 6.5)
    assert "found '6'" in refusal("anchor_sweep_hours", "6")
    assert "found true" in refusal("anchor_sweep_hours", True)
    for odd in (float("nan"), float("inf"), 10**400):
        assert "allowed" in refusal("anchor_sweep_hours", odd)
        assert "allowed" in refusal("embed_timeout_s", odd)


def test_a_review_time_is_a_local_time_or_off() -> None:
    assert read("review_at", "03:00") == time(3, 0)
    assert read("review_at", "off") is None
    for wrong in ("24:00", "3:00", "03:60", "", "never", "03:00\n"):
        assert "HH:MM from 00:00 to 23:59, or off" in refusal("review_at", wrong)


def test_what_yaml_makes_of_off_and_of_a_time_is_explained() -> None:
    assert "found false; allowed: HH:MM" in refusal("review_at", False)
    assert "unquoted off" in refusal("review_at", False)
    assert "unquoted 12:30 as 750: put the time in quotes" in refusal("review_at", 750)
    assert "unquoted off" in refusal("embed_url", False)
    assert "quotes" not in refusal("anchor_sweep_hours", 500)


def test_urls_are_plain_and_a_password_in_one_is_not_repeated() -> None:
    assert read("ollama_url", "http://box:8080/v1/") == "http://box:8080/v1"
    assert read("embed_url", "off") == "off"
    for wrong in ("box:8080", "ftp://box", "http://", "http://a b", "http://box:port", 5, "off"):
        assert "http://host" in refusal("ollama_url", wrong)
    for secret in (
        "http://me:zqsecret@box",
        "http://box/?key=zqsecret",
        "http://box/#zqsecret",
        "http://me:zq@zqsecret/",
    ):
        assert "zqsecret" not in refusal("ollama_url", secret)


def test_hosts_stand_alone() -> None:
    assert read("forge_hosts", ["Git.Example.ORG.", "192.168.1.5", "[fd00::5]", "nas"]) == (
        "git.example.org", "192.168.1.5", "fd00::5", "nas",
    )  # fmt: skip
    for wrong in ("https://git.example.org", "git.example.org:3000", "git.example.org/x", "-x", "a b"):
        assert "without https://, port or path" in refusal("forge_hosts", [wrong])
    assert "zqsecret" not in refusal("forge_hosts", ["me:zqsecret@git.example.org"])


def test_empty_items_of_a_list_are_unset_and_repeated_ones_count_once() -> None:
    assert read("hubs", ["", "github/o/R", None, "github/o/r"]) == ("github/o/r",)
    assert read("clients", ["", {"name": "x", "scopes": [""], "ip": "", "token_sha256": ""}]) == (
        {"name": "x", "scopes": ()},
    )


@pytest.mark.parametrize(
    ("client", "problem"),
    [
        ("x", r"option clients\[0\]: found 'x'; allowed: an object {name, scopes, ip\?, token_sha256\?}"),
        ({"name": "x", "scope": []}, "unknown field 'scope'; did you mean 'scopes'"),
        ({"name": "x"}, r"clients\[0\]: scopes is missing"),
        ({"name": "", "scopes": ["read"]}, "name is missing"),
        ({"name": "Bad Name", "scopes": []}, r"clients\[0\].name: found 'Bad Name'; allowed: 1 to 40"),
        ({"name": "x", "scopes": ["root"]}, r"scopes\[0\]: found 'root'; allowed: read or write"),
        ({"name": "x", "scopes": "read"}, r"scopes: found 'read'; allowed: a list"),
        ({"name": "x", "scopes": [], "ip": "10.0.0.1/8"}, "did you mean 10.0.0.0/8"),
        ({"name": "x", "scopes": [], "token_sha256": "agentmem_zqsecret"}, "a text of 17 characters; allowed: 64 hex"),
    ],
)
def test_a_client_that_is_written_wrongly_is_refused_with_its_place(client: Any, problem: str) -> None:
    with pytest.raises(OptionError, match=problem) as caught:
        read("clients", [client])
    assert "zqsecret" not in str(caught.value)


def test_a_model_entry_is_split_at_its_first_colon() -> None:
    assert read("ollama_models", ["extract:qwen3.5:9b"]) == (("extract", "qwen3.5:9b"),)
    for wrong in ("qwen3.5:9b", "extract:", "extract", ":x", 5):
        assert "kind:model with kind extract, answer, review" in refusal("ollama_models", [wrong])
