"""The MCP front: both eras, notifications, sizes, and what an agent reads first."""

import json
from typing import Any

import pytest
import trio

from agent_memory.domain.anchors import KINDS
from agent_memory.domain.records import TYPES
from agent_memory.web.mcp import ENVELOPE, INSTRUCTIONS
from support.http import Reply
from support.world import ERAS, HERE, MODERN, World, tool_answer

TOOLS_LIST_BYTES = 12_000  # DESIGN.md section 3, for all eighteen tools


async def initialize(world: World, era: str = "2025-11-25") -> Any:
    body = {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {"protocolVersion": era, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
    }
    return (await world.post("/mcp", json.dumps(body).encode())).json["result"]


async def test_the_handshake_names_server_version_and_instructions(world: World) -> None:
    result = await initialize(world)
    from agent_memory import __version__

    assert result["serverInfo"] == {"name": "agent-memory", "version": __version__}
    assert result["instructions"] == INSTRUCTIONS
    assert len(INSTRUCTIONS) < 2_000
    for step in ("memory_bootstrap", "memory_search", "memory_get", "memory_store"):
        assert step in INSTRUCTIONS


async def test_the_instructions_name_no_tool_that_is_not_there(world: World) -> None:
    import re

    known = {tool.name for tool in world.registry}
    assert set(re.findall(r"memory_\w+", INSTRUCTIONS)) <= known


@pytest.mark.parametrize("era", ERAS)
async def test_the_tools_are_listed_small_and_say_what_they_do(world: World, era: str) -> None:
    reply = await world.message("tools/list", era=era)
    tools = reply.json["result"]["tools"]
    assert [tool["name"] for tool in tools] == [tool.name for tool in world.registry]
    # Room for the tools that are still to come: no tool takes more than its share.
    assert len(reply.body) < TOOLS_LIST_BYTES * len(tools) / 18 + 600
    # Such an argument would have to be compared with its header: the front tells the SDK that there is none.
    assert b"x-mcp-header" not in reply.body
    for tool in tools:
        assert 40 < len(tool["description"]) < 400, tool["name"]
        assert tool["inputSchema"]["type"] == "object"
        assert set(tool["annotations"]) == {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}


async def test_an_agent_reads_in_the_listing_which_types_and_anchors_there_are(world: World) -> None:
    tools = (await world.message("tools/list")).json["result"]["tools"]
    takes = next(tool for tool in tools if tool["name"] == "memory_store")["inputSchema"]["properties"]
    assert takes["type"]["enum"] == list(TYPES)
    assert all(f"{kind}:" in takes["anchors"]["description"] for kind in KINDS)


@pytest.mark.parametrize("era", ERAS)
async def test_a_notification_gets_202_and_an_empty_body(world: World, era: str) -> None:
    for method in ("notifications/initialized", "notifications/cancelled", "notifications/unheard-of"):
        body = json.dumps({"jsonrpc": "2.0", "method": method, "params": {"requestId": 1}}).encode()
        reply = await world.post("/mcp", body, mcp_protocol_version=era)
        assert (reply.status, reply.body) == (202, b""), method


@pytest.mark.parametrize("era", ERAS)
async def test_an_unknown_or_old_session_id_is_ignored(world: World, era: str) -> None:
    note = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode()
    listing = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}).encode()
    for session in ("", "no-such-session", "0" * 32, "\xff", "x" * 4000):
        reply = await world.post("/mcp", note, mcp_protocol_version=era, mcp_session_id=session)
        assert reply.status == 202, session
        assert "mcp-session-id" not in reply.headers
        if era != MODERN:
            reply = await world.post("/mcp", listing, mcp_protocol_version=era, mcp_session_id=session)
            assert reply.json["result"]["tools"], session
            assert "mcp-session-id" not in reply.headers


async def test_a_narrow_accept_header_is_served_all_the_same(world: World) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode()
    for accept in ("", "*/*", "application/json", "text/event-stream", "text/html"):
        assert (await world.post("/mcp", body, accept=accept)).json["result"]["tools"], accept


