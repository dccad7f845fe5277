"""The command line: each command is a few lines around what a floor below does. Exit codes: 0 ok, 1 failed, 2 usage.

Modules here import click and the standard library at most; a command imports the rest when it runs, so that
`agent-memory --version` and `agent-memory call` answer before a hook's patience ends.
"""

import click

from agent_memory import __version__
from agent_memory.cli.backups import backup, restore
from agent_memory.cli.call import call
from agent_memory.cli.doctor import doctor
from agent_memory.cli.model import model
from agent_memory.cli.screen import screen
from agent_memory.cli.serve import serve
from agent_memory.cli.tokens import token
from agent_memory.cli.transfer import export, import_


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(version)s")
def main() -> None:
    """Agent Memory: one shared, bounded memory server for coding agents."""


for command in (serve, backup, restore, doctor, export, import_, token, call, model, screen):
    main.add_command(command)
