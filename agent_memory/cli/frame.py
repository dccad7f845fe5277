"""What the commands share: the options that name data and configuration, and how a refusal ends a command."""

import os
import sys
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, NoReturn

import click

if TYPE_CHECKING:
    from agent_memory.config import Settings

DEFAULT_HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 8765
DEFAULT_PAGE_PORT: Final = 8766
INGRESS_PORT: Final = 8099  # where the Supervisor looks for an add-on's page

data_option = click.option("--data", metavar="DIR", help="Data folder.")
options_option = click.option("--options", metavar="FILE", help="Options file (JSON) instead of DIR/options.json.")


def load_settings(data: str | None, options: str | None) -> "Settings":
    """The whole configuration, or the end of the command with one line."""
    from agent_memory import config

    with refusals():
        return config.load(data, options, os.environ)


def load_folder(data: str | None) -> Path:
    """The absolute data folder, for commands that need no options."""
    from agent_memory import config

    return config.data_folder(data, os.environ)


def say(line: str) -> None:
    """A line for the person at the terminal; standard output is kept for results."""
    click.echo(line, err=True)


def fail(reason: object) -> NoReturn:
    """End the command: one line, exit code 1."""
    say(f"agent-memory: {reason}")
    sys.exit(1)


class refusals:  # noqa: N801 - reads as a statement where it is used
    """Turn what stops a command into one line on standard error and exit code 1."""

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        from agent_memory.domain.errors import ServiceError
        from agent_memory.options.errors import OptionError
        from agent_memory.store.connection import DataFolderError
        from agent_memory.store.token_file import TokenFileError

        while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]
        if isinstance(error, BrokenPipeError):
            return  # the reader of a pipe has enough; click ends quietly
        if isinstance(error, OSError) and error.filename is not None:
            fail(f"{error.filename}: {error.strerror}")
        if isinstance(error, OptionError | DataFolderError | TokenFileError | ServiceError | OSError):
            fail(error)
