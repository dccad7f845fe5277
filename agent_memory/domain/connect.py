"""The texts that connect an agent program to this server: commands and configuration, with its token or without."""

import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass

SERVER = "agent-memory"
TOKEN_VARIABLE = "AGENT_MEMORY_TOKEN"  # noqa: S105 - the name of a variable
PLACEHOLDER = "<token>"


@dataclass(frozen=True)
class Step:
    """One thing to do: what a person reads above it, the text to paste, and `sh`, `json` or `toml`."""

    title: str
    text: str
    language: str


def steps(program: str, url: str, token: str | None = None) -> tuple[Step, ...]:
    """How a program connects.

    Args:
      program: one of PROGRAMS.
      url: the server's MCP URL as the agent reaches it, `http://host:8765/mcp`.
      token: the client's token, or None for texts with `<token>` in its place (the page, which never knows one).
    Raises: KeyError: an unknown program.
    """
    return PROGRAMS[program](url, token or PLACEHOLDER)


def program_of(client: str) -> str | None:
    """The program a client is named after (`codex`, `codex-laptop`), or None."""
    fits = [program for program in PROGRAMS if client == program or client.startswith((f"{program}-", f"{program}_"))]
    return fits[0] if fits else None


def log_lines(client: str, url: str, token: str) -> tuple[str, ...]:
    """What the log says, once, about a token made just now: for the client's own program, else for the two defaults."""
    program = program_of(client)
    lines = [f"new token for client {client}; it is shown only here: {token}"]
    for name in (program,) if program else ("claude-code", "codex"):
        for step in steps(name, url, token):
            lines += [f"{step.title}:", *step.text.splitlines()]
    return tuple(lines)


def _bearer(token: str) -> str:
    return f"Bearer {token}"


def _claude_code(url: str, token: str) -> tuple[Step, ...]:
    # seed 001, Setup: the header in single quotes, the URL bare when the shell allows it
    header = shlex.quote(f"Authorization: {_bearer(token)}")
    command = f"claude mcp add --scope user --transport http {SERVER} {shlex.quote(url)} --header {header}"
    return (Step("Claude Code, in a terminal", command, "sh"),)


def _codex(url: str, token: str) -> tuple[Step, ...]:
    # Codex takes no token in its file, only the name of a variable (it rejects `bearer_token` there)
    table = "\n".join(
        (
            f"[mcp_servers.{SERVER.replace('-', '_')}]",
            f"url = {json.dumps(url)}",
            f'bearer_token_env_var = "{TOKEN_VARIABLE}"',
        )
    )
    return (
        Step("Codex, in the environment it starts from", f"export {TOKEN_VARIABLE}={shlex.quote(token)}", "sh"),
        Step("Codex, in ~/.codex/config.toml", table, "toml"),
    )


def _cursor(url: str, token: str) -> tuple[Step, ...]:
    entry = {"mcpServers": {SERVER: {"url": url, "headers": {"Authorization": _bearer(token)}}}}
    return (_json_step("Cursor, in ~/.cursor/mcp.json", entry),)


def _vscode(url: str, token: str) -> tuple[Step, ...]:
    entry = {"servers": {SERVER: {"type": "http", "url": url, "headers": {"Authorization": _bearer(token)}}}}
    return (_json_step("VS Code, in mcp.json (command: MCP: Open User Configuration)", entry),)


def _gemini(url: str, token: str) -> tuple[Step, ...]:
    header = shlex.quote(f"Authorization: {_bearer(token)}")
    command = f"gemini mcp add --scope user --transport http --header {header} {SERVER} {shlex.quote(url)}"
    return (Step("Gemini CLI, in a terminal", command, "sh"),)


def _opencode(url: str, token: str) -> tuple[Step, ...]:
    # oauth false: opencode otherwise answers a 401 with a sign-in that this server does not have
    server = {"type": "remote", "url": url, "oauth": False, "headers": {"Authorization": _bearer(token)}}
    file = "~/.config/opencode/opencode.json"
    return (
        _json_step(f"opencode 2, in {file}", {"mcp": {"servers": {SERVER: server}}}),
        _json_step(f"opencode 1, in {file}", {"mcp": {SERVER: server}}),
    )


def _json_step(title: str, entry: object) -> Step:
    return Step(title, json.dumps(entry, indent=2), "json")


PROGRAMS: dict[str, Callable[[str, str], tuple[Step, ...]]] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "cursor": _cursor,
    "vscode": _vscode,
    "gemini": _gemini,
    "opencode": _opencode,
}
