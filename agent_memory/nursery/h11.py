"""HTTP/1.1 as this server speaks it: hypercorn's own refusals in JSON, like every other error, no switch to HTTP/2 or
WebSocket, an answer's head and body in one packet, and no connection without an end.

A refused request never reaches an application: h11 refuses a malformed Content-Length, a broken chunk or a header that
is too long, and hypercorn answers with an empty body. It has no setting for any of these, so its protocol and its
connection are replaced by subclasses that differ in a few methods; tests over a real socket fail when hypercorn no
longer looks there.
"""

import json
from http import HTTPStatus
from typing import Final

import h11
import hypercorn.protocol
import hypercorn.trio.run
import trio
from hypercorn.events import Closed, Event, RawData
from hypercorn.protocol.h11 import H11Protocol
from hypercorn.trio.tcp_server import TCPServer
from hypercorn.typing import H11SendableEvent

from agent_memory.web.gate import SERVER

SEND_S: Final = 30.0  # for a client to take a part of an answer, as long as it may take to send a body


class PlainHttp(H11Protocol):
    """HTTP/1.1 and nothing else, whose own refusals carry a JSON body."""

    _unsent = b""
    _reading: trio.CancelScope | None = None

    async def handle(self, event: Event) -> None:
        """End the reader with the connection. A client that sends its next request while the last one is answered has
        it wait for its turn. When a stop closes the connection there is no turn: hypercorn's reader would wait on, and
        the stop with it, for the whole grace.
        """
        if isinstance(event, RawData):
            with trio.CancelScope() as self._reading:
                await super().handle(event)
            return
        await super().handle(event)
        if isinstance(event, Closed) and self._reading is not None:
            self._reading.cancel()

    async def _check_protocol(self, event: h11.Request) -> None:
        """Switch to no other protocol. An HTTP/2 connection without a request has no time limit in hypercorn: anyone
        who reaches the port could hold as many as there are file descriptors. No client needs it without TLS.
        """

    async def _create_stream(self, request: h11.Request) -> None:
        """Answer what asks for a WebSocket as the request that it is beside that. Hypercorn never closes a connection
        whose handshake it refuses.
        """
        headers = [(name, value) for name, value in request.headers if name != b"upgrade"]
        if len(headers) < len(request.headers):
            request = h11.Request(
                method=request.method, target=request.target, headers=headers, http_version=request.http_version
            )
        await super()._create_stream(request)

    async def _send_h11_event(self, event: H11SendableEvent) -> None:
        """Keep an answer's head back until its first part follows: the client would wake for a head and wait again."""
        try:
            data = self.connection.send(event)
        except h11.LocalProtocolError:  # as hypercorn: the client broke the rules first, and its connection goes
            if self.connection.their_state != h11.ERROR:
                raise
            return
        self._unsent += data or b""
        if not isinstance(event, h11.Response):
            unsent, self._unsent = self._unsent, b""
            await self.send(RawData(data=unsent))

    async def _send_error_response(self, status_code: int) -> None:
        code = "bad_request" if status_code == HTTPStatus.BAD_REQUEST else HTTPStatus(status_code).name.lower()
        error = {"code": code, "message": "this is no well-formed HTTP request; look at its headers and its length"}
        body = json.dumps({"error": error}).encode()
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
            (b"server", SERVER.encode()),
            *self.config.response_headers("h11"),
        ]
        await self._send_h11_event(h11.Response(status_code=status_code, headers=headers))
        await self._send_h11_event(h11.Data(data=body))
        await self._send_h11_event(h11.EndOfMessage())


class Connection(TCPServer):
    """A client that does not take its answer holds a connection no longer than one that does not send its request.

    Hypercorn lets nothing interrupt a part of an answer: such a client would hold the connection, and a stop, for good.
    """

    async def protocol_send(self, event: Event) -> None:
        """Send a part of an answer whole, or close the connection."""
        if not isinstance(event, RawData):
            await super().protocol_send(event)
            return
        async with self.send_lock:
            with trio.move_on_after(SEND_S, shield=True):
                try:
                    await self.stream.send_all(event.data)
                    return
                except (trio.BrokenResourceError, trio.ClosedResourceError):
                    pass
        await trio.aclose_forcefully(self.stream)
        await self.protocol.handle(Closed())

    async def _read_data(self) -> None:
        """Cancelled when the grace of a stop is over: what is still being sent then ends with the connection."""
        try:
            await super()._read_data()
        except trio.Cancelled:
            await trio.aclose_forcefully(self.stream)
            raise


def speak_plain_http() -> None:
    """Let every server started from now on speak so."""
    hypercorn.protocol.H11Protocol = PlainHttp  # type: ignore[attr-defined]
    hypercorn.trio.run.TCPServer = Connection  # type: ignore[attr-defined]
