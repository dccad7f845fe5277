"""What each route of the page does: read one view from the store, draw it; and decide about a candidate."""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from typing import Any, Final, cast

import trio
from apsw import Connection
from quart import Response, request
from werkzeug.exceptions import HTTPException

from agent_memory import __version__
from agent_memory.domain.errors import InvalidArgument, RecordNotFound, ServiceError
from agent_memory.domain.records import ID_CHARS, stamp
from agent_memory.domain.review import NEIGHBOURS
from agent_memory.store import candidates, statistics
from agent_memory.store.candidates import Decision, PendingCandidate, Seen
from agent_memory.tools.finding import earlier_like
from agent_memory.tools.services import Services
from agent_memory.web.errors import answer_to, bug
from agent_memory.web.page import facts, listing, record_view, records_view, review_view, status_view
from agent_memory.web.page.connect_view import client_cards
from agent_memory.web.page.gate import VISIT
from agent_memory.web.page.inputs import Inputs
from agent_memory.web.page.machines import encoder_card, server_cards
from agent_memory.web.page.templates import Asset, Templates
from agent_memory.web.page.tiles import Server
from agent_memory.web.page.tokens import FormTokens
from agent_memory.web.page.visits import Visit
from agent_memory.web.requests import RequestRefused

RENDERERS: Final = 2  # threads that draw at the same time
DECISIONS: Final = {"promote": candidates.promote, "forget": candidates.forget}


