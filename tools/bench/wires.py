"""The ways to the server: MCP and REST over httpx, many clients over plain sockets, and the MCP SDK's own client."""

import http.client
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx
from servers import Running

Send = Callable[[str, dict[str, Any]], None]
MCP_HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}


def headers(server: Running) -> dict[str, str]:
    return {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json", **MCP_HEADERS}


def mcp_body(tool: str, arguments: dict[str, Any]) -> bytes:
    params = {"name": f"memory_{tool}", "arguments": arguments}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()


def over_mcp(client: httpx.Client, server: Running) -> Send:
    def send(tool: str, arguments: dict[str, Any]) -> None:
        answer = client.post(f"{server.url}/mcp", content=mcp_body(tool, arguments), headers=headers(server)).json()
        if answer.get("result", {}).get("isError", True):
            raise SystemExit(f"{tool} failed over MCP: {answer}")

    return send


def over_rest(client: httpx.Client, server: Running) -> Send:
    def send(tool: str, arguments: dict[str, Any]) -> None:
        answer = client.post(f"{server.url}/api/{tool}", content=json.dumps(arguments), headers=headers(server))
        if answer.status_code != 200:
            raise SystemExit(f"{tool} failed over REST: {answer.text}")

    return send


@dataclass(frozen=True)
class Rate:
    """Calls per second, and milliseconds of the server's processor time that each took."""

    per_s: float
    cpu_ms: float

    def __str__(self) -> str:
        return f"{self.per_s:.0f} ({self.cpu_ms:.1f})"


def rate(server: Running, front: str, tool: str, bodies: list[list[dict[str, Any]]], seconds: float) -> Rate:
    """Calls per second of as many clients as there are lists of arguments, each on a connection of its own.

    Plain sockets: httpx would take as much processor time as the server that it is to measure.
    """
    counts = [0] * len(bodies)
    failures: list[str] = []
    barrier = threading.Barrier(len(bodies) + 1)

    def run(number: int, arguments: list[dict[str, Any]]) -> None:
        path = "/mcp" if front == "mcp" else f"/api/{tool}"
        ready = [mcp_body(tool, each) if front == "mcp" else json.dumps(each).encode() for each in arguments]
        connection = http.client.HTTPConnection(server.host, server.port, timeout=30)
        connection.connect()
        barrier.wait()
        limit = time.perf_counter() + seconds
        for body in ready:
            if time.perf_counter() > limit:
                break
            connection.request("POST", path, body, headers(server))
            response = connection.getresponse()
            answer = response.read()
            if response.status != 200 or b'"isError":true' in answer:
                failures.append(answer[:200].decode())
                return
            counts[number] += 1
        connection.close()

    threads = [threading.Thread(target=run, args=(number, each)) for number, each in enumerate(bodies)]
    for thread in threads:
        thread.start()
    barrier.wait()
    started, cpu_before = time.perf_counter(), server.cpu_s()
    for thread in threads:
        thread.join()
    if failures:
        raise SystemExit(f"{tool} failed: {failures[0]}")
    calls = sum(counts)
    return Rate(calls / (time.perf_counter() - started), (server.cpu_s() - cpu_before) * 1000 / max(calls, 1))


def sdk_round_trip_ms(server: Running, tool: str, arguments: dict[str, Any]) -> float:
    """One call through the MCP SDK's own client, connected already."""
    import httpx2
    import trio
    from mcp.client import Client
    from mcp.client.streamable_http import streamable_http_client

    async def run() -> float:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {server.token}"}) as http_client,
            Client(streamable_http_client(f"{server.url}/mcp", http_client=http_client)) as client,
        ):
            await client.call_tool(f"memory_{tool}", arguments)
            started = time.perf_counter()
            await client.call_tool(f"memory_{tool}", arguments)
            return (time.perf_counter() - started) * 1000

    return trio.run(run)
