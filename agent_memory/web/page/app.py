"""The page's ASGI app: its settings, its routes, and the gate in front of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, cast

from quart_trio import QuartTrio
from werkzeug.exceptions import HTTPException

from agent_memory.domain.errors import ServiceError
from agent_memory.tools.services import Services
from agent_memory.web.gate import App
from agent_memory.web.page.gate import PageGate
from agent_memory.web.page.inputs import Inputs
from agent_memory.web.page.pages import Pages
from agent_memory.web.page.templates import Templates, load_assets
from agent_memory.web.page.tokens import FormTokens

FORM_MAX_BYTES: Final = 16 * 1024


@dataclass(frozen=True, slots=True)
class PageSettings:
    """What the page is told once.

    Fields:
      now: the present, in the time zone that times are shown in. started_at: when the server started.
      actions: whether candidates can be promoted and forgotten here.
      allowed_hosts: further names for the Host header of a browser on this machine.
    """

    now: Callable[[], datetime]
    started_at: datetime
    actions: bool
    allowed_hosts: Sequence[str] = ()


def build_page(services: Services, inputs: Inputs, settings: PageSettings) -> App:
    """The page's app, its gate included."""
    assets = load_assets()
    pages = Pages(
        services,
        inputs,
        Templates(assets),
        assets,
        tokens=FormTokens(services.entropy) if settings.actions else None,
        now=settings.now,
        started_at=settings.started_at,
    )
    app = QuartTrio(__name__, static_folder=None)
    app.url_map.merge_slashes = False  # its redirect would name a host that is not the browser's, under ingress
    app.config["MAX_CONTENT_LENGTH"] = FORM_MAX_BYTES
    app.add_url_rule("/", "status", pages.status)
    app.add_url_rule("/records", "records", pages.records)
    app.add_url_rule("/records", "search", pages.search, methods=["POST"])
    app.add_url_rule("/records/<record_id>", "record", pages.record)
    app.add_url_rule("/review", "review", pages.review)
    app.add_url_rule("/review/<record_id>", "candidate", pages.candidate)
    app.add_url_rule("/review/<record_id>", "decide", pages.decide, methods=["POST"])
    app.add_url_rule("/static/<name>", "asset", pages.asset)
    app.register_error_handler(HTTPException, pages.refuse_path)
    app.register_error_handler(ServiceError, pages.refuse)
    app.register_error_handler(Exception, pages.fail)
    return PageGate(cast(App, app), allowed_hosts=settings.allowed_hosts)
