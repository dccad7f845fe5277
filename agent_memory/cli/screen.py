"""`screen`: what the server would refuse to keep, and why; never the value."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
def screen(files: Sequence[str]) -> None:
    """Show what in these files (- for standard input) the server would refuse, one line a place. Exit code 1 if any."""
    from agent_memory.cli.frame import refusals
    from agent_memory.domain.screen import explain

    refused = False
    with refusals():
        for name in files:
            raw = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
            for found in explain(raw.decode("utf-8", "replace")):
                refused = True
                click.echo(f"{name}:{found.line}:{found.column}: {found.pattern}: {found.why}")
    if refused:
        sys.exit(1)
