"""The fixtures: a store on a real file, and a whole server without its socket around it."""

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

from agent_memory.store.worker import Store
from support.server import Server
from support.world import Ticking, World, open_world


async def inline(function: Callable[[], Any], /) -> Any:
    """Run a batch in the event loop: the virtual clock does not see threads and would jump while SQLite works."""
    await trio.lowlevel.checkpoint()
    return function()


@pytest.fixture
async def store(tmp_path: Path, nursery: trio.Nursery) -> AsyncIterator[Store]:
    """A running store whose batches run in its worker thread, as in the server."""
    with Store(tmp_path / "data", now=Ticking()) as opened:
        await nursery.start(opened.run)
        yield opened


@pytest.fixture
async def inline_store(tmp_path: Path, nursery: trio.Nursery) -> AsyncIterator[Store]:
    """A running store without a thread: for tests on a virtual clock or with a fixed order of tasks."""
    with Store(tmp_path / "data", now=Ticking(), in_thread=inline) as opened:
        await nursery.start(opened.run)
        yield opened


@pytest.fixture
async def world(inline_store: Store) -> AsyncIterator[World]:
    """Tools and both fronts, with clients of every kind, over an inline store."""
    async with open_world(inline_store) as opened:
        yield opened


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A running server process of its own."""
    running = Server(tmp_path / "data").start()
    yield running
    running.end()


@pytest.fixture(scope="session")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One running server process for every test that only talks to it."""
    running = Server(tmp_path_factory.mktemp("shared") / "data").start()
    yield running
    running.end()
