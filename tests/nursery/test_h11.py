"""HTTP/1.1 as the server speaks it, on a connection of its own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import h11
import pytest
import trio
import trio.testing
from hypercorn.config import Config
from hypercorn.events import Event, RawData
from hypercorn.trio.worker_context import WorkerContext

from agent_memory.nursery import h11 as ours
from agent_memory.nursery import main
from agent_memory.nursery.h11 import PlainHttp, speak_plain_http
from agent_memory.nursery.main import Bind, run_front


async def test_an_answers_head_and_body_leave_in_one_packet() -> None:
    packets: list[bytes] = []

    async def send(event: Event) -> None:
        if isinstance(event, RawData) and event.data:
            packets.append(event.data)

    unused: Any = None
    protocol = PlainHttp(unused, Config(), WorkerContext(None), unused, unused, False, None, None, send)
    protocol.connection.receive_data(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
    assert isinstance(protocol.connection.next_event(), h11.Request)
    await protocol._send_h11_event(h11.Response(status_code=200, headers=[(b"content-length", b"5")]))
    assert packets == []
    await protocol._send_h11_event(h11.Data(data=b"hello"))
    await protocol._send_h11_event(h11.EndOfMessage())
    assert len(packets) == 1
    assert packets[0].endswith(b"\r\n\r\nhello")


@asynccontextmanager
async def client_that_does_not_read() -> AsyncIterator[tuple[trio.Event, trio.Event]]:
    """A server beside a client that asks for more than any buffer holds and reads nothing; whoever enters comes back
    while the answer is under way. Leaving waits for the server to end.

    Yields: what stops the server, and what is set once it has given the answer up.
    """
    stop, begun, over = trio.Event(), trio.Event(), trio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            raise NotImplementedError  # hypercorn goes on without
        await send({"type": "http.response.start", "status": 200, "headers": []})
        begun.set()
        with trio.CancelScope(shield=True):  # as the gates do for a last part
            await send({"type": "http.response.body", "body": bytes(64 * 1024 * 1024)})
        over.set()

    speak_plain_http()
    async with trio.open_nursery() as nursery:
        listens = await nursery.start(partial(run_front, app, Bind("127.0.0.1", 0), stop))
        async with await trio.open_tcp_stream("127.0.0.1", int(listens[0].rpartition(":")[2])) as client:
            await client.send_all(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
            await begun.wait()
            yield stop, over
            with trio.fail_after(20):  # else it would hang
                await over.wait()
                stop.set()
                while nursery.child_tasks:
                    await trio.sleep(0.01)


async def test_a_client_that_does_not_take_its_answer_does_not_hold_up_a_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(main, "GRACE_S", 0.1)
    async with client_that_does_not_read() as (stop, over):
        await trio.testing.wait_all_tasks_blocked(0.05)
        assert not over.is_set()
        stop.set()


async def test_a_client_that_does_not_take_its_answer_loses_its_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ours, "SEND_S", 0.2)
    async with client_that_does_not_read():
        pass
