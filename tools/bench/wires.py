"""The ways to the server: MCP and REST over plain sockets, one client or many, and the MCP SDK's own client."""

import http.client
import json
import threading
import time
from dataclasses import dataclass
from typing import Any, Literal

from servers import Running

Front = Literal["mcp", "rest"]
REVISION = "2026-07-28"  # of MCP, what a client of today speaks: each call stands by itself
META = {"io.modelcontextprotocol/protocolVersion": REVISION, "io.modelcontextprotocol/clientCapabilities": {}}
MCP_HEADERS = {
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": REVISION,
    "Mcp-Method": "tools/call",
}


class Line:
    """One connection, opened by the first call and kept. A plain socket: httpx would take as much processor time as the
    server that it is to measure.
    """

    def __init__(self, server: Running, front: Front) -> None:
        self._front = front
        self._headers = {
            "Authorization": f"Bearer {server.token}",
            "Content-Type": "application/json",
            **MCP_HEADERS,
        }
        self._connection = http.client.HTTPConnection(server.host, server.port, timeout=60)

    def close(self) -> None:
        self._connection.close()

    def body(self, tool: str, arguments: dict[str, Any]) -> bytes:
        """The request of a call, made beforehand where it must not count."""
        if self._front == "rest":
            return json.dumps(arguments).encode()
        params = {"name": f"memory_{tool}", "arguments": arguments, "_meta": META}
        return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()

    def post(self, tool: str, body: bytes) -> bytes:
        """The answer. Raises: SystemExit: the call was refused."""
        path = "/mcp" if self._front == "mcp" else f"/api/{tool}"
        self._connection.request("POST", path, body, {**self._headers, "Mcp-Name": f"memory_{tool}"})
        response = self._connection.getresponse()
        answer = response.read()
        if response.status != 200 or b'"isError":true' in answer:
            raise SystemExit(f"{tool} failed: {answer[:200].decode()}")
        return answer


@dataclass(frozen=True)
class Rate:
    """Calls per second, and milliseconds of the server's processor time that each took."""

    per_s: float
    cpu_ms: float

    def __str__(self) -> str:
        return f"{self.per_s:.0f} ({self.cpu_ms:.1f})"


def rate(server: Running, front: Front, tool: str, bodies: list[list[dict[str, Any]]], seconds: float) -> Rate:
    """Calls per second of as many clients as there are lists of arguments, each on a connection of its own."""
    counts = [0] * len(bodies)
    failures: list[str] = []
    barrier = threading.Barrier(len(bodies) + 1)

    def run(number: int, arguments: list[dict[str, Any]]) -> None:
        line = Line(server, front)
        ready = [line.body(tool, each) for each in arguments]
        barrier.wait()
        limit = time.perf_counter() + seconds
        for body in ready:
            if time.perf_counter() > limit:
                break
            try:
                line.post(tool, body)
            except SystemExit as failure:
                failures.append(str(failure))
                break
            counts[number] += 1
        line.close()

    threads = [threading.Thread(target=run, args=(number, each)) for number, each in enumerate(bodies)]
    for thread in threads:
        thread.start()
    barrier.wait()
    started, cpu_before = time.perf_counter(), server.cpu_s()
    for thread in threads:
        thread.join()
    if failures:
        raise SystemExit(failures[0])
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
