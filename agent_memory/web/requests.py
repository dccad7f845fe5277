"""The rules every request passes before anything looks at it: origin, host, content type, length, readable text."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from agent_memory.domain.errors import ServiceError

BODY_MAX_BYTES: Final = 1024 * 1024
_DIGITS: Final = re.compile(rb"[0-9]{1,19}")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_BOM: Final = b"\xef\xbb\xbf"

Headers = Sequence[tuple[bytes, bytes]]


class RequestRefused(ServiceError):
    """The request breaks a rule of the server whatever it asks for; the text says which."""

    def __init__(self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.headers = dict(headers or {})


def no_such_path() -> RequestRefused:
    """Nothing is served there."""
    return RequestRefused(404, "not_found", "no such path; tools are POST /api/<name>, see /api/openapi.json")


def header(headers: Headers, name: bytes) -> bytes | None:
    """The first value of a header (ASGI gives names in lower case)."""
    return next((value for key, value in headers if key == name), None)


def host(headers: Headers) -> str:
    """The name in the Host header, lower case, without its port; an IPv6 address in its brackets."""
    given = (header(headers, b"host") or b"").decode("latin-1").lower()
    return given[: given.index("]") + 1] if given.startswith("[") and "]" in given else given.partition(":")[0]


def check(method: str, headers: Headers, allowed_hosts: Sequence[str]) -> None:
    """Refuse what no path accepts.

    Args:
      allowed_hosts: host names without port that the Host header may carry; empty for any.
    Raises: RequestRefused: 403 for an Origin or a foreign Host, 415, 400 and 413 for a POST's type and length.
    """
    if header(headers, b"origin") is not None:
        raise RequestRefused(
            403, "origin_refused", "requests with an Origin header are refused; this is no browser API"
        )
    if allowed_hosts and host(headers) not in allowed_hosts:
        raise RequestRefused(403, "host_refused", "the Host header is not in allowed_hosts")
    if method == "POST":
        _check_post(headers)


def _check_post(headers: Headers) -> None:
    kind = (header(headers, b"content-type") or b"").partition(b";")[0].strip().lower()
    if kind != b"application/json":
        raise RequestRefused(415, "unsupported_media_type", "a POST must have Content-Type: application/json")
    length = header(headers, b"content-length")
    if length is None or header(headers, b"transfer-encoding") is not None:
        raise RequestRefused(400, "length_required", "a POST must have a Content-Length and no Transfer-Encoding")
    if not _DIGITS.fullmatch(length.strip()):
        raise RequestRefused(400, "bad_length", f"Content-Length must be a number from 0 to {BODY_MAX_BYTES}")
    if int(length) > BODY_MAX_BYTES:
        raise RequestRefused(413, "too_large", f"the body may have at most {BODY_MAX_BYTES} bytes")


def parse_json(body: bytes) -> Any:
    """A body as JSON. Lone surrogates, which are no text, become U+FFFD as in the WHATWG's USVString.

    Raises: RequestRefused: 400, not UTF-8 or not JSON.
    """
    try:
        return _usv(json.loads(body.decode("utf-8-sig")))
    except UnicodeDecodeError:
        raise RequestRefused(400, "bad_encoding", "the body is not UTF-8") from None
    except (ValueError, RecursionError):
        raise RequestRefused(400, "bad_json", "the body is not valid JSON") from None


def mend_json(body: bytes) -> bytes:
    """The same JSON without lone surrogates and without a byte order mark, which one of the SDK's parsers takes and the
    other does not; other bytes, broken JSON among them, are passed on as they are.
    """
    body = body.removeprefix(_BOM)
    if b"\\ud" not in body.lower():
        return body
    try:
        return json.dumps(parse_json(body), ensure_ascii=False).encode()
    except RequestRefused:
        return body


def _usv(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.isascii() else _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_usv(item) for item in value]
    if isinstance(value, dict):
        return {_usv(key): _usv(item) for key, item in value.items()}
    return value
