"""Sends each call to a live model server with the fewest calls in flight, and on to the next model or server."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from agent_memory.llm.chains import Chains
from agent_memory.llm.chat import ChatReply, ChatRequest, ModelClient
from agent_memory.llm.errors import Attempt, EveryModelFailed, ModelError, NoServerLive, ServerSilent
from agent_memory.llm.servers import Server, ServerStatus
from agent_memory.logs import Log

if TYPE_CHECKING:
    from agent_memory.llm.endpoints import Endpoint

T = TypeVar("T")
log = Log("llm")


@dataclass(frozen=True)
class Served(Generic[T]):
    """What a call gave, with the server (address without credentials) and the model of its chain that served it."""

    value: T
    server: str
    model: str


class Router:
    """Routes calls over servers in the order they were configured; owns no task, the nursery probes the servers."""

    def __init__(self, servers: Sequence[Server], chains: Chains, timeout_s: float) -> None:
        self.servers = tuple(servers)
        self._chains = chains
        self._timeout_s = timeout_s

    @property
    def enabled(self) -> bool:
        """Whether any server is configured; without one there is no enrichment."""
        return bool(self.servers)

    @property
    def live_count(self) -> int:
        """Live servers that a call could be sent to now: the direct ones count only while no other is live."""
        return len(self._candidates())

    def status(self) -> tuple[ServerStatus, ...]:
        """Every server as it is now, in configured order."""
        return tuple(ServerStatus(s.url, s.live, s.in_flight, s.latency_ms, s.direct) for s in self.servers)

    async def call(self, request: ChatRequest, read: Callable[[ChatReply], T]) -> Served[T]:
        """Ask until a model's reply can be read: its chain on one server, then the next live server.

        Args:
          request: what to ask; its kind picks the chain.
          read: turns a reply into a value; a BadReply it raises is that model's failure.
        Raises:
          NoServerLive: nothing was asked.
          EveryModelFailed: no model of any live server gave a reply that can be read.
        A cancelled call leaves no state behind; the server may still be busy with it.
        """
        attempts: list[Attempt] = []
        asked: set[Server] = set()
        while (server := self._choose(asked)) is not None:
            asked.add(server)
            with server.busy():
                served = await self._ask_chain(server, request, read, attempts)
            if served is not None:
                log.info("call-served", kind=request.kind, model=served.model, server=served.server)
                return served
        if not attempts:
            raise NoServerLive
        raise EveryModelFailed(attempts)

    async def _ask_chain(
        self, server: Server, request: ChatRequest, read: Callable[[ChatReply], T], attempts: list[Attempt]
    ) -> Served[T] | None:
        for model in self._chains.of(request.kind):
            try:
                reply = await server.chat(model, request, self._timeout_s)
                return Served(read(reply), server.url, model)
            except ModelError as error:
                attempts.append(Attempt(server.url, model, str(error)))
                log.info("call-failed", kind=request.kind, model=model, server=server.url, reason=error)
                if isinstance(error, ServerSilent):
                    return None
        return None

    def _choose(self, asked: set[Server]) -> Server | None:
        free = [server for server in self._candidates() if server not in asked]
        return min(free, key=lambda server: server.in_flight, default=None)  # min keeps the configured order on a tie

    def _candidates(self) -> list[Server]:
        first = [server for server in self.servers if server.live and not server.direct]
        return first or [server for server in self.servers if server.live and server.direct]


@asynccontextmanager
async def open_router(endpoints: "Sequence[Endpoint]", chains: Chains, timeout_s: float) -> AsyncIterator[Router]:
    """A router with one HTTP client per server, closed with the block. No server is contacted by opening it."""
    async with AsyncExitStack() as stack:
        servers = []
        for endpoint in endpoints:
            # Only here, so that a server without model servers starts without an HTTP client.
            from agent_memory.llm.ollama import OllamaClient
            from agent_memory.llm.openai import OpenAIClient
            from agent_memory.llm.wire import open_http

            http = await stack.enter_async_context(open_http(endpoint.url))
            client: ModelClient = OpenAIClient(http) if endpoint.openai else OllamaClient(http)
            servers.append(Server(endpoint.shown, client, direct=endpoint.direct))
        yield Router(servers, chains, timeout_s)
