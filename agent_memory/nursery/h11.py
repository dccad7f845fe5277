"""What hypercorn says by itself to bytes that are no HTTP request: JSON, like every other error.

Such a request never reaches an application: h11 refuses a malformed Content-Length, a broken chunk or a header that is
too long, and hypercorn answers with an empty body. It has no setting for this answer, so its protocol is replaced by a
subclass that differs in this one method; a test over a real socket fails when hypercorn no longer looks there.
"""

import json
from http import HTTPStatus

import h11
import hypercorn.protocol
from hypercorn.protocol.h11 import H11Protocol

from agent_memory.web.gate import SERVER


class JsonErrors(H11Protocol):
    """HTTP/1.1 whose own refusals carry a JSON body."""

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
