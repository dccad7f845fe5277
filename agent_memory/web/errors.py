"""The one table from error classes to HTTP statuses and codes, and the JSON body that every front answers with."""

from typing import Any, Final

from agent_memory.domain import errors
from agent_memory.domain.errors import ServiceError
from agent_memory.web.requests import RequestRefused

# Class → (HTTP status, code). MCP answers with the same code. A test walks the subclasses and misses none.
STATUSES: Final[dict[type[ServiceError], tuple[int, str]]] = {
    errors.InvalidArgument: (422, "invalid_argument"),
    errors.SecretRefused: (422, "secret_refused"),
    errors.Unauthenticated: (401, "unauthenticated"),
    errors.Forbidden: (403, "forbidden"),
    errors.UnknownTool: (404, "unknown_tool"),
    errors.RecordNotFound: (404, "not_found"),
    errors.AmbiguousId: (409, "ambiguous_id"),
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
    return STATUSES[type(error)]


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
        case errors.AmbiguousId():
            detail |= {"matches": list(error.matches)}
        case errors.Busy():
            detail |= {"retry_after_s": error.retry_after_s}
    return {"error": detail}


def headers_of(error: ServiceError) -> dict[str, str]:
    """Headers that go with an error: when to retry, and how to authenticate."""
    status, _ = status_of(error)
    if status == 503:
        return {"Retry-After": str(getattr(error, "retry_after_s", RETRY_AFTER_S))}
    if status == 401:
        return {"WWW-Authenticate": 'Bearer realm="agent-memory"'}
    if isinstance(error, RequestRefused):
        return dict(error.headers)
    return {}
