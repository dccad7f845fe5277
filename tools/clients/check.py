"""Connects Claude Code and Codex, as npm has them now, to a real server: their own checks must find it.

    make test-clients

Both come into a temporary folder (over 200 MB of downloads) and run with a fresh HOME; nothing of this machine's
own agents is read or changed. Needs node and npm. No account is used: no model is called.
"""

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PACKAGES = {"claude": "@anthropic-ai/claude-code", "codex": "@openai/codex"}
INSTALL_MAX_S = 900
COMMAND_MAX_S = 120


def main() -> None:
    if shutil.which("npm") is None:
        sys.exit("npm is missing; install Node.js 20 or later")
    with tempfile.TemporaryDirectory(prefix="agent-memory-clients-") as scratch:
        root = Path(scratch)
        install(root)
        with server(root / "data") as (url, tokens):
            outcomes = [claude_connects(root, url, tokens["claude-code"]), codex_connects(root, url, tokens["codex"])]
    passed = sum(outcomes)
    print(f"{passed} passed, {len(outcomes) - passed} failed")
    sys.exit(passed != len(outcomes))


def install(root: Path) -> None:
    for package in PACKAGES.values():
        print(f"installing {package} ...", flush=True)
        command = [
            "npm",
            "install",
            "--prefix",
            str(root / "npm"),
            "--no-audit",
            "--no-fund",
            "--loglevel=error",
            package,
        ]
        subprocess.run(command, check=True, timeout=INSTALL_MAX_S)


@contextmanager
def server(data: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """A server on a free port. Yields: its MCP URL and the tokens it made, read from its log as a person would."""
    port = free_port()
    data.mkdir(mode=0o700)
    log = data.parent / "server.log"
    command = [
        sys.executable,
        "-m",
        "agent_memory",
        "serve",
        "--data",
        str(data),
        "--port",
        str(port),
        "--page-port",
        "0",
    ]
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env={**os.environ, "AGENT_MEMORY_EMBED_URL": "off"})
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=1).close()
                break
            except OSError:
                time.sleep(0.05)
        lines = [line.split() for line in log.read_text().splitlines() if line.startswith("new token for client ")]
        yield f"http://127.0.0.1:{port}/mcp", {words[4].rstrip(";"): words[-1] for words in lines}
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


def claude_connects(root: Path, url: str, token: str) -> bool:
    """`claude mcp list` makes the connection and says so."""
    home = root / "claude-home"
    home.mkdir()
    claude = str(root / "npm/node_modules/.bin/claude")
    header = f"Authorization: Bearer {token}"
    print(run(home, claude, "--version"))
    run(home, claude, "mcp", "add", "--scope", "user", "--transport", "http", "agent-memory", url, "--header", header)
    listed = run(home, claude, "mcp", "list")
    print(f"claude mcp list:\n{listed}")
    bad = f"Authorization: Bearer {secrets.token_hex(8)}"
    run(home, claude, "mcp", "add", "--scope", "user", "--transport", "http", "wrong", url, "--header", bad)
    wrong = [line for line in run(home, claude, "mcp", "list").splitlines() if line.startswith("wrong:")]
    refused = bool(wrong) and "Connected" not in wrong[0]
    connected = any(line.startswith("agent-memory:") and "Connected" in line for line in listed.splitlines())
    print(
        f"Claude Code: {'Connected' if connected else 'NOT connected'}; a wrong token is "
        f"{'refused' if refused else 'NOT refused'}"
    )
    return connected and refused


def codex_connects(root: Path, url: str, token: str) -> bool:
    """`codex mcp list` reads the configuration without connecting; the app server that its editors use connects."""
    home = root / "codex-home"
    (home / ".codex").mkdir(parents=True)
    (home / ".codex/config.toml").write_text(
        f'[mcp_servers.agent_memory]\nurl = "{url}"\nbearer_token_env_var = "AGENT_MEMORY_TOKEN"\n'
    )
    codex = str(root / "npm/node_modules/.bin/codex")
    print(run(home, codex, "--version"))
    print(f"codex mcp list:\n{run(home, codex, 'mcp', 'list', token=token)}")
    seen = codex_status(home, codex, token)
    connected = "memory_search" in seen.get("tools", {})
    refused = not codex_status(home, codex, secrets.token_hex(8)).get("tools")
    print(
        f"Codex: {'connected' if connected else 'NOT connected'}, {len(seen.get('tools', {}))} tools of"
        f" {seen.get('serverInfo')}; a wrong token is {'refused' if refused else 'NOT refused'}"
    )
    return connected and refused


def codex_status(home: Path, codex: str, token: str) -> dict[str, Any]:
    """What Codex's app server says of the memory server after connecting to it."""
    process = subprocess.Popen(
        [codex, "app-server"],
        cwd=home, env=environment(home, token), text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    timer = threading.Timer(COMMAND_MAX_S, process.kill)
    timer.start()
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        about = {"name": "agent-memory-check", "title": "check", "version": "1"}
        for message in (
            {"id": 1, "method": "initialize", "params": {"clientInfo": about}},
            {"method": "initialized"},
            {"id": 2, "method": "mcpServerStatus/list", "params": {}},
        ):
            process.stdin.write(json.dumps(message) + "\n")
        process.stdin.flush()
        for line in process.stdout:
            answer = json.loads(line)
            if answer.get("id") == 2:
                servers = answer.get("result", {}).get("data", [])
                return next((each for each in servers if each["name"] == "agent_memory"), {})
        return {}
    finally:
        timer.cancel()
        process.kill()
        process.wait()


def run(home: Path, *command: str, token: str = "") -> str:
    """Run with a fresh HOME. Returns: what it printed."""
    done = subprocess.run(
        command,
        cwd=home,
        env=environment(home, token),
        capture_output=True,
        text=True,
        timeout=COMMAND_MAX_S,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode:
        print(f"{' '.join(command[:3])} ended with {done.returncode}: {done.stderr.strip()[:500]}")
    return done.stdout.strip()


def environment(home: Path, token: str) -> dict[str, str]:
    """A fresh home, no updates, and this machine's PATH alone."""
    return {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "CODEX_HOME": str(home / ".codex"),
        "AGENT_MEMORY_TOKEN": token,
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "NO_COLOR": "1",
    }


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


if __name__ == "__main__":
    main()
