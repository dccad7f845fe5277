"""`call` against servers of every temper: one that answers, refuses, is silent, trickles, or is not there."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from agent_memory.cli import main

REFUSAL = '{"error": {"code": "not_found", "message": "no live record"}}'


@contextmanager
def listening(behave: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server on a free port that treats each connection so. Yields: its URL."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    behave(connection)

        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)


def request_of(connection: socket.socket) -> bytes:
    received = b""
    while b"\r\n\r\n" not in received:
        received += connection.recv(65536)
    head, _, body = received.partition(b"\r\n\r\n")
    length = next(int(line.split(b":")[1]) for line in head.splitlines() if line.lower().startswith(b"content-length"))
    while len(body) < length:
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body


def answering(status: str, body: str, seen: list[bytes] | None = None) -> Callable[[socket.socket], None]:
    def behave(connection: socket.socket) -> None:
        request = request_of(connection)
        if seen is not None:
            seen.append(request)
        raw = body.encode()
        connection.sendall(
            f"HTTP/1.1 {status}\r\nContent-Length: {len(raw)}\r\nConnection: close\r\n\r\n".encode() + raw
        )

    return behave


def call(url: str, *arguments: str, given: str | None = None, token: str = "secret-token") -> Result:
    environment = {"AGENT_MEMORY_URL": url, "AGENT_MEMORY_TOKEN": token}
    return CliRunner().invoke(main, ["call", *arguments], input=given, env=environment)


def test_the_result_goes_to_standard_output_as_it_is() -> None:
    seen: list[bytes] = []
    with listening(answering("200 OK", '{"hits":["日本"]}', seen)) as url:
        done = call(url, "memory_search", '{"query": "日本"}')
    assert (done.exit_code, done.stdout, done.stderr) == (0, '{"hits":["日本"]}\n', "")
    assert seen[0].startswith(b"POST /api/search HTTP/1.1\r\n")
    assert b"Authorization: Bearer secret-token\r\n" in seen[0]
    assert json.loads(seen[0].partition(b"\r\n\r\n")[2]) == {"query": "日本"}


@pytest.mark.parametrize("end", ["", "/", "/mcp", "/mcp/"])
def test_the_url_may_be_the_one_that_agents_have(end: str) -> None:
    seen: list[bytes] = []
    with listening(answering("200 OK", "{}", seen)) as url:
        assert call(url + end, "search").exit_code == 0
    assert seen[0].startswith(b"POST /api/search ")


def test_arguments_come_from_standard_input_or_a_file(tmp_path: Path) -> None:
    file = tmp_path / "arguments.json"
    file.write_text('{"a": 1}')
    seen: list[bytes] = []
    with listening(answering("200 OK", "{}", seen)) as url:
        assert call(url, "search", "-", given='{"a": 1}').exit_code == 0
        assert call(url, "search", f"@{file}").exit_code == 0
        assert call(url, "search").exit_code == 0
    assert [json.loads(each.partition(b"\r\n\r\n")[2]) for each in seen] == [{"a": 1}, {"a": 1}, {}]


def test_an_error_of_the_server_goes_to_standard_error_with_exit_code_1() -> None:
    with listening(answering("404 Not Found", REFUSAL)) as url:
        done = call(url, "get", "--fail-open")
    assert (done.exit_code, done.stdout) == (1, "")
    assert json.loads(done.stderr) == json.loads(REFUSAL)


@pytest.mark.parametrize("arguments", ["{", "[]", "1", "@/no/such/file"])
def test_arguments_that_are_no_object_are_wrong_usage(arguments: str) -> None:
    assert call("http://127.0.0.1:1", "search", arguments).exit_code == 2


def test_a_server_that_is_not_there_fails_at_once_and_opens_when_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    done = call(url, "search")
    assert (done.exit_code, done.stdout) == (1, "")
    assert json.loads(done.stderr)["error"]["code"] == "unreachable"
    opened = call(url, "search", "--fail-open")
    assert (opened.exit_code, opened.stdout) == (0, "")


def silent(connection: socket.socket) -> None:
    connection.recv(65536)
    time.sleep(3)


def trickling(connection: socket.socket) -> None:
    """A byte now and then: no single wait is long."""
    request_of(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    try:
        for _ in range(60):
            connection.sendall(b" ")
            time.sleep(0.05)
    except OSError:
        return


@pytest.mark.parametrize("behave", [silent, trickling])
def test_a_server_that_does_not_finish_is_given_up_on(behave: Callable[[socket.socket], None]) -> None:
    with listening(behave) as url:
        started = time.monotonic()
        done = call(url, "search", "--timeout", "0.3", "--fail-open")
        assert time.monotonic() - started < 2
    assert (done.exit_code, done.stdout) == (0, "")
    assert "no answer" in done.stderr


def test_a_busy_server_counts_as_down_and_its_reason_is_told() -> None:
    body = '{"error": {"code": "busy", "message": "retry in 1 s"}}'
    with listening(answering("503 Service Unavailable", body)) as url:
        assert call(url, "search").exit_code == 1
        opened = call(url, "search", "--fail-open")
    assert (opened.exit_code, json.loads(opened.stderr)["error"]["code"]) == (0, "busy")


def test_something_else_at_the_port_is_no_result() -> None:
    with listening(answering("404 Not Found", "<html>")) as url:
        done = call(url, "search")
    error = json.loads(done.stderr)["error"]
    assert error["code"] == "not_agent_memory"
    assert f"{url} answers HTTP 404" in error["message"]


def test_neither_token_nor_password_of_the_url_is_repeated() -> None:
    done = call("http://user:Lantern4147@127.0.0.1:1", "search", token="bad\ntoken-value")
    assert "Lantern" not in done.stderr
    assert "token-value" not in done.stderr
    assert done.exit_code == 1
