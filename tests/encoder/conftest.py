"""A stand-in HTTP server: the test says what each request gets, to the byte."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
import trio


@dataclass
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Handler = Callable[[Request, trio.SocketStream], Awaitable[None]]


@dataclass
class StandIn:
    """Listens on a free port; `answer` decides. Every request is kept in `seen`."""

    url: str
    answer: Handler
    seen: list[Request] = field(default_factory=list)


async def reply(stream: trio.SocketStream, body: bytes | dict[str, Any], status: int = 200, **headers: str) -> None:
    """Send a whole answer; headers are given with underscores for dashes."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(content)}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    await stream.send_all("\r\n".join(lines).encode() + b"\r\n\r\n" + content)


async def _read(stream: trio.SocketStream) -> Request | None:
    data = b""
    while b"\r\n\r\n" not in data:
        more = await stream.receive_some()
        if not more:
            return None
        data += more
    head, body = data.split(b"\r\n\r\n", 1)
    first, *rest = head.decode().split("\r\n")
    method, path, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in rest)}
    while len(body) < int(headers.get("content-length", 0)):
        body += await stream.receive_some()
    return Request(method, path, headers, body)


@pytest.fixture
async def stand_in() -> AsyncIterator[StandIn]:
    async def refuse(request: Request, stream: trio.SocketStream) -> None:
        await reply(stream, {}, 500)

    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listeners[0].socket.getsockname()[1]
    server = StandIn(f"http://127.0.0.1:{port}", refuse)

    async def handle(stream: trio.SocketStream) -> None:
        async with stream:
            try:
                request = await _read(stream)
                if request is not None:
                    server.seen.append(request)
                    await server.answer(request, stream)
            except trio.BrokenResourceError:
                pass  # the client hung up, as clients do

    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.serve_listeners, handle, listeners)
        yield server
        nursery.cancel_scope.cancel()


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(follow_redirects=True, trust_env=False) as made:
        yield made
