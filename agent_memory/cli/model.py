"""`model`: the text models that can take the embedded one's place, and how they get onto this machine."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from agent_memory.cli.frame import data_option, fail, load_folder, refusals, say

if TYPE_CHECKING:
    from agent_memory.encoder.catalogue import Model
    from agent_memory.encoder.install import Progress

FOLDER = "models"  # in the data folder
TENTHS = 10  # lines a file gets where no bar can be drawn


@click.group()
def model() -> None:
    """Install another text model for search by meaning."""


@model.command("list")
@data_option
def list_models(data: str | None) -> None:
    """Show the models that can be installed."""
    from agent_memory.encoder.catalogue import MANIFEST, MODELS
    from agent_memory.encoder.textmodel import DEFAULT

    folder = load_folder(data) / FOLDER
    click.echo(f"{DEFAULT.name}  embedded, in use unless embed_model_dir or embed_url is set")
    for each in MODELS:
        there = folder / each.recipe.name
        state = f"installed in {there}" if (there / MANIFEST).is_file() else "not installed"
        click.echo(f"{each.recipe.name}  {_mb(each)} MB, {each.recipe.width} dimensions, {each.licence}; {state}")


@model.command("install")
@click.argument("name")
@data_option
@click.option("--to", type=click.Path(path_type=Path, file_okay=False), help="Folder of the model; DATA/models/NAME.")
@click.option("--hub", metavar="URL", help="A mirror of huggingface.co.")
def install_model(name: str, data: str | None, to: Path | None, hub: str | None) -> None:
    """Download the model NAME, pinned and checked. Started again, it goes on where it was."""
    import trio

    from agent_memory.encoder import catalogue
    from agent_memory.encoder.install import InstallFailed

    home = load_folder(data)
    try:
        chosen = catalogue.model_named(name)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    target = (to or home / FOLDER / name).absolute()
    say(f"{name} ({chosen.licence}), {_mb(chosen)} MB from {chosen.repository}, into {target}")
    with refusals(), _progress() as progress:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            trio.run(_install, chosen, target, (hub or catalogue.HUB).rstrip("/"), progress)
        except InstallFailed as error:
            fail(error)
        except KeyboardInterrupt:
            fail("interrupted; call it again to go on")
    # The option is read relative to the data folder.
    shown = target.relative_to(home).as_posix() if target.is_relative_to(home) else str(target)
    say(f'installed; to use it, set "embed_model_dir": "{shown}" in {home / "options.json"}')
    say(f"or AGENT_MEMORY_EMBED_MODEL_DIR={shown}, and restart. Until every record is embedded the old vectors answer")
    click.echo(target)


async def _install(chosen: "Model", target: Path, hub: str, progress: "Progress") -> None:
    import httpx

    from agent_memory.encoder.install import install

    async with httpx.AsyncClient(follow_redirects=True) as client:
        await install(chosen, target, client, progress=progress, hub=hub)


@contextmanager
def _progress() -> "Iterator[Progress]":
    """A bar a file on a terminal, lines now and then elsewhere; both on standard error."""
    if not sys.stderr.isatty():
        yield _lines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bars:
        known: dict[str, object] = {}

        def show(file: str, done: int, size: int) -> None:
            if file not in known:
                known[file] = bars.add_task(file, total=size)
            bars.update(known[file], completed=done)  # type: ignore[arg-type]

        yield show


def _lines() -> "Progress":
    said: dict[str, int] = {}

    def show(file: str, done: int, size: int) -> None:
        tenth = done * TENTHS // max(size, 1)
        if said.get(file) != tenth:
            said[file] = tenth
            say(f"{file}: {done * 100 // max(size, 1)} % of {size} bytes")

    return show


def _mb(chosen: "Model") -> int:
    return round(sum(file.size for file in chosen.files) / 1e6)
