"""The ASGI gate in front of everything: request rules, the Server header, and the way to MCP or to the Quart app."""

from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any, Final

import trio

from agent_memory import __version__
from agent_memory.domain.errors import ServiceError
from agent_memory.web import requests
from agent_memory.web.errors import answer_to, bug
from agent_memory.web.requests import RequestRefused

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

SERVER = f"agent-memory/{__version__}"
BODY_S: Final = 30.0  # for a megabyte over a slow radio link; a client that stalls holds a connection no longer
STRANGER_MAX_BYTES: Final = 16 * 1024  # where no body is of use; clients that look for OAuth send a few hundred bytes
DRAIN_S: Final = 2.0
DRAIN_PAUSE_S: Final = 0.2  # without a byte: it waits for its answer
DRAIN_BYTES: Final = 8 * requests.BODY_MAX_BYTES


App = Callable[[Any, Any, Any], Awaitable[None]]  # ASGI; hypercorn, Quart and the SDK each type it their own way


class Gate:
    """Applies the rules to every path, reads the body once, and passes the request on.

    A service error or a bug below it becomes a JSON answer.
    """

    def __init__(
        self, *, mcp: App, app: App, identify: Callable[[Scope], object], allowed_hosts: Sequence[str]
    ) -> None:
        """
        Args:
          identify: raises Unauthenticated for a request of no known client.
        """
        self._mcp = mcp
        self._app = app
        self._identify = identify
        self._allowed_hosts = tuple(host.lower() for host in allowed_hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        answer = _Answer(send)
        unread = True
        try:
            requests.check(scope["method"], scope["headers"], self._allowed_hosts)
            # `*` of an OPTIONS, or a query alone, is no path; Quart reads the first character.
            if not scope["path"].startswith("/"):
                raise requests.no_such_path()
            body = await _read_body(receive, self._body_max(scope))
            unread = False
            target = self._mcp if scope["path"] == "/mcp" else self._app
            await target(scope, replay(body, receive), answer.send)
        except ServiceError as error:
            if unread:
                await _drain(receive)
            await answer.refuse(error)
        except Exception as error:  # noqa: BLE001 - logged by `bug`, answered as internal
            await answer.refuse(bug(scope["path"], error))

    def _body_max(self, scope: Scope) -> int:
        """How large a body this request may have. Raises: Unauthenticated.

        Only a known client's call is read whole: what anyone may send, times the connections, is the server's memory.
        """
        if scope["method"] != "POST" or not (scope["path"] == "/mcp" or scope["path"].startswith("/api/")):
            return STRANGER_MAX_BYTES
        self._identify(scope)
        return requests.BODY_MAX_BYTES


class _Answer:
    """The sending side: adds the Server header, and knows whether an error can still be answered."""

    def __init__(self, send: Send) -> None:
        self._send = to_the_end(send)
        self._started = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._started = True
            kept = [(name, value) for name, value in message.get("headers", []) if name.lower() != b"server"]
            message = {**message, "headers": [*kept, (b"server", SERVER.encode())]}
        await self._send(message)

    async def refuse(self, error: ServiceError) -> None:
        if self._started:
            return
        status, body, named = answer_to(error)
        headers = [(name.lower().encode(), value.encode()) for name, value in named.items()]
        await self.send({"type": "http.response.start", "status": status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})


def to_the_end(send: Send) -> Send:
    """A `send` whose last part nothing interrupts. Whatever stands in front of a Quart app sends through one.

    After the last part hypercorn tells the app of a disconnect and then starts the connection's idle timer, in the
    app's own task. Quart cancels that task on a disconnect: unshielded, the timer would never start, and the connection
    would never time out and hold up every stop.
    """

    async def shielded(message: Message) -> None:
        with trio.CancelScope(shield=not message.get("more_body", False)):
            await send(message)

    return shielded


async def _read_body(receive: Receive, most: int) -> bytes:
    """The whole body, of at most so many bytes whatever its headers said."""
    parts: list[bytes] = []
    size, more = 0, True
    with trio.move_on_after(BODY_S) as reading:
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise RequestRefused(400, "disconnected", "the client went away before the body was read")
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > most:
                raise RequestRefused(413, "too_large", f"the body may have at most {most} bytes")
            more = message.get("more_body", False)
    if reading.cancelled_caught:
        raise RequestRefused(408, "body_timeout", f"the body did not arrive within {BODY_S:.0f} s")
    return b"".join(parts)


async def _drain(receive: Receive) -> None:
    """Read what a refused client still sends, within bounds: closing on unread bytes resets the connection, and the
    client sees that instead of its answer.
    """
    size, more = 0, True
    with trio.move_on_after(DRAIN_S), trio.move_on_after(DRAIN_PAUSE_S) as pause:
        while more and size < DRAIN_BYTES:
            message = await receive()
            pause.deadline = trio.current_time() + DRAIN_PAUSE_S
            size += len(message.get("body", b""))
            more = message["type"] == "http.request" and message.get("more_body", False)


def replay(body: bytes, receive: Receive) -> Receive:
    """The body once more for the app, then whatever the transport says (a disconnect)."""
    given = False

    async def again() -> Message:
        nonlocal given
        if not given:
            given = True
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return again
