"""Takes the pictures of the page for the README: a real server, example sessions, a headless browser.

    python tools/screenshots/take.py [FOLDER] [--all]

Needs the test extra (Playwright) and a Chromium on the PATH. Writes page.png and page-narrow.png, by default to docs/;
with --all the other pages too, for looking at after a change.
"""

import hashlib
import json
import shutil
import sys
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import trio
from playwright.sync_api import sync_playwright
from sessions import Agents

from agent_memory import config
from agent_memory.nursery import build, main

CHROMIUM = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync")  # fmt: skip
CLIENTS = {name: f"agentmem_example-{name}" for name in ("claude-code", "codex", "cursor")}
SCALE = 1.25  # sharp enough on a fine screen, and not half a megabyte each
WIDE, NARROW = (1280, 900), (360, 760)
TALL = (360, 1400)  # taken as it is, not down to the end of the page
PICTURES = {"page.png": ("", WIDE), "page-narrow.png": ("", TALL)}
OTHERS = {
    "page-wide.png": ("", (1600, 900)),
    "records.png": ("records", WIDE),
    "record.png": ("records >> text=Orders are written", WIDE),
    "record-narrow.png": ("records >> text=Release: tag, wait for CI, promote", NARROW),
    "review.png": ("review", WIDE),
    "candidate.png": ("review >> text=Found why old prices", WIDE),
    "candidate-narrow.png": ("review >> text=Built batched", NARROW),
}


class Clock:
    """The present, or a while before it: so that sessions of weeks can be stored in a second."""

    def __init__(self) -> None:
        self._back = timedelta()

    def set_back(self, length: timedelta) -> None:
        self._back = length

    def __call__(self) -> datetime:
        return datetime.now(UTC) - self._back


async def take(folder: Path, pictures: Mapping[str, tuple[str, tuple[int, int]]]) -> None:
    """Run the server on a folder of its own, store the sessions, and look at the page."""
    clock, stop = Clock(), trio.Event()
    build.now = main.now = clock  # type: ignore[assignment]  # the whole server keeps this time
    clock.set_back(timedelta(days=48))
    with tempfile.TemporaryDirectory() as data:
        options = Path(data) / "options.json"
        listed = [
            {"name": name, "scopes": ["read", "write", "delete", "admin"], "token_sha256": digest(token)}
            for name, token in CLIENTS.items()
        ]
        options.write_text(json.dumps({"clients": listed, "summary_candidates": True, "page_actions": True}))
        settings = config.load(data, str(options), {})
        async with trio.open_nursery() as nursery:
            serve = partial(
                main.serve,
                settings,
                bind=main.Bind("127.0.0.1", 0),
                page=main.Bind("127.0.0.1", 0),
                mcp_url="http://127.0.0.1:8765/mcp",
                announce=lambda _name, _token: None,
                stop=stop,
            )
            api, page = await nursery.start(serve)
            await trio.to_thread.run_sync(Agents(api, CLIENTS, clock.set_back).play)
            await trio.sleep(3)  # usage counts are written every two seconds
            await trio.to_thread.run_sync(shoot, page, folder, pictures)
            stop.set()


def digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def shoot(page: str, folder: Path, pictures: Mapping[str, tuple[str, tuple[int, int]]]) -> None:
    """Each picture shows a whole page: the one at its path, or the one behind a link on it (`path >> link`)."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=CHROMIUM)
        for name, (place, (width, height)) in pictures.items():
            path, _, link = place.partition(" >> ")
            view = browser.new_page(viewport={"width": width, "height": height}, device_scale_factor=SCALE)
            view.goto(f"{page}/{path}")
            if link:
                view.click(link)
            if not path:
                view.locator("#connect details.client > summary").first.click()
            view.evaluate("scrollTo(0, 0)")
            view.screenshot(path=folder / name, full_page=(width, height) != TALL)
            view.close()
        browser.close()


if __name__ == "__main__":
    named = [argument for argument in sys.argv[1:] if argument != "--all"]
    target = Path(named[0]) if named else Path(__file__).parents[2] / "docs"
    target.mkdir(parents=True, exist_ok=True)
    trio.run(take, target, PICTURES | OTHERS if "--all" in sys.argv else PICTURES)
