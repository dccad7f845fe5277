"""The one table from error classes to HTTP statuses and codes, and the JSON body that every front answers with."""

import json
from typing import Any, Final

import trio

from agent_memory.domain import errors
from agent_memory.domain.errors import ServiceError
from agent_memory.logs import Log, place_of
from agent_memory.web.requests import RequestRefused

log = Log("web")

# Class, for its subclasses too → (HTTP status, code). MCP answers with the same code. A test misses none.
STATUSES: Final[dict[type[ServiceError], tuple[int, str]]] = {
    errors.InvalidArgument: (422, "invalid_argument"),
    errors.SecretRefused: (422, "secret_refused"),
    errors.Unauthenticated: (401, "unauthenticated"),
    errors.Forbidden: (403, "forbidden"),
    errors.UnknownTool: (404, "unknown_tool"),
    errors.RecordNotFound: (404, "not_found"),
    errors.QuestionNotFound: (404, "not_found"),
    errors.RevisionConflict: (409, "revision_conflict"),
    errors.Conflict: (409, "conflict"),
    errors.Expired: (410, "expired"),
    errors.Busy: (503, "busy"),
    errors.StoreUnavailable: (503, "store_unavailable"),
}
RETRY_AFTER_S: Final = 1


def status_of(error: ServiceError) -> tuple[int, str]:
    """HTTP status and code of an error."""
    if isinstance(error, RequestRefused):
        return error.status, error.code
    return next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)


def body_of(error: ServiceError) -> dict[str, Any]:
    """The JSON body: `{"error": {"code", "message", …}}` with the facts a caller can act on."""
    _, code = status_of(error)
    detail: dict[str, Any] = {"code": code, "message": str(error)}
    match error:
        case errors.RevisionConflict():
            detail |= {"revision": error.revision, "current": error.current}
        case errors.SecretRefused():
            detail |= {"field": error.field, "pattern": error.pattern}
        case errors.InvalidArgument():
            detail |= {"field": error.field}
        case errors.Busy():
            detail |= {"retry_after_s": error.retry_after_s}
    return {"error": detail}


def answer_to(error: ServiceError) -> tuple[int, bytes, dict[str, str]]:
    """Status, JSON body and headers of an error: when to retry, how to authenticate, what a refused request may do."""
    status, _ = status_of(error)
    body = json.dumps(body_of(error), ensure_ascii=False).encode()
    headers = {"Content-Type": "application/json", "Content-Length": str(len(body))}
    if status == 503:
        headers["Retry-After"] = str(getattr(error, "retry_after_s", RETRY_AFTER_S))
    elif status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="agent-memory"'
    elif isinstance(error, RequestRefused):
        headers |= error.headers
    return status, body, headers


def bug(path: str, error: Exception) -> RequestRefused:
    """Log a failure of our own by its place, never with its text, which may hold content; what to answer instead.

    Raises: the error itself when it is the runtime's (out of memory, trio broken): that takes the process down.
    """
    if isinstance(error, MemoryError | trio.TrioInternalError):
        raise error
    # Clients put anything behind the known prefixes, so only the start of a path is logged.
    route = "/".join(path.split("/")[:3])[:40]
    log.error("bug", path=route, kind=type(error).__name__, at_line=place_of(error))
    return RequestRefused(500, "internal", "the server failed on this request; its log says where")
