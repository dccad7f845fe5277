"""The rules that come first and hold on every path, known or not; and that every error is JSON."""

import tracemalloc
from collections.abc import MutableMapping

import pytest

from agent_memory.web.requests import BODY_MAX_BYTES
from support.http import asgi
from support.world import World, token_of

PATHS = ("/mcp", "/api/search", "/api/no-such-tool", "/health", "/healthz", "/", "/no/such/path", "/api/openapi.json")
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "TRACE")


ORIGINS = ("http://localhost:8765", "null", "")
NOT_JSON = ("", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "json", "application/jsonx")
LENGTHS = {
    None: 400,
    "": 400,
    "-1": 400,
    "+5": 400,
    "1.5": 400,
    "0x10": 400,
    "ten": 400,
    "1_0": 400,
    "9" * 30: 400,
    "²": 400,
    "2, 3": 400,
    str(BODY_MAX_BYTES + 1): 413,
    "9" * 19: 413,
}


@pytest.mark.parametrize("path", PATHS)
async def test_an_origin_is_refused_on_every_path_and_method(world: World, path: str) -> None:
    for method in METHODS:
        for origin in ORIGINS:
            headers = {"origin": origin, "content-type": "application/json", "content-length": "2"}
            reply = await world.request(method, path, headers=headers, body=b"{}")
            assert (reply.status, reply.code) == (403, "origin_refused"), (method, origin)


@pytest.mark.parametrize("path", PATHS)
async def test_a_post_that_is_not_json_is_refused_on_every_path(world: World, path: str) -> None:
    for kind in NOT_JSON:
        reply = await world.request("POST", path, headers={"content-type": kind, "content-length": "2"}, body=b"{}")
        assert (reply.status, reply.code) == (415, "unsupported_media_type"), kind


@pytest.mark.parametrize("path", PATHS)
async def test_a_post_needs_a_proper_content_length_on_every_path(world: World, path: str) -> None:
    for length, status in LENGTHS.items():
        headers = {"content-type": "application/json"} | ({} if length is None else {"content-length": length})
        reply = await world.request("POST", path, headers=headers, body=b"{}")
        assert reply.status == status, length
        assert reply.code in {"length_required", "bad_length", "too_large"}, length


async def test_json_is_recognised_whatever_its_case_and_parameters(world: World) -> None:
    for kind in ("application/json", "Application/JSON; charset=utf-8", " application/json ;x=y"):
        reply = await world.request("POST", "/api/nothing", headers={"content-type": kind, "content-length": "2"})
        assert reply.status == 404, kind


async def test_a_body_larger_than_it_said_is_refused(world: World) -> None:
    headers = {"content-type": "application/json", "content-length": "2"}
    reply = await world.request("POST", "/api/search", headers=headers, body=b" " * (BODY_MAX_BYTES + 1))
    assert (reply.status, reply.code) == (413, "too_large")


async def test_a_megabyte_is_read(world: World) -> None:
    padding = b'{"query": "%s", "namespace": "global"}'
    body = padding % (b"x" * (BODY_MAX_BYTES - len(padding) + 2))
    assert len(body) == BODY_MAX_BYTES
    assert (await world.post("/api/search", body)).status == 200


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("POST", "/api/search", 401), ("POST", "/mcp", 401), ("POST", "/register", 413), ("GET", "/healthz", 413)],
)
async def test_a_megabyte_of_a_stranger_is_not_kept_in_memory(
    world: World, method: str, path: str, status: int
) -> None:
    taken = 0

    async def receive() -> dict[str, object]:
        nonlocal taken
        taken += 1
        return {"type": "http.request", "body": b" " * 65_536, "more_body": taken < 16}

    sent: list[MutableMapping[str, object]] = []

    async def send(message: MutableMapping[str, object]) -> None:
        sent.append(message)

    headers = [(b"content-type", b"application/json"), (b"content-length", b"1048576"), (b"host", b"x")]
    scope = {"type": "http", "method": method, "path": path, "headers": headers, "client": ("198.51.100.9", 1)}
    tracemalloc.start()
    await world.gate(scope, receive, send)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert sent[0]["status"] == status
    assert peak < BODY_MAX_BYTES / 2


async def test_mcp_answers_post_alone(world: World) -> None:
    for method in ("GET", "DELETE", "PUT", "OPTIONS", "HEAD"):
        reply = await world.request(method, "/mcp")
        assert (reply.status, reply.headers["allow"]) == (405, "POST"), method
        assert reply.code == "method_not_allowed", method


UNKNOWN = (
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-authorization-server/mcp",
    "/favicon.ico",
    "/api",
    "/api/",
    "/api/search/more",
    "/api//search",
    "/health//",
    "//",
    "/mcp/",
    "/../etc/passwd",
    "/%00",
    "/caf%C3%A9",
    "/%FF",
    "",
    "*",
    "?x=1",
)


