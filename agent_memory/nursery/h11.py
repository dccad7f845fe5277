"""HTTP/1.1 as this server speaks it: hypercorn's own refusals in JSON, like every other error, no switch to HTTP/2, and
an answer's head and body in one packet.

A refused request never reaches an application: h11 refuses a malformed Content-Length, a broken chunk or a header that
is too long, and hypercorn answers with an empty body. It has no setting for any of these, so its protocol is replaced
by a subclass that differs in four methods; tests over a real socket fail when hypercorn no longer looks there.
"""

import json
from http import HTTPStatus

import h11
import hypercorn.protocol
import trio
from hypercorn.events import Closed, Event, RawData
from hypercorn.protocol.h11 import H11Protocol
from hypercorn.typing import H11SendableEvent

from agent_memory.web.gate import SERVER


class JsonErrors(H11Protocol):
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


def answer_in_json() -> None:
    """Let every connection made from now on speak so."""
    hypercorn.protocol.H11Protocol = JsonErrors  # type: ignore[attr-defined]