@pytest.mark.parametrize("era", ERAS)
async def test_an_unknown_tool_is_an_error_result_with_the_code_of_rest(world: World, era: str) -> None:
    failed, answer = tool_answer(await world.mcp("nothing", era=era))
    assert failed
    assert answer["error"]["code"] == (await world.rest("nothing")).code == "unknown_tool"


BROKEN = (
    b"{",
    b"[]",
    b"null",
    b"17",
    b'"x"',
    b"{}",
    b"\xff\xfe",
    b"[" * 50_000,
    b'{"jsonrpc": "1.0", "id": 1}',
    b'{"jsonrpc": "2.0", "id": [1], "method": "tools/list"}',
    b'{"jsonrpc": "2.0", "id": 1, "method": 5}',
    b'{"jsonrpc": "2.0", "id": 1, "result": {}}',
    b'{"jsonrpc": "2.0", "id": ' + b"9" * 5000 + b"}",
    b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": []}',
    b'[{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}]',
)


@pytest.mark.parametrize("era", ERAS)
async def test_a_broken_message_gets_a_json_error(world: World, era: str) -> None:
    for body in BROKEN:
        with trio.fail_after(5):
            reply = await world.post("/mcp", body, mcp_protocol_version=era)
        assert reply.status in (200, 202, 400, 404), body[:40]
        if reply.status != 202:
            assert "error" in reply.json, body[:40]


REFUSED = (
    (b"[]", None, "batches"),
    (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', None, "batches"),
    (b"null", None, "JSON object"),
    (b'"text"', None, "JSON object"),
    (b'{"id": 1, "method": "ping"}', 1, "jsonrpc"),
    (b'{"jsonrpc": 2.0, "id": 1, "method": "ping"}', 1, "jsonrpc"),
    (b'{"jsonrpc": "2.0", "id": "a"}', "a", "method is missing"),
    (b'{"jsonrpc": "2.0", "id": 1, "method": null}', 1, "method must be a string"),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}', 1, "params must be an object"),
    (b'{"jsonrpc": "2.0", "id": 1, "result": 5}', 1, "result must be an object"),
    (b'{"jsonrpc": "2.0", "id": 1, "error": "x"}', 1, "error must be an object"),
    (b'{"jsonrpc": "2.0", "id": 1, "error": {"code": "x", "message": "y"}}', 1, "error must hold code"),
    (b'{"jsonrpc": "2.0", "result": {}}', None, "id must be a string"),
)


@pytest.mark.parametrize("era", ERAS)
async def test_what_is_no_message_is_refused_with_what_is_wrong(world: World, era: str) -> None:
    for body, request_id, said in REFUSED:
        reply = await world.post("/mcp", body, mcp_protocol_version=era)
        assert (reply.status, reply.json["error"]["code"], reply.json["id"]) == (400, -32600, request_id), body
        assert said in reply.json["error"]["message"], body
        assert reply.headers["content-length"] == str(len(reply.body))
    reply = await world.post("/mcp", b"{", mcp_protocol_version=era)
    assert (reply.status, reply.json["error"]["code"]) == (400, -32700)


CALLS = (
    ({"arguments": {}}, "params.name"),
    ({"name": 5}, "params.name"),
    ({"name": "memory_search", "arguments": "{}"}, "params.arguments must be an object; these are a string"),
    ({"name": "memory_search", "arguments": []}, "params.arguments must be an object; these are an array"),
)


@pytest.mark.parametrize("era", ERAS)
async def test_a_call_in_the_wrong_shape_is_told_what_is_wrong(world: World, era: str) -> None:
    for params, said in CALLS:
        reply = await world.message("tools/call", era=era, params=params)
        assert (reply.status, reply.json["error"]["code"], reply.json["id"]) == (200, -32602, 1), params
        assert said in reply.json["error"]["message"]


@pytest.mark.parametrize("era", ERAS)
async def test_a_byte_order_mark_is_passed_over(world: World, era: str) -> None:
    call = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    reply = await world.post("/mcp", b"\xef\xbb\xbf" + json.dumps(call).encode(), mcp_protocol_version=era)
    assert reply.status == 202


NO_IDS: tuple[Any, ...] = (None, 1.5, 1.0, True, {"a": 1}, [1])


