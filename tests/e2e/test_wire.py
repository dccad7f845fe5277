"""What goes over a real socket: malformed requests, large ones, upgrades, and answers that are always JSON."""

import json

import pytest

from agent_memory.web.requests import BODY_MAX_BYTES
from support.http import raw
from support.server import Server
from support.world import token_of

HEAD = f"Host: localhost\r\nAuthorization: Bearer {token_of('owner')}\r\n"
JSON = "Content-Type: application/json\r\n"


@pytest.mark.parametrize("path", ["/api/search", "/mcp", "/no/such/path"])
@pytest.mark.parametrize(
    ("length", "statuses"),
    [
        ("", {400}),
        ("Content-Length: ten\r\n", {400}),
        ("Content-Length: -1\r\n", {400}),
        ("Content-Length: +2\r\n", {400}),
        ("Content-Length: 2, 3\r\n", {400}),
        ("Content-Length: 2\r\nContent-Length: 3\r\n", {400}),
        ("Content-Length: 99999999999999999999999\r\n", {400, 413}),
        (f"Content-Length: {BODY_MAX_BYTES + 1}\r\n", {413}),
        ("Transfer-Encoding: chunked\r\n", {400}),
        ("Transfer-Encoding: chunked\r\nContent-Length: 2\r\n", {400}),
        ("Transfer-Encoding: gzip\r\n", {400, 501}),
    ],
    ids=lambda value: value[16:40].strip() or "none" if isinstance(value, str) else "",
)
async def test_a_post_without_a_proper_length_is_refused_in_json(
    shared_server: Server, path: str, length: str, statuses: set[int]
) -> None:
    body = "2\r\n{}\r\n0\r\n\r\n" if "chunked" in length else "{}"
    reply = await raw(shared_server.port, f"POST {path} HTTP/1.1\r\n{HEAD}{JSON}{length}\r\n{body}".encode())
    assert reply.status in statuses
    assert reply.headers["content-type"] == "application/json"
    assert reply.json["error"]["message"]
    assert reply.headers["server"].startswith("agent-memory/")


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"nonsense\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",  # no Host
        b"GET / HTTP/1.1\r\nHost: x\r\nBad Header\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nX: \x00\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 200 + b"\r\n\r\n",  # TLS
    ],
    ids=lambda value: value[:24],
)
async def test_bytes_that_are_no_request_get_a_json_error(shared_server: Server, request_bytes: bytes) -> None:
    reply = await raw(shared_server.port, request_bytes)
    assert 400 <= reply.status < 500
    assert reply.headers["content-type"] == "application/json"
    assert reply.json["error"]["code"]


async def test_a_body_far_too_large_is_answered_and_not_just_cut_off(shared_server: Server) -> None:
    body = b" " * (4 * BODY_MAX_BYTES)
    head = f"POST /api/search HTTP/1.1\r\n{HEAD}{JSON}Content-Length: {len(body)}\r\n\r\n".encode()
    reply = await raw(shared_server.port, head + body, timeout_s=10)
    assert (reply.status, reply.code) == (413, "too_large")


async def test_an_origin_is_refused_before_anything_else(shared_server: Server) -> None:
    for method in ("GET", "POST", "OPTIONS"):
        request = f"{method} /nothing HTTP/1.1\r\nHost: x\r\nOrigin: https://evil.example\r\nContent-Length: 0\r\n\r\n"
        reply = await raw(shared_server.port, request.encode())
        assert (reply.status, reply.code) == (403, "origin_refused")


@pytest.mark.parametrize("key", ["", "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"])
async def test_what_asks_for_a_websocket_is_answered_as_a_request_and_the_connection_ends(
    shared_server: Server, key: str
) -> None:
    head = f"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close, Upgrade\r\nUpgrade: websocket\r\n{key}\r\n"
    reply = await raw(shared_server.port, head.encode())
    assert (reply.status, reply.json) == (200, {"ok": True})


async def test_unicode_goes_through_as_utf8_bytes(shared_server: Server) -> None:
    async with shared_server.client() as client:
        text = "Größe 中文キャッシュ 한국어 😀 e\u0301"
        record = {"namespace": "local/utf8", "type": "fact", "title": text, "content": text}
        stored = (await client.post("/api/store", json=record)).json()
        reply = await client.post("/api/get", json={"ids": [stored["id"]]})
        assert reply.json()["records"][0]["title"] == text
        assert text.encode() in reply.content  # not escaped: half the bytes for CJK


async def test_every_front_names_the_same_version(shared_server: Server) -> None:
    from agent_memory import __version__

    async with shared_server.client() as client:
        health = await client.get("/health")
        assert health.json()["version"] == __version__
        assert health.headers["server"] == f"agent-memory/{__version__}"
        hello = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "t", "version": "1"},
            },
        }
        reply = await client.post("/mcp", json=hello)
        assert reply.json()["result"]["serverInfo"]["version"] == __version__
        assert json.loads((await client.get("/api/openapi.json")).content)["info"]["version"] == __version__