async def test_unknown_paths_are_json_404(world: World) -> None:
    for path in UNKNOWN:
        for client in ("owner", "no-such-client"):
            reply = await world.request("GET", path, client)
            assert (reply.status, reply.code) == (404, "not_found"), path
            assert reply.headers["content-type"] == "application/json", path


@pytest.mark.parametrize("path", PATHS)
async def test_every_answer_names_the_server_and_every_error_is_json(world: World, path: str) -> None:
    for method in METHODS:
        for client in ("owner", "no-such-client"):
            headers = {"content-type": "application/json", "content-length": "2"}
            reply = await world.request(method, path, client, headers=headers, body=b"{}")
            assert reply.headers["server"].startswith("agent-memory/"), method
            if reply.status >= 400:
                assert reply.headers["content-type"] == "application/json", method
                assert reply.code or "jsonrpc" in reply.json, method
            if reply.status == 405:
                assert reply.headers["allow"], method


async def test_the_open_probe_needs_no_client_and_health_needs_one_with_read(world: World) -> None:
    assert (await asgi(world.gate, "GET", "/healthz")).json == {"ok": True}
    assert (await asgi(world.gate, "GET", "/health")).status == 401
    assert (await world.request("GET", "/health", "exporter")).status == 403
    assert (await world.request("GET", "/health", "desk")).status == 200


AUTHORIZATIONS = {
    None: "Authorization header is missing",
    "Bearer sentinel-token-4711": "unknown token",
    "Basic sentinel-token-4711": "must read 'Bearer <token>'",
    "sentinel-token-4711": "must read 'Bearer <token>'",
    "Bearer": "must read 'Bearer <token>'",
    "": "must read 'Bearer <token>'",
    "Bearer sentinel-token-4711 more": "unknown token",
    "Bearer \xff\xfe sentinel-token-4711": "unknown token",
}


@pytest.mark.parametrize("path", ["/mcp", "/api/search", "/health", "/api/openapi.json", "/api/no-such-tool"])
async def test_a_401_says_what_was_wrong_and_never_echoes_a_token(world: World, path: str) -> None:
    method = "GET" if path in ("/health", "/api/openapi.json") else "POST"
    for authorization, says in AUTHORIZATIONS.items():
        headers = {"content-type": "application/json", "content-length": "2"}
        headers |= {} if authorization is None else {"authorization": authorization}
        reply = await asgi(world.gate, method, path, headers=headers, body=b"{}")
        assert (reply.status, reply.code) == (401, "unauthenticated"), authorization
        assert says in reply.json["error"]["message"], authorization
        assert "sentinel" not in str(reply)
        assert reply.headers["www-authenticate"].startswith("Bearer")


async def test_a_foreign_host_is_refused_where_hosts_are_listed(world: World) -> None:
    world.gate._allowed_hosts = ("memory.lan", "[::1]")
    for host, status in [
        ("memory.lan", 200),
        ("Memory.LAN:8765", 200),
        ("[::1]:8765", 200),
        ("evil.example", 403),
        ("memory.lan.evil.example", 403),
        ("", 403),
    ]:
        assert (await asgi(world.gate, "GET", "/healthz", headers={"host": host})).status == status, host
    assert (await asgi(world.gate, "GET", "/healthz")).code == "host_refused"


BODIES = {
    b"": "invalid_argument",  # an empty body is an empty object; the tool then misses its arguments
    b"{": "bad_json",
    b"nonsense": "bad_json",
    b"\xff\xfe": "bad_encoding",
    b"[]": "invalid_argument",
    b'"text"': "invalid_argument",
    b"null": "invalid_argument",
    b"[" * 100_000: "bad_json",
    b'{"a":' * 50_000: "bad_json",
    b'{"limit": ' + b"9" * 5000 + b"}": "bad_json",
}


async def test_a_body_that_is_no_json_object_is_refused(world: World) -> None:
    for body, code in BODIES.items():
        assert (await world.post("/api/search", body)).code == code, body[:20]


async def test_a_deep_value_is_refused_whatever_argument_carries_it(world: World) -> None:
    deep = b'{"query": ' + b"[" * 900 + b"]" * 900 + b', "namespace": "global"}'
    assert (await world.post("/api/search", deep)).code in {"bad_json", "invalid_argument"}


async def test_a_bug_answers_500_without_its_text(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: object) -> str:
        raise RuntimeError("sentinel: content of a record")

    monkeypatch.setattr(world.registry, "invoke", broken)
    for reply in (await world.rest("search"), await world.mcp("search")):
        assert "sentinel" not in str(reply)
    assert (await world.rest("search")).code == "internal"


async def test_a_token_in_the_query_string_is_no_credential(world: World) -> None:
    reply = await asgi(world.gate, "GET", f"/health?access_token={token_of('owner')}")
    assert reply.status == 401
