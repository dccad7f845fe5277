"""One model server's state: whether it is live, its calls in flight, and the deadline of each exchange with it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import trio

from agent_memory.llm.chat import ChatReply, ChatRequest, ModelClient
from agent_memory.llm.errors import ModelError, ServerSilent
from agent_memory.logs import Log

log = Log("llm")


@dataclass(frozen=True)
class ServerStatus:
    """A server as `/health` shows it: its address without credentials, and the time of its last good probe in ms."""

    url: str
    live: bool
    in_flight: int
    latency_ms: float | None
    direct: bool


class Server:
    """One model server's state: live until a probe or a call says otherwise, and its calls in flight."""

    def __init__(self, url: str, client: ModelClient, *, direct: bool = False) -> None:
        self.url = url
        self.direct = direct
        self.live = True  # a server not yet probed counts as live
        self.in_flight = 0
        self.latency_ms: float | None = None
        self._client = client

    async def probe(self, timeout_s: float) -> None:
        """Ask the server whether it is there and set `live` to the answer; no failure of the server is raised."""
        started = trio.current_time()
        problem: str | None = f"no answer in {timeout_s:g} s"
        with trio.move_on_after(timeout_s):
            try:
                await self._client.probe()
                problem = None
            except ModelError as error:
                problem = str(error)
        if problem is None:
            self.latency_ms = (trio.current_time() - started) * 1000
        self._set_live(problem is None, problem)

    async def chat(self, model: str, request: ChatRequest, timeout_s: float) -> ChatReply:
        """Ask one model once, within `timeout_s`; a server that does not answer is down until its next probe.

        Raises: ServerSilent, ServerRefused, BadReply: as ModelClient.chat; a late answer is none.
        """
        try:
            with trio.move_on_after(timeout_s):
                return await self._client.chat(model, request)
            raise ServerSilent(f"over {timeout_s:g} s")
        except ServerSilent as error:
            self._set_live(False, str(error))
            raise

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Count a call as in flight while the block runs, however it ends."""
        self.in_flight += 1
        try:
            yield
        finally:
            self.in_flight -= 1

    def _set_live(self, live: bool, problem: str | None) -> None:
        if live != self.live:
            log.warning("model-server", server=self.url, live=live, problem=problem)
        self.live = live
