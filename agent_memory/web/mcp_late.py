"""MCP from the moment the server listens: the SDK is imported meanwhile, which is half of what a start would take."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import trio

from agent_memory.web.gate import Receive, Scope, Send

if TYPE_CHECKING:
    from agent_memory.web.mcp import McpFront


class LateFront:
    """The ASGI app behind /mcp. A request that comes before the SDK is there waits for it, about half a second."""

    def __init__(self, make: "Callable[[], McpFront]") -> None:
        """
        Args:
          make: imports the SDK and builds the front; called once, in a worker thread.
        """
        self._make = make
        self._front: McpFront | None = None
        self._there = trio.Event()

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Load the front beside whatever the block does, and serve until the block ends."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._load)
            yield
            nursery.cancel_scope.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._there.wait()
        assert self._front is not None
        await self._front(scope, receive, send)

    async def _load(self) -> None:
        front = await trio.to_thread.run_sync(self._make)
        async with front.run():
            self._front = front
            self._there.set()
            await trio.sleep_forever()
