"""What makes a body a JSON-RPC message of MCP. The SDK takes a request whose id it cannot read for a notification: it
answers 202 and never runs it, so what is no message is refused here first, with what is wrong and what is allowed.
"""

from typing import Any, Final

from agent_memory.web.requests import RequestRefused, parse_json

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600


def refusal(body: bytes) -> dict[str, Any] | None:
    """The JSON-RPC error that answers a body, with the request's own id where it can be read; None for a message."""
    try:
        message = parse_json(body)
    except RequestRefused as error:
        return _error(PARSE_ERROR, str(error))
    fault = _fault(message)
    if fault is None:
        return None
    given = message.get("id") if isinstance(message, dict) else None
    return _error(INVALID_REQUEST, fault, given if _readable(given) else None)


def _error(code: int, message: str, request_id: str | int | None = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message}}


def _readable(request_id: object) -> bool:
    return isinstance(request_id, str | int) and not isinstance(request_id, bool)


def _fault(message: Any) -> str | None:
    """What is wrong with a message, for whoever wrote the client."""
    if isinstance(message, list):
        return "batches are not served; send each message in a POST of its own"
    if not isinstance(message, dict):
        return f"a message is a JSON object; this is {_kind(message)}"
    if message.get("jsonrpc") != "2.0":
        return 'jsonrpc must be "2.0"'
    if "method" not in message:
        return None if "result" in message or "error" in message else "method is missing"
    method, params = message["method"], message.get("params")
    if not isinstance(method, str):
        return f"method must be a string; this one is {_kind(method)}"
    if "id" in message and not _readable(message["id"]):
        wants = "id must be a string or a whole number, written without a decimal point"
        return f"{wants}; this one is {_kind(message['id'])}, so the request was not run"
    if "id" not in message and not method.startswith("notifications/"):
        return "id is missing: a request needs one, a string or a whole number; without it the request was not run"
    if params is not None and not isinstance(params, dict):
        return f"params must be an object; these are {_kind(params)}"
    return None


def _kind(value: object) -> str:
    """A JSON value's type, by its name in JSON."""
    names = {bool: "true or false", int: "a number", float: "a fraction", str: "a string", list: "an array"}
    return "null" if value is None else names.get(type(value), "an object")
