"""Requests: straight into an ASGI app, or as raw bytes over a socket."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import h11
import trio


@dataclass(frozen=True)
class Reply:
    """An HTTP answer; header names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The error code of the answer, empty when it is no error."""
        found = self.json
        return str(found["error"]["code"]) if isinstance(found, dict) and "error" in found else ""


async def asgi(
    app: Any,
    method: str,
    path: str,
    *,
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
    peer: str = "203.0.113.9",
) -> Reply:
    """One request into an ASGI app, as a server that has read the whole body would put it."""
    plain, _, query = path.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.1"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": plain,
        "raw_path": plain.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in (headers or {}).items()],
        "client": (peer, 50_000),
        "server": ("127.0.0.1", 8765),
        "state": {},
        "extensions": {},
    }
    waiting = [{"type": "http.request", "body": body, "more_body": False}]
    sent: list[Any] = []

    async def receive() -> Any:
        while not waiting:
            await trio.sleep_forever()
        return waiting.pop()

    async def send(message: Any) -> None:
        await trio.lowlevel.checkpoint()
        sent.append(message)

    await app(scope, receive, send)
    start = sent[0]
    return Reply(
        start["status"],
        {name.decode().lower(): value.decode("latin-1") for name, value in start["headers"]},
        b"".join(message.get("body", b"") for message in sent[1:]),
    )


async def raw(port: int, data: bytes, *, timeout_s: float = 5.0) -> Reply:
    """Send bytes as they are, well-formed or not, and read one answer."""
    with trio.fail_after(timeout_s):
        stream = await trio.open_tcp_stream("127.0.0.1", port)
        async with stream:
            with suppress(trio.BrokenResourceError):  # refused before the last byte; the answer is on its way
                await stream.send_all(data)
            return await read_reply(stream)


async def read_reply(stream: trio.SocketStream) -> Reply:
    """Read one answer from a connection."""
    parser = h11.Connection(h11.CLIENT)
    parser.send(h11.Request(method="GET", target="/", headers=[("host", "x")]))
    parser.send(h11.EndOfMessage())
    status, headers, body = 0, {}, b""
    while True:
        event = parser.next_event()
        if event is h11.NEED_DATA:
            parser.receive_data(await stream.receive_some(65536))
        elif isinstance(event, h11.Response):
            status = event.status_code
            headers = {name.decode(): value.decode("latin-1") for name, value in event.headers}
        elif isinstance(event, h11.Data):
            body += bytes(event.data)
        elif isinstance(event, h11.EndOfMessage):
            return Reply(status, headers, body)
        elif isinstance(event, h11.ConnectionClosed):
            raise ConnectionResetError("closed without an answer")