class Pages:
    """The handlers. `tokens` is None when the page may only read."""

    def __init__(
        self,
        services: Services,
        inputs: Inputs,
        templates: Templates,
        assets: Mapping[str, Asset],
        *,
        tokens: FormTokens | None,
        now: Callable[[], datetime],
        started_at: datetime,
    ) -> None:
        self._services = services
        self._inputs = inputs
        self._templates = templates
        self._assets = assets
        self._tokens = tokens
        self._now = now
        self._started_at = started_at
        self._limiter = trio.CapacityLimiter(RENDERERS)

    async def status(self) -> Response:
        """The memory at a glance."""
        now, store = self._now(), self._services.store
        gather = partial(facts.gather, now=now, standing_questions=self._inputs.standing_questions)
        found = await store.read(gather)
        cards, more = client_cards(self._inputs.clients(), self._inputs.mcp_url)
        server = Server(__version__, self._started_at, statistics.database_bytes(store.path), store.journal_mode)
        view = status_view.build(
            found,
            server,
            servers=server_cards(self._inputs.servers()),
            encoder=encoder_card(self._inputs.encoder()),
            clients=cards,
            clients_more=more,
            now=now,
        )
        return await self._draw("status.html", view=view, now=f"{now:%H:%M:%S}")

    async def records(self) -> Response:
        """The list that the link's arguments narrow."""
        wanted = listing.from_link(request.args)
        match = self._services.indexes.plan(wanted.text).match if wanted.text else ""
        read = partial(records_view.read, listing=wanted, match=match, now=self._now())
        view = await self._services.store.read(read)
        return await self._draw("records.html", view=view)

    async def search(self) -> Response:
        """The search form: on to a link that can be kept and gone back to."""
        wanted = listing.from_form(await request.form)
        return _see(f"{_root()}records?{wanted.query()}".rstrip("?"))

    async def record(self, record_id: str) -> Response:
        """One record."""
        view = await self._services.store.read(partial(record_view.read, record_id=_id(record_id), now=self._now()))
        return await self._draw("record.html", view=view)

    async def review(self) -> Response:
        """The candidates that wait."""
        after, now = request.args.get("after", ""), self._now()

        def work(conn: Connection) -> review_view.ReviewView:
            return review_view.read_list(conn, after=after, total=candidates.count(conn), now=now)

        return await self._draw("review.html", view=await self._services.store.read(work))

    async def candidate(self, record_id: str) -> Response:
        """One candidate beside its neighbours."""
        plain, now, visit = _id(record_id), self._now(), _visit()

        def work(conn: Connection) -> tuple[record_view.RecordView, list[PendingCandidate]]:
            shown = record_view.read(conn, plain, now=now)
            return shown, candidates.pending(conn, after=plain, limit=1)

        shown, following = await self._services.store.read(work)
        if shown.record.status != "candidate":
            return _see(f"{_root()}records/{plain}")
        hits = await earlier_like(self._services, shown.record, NEIGHBOURS)
        neighbours = await self._in_thread(partial(review_view.compare, shown.record, hits))
        view = review_view.CandidateView(
            shown=shown,
            neighbours=neighbours,
            following=following[0].id if following else None,
            token=self._tokens.token(visit.user) if self._tokens else None,
        )
        return await self._draw("candidate.html", view=view)

    async def decide(self, record_id: str) -> Response:
        """Promote or forget a candidate at the revision that was shown, then on to the next one."""
        visit, form = _visit(), await request.form
        if self._tokens is None:
            raise RequestRefused(403, "actions_off", "this page only reads; the option page_actions turns buttons on")
        if not self._tokens.holds(visit.user, form.get("token", "")):
            raise RequestRefused(403, "token_refused", "this form is out of date; go back, reload and try again")
        decide = DECISIONS.get(form.get("decision", ""))
        revision = form.get("revision", "")
        if decide is None or not revision.isdecimal():
            raise InvalidArgument("decision", "must be promote or forget, at a revision")
        seen = Seen(_id(record_id), int(revision[:18]))
        decision = Decision(by=visit.user, at=stamp(self._now()), context={"via": "page"})

        def work(conn: Connection) -> list[PendingCandidate]:
            decide(conn, seen, decision)
            return candidates.pending(conn, after=seen.id, limit=1)

        following = await self._services.store.write(work)
        return _see(f"{_root()}review/{following[0].id}" if following else f"{_root()}review")

    async def asset(self, name: str) -> Response:
        """A static file."""
        found = self._assets.get(name)
        if found is None:
            raise RequestRefused(404, "not_found", "there is no such file")
        return Response(found.body, content_type=found.content_type)

    async def refuse_path(self, error: HTTPException) -> Response:
        """What the framework refuses: unknown paths, wrong methods, large forms."""
        response = await self._draw("error.html", error.code or 500, message=error.name)
        if methods := getattr(error, "valid_methods", None):
            response.headers["Allow"] = ", ".join(sorted(methods))
        return response

    async def refuse(self, error: ServiceError) -> Response:
        """What a route refuses."""
        status, _, headers = answer_to(error)
        response = await self._draw("error.html", status, message=str(error))
        if "Retry-After" in headers:
            response.headers["Retry-After"] = headers["Retry-After"]
        return response

    async def fail(self, error: Exception) -> Response:
        """A bug of ours: logged by its place."""
        return await self.refuse(bug(request.path, error))

    async def _draw(self, template: str, status: int = 200, **values: Any) -> Response:
        values |= {"root": _root(), "path": request.path, "actions": self._tokens is not None}
        html = await self._in_thread(partial(self._templates.render, template, values))
        return Response(html, status=status, content_type="text/html; charset=utf-8")

    async def _in_thread(self, work: Callable[[], Any]) -> Any:
        return await trio.to_thread.run_sync(work, limiter=self._limiter)


def _visit() -> Visit:
    return cast(Visit, dict(request.scope)[VISIT])


def _root() -> str:
    return _visit().root(request.path)


def _id(text: str) -> str:
    """A full id from a path. Raises: RecordNotFound: anything else."""
    if len(text) != ID_CHARS or set(text) - set("0123456789abcdef"):
        raise RecordNotFound(text[:ID_CHARS])
    return text


def _see(location: str) -> Response:
    """Answer a form with a way on; relative, or under the ingress path, so that it holds behind a proxy."""
    return Response("", status=303, headers={"Location": location})
