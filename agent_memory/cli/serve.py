"""`serve`: run the server."""

import click

from agent_memory import __version__
from agent_memory.cli.frame import (
    DEFAULT_HOST,
    DEFAULT_PAGE_PORT,
    DEFAULT_PORT,
    data_option,
    load_settings,
    options_option,
    refusals,
    say,
)


@click.command()
@data_option
@options_option
@click.option("--host", help=f"Address to listen on; {DEFAULT_HOST} unless run as an add-on.")
@click.option("--port", type=click.IntRange(0, 65535), default=DEFAULT_PORT, show_default=True)
@click.option("--page-host", default=DEFAULT_HOST, show_default=True, help="Address of the page.")
@click.option("--page-port", type=click.IntRange(0, 65535), default=DEFAULT_PAGE_PORT, show_default=True)
def serve(data: str | None, options: str | None, host: str | None, port: int, page_host: str, page_port: int) -> None:
    """Run the server until SIGTERM or Ctrl-C."""
    import gc

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
    settings = load_settings(data, options)
    host = host or ("0.0.0.0" if settings.in_addon else DEFAULT_HOST)  # noqa: S104 - the add-on's port is mapped
    url = f"http://{reachable(host, settings.in_addon)}:{port}/mcp"
    logs.configure()
    say(f"Agent Memory {__version__}, data folder {settings.data_dir}")
    for name in settings.without_effect():
        say(f"option {name} is set and has no effect in this version")

    def announce(name: str, token: str) -> None:
        say("\n".join(log_lines(name, url, token)))

    with refusals():
        trio.run(lambda: run_server(settings, bind=Bind(host, port), announce=announce))


def reachable(host: str, in_addon: bool) -> str:
    """The host part of the URL that an agent uses."""
    if in_addon:
        return "<home-assistant-host>"
    if host in {"0.0.0.0", "::"}:  # noqa: S104 - compared, not bound
        return "<this-host>"
    return f"[{host}]" if ":" in host else host
