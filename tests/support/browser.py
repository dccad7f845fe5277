"""A real browser on a page that this process serves: headless Chromium, driven from a thread."""

import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib import resources
from importlib.util import find_spec
from typing import Any, TypeVar

import trio
from hypercorn.trio import serve

from agent_memory.nursery.main import Bind, http_config

T = TypeVar("T")
CHROMIUM = shutil.which("chromium")
ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
TIMEOUT_MS = 20_000


def missing() -> str:
    """Why browser tests cannot run here; empty when they can."""
    if CHROMIUM is None:
        return "no chromium on the PATH (apt-get install chromium)"
    absent = [name for name in ("playwright", "axe_playwright_python") if find_spec(name) is None]
    return f"not installed: {', '.join(absent)} (the test extra)" if absent else ""


@dataclass
class Seen:
    """What happened behind the picture: console errors, failures, and every address that was asked for."""

    problems: list[str] = field(default_factory=list)
    addresses: list[str] = field(default_factory=list)

    def watch(self, page: Any) -> None:
        page.on("console", lambda message: self.problems.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("requestfailed", lambda request: self.problems.append(f"failed: {request.url}"))
        page.on("request", lambda request: self.addresses.append(request.url))


async def browse(visit: Callable[[Any, Seen], T], **context: Any) -> T:
    """Run a visit with a fresh browser page, in a thread, so that the server in this one can answer.

    Args:
      visit: gets the page and what is seen behind it.
      context: options of Playwright's browser context, such as viewport and java_script_enabled.
    """
    return await trio.to_thread.run_sync(partial(_browse, visit, context))


def _browse(visit: Callable[[Any, Seen], T], context: dict[str, Any]) -> T:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        try:
            page, seen = browser.new_context(**context).new_page(), Seen()
            page.set_default_timeout(TIMEOUT_MS)
            seen.watch(page)
            return visit(page, seen)
        finally:
            browser.close()


def accessibility_findings(page: Any) -> list[str]:
    """What axe-core calls serious or critical on the page as it is now."""
    page.evaluate((resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8"))
    found = page.evaluate("axe.run()")
    return [
        f"{each['id']}: {node['html'][:120]} ({node.get('failureSummary', '')[:200]})"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]


@asynccontextmanager
async def served(app: Any) -> AsyncIterator[str]:
    """The app on a port of this machine; the address without a slash at the end."""
    stop = trio.Event()
    async with trio.open_nursery() as nursery:
        config = http_config(Bind("127.0.0.1", 0))
        addresses = await nursery.start(partial(serve, app, config, shutdown_trigger=stop.wait, mode="asgi"))
        try:
            yield addresses[0]
        finally:
            nursery.cancel_scope.cancel()
