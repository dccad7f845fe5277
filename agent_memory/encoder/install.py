"""Downloads a model of the table into a directory, file by file, each checked before it gets its name.

An interrupted download is taken up where it stopped; a file that is there already is checked and left alone, right or
wrong; nothing that differs from its pinned digest ever gets its name.
"""

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import httpx
import trio

from agent_memory.encoder.catalogue import HUB, MANIFEST, Model, ModelFile

ATTEMPTS = 6  # in a row without a byte of progress
FIRST_PAUSE_S = 1.0  # doubled after each failure, up to MAX_PAUSE_S
MAX_PAUSE_S = 30.0
STALL_S = 30.0  # without a byte, the connection counts as dead

Progress = Callable[[str, int, int], None]
"""Called with a file's name, the bytes there are, and its full size."""


class InstallFailed(Exception):  # named like the other errors: what happened
    """A model was not installed; the text says which file and why. What was complete stays and is used next time."""


async def install(
    model: Model, folder: Path, client: httpx.AsyncClient, *, progress: Progress | None = None, hub: str = HUB
) -> Path:
    """Download what is missing of a model; cancelled, it can be started again and goes on where it was.

    Args:
      folder: the model's own directory; made if need be.
      client: should follow redirects (the hub answers with them).
      hub: address of the hub, for tests and mirrors.
    Returns: the folder, holding the model's files and its `model.json`.
    Raises: InstallFailed: a file there is not the model's (it is left as it is), what was sent is not, or the server
      could not be read.
    """
    await trio.Path(folder).mkdir(parents=True, exist_ok=True)
    report = progress or (lambda name, done, size: None)
    for file in model.files:
        target = folder / file.name
        if target.exists():
            if await trio.to_thread.run_sync(_digest, target) != file.sha256:
                raise InstallFailed(f"{target} is there and is not the file of {model.recipe.name}; move it away first")
        else:
            await _fetch(model.url(file, hub), file, target, client, report)
        report(file.name, file.size, file.size)
    manifest = json.dumps({"name": model.recipe.name, "revision": model.revision}, indent=2) + "\n"
    await trio.to_thread.run_sync(_write, folder / MANIFEST, manifest)
    return folder


async def _fetch(url: str, file: ModelFile, target: Path, client: httpx.AsyncClient, report: Progress) -> None:
    """Download one file beside its place, try again after faults, check it, and give it its name."""
    part = target.with_name(target.name + ".part")
    failures, pause_s = 0, FIRST_PAUSE_S
    while (before := _size(part)) < file.size:
        try:
            await _append(url, file, part, client, report)
        except (httpx.TransportError, trio.TooSlowError) as error:
            problem = f"{type(error).__name__} at byte {_size(part)} of {file.size}"
        else:
            problem = f"the server stopped at byte {_size(part)} of {file.size}"
        if _size(part) > before:
            failures, pause_s = 0, FIRST_PAUSE_S
            continue
        failures += 1
        if failures >= ATTEMPTS:
            raise InstallFailed(f"{file.name}: {problem}; start again to go on from there")
        await trio.sleep(pause_s)
        pause_s = min(pause_s * 2, MAX_PAUSE_S)
    if await trio.to_thread.run_sync(_digest, part) != file.sha256:
        part.unlink()  # nothing in it can be trusted to go on from
        raise InstallFailed(f"{file.name}: what {httpx.URL(url).host} sent is not the pinned file; it was thrown away")
    await trio.to_thread.run_sync(_settle, part, target)


async def _append(url: str, file: ModelFile, part: Path, client: httpx.AsyncClient, report: Progress) -> None:
    """Ask for the bytes that are missing and write them as they come; never more than the file's size."""
    have = _size(part)
    headers = {"Range": f"bytes={have}-", "Accept-Encoding": "identity"} if have else {"Accept-Encoding": "identity"}
    timeout = httpx.Timeout(STALL_S)
    async with client.stream("GET", url, headers=headers, timeout=timeout) as answer:
        if answer.status_code == 200:
            have = 0  # the server does not do ranges, and sends everything from the start
        elif answer.status_code != 206 or not answer.headers.get("content-range", "").startswith(f"bytes {have}-"):
            if answer.status_code in (408, 429) or answer.status_code >= 500:
                return  # passing trouble
            raise InstallFailed(f"{file.name}: the server answered {answer.status_code}")
        too_long = InstallFailed(f"{file.name}: the server sends more than its {file.size} bytes")
        announced = answer.headers.get("content-length", "")
        if announced.isdigit() and have + int(announced) > file.size:
            raise too_long
        with _opened(part, have) as out:
            # Raw, in pieces as they come: chunks of a size would lose what was held back when the connection breaks.
            async for chunk in answer.aiter_raw():
                have += len(chunk)
                if have > file.size:
                    out.truncate(0)
                    raise too_long
                out.write(chunk)  # some 64 KiB: not worth a thread
                report(file.name, have, file.size)


def _opened(part: Path, at: int) -> BinaryIO:
    """The partial file, cut to and standing at a byte; made if need be."""
    out = part.open("r+b" if part.exists() else "wb")
    out.truncate(at)
    out.seek(at)
    return out


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _settle(part: Path, target: Path) -> None:
    """Give a checked file its name once its bytes are on disk; a file that took the name meanwhile stays."""
    with part.open("rb+") as file:
        os.fsync(file.fileno())
    try:
        os.link(part, target)
    except FileExistsError as error:
        raise InstallFailed(f"{target} appeared meanwhile and was left alone") from error
    except OSError:  # a file system without hard links
        part.rename(target)
        return
    part.unlink()


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
