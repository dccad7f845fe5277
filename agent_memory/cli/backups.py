"""`backup` and `restore`: one file out, one file back in."""

from pathlib import Path

import click

from agent_memory import __version__
from agent_memory.cli.frame import data_option, fail, load_folder, refusals, say


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@data_option
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
def backup(file: Path, data: str | None, force: bool) -> None:
    """Write the memory to FILE (a tar), beside a running server or without one.

    It holds the database and the digests of generated tokens, so that agents keep their tokens after a restore.
    Options are not in it.
    """
    from datetime import UTC, datetime

    from agent_memory.store import backup as backups

    folder = load_folder(data)
    with refusals():
        try:
            manifest = backups.make(folder, file, version=__version__, now=datetime.now(UTC), replace=force)
        except backups.BackupError as error:
            fail(error)
        say(f"{file}: {', '.join(manifest.files)}, {file.stat().st_size} bytes, schema {manifest.schema}")


@click.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True))
@data_option
def restore(file: Path, data: str | None) -> None:
    """Replace the memory by the one in FILE, after verifying it. The server must be stopped.

    What was there is kept in the data folder under safety/. Give that folder as FILE to put it back. It is kept for a
    day at least; after that it goes with the next purge of what is past retention, and at any time with a hard forget,
    as it may hold the forgotten text.

    What was forgotten after the backup was made comes back with it. Records that were erased with a hard forget are
    named, so that they can be erased again, and so are clients whose older token works again.
    """
    from datetime import UTC, datetime

    from agent_memory.store import backup as backups
    from agent_memory.store import token_file

    folder, now = load_folder(data), datetime.now(UTC)
    with refusals():
        try:
            if file.is_dir():
                manifest, aside = backups.undo(folder, file, version=__version__, now=now)
                say(f"{folder}: put back what was in {file}")
            else:
                manifest, aside = backups.restore(folder, file, now=now)
                say(f"{folder}: restored the backup of {manifest.made_at} (version {manifest.version})")
        except backups.BackupError as error:
            fail(error)
    if aside is not None:
        say(f"what was there before is in {aside}: `agent-memory restore` of that folder puts it back")
        say("it goes with the first purge after a day, and with a hard forget at once; move it elsewhere to keep it")
        for name in token_file.differing(folder, aside):
            say(f"{name} has the token of the backup again; if that one is known to others: agent-memory token {name}")
        for record_id in backups.revived(folder, aside):
            again = f'agent-memory call forget \'{{"id": "{record_id}", "hard": true}}\''
            say(f"a record that had been erased is back with the backup; to erase it again: {again}")
