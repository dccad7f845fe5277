"""A stand-in for Home Assistant behind the Supervisor: /core/api/states over real HTTP, and its moods."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import trio

TOKEN = "a-long-lived-token-of-a-test"


@dataclass(frozen=True)
class Seen:
    """A request as it came in."""

    method: str
    path: str
    authorization: str


@dataclass
class HomeAssistant:
    """What it answers (`status`, `body`, `headers`) and how (`mood`: whole, partial, silent, dripping); what it saw."""

    status: int = 200
    body: bytes = b"[]"
    headers: tuple[str, ...] = ()
    mood: str = "whole"
    seen: list[Seen] = field(default_factory=list)
    url: str = ""

    def has(self, entities: Iterable[str]) -> None:
        """Answer 200 with these entities, shaped as the real list is."""
        self.status, self.headers, self.mood = 200, (), "whole"
        self.body = json.dumps([state(entity_id) for entity_id in entities]).encode()

    def answers(self, status: int, body: object, *headers: str) -> None:
        self.status, self.headers, self.mood = status, headers, "whole"
        self.body = body if isinstance(body, bytes) else json.dumps(body).encode()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Serve until cancelled."""
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
        self.url = f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}/core"
        await trio.serve_listeners(self._answer, listeners, task_status=task_status)  # type: ignore[arg-type]

    async def _answer(self, stream: trio.SocketStream) -> None:
        async with stream:
            head = b""
            while b"\r\n\r\n" not in head:
                received = await stream.receive_some(65536)
                if not received:
                    return
                head += received
            first, *lines = head.decode("latin-1").split("\r\n")
            method, path, _ = first.split(" ")
            given = dict(line.lower().split(": ", 1) for line in lines if ": " in line)
            self.seen.append(Seen(method, path, given.get("authorization", "")))
            if given.get("authorization", "") != f"bearer {TOKEN}":
                await stream.send_all(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            elif self.mood == "silent":
                await trio.sleep_forever()
            else:
                await self._send(stream)

    async def _send(self, stream: trio.SocketStream) -> None:
        lines = [f"HTTP/1.1 {self.status} X", "Content-Type: application/json", f"Content-Length: {len(self.body)}"]
        head = "\r\n".join([*lines, *self.headers, "Connection: close", "", ""]).encode()
        if self.mood == "whole":
            await stream.send_all(head + self.body)
        else:
            await stream.send_all(head + self.body[: len(self.body) // 2])
            if self.mood == "dripping":
                await trio.sleep_forever()


def state(entity_id: str) -> dict[str, Any]:
    """One state as Home Assistant's `/api/states` lists it."""
    at = "2026-11-30T08:00:00.000000+00:00"
    context = {"id": "01JDXK8Z3VQ0C0Y0M3K5Q9W1AB", "parent_id": None, "user_id": None}
    attributes = {"friendly_name": entity_id.replace("_", " "), "supported_features": 0, "device_class": "power"}
    times = {"last_changed": at, "last_reported": at, "last_updated": at}
    return {"entity_id": entity_id, "state": "unavailable", "attributes": attributes, **times, "context": context}
