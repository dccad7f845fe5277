"""The ASGI gate in front of the page: admits visits and puts the security headers on every answer, refusals included.

The rules of the agents' port do not hold here: browsers send an Origin, and forms are no JSON.
"""

from collections.abc import Sequence
from typing import Final

from agent_memory.web.gate import SERVER, App, Message, Receive, Scope, Send, to_the_end
from agent_memory.web.page.visits import admit
from agent_memory.web.requests import RequestRefused

VISIT: Final = "agent_memory.visit"

SECURITY_HEADERS: Final = {
    # No frame-ancestors 'none' and no X-Frame-Options: Home Assistant shows the page in a frame of its own origin.
    "content-security-policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self';"
        " form-action 'self'; base-uri 'none'; frame-ancestors 'self'"
    ),
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
KEPT: Final = "private, max-age=31536000, immutable"  # for assets, whose links change with their content
NOT_KEPT: Final = "no-store"


class PageGate:
    """Passes an admitted request on with its visit in the scope; answers every other one itself."""

    def __init__(self, app: App, *, allowed_hosts: Sequence[str]) -> None:
        self._app = app
        self._allowed_hosts = tuple(host.lower() for host in allowed_hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        answer = to_the_end(send)

        async def send_safely(message: Message) -> None:
            await answer(_with_headers(message, scope["path"]))

        peer = (scope.get("client") or (None,))[0]
        try:
            visit = admit(peer, scope["headers"], allowed_hosts=self._allowed_hosts)
        except RequestRefused as refusal:
            await _refuse(refusal, send_safely)
            return
        await self._app({**scope, VISIT: visit}, receive, send_safely)


def _with_headers(message: Message, path: str) -> Message:
    if message["type"] != "http.response.start":
        return message
    kept = KEPT if path.startswith("/static/") and message["status"] == 200 else NOT_KEPT
    ours = {**SECURITY_HEADERS, "cache-control": kept, "server": SERVER}
    others = [(name, value) for name, value in message.get("headers", []) if name.lower().decode("latin-1") not in ours]
    return {**message, "headers": [*others, *((name.encode(), value.encode()) for name, value in ours.items())]}


async def _refuse(refusal: RequestRefused, send: Send) -> None:
    body = f"{refusal}\n".encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
