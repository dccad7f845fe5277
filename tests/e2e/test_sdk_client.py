"""The MCP SDK's own client over real HTTP, in both protocol eras."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from agent_memory import __version__
from agent_memory.tools import build_registry
from support.server import Server
from support.world import MODERN, token_of

MODES = ("legacy", "auto", MODERN)


@asynccontextmanager
async def connected(server: Server, mode: str, client: str = "owner") -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {token_of(client)}"}
    async with httpx2.AsyncClient(headers=headers, timeout=20, trust_env=False) as http:
        transport = streamable_http_client(f"{server.url}/mcp", http_client=http)
        async with Client(transport, mode=mode) as session:
            yield session


def answer(result: Any) -> Any:
    return json.loads(result.content[0].text)


@pytest.mark.parametrize("mode", MODES)
async def test_the_flow_of_a_session_works_in_every_era(shared_server: Server, mode: str) -> None:
    async with connected(shared_server, mode) as client:
        listed = await client.list_tools()
        assert [tool.name for tool in listed.tools] == [tool.name for tool in build_registry()]
        by_name = {tool.name: tool for tool in listed.tools}
        assert by_name["memory_search"].annotations.read_only_hint is True
        assert by_name["memory_forget"].annotations.destructive_hint is True
        named = answer(await client.call_tool("memory_namespace", {"name": f"sdk {mode}"}))
        namespace = named["namespace"]
        given = {"namespace": namespace, "type": "decision", "title": "Größe 中文", "content": "zephyrion"}
        stored = answer(await client.call_tool("memory_store", given))
        listing = answer(await client.call_tool("memory_bootstrap", {"namespace": namespace}))
        assert [item["title"] for item in listing["items"]] == ["Größe 中文"]
        found = answer(await client.call_tool("memory_search", {"namespace": namespace, "query": "zephyrion"}))
        assert [hit["id"] for hit in found["hits"]] == [stored["id"]]
        whole = answer(await client.call_tool("memory_get", {"ids": [listing["items"][0]["id"]]}))
        assert whole["records"][0]["content"] == "zephyrion"


@pytest.mark.parametrize("mode", MODES)
async def test_a_refusal_is_an_error_result_with_its_code(shared_server: Server, mode: str) -> None:
    async with connected(shared_server, mode, "reader") as client:
        given = {"namespace": "global", "type": "fact", "title": "t", "content": "c"}
        refused = await client.call_tool("memory_store", given)
        assert refused.is_error
        assert answer(refused)["error"]["code"] == "forbidden"


async def test_the_handshake_names_the_server(shared_server: Server) -> None:
    async with connected(shared_server, "legacy") as client:
        assert client.server_info.version == __version__
        assert client.instructions is not None
        assert "memory_bootstrap" in client.instructions


async def test_a_client_goes_on_after_a_restart_of_the_server(server: Server) -> None:
    async with connected(server, "legacy") as client:
        assert not (await client.call_tool("memory_search", {"namespace": "global", "query": "x"})).is_error
        port = server.port
        server.stop()
        server.start(port=port)
        assert not (await client.call_tool("memory_search", {"namespace": "global", "query": "x"})).is_error
