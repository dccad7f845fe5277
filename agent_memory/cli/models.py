"""`model`: text models that can take the place of the one inside the server."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from agent_memory.cli.frame import data_option, fail, load_folder, refusals, say

if TYPE_CHECKING:
    from agent_memory.encoder.catalogue import Model


@click.group()
def model() -> None:
    """List and install text models for the option embed_model_dir."""


@model.command("list")
def list_() -> None:
    """Print the name, size and licence of every model that can be installed."""
    from agent_memory.encoder.catalogue import MODELS

    for each in MODELS:
        click.echo(f"{each.recipe.name}\t{sum(file.size for file in each.files) >> 20} MiB\t{each.licence}")


@model.command("install")
@click.argument("name")
@data_option
@click.option("--hub", metavar="URL", help="Download from this mirror of the hub.")
def install_(name: str, data: str | None, hub: str | None) -> None:
    """Download model NAME into models/NAME of the data folder, each file checked by its SHA-256.

    Interrupted, it goes on where it was when it is called again.
    """
    import trio

    from agent_memory.encoder.catalogue import HUB, model_named
    from agent_memory.encoder.install import InstallFailed

    try:
        chosen = model_named(name)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="NAME") from None
    folder = load_folder(data)
    with refusals():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            trio.run(_install, chosen, folder / "models" / name, (hub or HUB).rstrip("/"))
        except InstallFailed as error:
            fail(error)
        except KeyboardInterrupt:
            fail("interrupted; call it again to go on")
    say(f'put "embed_model_dir": "models/{name}" into {folder / "options.json"} and restart the server')
    click.echo(str(folder / "models" / name))


async def _install(chosen: "Model", folder: Path, hub: str) -> None:
    import httpx

    from agent_memory.encoder.install import install

    shown = ("", -1)

    def bar(name: str, done: int, size: int) -> None:
        nonlocal shown
        now = (name, done * 100 // size)
        if now == shown:
            return
        shown = now
        if sys.stderr.isatty():
            click.echo(f"\r{name}: {now[1]:3} % of {size >> 20} MiB", nl=done == size, err=True)
        elif done == size:
            say(f"{name}: {size} bytes, complete")

    async with httpx.AsyncClient(follow_redirects=True) as client:
        await install(chosen, folder, client, progress=bar, hub=hub)
