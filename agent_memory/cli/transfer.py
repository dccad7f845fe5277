"""`export` and `import`: records as lines of JSON, out of a data folder and into one."""

import sys
from typing import BinaryIO

import click

from agent_memory.cli.frame import data_option, load_folder, refusals, say

CLIENT = "cli"  # how the audit names a person at this machine's command line


@click.command()
@data_option
@click.option("--namespace", metavar="N", help="Only this namespace.")
def export(data: str | None, namespace: str | None) -> None:
    """Write every record as a line of JSON to standard output, beside a running server or without one."""
    from agent_memory.store.connection import DATABASE, open_reader
    from agent_memory.store.connection import refusals as file_refusals
    from agent_memory.tools.transfer import export_lines

    path = load_folder(data) / DATABASE
    with refusals(), file_refusals(path):
        reader = open_reader(path)
        try:
            for line in export_lines(reader, namespace):
                sys.stdout.buffer.write(line.encode() + b"\n")  # bytes: UTF-8 and \n whatever the locale
            sys.stdout.buffer.flush()
        finally:
            reader.close()


@click.command("import")
@click.argument("file", type=click.File("rb"))
@data_option
def import_(file: BinaryIO, data: str | None) -> None:
    """Take in lines of JSON from FILE, or - for standard input. The server must be stopped.

    A line of an export is put back as it was. A line with only namespace, type, title and content (and tags,
    confidence, anchors) becomes a candidate that waits for review. Exit code 1 when a line was refused.
    """
    import secrets
    from datetime import UTC, datetime

    import trio

    from agent_memory import logs
    from agent_memory.store.worker import Store
    from agent_memory.tools.transfer import ImportReport, import_lines

    folder = load_folder(data)
    logs.configure()

    def now() -> datetime:
        return datetime.now(UTC)

    async def run() -> ImportReport:
        async with trio.open_nursery() as nursery:
            with Store(folder, now=now) as store:
                await nursery.start(store.run)
                return await import_lines(store, file, client=CLIENT, now=now, entropy=secrets.token_bytes)

    with refusals():
        report = trio.run(run)
    for remark in sorted(report.refused + report.kept, key=lambda each: each.line):
        say(f"line {remark.line}: {remark.text}")
    click.echo(
        f"put back {report.restored}, candidates {report.candidates}, already there {report.skipped}, "
        f"kept as they are here {len(report.kept)}, refused {len(report.refused)}"
    )
    if report.refused:
        sys.exit(1)
