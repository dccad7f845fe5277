"""What makes a body a JSON-RPC message of MCP. The SDK takes a request whose id it cannot read for a notification: it
answers 202 and never runs it; of a response or a call in the wrong shape it tells only what its parser thinks. So what
is no message is refused here first, with what is wrong and what is allowed.
"""

from typing import Any, Final

from agent_memory.web.requests import RequestRefused, parse_json

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
INVALID_PARAMS: Final = -32602

_ID_MUST: Final = "id must be a string or a whole number, written without a decimal point"


def refusal(body: bytes) -> tuple[int, dict[str, Any]] | None:
    """HTTP status and JSON-RPC error that answer a body, with the request's own id where it can be read; None for a
    message. A call with arguments in the wrong shape gets 200, as the SDK gives it: clients of the older era drop the
    session on anything else.
    """
    try:
        message = parse_json(body)
    except RequestRefused as error:
        return 400, _error(PARSE_ERROR, str(error))
    fault = _fault(message)
    if fault is not None:
        given = message.get("id") if isinstance(message, dict) else None
        return 400, _error(INVALID_REQUEST, fault, given if _readable(given) else None)
    if message.get("method") == "tools/call":
        fault = _fault_of_call(message.get("params") or {})
    return None if fault is None else (200, _error(INVALID_PARAMS, fault, message["id"]))


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
        return _fault_of_response(message)
    method, params = message["method"], message.get("params")
    if not isinstance(method, str):
        return f"method must be a string; this one is {_kind(method)}"
    if "id" in message and not _readable(message["id"]):
        return f"{_ID_MUST}; this one is {_kind(message['id'])}, so the request was not run"
    if "id" not in message and not method.startswith("notifications/"):
        return "id is missing: a request needs one, a string or a whole number; without it the request was not run"
    if params is not None and not isinstance(params, dict):
        return f"params must be an object; these are {_kind(params)}"
    return None


def _fault_of_response(message: dict[str, Any]) -> str | None:
    """A response is taken in and dropped, as this server asks its clients nothing."""
    if "result" not in message and "error" not in message:
        return "method is missing"
    given = message.get("id")
    if not (_readable(given) or (given is None and "error" in message)):  # whoever could not read an id answers null
        return f"{_ID_MUST}; that of this response is {_kind(given)}"
    for part in ("result", "error"):
        if part in message and not isinstance(message[part], dict):
            return f"{part} must be an object; this one is {_kind(message[part])}"
    error = message.get("error", {"code": 0, "message": ""})
    code = error.get("code")
    if not isinstance(code, int) or isinstance(code, bool) or not isinstance(error.get("message"), str):
        return "error must hold code, a whole number, and message, a string"
    return None


def _fault_of_call(params: dict[str, Any]) -> str | None:
    name, arguments = params.get("name"), params.get("arguments")
    if not isinstance(name, str):
        return f"params.name must be the name of a tool; this one is {_kind(name)}"
    if arguments is not None and not isinstance(arguments, dict):
        return f"params.arguments must be an object; these are {_kind(arguments)}"
    return None


def _kind(value: object) -> str:
    """A JSON value's type, by its name in JSON."""
    names = {bool: "true or false", int: "a number", float: "a fraction", str: "a string", list: "an array"}
    return "null" if value is None else names.get(type(value), "an object")
