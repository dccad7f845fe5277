"""Small stand-ins for the model servers outside the product: one in memory, and one for each HTTP API.

They answer as Ollama and llama-server do where the product can tell the difference, and misbehave on request.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import h11
import trio

from agent_memory.llm.chains import Chains, chains_of
from agent_memory.llm.chat import ChatReply, ChatRequest
from agent_memory.llm.errors import BadReply, ServerRefused, ServerSilent
from agent_memory.llm.router import Router
from agent_memory.llm.servers import Server

MEMORY = {
    "type": "decision",
    "title": "Idempotency keys are kept 72 hours",
    "content": "Support replays on Mondays, so the keys expire after 72 h.",
    "tags": ["idempotency"],
}
GOOD_JSON = json.dumps({"memories": [MEMORY]})
FAULTS = ("slow", "drop", "broken-off", "500", "bad-json", "no-message")


@dataclass
class MemoryServer:
    """A model server without a socket, for the router under a virtual clock: what each model says or does wrong.

    A model's script is a text to reply, a fault name of FAULTS, or a number of seconds to take before `timed_reply`.
    A server that is not `up` refuses connections.
    """

    models: Mapping[str, str | float] = field(default_factory=lambda: {"m": GOOD_JSON})
    up: bool = True
    probes: int = 0
    probe_s: float = 0.0
    timed_reply: str = GOOD_JSON
    asked: list[str] = field(default_factory=list)

    async def probe(self) -> None:
        self.probes += 1
        await trio.sleep(self.probe_s)
        if not self.up:
            raise ServerSilent("ConnectError")

    async def chat(self, model: str, request: ChatRequest) -> ChatReply:
        self.asked.append(model)
        await trio.lowlevel.checkpoint()
        if not self.up:
            raise ServerSilent("ConnectError")
        if model not in self.models:
            raise ServerRefused(404)
        script = self.models[model]
        if isinstance(script, (int, float)):
            await trio.sleep(script)
            if not self.up:
                raise ServerSilent("ReadError")
            return ChatReply(self.timed_reply)
        match script:
            case "slow":
                await trio.sleep_forever()
            case "drop" | "broken-off":
                raise ServerSilent("RemoteProtocolError")
            case "500":
                raise ServerRefused(500)
            case "bad-json" | "no-message":
                raise BadReply("the body is not JSON")
        return ChatReply(script)


def router_of(
    *clients: MemoryServer, direct: tuple[MemoryServer, ...] = (), chains: Chains | None = None, timeout_s: float = 120
) -> Router:
    """A router over in-memory servers called http://s1, http://s2, … and then the direct ones."""
    servers = [
        Server(f"http://s{at}", client, direct=at > len(clients)) for at, client in enumerate((*clients, *direct), 1)
    ]
    return Router(servers, chains or chains_of("m", {}), timeout_s)


