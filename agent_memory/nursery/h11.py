"""HTTP/1.1 as this server speaks it: hypercorn's own refusals in JSON, like every other error, and no switch to HTTP/2.

Such a request never reaches an application: h11 refuses a malformed Content-Length, a broken chunk or a header that is
too long, and hypercorn answers with an empty body. It has no setting for this answer, so its protocol is replaced by a
subclass that differs in two methods; tests over a real socket fail when hypercorn no longer looks there.
"""

import json
from http import HTTPStatus

import h11
import hypercorn.protocol
from hypercorn.protocol.h11 import H11Protocol

from agent_memory.web.gate import SERVER


class JsonErrors(H11Protocol):
    """HTTP/1.1 and nothing else, whose own refusals carry a JSON body."""

    async def _check_protocol(self, event: h11.Request) -> None:
        """Switch to no other protocol. An HTTP/2 connection without a request has no time limit in hypercorn: anyone
        who reaches the port could hold as many as there are file descriptors. No client needs it without TLS.
        """

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
