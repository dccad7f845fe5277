"""`serve`: run the server."""

from typing import TYPE_CHECKING

import click

from agent_memory import __version__
from agent_memory.cli.frame import (
    DEFAULT_HOST,
    DEFAULT_PAGE_PORT,
    DEFAULT_PORT,
    INGRESS_PORT,
    data_option,
    load_settings,
    options_option,
    refusals,
    say,
)

if TYPE_CHECKING:
    from agent_memory.nursery.main import Bind


@click.command()
@data_option
@options_option
@click.option("--host", help=f"Address to listen on; {DEFAULT_HOST} unless run as an add-on.")
@click.option("--port", type=click.IntRange(0, 65535), default=DEFAULT_PORT, show_default=True)
@click.option("--page-host", help=f"Address of the page; {DEFAULT_HOST} unless run as an add-on.")
@click.option("--page-port", type=click.IntRange(0, 65535), help=f"{DEFAULT_PAGE_PORT} unless run as an add-on.")
def serve(
    data: str | None, options: str | None, host: str | None, port: int, page_host: str | None, page_port: int | None
) -> None:
    """Run the server until SIGTERM or Ctrl-C."""
    import gc
    import os

    from agent_memory.encoder.heap import keep_small

    # Read when numpy is imported. A second thread would spin for longer than most of our products take.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    keep_small()
    # The imports make some 300,000 objects that live to the end. Collecting while they come costs a tenth of the
    # start, and walking them later costs the slowest requests.
    gc.disable()
    import trio

    from agent_memory import logs
    from agent_memory.domain.connect import log_lines
    from agent_memory.nursery.main import Bind
    from agent_memory.nursery.main import serve as run_server

    gc.freeze()
    gc.enable()
    gc.set_threshold(10_000, 20, 20)  # a search makes some thousands of objects, none of them in a cycle
    settings = load_settings(data, options)
    host = host or ("0.0.0.0" if settings.in_addon else DEFAULT_HOST)  # noqa: S104 - the add-on's port is mapped
    page = page_bind(page_host, page_port, settings.in_addon)
    url = f"http://{reachable(host, settings.in_addon)}:{port}/mcp"
    logs.configure()
    say(f"Agent Memory {__version__}, data folder {settings.data_dir}")
    for name in settings.without_effect():
        say(f"option {name} is set and has no effect in this version")
    if not settings.clients:
        say("option clients lists nobody, so nobody can call: list at least one")

    def announce(name: str, token: str) -> None:
        say("\n".join(log_lines(name, url, token)))

    with refusals():
        trio.run(lambda: run_server(settings, bind=Bind(host, port), page=page, mcp_url=url, announce=announce))


def page_bind(host: str | None, port: int | None, in_addon: bool) -> "Bind":
    """Where the page listens. In the add-on every address, as ingress comes from outside the container: the page
    itself answers the Supervisor and this machine alone.
    """
    from agent_memory.nursery.main import Bind

    default_host = "0.0.0.0" if in_addon else DEFAULT_HOST  # noqa: S104
    default_port = INGRESS_PORT if in_addon else DEFAULT_PAGE_PORT
    return Bind(host or default_host, default_port if port is None else port)


def reachable(host: str, in_addon: bool) -> str:
    """The host part of the URL that an agent uses."""
    if in_addon:
        return "<home-assistant-host>"
    if host in {"0.0.0.0", "::"}:  # noqa: S104 - compared, not bound
        return "<this-host>"
    return f"[{host}]" if ":" in host else host
