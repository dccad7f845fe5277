"""`doctor`: looks at everything a server needs on this machine and says what to do about what is wrong."""

import sys

import click

from agent_memory.cli.frame import DEFAULT_HOST, DEFAULT_PORT, data_option, options_option

MARKS = {"ok": "ok   ", "note": "note ", "wrong": "WRONG"}


@click.command()
@data_option
@options_option
@click.option("--host", default=DEFAULT_HOST, show_default=True, help="Where the server listens, or will.")
@click.option("--port", type=click.IntRange(1, 65535), default=DEFAULT_PORT, show_default=True)
@click.option("--screen", is_flag=True, help="Also screen every stored text by today's rules.")
def doctor(data: str | None, options: str | None, host: str, port: int, screen: bool) -> None:
    """Check the data folder, the database, the options, the clients and the port. Exit code 1 if anything is wrong."""
    import os

    from agent_memory.cli import checks

    findings = checks.look(data, options, host, port, os.environ)
    if screen:
        findings += checks.stored_findings(data, os.environ)
    for finding in findings:
        advice = f": {finding.advice}" if finding.advice else ""
        click.echo(f"{MARKS[finding.level]} {finding.subject}: {finding.found}{advice}")
    if any(finding.level == "wrong" for finding in findings):
        sys.exit(1)