@dataclass
class HttpStandIn:
    """What the two HTTP stand-ins share: models with their scripts, what was asked, and the faults of the transport."""

    models: dict[str, str] = field(default_factory=lambda: {"m": GOOD_JSON})
    asked: list[dict[str, Any]] = field(default_factory=list)
    up: bool = True
    connections: int = 0
    delay_s: float = 0.0

    def answer(self, method: str, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        raise NotImplementedError

    async def serve(self, *, task_status: trio.TaskStatus[int] = trio.TASK_STATUS_IGNORED) -> None:
        """Listen on a free port of 127.0.0.1 and report it."""
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
        task_status.started(listeners[0].socket.getsockname()[1])
        await trio.serve_listeners(self._handle, listeners)

    async def _handle(self, stream: trio.SocketStream) -> None:
        self.connections += 1
        with suppress(trio.BrokenResourceError):  # a client may hang up on a reply it no longer wants
            await self._converse(stream)

    async def _converse(self, stream: trio.SocketStream) -> None:
        async with stream:
            connection = h11.Connection(h11.SERVER)
            while self.up:
                request = await _read_request(connection, stream)
                if request is None or not await self._reply(connection, stream, *request):
                    return
                if connection.our_state is not h11.DONE:
                    return
                connection.start_next_cycle()

    async def _reply(
        self, connection: h11.Connection, stream: trio.SocketStream, method: str, path: str, data: bytes
    ) -> bool:
        body = json.loads(data) if data else {}
        if method == "POST":
            self.asked.append(body)
        fault = self.models.get(str(body.get("model")), "")
        match fault:
            case "slow":
                await trio.sleep_forever()
            case "drop":
                return False
            case "500":
                await _send(connection, stream, 500, b'{"error": "model runner has stopped"}')
                return True
            case "bad-json":
                await _send(connection, stream, 200, b"<html>busy</html>")
                return True
            case "no-message":
                await _send(connection, stream, 200, b'{"object": "something else"}')
                return True
        await trio.sleep(self.delay_s)
        if not self.up:
            return False
        status, answer = self.answer(method, path, body)
        sent = json.dumps(answer).encode()
        if fault == "broken-off":
            await _send(connection, stream, status, sent[: len(sent) // 2], declared=len(sent))
            return False
        await _send(connection, stream, status, sent)
        return True

    def say(self, model: str, cap: int) -> tuple[str, bool]:
        """A model's reply under an output cap, in words for tokens; whether it was cut."""
        text = self.models[model]
        words = text.split(" ")
        return (" ".join(words[:cap]), True) if len(words) > cap else (text, False)


class OllamaStandIn(HttpStandIn):
    """Ollama's `/api/tags` and `/api/chat`: an unknown model is a 404, a reply streams unless told not to."""

    def answer(self, method: str, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if (method, path) == ("GET", "/api/tags"):
            return 200, {"models": [{"name": name, "model": name} for name in self.models]}
        if (method, path) != ("POST", "/api/chat"):
            return 404, {"error": "not found"}
        model = body["model"]
        if model not in self.models:
            return 404, {"error": f'model "{model}" not found, try pulling it first'}
        if body.get("stream", True):
            return 200, {"model": model, "message": {"role": "assistant", "content": ""}, "done": False}
        text, cut = self.say(model, body.get("options", {}).get("num_predict", 10**6))
        message = {"role": "assistant", "content": text}
        return 200, {"model": model, "message": message, "done": True, "done_reason": "length" if cut else "stop"}


class OpenAIStandIn(HttpStandIn):
    """llama-server behind llama-swap: `/v1/models` and `/v1/chat/completions`, an unknown model is a 404."""

    def answer(self, method: str, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if (method, path) == ("GET", "/v1/models"):
            return 200, {"object": "list", "data": [{"id": name, "object": "model"} for name in self.models]}
        if (method, path) != ("POST", "/v1/chat/completions"):
            return 404, {"error": {"code": 404, "message": "File Not Found", "type": "not_found_error"}}
        model = body["model"]
        if model not in self.models:
            return 404, {"error": {"message": f"could not find real modelID for {model}"}}
        text, cut = self.say(model, body.get("max_tokens", 10**6))
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "finish_reason": "length" if cut else "stop", "message": message}
        return 200, {"object": "chat.completion", "model": model, "choices": [choice]}


async def _read_request(connection: h11.Connection, stream: trio.SocketStream) -> tuple[str, str, bytes] | None:
    method = path = ""
    data = bytearray()
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            connection.receive_data(await stream.receive_some(65536))
        elif isinstance(event, h11.Request):
            method, path = event.method.decode(), event.target.decode()
        elif isinstance(event, h11.Data):
            data += event.data
        elif isinstance(event, h11.EndOfMessage):
            return method, path, bytes(data)
        else:
            return None


async def _send(
    connection: h11.Connection, stream: trio.SocketStream, status: int, data: bytes, declared: int | None = None
) -> None:
    length = str(len(data) if declared is None else declared)
    head = h11.Response(status_code=status, headers=[("Content-Type", "application/json"), ("Content-Length", length)])
    sent = (connection.send(head) or b"") + (connection.send(h11.Data(data=data)) or b"")
    if declared is None:
        sent += connection.send(h11.EndOfMessage()) or b""
    await stream.send_all(sent)


@contextmanager
def recording(into: list[str]) -> Iterator[Callable[[str], str | None]]:
    """A screen that refuses every text with `s3cret` in it and notes what it was shown."""

    def screen(text: str) -> str | None:
        into.append(text)
        return "token" if "s3cret" in text else None

    yield screen
