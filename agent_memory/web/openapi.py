"""The OpenAPI document of the REST front, generated from the registry."""

from typing import Any, Final

from agent_memory import __version__
from agent_memory.tools.registry import Registry, Tool

_ERROR: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {"code": {"type": "string"}, "message": {"type": "string"}},
        }
    },
}
_ERRORS: Final = {
    "400": "The request is malformed.",
    "401": "No known client; the text names the header.",
    "403": "The client may not do this, or the request has an Origin header.",
    "404": "No such record or path.",
    "409": "The record moved on (revision, current), or the request contradicts what is stored.",
    "410": "Past its retention.",
    "413": "The body is over 1 MiB.",
    "415": "Not application/json.",
    "422": "An argument is not acceptable; the text names it.",
    "503": "Too much waiting work, or the store cannot take it; see Retry-After.",
}


def document(registry: Registry) -> dict[str, Any]:
    """OpenAPI 3.1 with one POST a tool; shared models stand in components."""
    schemas: dict[str, Any] = {"Error": _ERROR}
    paths = {f"/api/{tool.route}": {"post": _operation(tool, schemas)} for tool in registry}
    paths |= {path: {"post": _plain_operation(name, text)} for path, (name, text) in _BESIDE_TOOLS.items()}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Agent Memory", "version": __version__},
        "security": [{"bearer": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
            "schemas": schemas,
        },
    }


# Posts that are no tools: agents have no use for them, scripts and people do.
_BESIDE_TOOLS: Final = {
    "/api/screen": ("screen", "Say what of `texts` (name: text) would be refused and why; nothing is kept."),
    "/api/review": ("review", "Run the candidate review now (scope delete); 409 while one is running."),
}


def _plain_operation(name: str, text: str) -> dict[str, Any]:
    anything = {"application/json": {"schema": {"type": "object"}}}
    return {
        "operationId": name,
        "summary": text,
        "requestBody": {"required": True, "content": anything},
        "responses": {"200": {"description": "The result.", "content": anything}, **_error_responses()},
    }


def _error_responses() -> dict[str, Any]:
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    return {status: {"description": text, "content": content} for status, text in _ERRORS.items()}


def _operation(tool: Tool[Any], schemas: dict[str, Any]) -> dict[str, Any]:
    return {
        "operationId": tool.name,
        "summary": tool.description,
        "requestBody": {"required": True, "content": _content(tool.arguments, schemas)},
        "responses": {
            "200": {"description": "The tool's result.", "content": _content(tool.result, schemas)},
            **_error_responses(),
        },
    }


def _content(model: Any, schemas: dict[str, Any]) -> dict[str, Any]:
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas.update(schema.pop("$defs", {}))
    schemas[model.__name__] = schema
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{model.__name__}"}}}
