"""The parts of the background work, over a world: stand-in servers behind a router, and a clock that trio moves."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import trio

from agent_memory.llm.chains import chains_of
from agent_memory.llm.chat import ChatReply, ChatRequest
from agent_memory.llm.errors import ServerSilent
from agent_memory.llm.router import Router
from agent_memory.llm.servers import Server
from agent_memory.nursery.answers import Answerer, Refresher
from agent_memory.nursery.extraction import Extractor
from agent_memory.nursery.jobs import Consumer
from support.world import World

START = datetime(2026, 11, 30, 12, tzinfo=UTC)


@dataclass
class Scripted:
    """A model server that answers each request by a function of its text, after so many seconds."""

    reply: Callable[[ChatRequest], str]
    delay_s: float = 0.0
    up: bool = True
    asked: list[ChatRequest] = field(default_factory=list)

    async def probe(self) -> None:
        await trio.lowlevel.checkpoint()
        if not self.up:
            raise ServerSilent("ConnectError")

    async def chat(self, model: str, request: ChatRequest) -> ChatReply:
        self.asked.append(request)
        await trio.sleep(self.delay_s)
        if not self.up:
            raise ServerSilent("ReadError")
        return ChatReply(self.reply(request))


def router_over(*servers: Scripted) -> Router:
    return Router([Server(f"http://s{at}", one) for at, one in enumerate(servers, 1)], chains_of("m", {}), 120)


def follow_trio(world: World, start: datetime = START) -> Callable[[], datetime]:
    """Let the world's clock go with trio's virtual one, and on by a microsecond a look so that ids differ."""
    begun, looks = trio.current_time(), 0

    def now() -> datetime:
        nonlocal looks
        looks += 1
        return start + timedelta(seconds=trio.current_time() - begun, microseconds=looks)

    object.__setattr__(world.services, "now", now)
    return now


def consumer_of(world: World, router: Router) -> Consumer:
    handlers = {"extract": Extractor(world.services, router), "answer": Answerer(world.services, router)}
    return Consumer(world.services, router, handlers, idle=Refresher(world.services).poll)


def memories(*found: tuple[str, str]) -> str:
    """A reply of extraction: facts by title and content."""
    return json.dumps(
        {"memories": [{"type": "fact", "title": title, "content": content, "tags": []} for title, content in found]}
    )


def verdict(kind: str, duplicate_of: str = "", reason: str = "as told") -> str:
    return json.dumps({"reason": reason, "verdict": kind, "duplicate_of": duplicate_of})


def found_note(request: ChatRequest) -> str:
    """The memory of notes like `Note 17: the relay answers on port 7017.`"""
    number, port = found_numbers(request.user)
    return memories((f"Relay {number} port", f"Note {number}: the relay answers on port {port}."))


def found_numbers(text: str) -> Sequence[str]:
    found = re.search(r"Note (\d+): the relay answers on port (\d+)", text)
    assert found is not None
    return found.groups()