@pytest.mark.parametrize("era", ERAS)
async def test_a_request_whose_id_cannot_be_echoed_is_refused_and_not_taken_for_a_notification(
    world: World, era: str
) -> None:
    for method in ("initialize", "tools/call", "tools/list", "no/such/method", *METHODS):
        for request_id in NO_IDS:
            world.request_id = request_id
            reply = await world.message(method, era=era, params={"name": "memory_search", "arguments": {}})
            assert (reply.status, reply.json["error"]["code"], reply.json["id"]) == (400, -32600, None), method
            assert "id must be a string or a whole number" in reply.json["error"]["message"]
        body = json.dumps({"jsonrpc": "2.0", "method": method}).encode()
        reply = await world.post("/mcp", body, mcp_protocol_version=era)
        assert (reply.status, reply.json["error"]["code"]) == (400, -32600), method
        assert "id is missing" in reply.json["error"]["message"]


async def test_an_unknown_protocol_version_gets_a_json_answer(world: World) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}).encode()
    for version in ("", "1999-01-01", "2099-01-01", "\xff", "x" * 4000):
        reply = await world.post("/mcp", body, mcp_protocol_version=version)
        assert reply.headers["content-type"].startswith("application/json"), version
        assert "error" in reply.json or reply.status == 200, version


METHODS = (
    "subscriptions/listen",
    "resources/list",
    "resources/subscribe",
    "prompts/list",
    "completion/complete",
    "sampling/createMessage",
    "logging/setLevel",
    "tasks/list",
    "no/such/method",
    "ping",
    "server/discover",
)


@pytest.mark.parametrize("era", ERAS)
async def test_every_other_method_is_answered_at_once_and_in_json(world: World, era: str) -> None:
    for method in METHODS:
        with trio.fail_after(5):
            reply = await world.message(method, era=era)
        assert reply.headers["content-type"].startswith("application/json"), method
        assert "error" in reply.json or "result" in reply.json, method


@pytest.mark.parametrize("era", ERAS)
async def test_the_answer_carries_the_request_s_own_id(world: World, era: str) -> None:
    for request_id in (0, 7, -1, 2**53, "a", "x" * 200, "ü-\u4e2d", "\ud800", '"quoted"'):
        world.request_id = request_id
        reply = await world.mcp("search", era=era, query="x", namespace=HERE)
        assert reply.json["id"] == ("\ufffd" if request_id == "\ud800" else request_id)


async def raw_call(world: World, text: str, era: str) -> Reply:
    """A search whose arguments are the given JSON text, escapes and all."""
    params = f'{{"name": "memory_search", "arguments": {text}}}'
    if era == MODERN:
        meta = (
            '{"io.modelcontextprotocol/protocolVersion": "2026-07-28",'
            ' "io.modelcontextprotocol/clientCapabilities": {}}'
        )
        params = params[:-1] + f', "_meta": {meta}}}'
    body = f'{{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {params}}}'
    return await world.post(
        "/mcp", body.encode(), mcp_protocol_version=era, mcp_method="tools/call", mcp_name="memory_search"
    )


@pytest.mark.parametrize("era", ERAS)
async def test_lone_surrogates_and_nul_in_json_are_served(world: World, era: str) -> None:
    for escape in ("\\ud800", "\\uDC00", "\\uD83D\\uDE00", "\\u0000", "\\\\ud800"):
        reply = await raw_call(world, f'{{"query": "needle {escape}", "namespace": "{HERE}"}}', era)
        assert tool_answer(reply)[0] is False, escape


async def test_a_call_without_arguments_names_what_is_missing(world: World) -> None:
    for era in ERAS:
        reply = await world.message("tools/call", era=era, params={"name": "memory_search"})
        failed, answer = tool_answer(reply)
        assert failed
        assert answer["error"]["code"] == "invalid_argument"


@pytest.mark.parametrize("era", ERAS)
async def test_the_envelope_is_no_larger_than_the_bootstrap_reckons(world: World, era: str) -> None:
    reply = await world.mcp("bootstrap", era=era, namespace=HERE)
    text = reply.json["result"]["content"][0]["text"]
    around = len(reply.body) - (len(json.dumps(text)) - 2) - len(json.dumps(world.request_id))
    assert around <= len(ENVELOPE)
    assert era != MODERN or around == len(ENVELOPE)
