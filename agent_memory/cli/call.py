"""`call`: any tool of a running server, for scripts and hooks. Standard library only, so that it starts at once."""

import json
import os
import sys
import threading
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import click

from agent_memory import __version__
from agent_memory.cli.frame import DEFAULT_PORT

DEFAULT_URL: Final = f"http://127.0.0.1:{DEFAULT_PORT}"
CONNECT_S: Final = 1.0  # a server that is down must not hold up the agent whose hook asks it
TOTAL_S: Final = 10.0
ANSWER_MAX_BYTES: Final = 64 * 1024 * 1024


@dataclass
class Exchange:
    """One request and what came of it; filled by the thread that makes it."""

    connected: threading.Event = field(default_factory=threading.Event)
    finished: threading.Event = field(default_factory=threading.Event)
    status: int = 0
    body: bytes = b""
    problem: str = ""


@click.command()
@click.argument("tool")
@click.argument("arguments", default="{}", metavar="[JSON|-|@FILE]")
@click.option(
    "--timeout",
    "total_s",
    type=click.FloatRange(0.1, 600),
    default=TOTAL_S,
    show_default=True,
    help="Seconds for everything; a connection has 1 s.",
)
@click.option("--fail-open", is_flag=True, help="Exit 0 without a result when the server cannot be reached.")
def call(tool: str, arguments: str, total_s: float, fail_open: bool) -> None:
    """Call TOOL (with or without memory_) on a running server.

    Arguments are a JSON object, - for standard input or @FILE. AGENT_MEMORY_URL (default http://127.0.0.1:8765) and
    AGENT_MEMORY_TOKEN say where and as whom. The result goes to standard output; an error goes to standard error as
    JSON, with exit code 1.
    """
    body = read_arguments(arguments)
    url = os.environ.get("AGENT_MEMORY_URL") or DEFAULT_URL
    exchange = ask(url, tool.removeprefix("memory_"), body, os.environ.get("AGENT_MEMORY_TOKEN"), total_s)
    if exchange.problem or exchange.status == 503:
        answer = exchange.body.decode("utf-8", "replace") or error_json("unreachable", exchange.problem)
        click.echo(answer.strip(), err=True)
        sys.exit(0 if fail_open else 1)
    text = exchange.body.decode("utf-8", "replace").strip()
    if exchange.status != 200:
        foreign = f"{_shown(url)} answers HTTP {exchange.status}, and not as the agents' port of Agent Memory does"
        click.echo(text if is_error(text) else error_json("not_agent_memory", foreign), err=True)
        sys.exit(1)
    sys.stdout.buffer.write(text.encode() + b"\n")  # bytes: the answer is UTF-8 whatever the locale
    sys.stdout.buffer.flush()


def read_arguments(given: str) -> bytes:
    """The request's body. Ends with a usage error (exit code 2) unless it is one JSON object."""
    try:
        if given == "-":
            raw = sys.stdin.buffer.read()
        elif given.startswith("@"):
            raw = Path(given[1:]).read_bytes()
        else:
            raw = given.encode("utf-8", "surrogateescape")
    except OSError as error:
        raise click.UsageError(f"{given[1:]} cannot be read ({error.strerror})") from None
    try:
        found = json.loads(raw.decode("utf-8-sig") if raw.strip() else "{}")
    except (ValueError, RecursionError):
        raise click.UsageError("the arguments are not JSON in UTF-8") from None
    if not isinstance(found, dict):
        raise click.UsageError("the arguments must be a JSON object")
    return json.dumps(found).encode()


def ask(url: str, route: str, body: bytes, token: str | None, total_s: float) -> Exchange:
    """POST to `/api/<route>`.

    A thread does it, because neither looking up a name nor a reply that trickles in obeys a socket's time limit; a
    request that is given up on ends with the process.
    """
    exchange = Exchange()
    started = time.monotonic()
    worker = threading.Thread(target=_exchange, args=(exchange, url, route, body, token, total_s), daemon=True)
    worker.start()
    connect_s = min(CONNECT_S, total_s)
    if not exchange.connected.wait(connect_s):
        return Exchange(problem=f"no connection to {_shown(url)} within {connect_s:g} s")
    if not exchange.finished.wait(max(total_s - (time.monotonic() - started), 0)):
        return Exchange(problem=f"no answer from {_shown(url)} within {total_s:g} s")
    return exchange


def error_json(code: str, message: str) -> str:
    """The same shape that the server's errors have."""
    return json.dumps({"error": {"code": code, "message": message}}, ensure_ascii=False)


def is_error(text: str) -> bool:
    """Whether a body is one of the server's JSON errors (and not, say, a proxy's page)."""
    try:
        found = json.loads(text)
    except ValueError:
        return False
    return isinstance(found, dict) and isinstance(found.get("error"), dict)


def _exchange(exchange: Exchange, url: str, route: str, body: bytes, token: str | None, total_s: float) -> None:
    import http.client

    try:
        parts = urlsplit(url if "//" in url else f"//{url}", scheme="http")
        base = parts.path.rstrip("/").removesuffix("/mcp")  # people give the URL that their agent has
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        headers = {"Content-Type": "application/json", "User-Agent": f"agent-memory/{__version__}"}
        if token:
            headers["Authorization"] = f"Bearer {token.strip()}"
        with closing(kind(parts.hostname or "", parts.port, timeout=total_s)) as connection:
            connection.connect()
            exchange.connected.set()
            connection.request("POST", f"{base}/api/{route}", body, headers)
            response = connection.getresponse()
            exchange.status, exchange.body = response.status, response.read(ANSWER_MAX_BYTES)
    except (OSError, ValueError, http.client.HTTPException) as error:
        # the name of an error and not its text: that may repeat a header
        reason = getattr(error, "strerror", None) or type(error).__name__
        exchange.problem = f"{_shown(url)}: {reason}"
    finally:
        exchange.connected.set()
        exchange.finished.set()


def _shown(url: str) -> str:
    """The URL without user and password."""
    return url.rpartition("@")[2] if "@" in url else url
