"""HTTP/1.1 as the server speaks it, on a connection of its own."""

from typing import Any

import h11
from hypercorn.config import Config
from hypercorn.events import Event, RawData
from hypercorn.trio.worker_context import WorkerContext

from agent_memory.nursery.h11 import JsonErrors


async def test_an_answers_head_and_body_leave_in_one_packet() -> None:
    packets: list[bytes] = []

    async def send(event: Event) -> None:
        if isinstance(event, RawData) and event.data:
            packets.append(event.data)

    unused: Any = None
    protocol = JsonErrors(unused, Config(), WorkerContext(None), unused, unused, False, None, None, send)
    protocol.connection.receive_data(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
    assert isinstance(protocol.connection.next_event(), h11.Request)
    await protocol._send_h11_event(h11.Response(status_code=200, headers=[(b"content-length", b"5")]))
    assert packets == []
    await protocol._send_h11_event(h11.Data(data=b"hello"))
    await protocol._send_h11_event(h11.EndOfMessage())
    assert len(packets) == 1
    assert packets[0].endswith(b"\r\n\r\nhello")
