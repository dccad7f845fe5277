"""The command line: each command is a few lines around what a floor below does. Exit codes: 0 ok, 1 failed, 2 usage."""

import os
import sys
from typing import Any

import click

from agent_memory import __version__

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8765
DEFAULT_PAGE_PORT = 8766


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(version)s")
def main() -> None:
    """Agent Memory: one shared, bounded memory server for coding agents."""


data_option = click.option("--data", metavar="DIR", help="Data folder.")
options_option = click.option("--options", metavar="FILE", help="Options file (JSON) instead of DIR/options.json.")


@main.command()
@data_option
@options_option
@click.option("--host", help=f"Address to listen on; {DEFAULT_HOST} unless run as an add-on.")
@click.option("--port", type=click.IntRange(0, 65535), default=DEFAULT_PORT, show_default=True)
def serve(data: str | None, options: str | None, host: str | None, port: int) -> None:
    """Run the server until SIGTERM or Ctrl-C."""
    import trio

    from agent_memory import logs
    from agent_memory.domain.connect import log_lines
    from agent_memory.nursery.main import Bind
    from agent_memory.nursery.main import serve as run_server

    settings = _settings(data, options)
    host = host or ("0.0.0.0" if settings.in_addon else DEFAULT_HOST)  # noqa: S104 - the add-on's port is mapped
    url = f"http://{_reachable(host, settings.in_addon)}:{port}/mcp"
    logs.configure()
    click.echo(f"Agent Memory {__version__}, data folder {settings.data_dir}", err=True)
    for name in settings.without_effect():
        click.echo(f"option {name} is set and has no effect in this version", err=True)

    def announce(name: str, token: str) -> None:
        click.echo("\n".join(log_lines(name, url, token)), err=True)

    with _refusals():
        trio.run(lambda: run_server(settings, bind=Bind(host, port), announce=announce))


def _reachable(host: str, in_addon: bool) -> str:
    """The host part of the URL that an agent uses."""
    if in_addon:
        return "<home-assistant-host>"
    if host in {"0.0.0.0", "::"}:  # noqa: S104 - compared, not bound
        return "<this-host>"
    return f"[{host}]" if ":" in host else host


def _settings(data: str | None, options: str | None) -> Any:
    from agent_memory import config

    with _refusals():
        return config.load(data, options, os.environ)


class _refusals:  # noqa: N801 - reads as a statement where it is used
    """Turn what stops a command into one line on standard error and exit code 1."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        from agent_memory.domain.errors import ServiceError
        from agent_memory.options.errors import OptionError
        from agent_memory.store.connection import DataFolderError
        from agent_memory.store.token_file import TokenFileError

        while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]
        if isinstance(error, OptionError | DataFolderError | TokenFileError | ServiceError | OSError):
            click.echo(f"agent-memory: {error}", err=True)
            sys.exit(1)
