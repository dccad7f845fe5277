"""HTTP with a model server: one bounded JSON exchange, its failures told apart as the router needs them."""

import json
from typing import TYPE_CHECKING, Any

from agent_memory.llm.errors import BadReply, ServerRefused, ServerSilent

if TYPE_CHECKING:
    import httpx

CONNECT_S = 5.0  # a host that takes longer to open a connection is not there
MAX_REPLY_BYTES = 4 * 1024 * 1024  # 2048 tokens are some 10 KiB; a list of models may be long, nothing is longer


def open_http(base_url: str) -> "httpx.AsyncClient":
    """A client for one server; close it with `async with`. Credentials in the URL become basic authentication.

    The environment's proxies and netrc are not read, and redirects are not followed: a model server is where the
    option says, and notes go nowhere else.
    """
    import httpx  # here, and where it is used below: a tenth of a second and 6 MB that most servers never need

    timeout = httpx.Timeout(None, connect=CONNECT_S)  # the router's deadline bounds the whole call
    return httpx.AsyncClient(base_url=base_url, timeout=timeout, trust_env=False, follow_redirects=False)


async def exchange(http: "httpx.AsyncClient", method: str, path: str, body: object = None) -> dict[str, Any]:
    """Send one request and read a JSON object.

    Args:
      body: sent as JSON when it is not None.
    Raises:
      ServerSilent: no connection, or it broke before the whole answer was there.
      ServerRefused: any status that is not 2xx.
      BadReply: the body is too long or no JSON object.
    """
    import httpx

    try:
        async with http.stream(method, path, json=body) as response:
            if not response.is_success:
                raise ServerRefused(response.status_code)
            data = await _read_bounded(response)
    except httpx.DecodingError:
        raise BadReply("the body does not match its content encoding") from None
    except httpx.RequestError as error:  # its text may hold the URL with credentials: only the class is kept
        raise ServerSilent(type(error).__name__) from None
    return _object(data)


async def _read_bounded(response: "httpx.Response") -> bytes:
    # Past the bound the rest is read and dropped: leaving the loop early would strand httpx's nested generators, which
    # trio warns about, and the caller's deadline bounds a body without end.
    data = bytearray()
    size = 0
    async for chunk in response.aiter_bytes():
        size += len(chunk)
        if size <= MAX_REPLY_BYTES:
            data += chunk
    if size > MAX_REPLY_BYTES:
        raise BadReply(f"the body is over {MAX_REPLY_BYTES} bytes")
    return bytes(data)


def _object(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise BadReply("the body is not JSON") from None
    if not isinstance(value, dict):
        raise BadReply("the body is not a JSON object")
    return value
