"""The texts people paste to connect an agent."""

import json
import shlex
import tomllib

import pytest

from agent_memory.domain.connect import PROGRAMS, log_lines, program_of, steps

URL = "http://homeassistant.local:8765/mcp"
TOKEN = "agentmem_zq-_9"
HEADER = f"Authorization: Bearer {TOKEN}"


def test_the_seeds_six_programs_are_known() -> None:
    assert list(PROGRAMS) == ["claude-code", "codex", "cursor", "vscode", "gemini", "opencode"]
    with pytest.raises(KeyError):
        steps("notepad", URL)


def test_claude_code_gets_the_seeds_command() -> None:
    (step,) = steps("claude-code", URL, TOKEN)
    assert step.text == f"claude mcp add --scope user --transport http agent-memory {URL} --header '{HEADER}'"


def test_codex_reads_its_token_from_the_environment() -> None:
    export, table = steps("codex", URL, TOKEN)
    assert export.text == f"export AGENT_MEMORY_TOKEN={TOKEN}"
    assert tomllib.loads(table.text) == {
        "mcp_servers": {"agent_memory": {"url": URL, "bearer_token_env_var": "AGENT_MEMORY_TOKEN"}}
    }
    assert TOKEN not in table.text


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_text_parses_and_carries_url_and_header(program: str) -> None:
    texts = []
    for step in steps(program, URL, TOKEN):
        if step.language == "sh":
            texts += shlex.split(step.text)
        elif step.language == "toml":
            tomllib.loads(step.text)
        else:
            json.loads(step.text)
        texts.append(step.text)
        assert step.title
    assert any(URL in text for text in texts)
    assert any(TOKEN in text for text in texts)


@pytest.mark.parametrize("program", PROGRAMS)
def test_without_a_token_its_place_is_shown(program: str) -> None:
    texts = " ".join(step.text for step in steps(program, URL))
    assert "<token>" in texts


@pytest.mark.parametrize("program", ["claude-code", "gemini", "codex"])
def test_a_shell_sees_hostile_parts_as_plain_words(program: str) -> None:
    hostile = "http://h:1/mcp; rm -rf $HOME '`\""
    words = [
        word for step in steps(program, hostile, "a'b$(c)") if step.language == "sh" for word in shlex.split(step.text)
    ]
    assert "rm" not in words
    assert any("a'b$(c)" in word for word in words)
    for step in steps(program, hostile, "x"):
        if step.language == "toml":
            assert tomllib.loads(step.text)["mcp_servers"]["agent_memory"]["url"] == hostile


def test_a_client_is_matched_to_the_program_it_is_named_after() -> None:
    assert program_of("codex") == "codex"
    assert program_of("claude-code-laptop") == "claude-code"
    assert program_of("gemini_2") == "gemini"
    assert program_of("codexes") is None


def test_the_log_shows_a_new_token_with_its_own_programs_command() -> None:
    own = "\n".join(log_lines("claude-code", URL, TOKEN))
    assert f"claude mcp add --scope user --transport http agent-memory {URL} --header '{HEADER}'" in own
    assert "codex" not in own
    other = "\n".join(log_lines("ci", URL, TOKEN))
    assert "claude mcp add" in other
    assert "bearer_token_env_var" in other
