"""The Quart app: the registry's tools under /api/, the OpenAPI document, health. Everything answers JSON."""

import json
from collections.abc import Awaitable, Callable
from typing import Any, cast

import trio
from quart import Response, request
from quart_trio import QuartTrio
from werkzeug.exceptions import HTTPException

from agent_memory.domain.clients import Identity
from agent_memory.domain.errors import Forbidden, InvalidArgument, ServiceError, UnknownTool
from agent_memory.tools.registry import AUDITED_REFUSALS, Registry, Wire, audit_refusal, require_scope
from agent_memory.tools.services import Services
from agent_memory.web import metrics
from agent_memory.web.auth import Doorkeeper
from agent_memory.web.dry_run import dry_run
from agent_memory.web.errors import answer_to, bug
from agent_memory.web.openapi import document
from agent_memory.web.requests import RequestRefused, no_such_path, parse_json

WIRE = Wire(envelope_bytes=0, escaped=False)

Health = Callable[[], Awaitable[dict[str, Any]]]
Review = Callable[[str], Awaitable[dict[str, Any]]]


def build_app(
    registry: Registry, services: Services, doorkeeper: Doorkeeper, health: Health, review: Review
) -> QuartTrio:
    """The app behind the gate.

    Args:
      health: gives the body of GET /health.
      review: starts a candidate review for a client and gives the body of POST /api/review; raises Conflict while one
        is running.
    """
    app = QuartTrio(__name__, static_folder=None)
    app.url_map.merge_slashes = False  # `/api//search` is no path of ours, and no redirect to one
    explaining = trio.CapacityLimiter(1)
    routes = {tool.route: tool.name for tool in registry}
    openapi = json.dumps(document(registry), ensure_ascii=False)

    def caller() -> Identity:
        return doorkeeper.identify(dict(request.scope))

    @app.post("/api/<route>")
    async def call_tool(route: str) -> Response:
        identity = caller()
        if route not in routes:
            raise UnknownTool(route)
        return _json(await registry.invoke(services, identity, WIRE, routes[route], await _arguments()))

    @app.post("/api/screen")
    async def screen_only() -> Response:
        _readable(caller())
        # A megabyte of many texts takes a second, and no other request may wait for that.
        report = await trio.to_thread.run_sync(dry_run, await _arguments(), limiter=explaining)
        return _json(json.dumps(report, ensure_ascii=False))

    @app.post("/api/review")
    async def start_review() -> Response:
        identity = caller()
        try:
            require_scope(identity, "review", "delete")
            if await _arguments():
                raise InvalidArgument("body", "must be an empty JSON object; a review takes no arguments")
            outcome = await review(identity.name)
        except AUDITED_REFUSALS as refusal:
            await audit_refusal(services, identity, "review", {}, refusal)
            raise
        return _json(json.dumps(outcome, ensure_ascii=False))

    @app.get("/api/openapi.json")
    async def describe() -> Response:
        _readable(caller())
        return _json(openapi)

    @app.get("/health")
    async def show_health() -> Response:
        _readable(caller())
        return _json(json.dumps(await health(), ensure_ascii=False))

    @app.get("/metrics")
    async def show_metrics() -> Response:
        _readable(caller())
        return Response(metrics.render(await health()), content_type=metrics.CONTENT_TYPE)

    @app.get("/healthz")
    async def show_liveness() -> Response:
        return _json('{"ok": true}')

    _answer_errors(app)
    return app


def _answer_errors(app: QuartTrio) -> None:
    """Every failure below the app as a JSON answer."""

    # Answered here and not in the gate: quart-trio runs a request in a nursery, and what leaves it comes out grouped.
    @app.errorhandler(HTTPException)
    async def refuse_path(error: HTTPException) -> Response:
        return _answer(_as_refusal(error))

    @app.errorhandler(ServiceError)
    async def refuse(error: ServiceError) -> Response:
        return _answer(error)

    @app.errorhandler(Exception)
    async def fail(error: Exception) -> Response:
        return _answer(bug(request.path, error))


async def _arguments() -> dict[str, Any]:
    """The body as a JSON object; an empty body is an empty one."""
    body = cast(bytes, await request.get_data(as_text=False))
    arguments = parse_json(body or b"{}")
    if not isinstance(arguments, dict):
        raise InvalidArgument("body", "must be a JSON object with the tool's arguments")
    return arguments


def _readable(identity: Identity) -> None:
    if "read" not in identity.scopes:
        raise Forbidden(f"this needs the scope read; {identity.name} has {', '.join(sorted(identity.scopes))}")


def _as_refusal(error: HTTPException) -> RequestRefused:
    status = error.code or 500
    if status == 405:
        allowed = ", ".join(sorted(getattr(error, "valid_methods", None) or ()))
        return RequestRefused(405, "method_not_allowed", f"this path answers {allowed}", {"Allow": allowed})
    if status == 404:
        return no_such_path()
    return RequestRefused(status, "refused", error.name)


def _answer(error: ServiceError) -> Response:
    status, body, headers = answer_to(error)
    return Response(body, status=status, headers=headers)


def _json(text: str) -> Response:
    return Response(text, content_type="application/json")
