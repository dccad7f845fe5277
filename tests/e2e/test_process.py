"""The process as an operator sees it: ready fast, one for each folder, and stopping cleanly whatever clients do."""

import subprocess
import sys
import time
from pathlib import Path

import pytest
import trio

from agent_memory.nursery.main import GRACE_S
from support.http import read_reply
from support.server import ROOT, Server
from support.world import HERE, token_of

STOP_S = 10.0


async def test_it_is_ready_before_the_encoder_and_its_vectors_are_loaded(tmp_path: Path) -> None:
    """How long a start takes is measured by `make bench`."""
    server = Server(tmp_path / "data", options={"embed_url": ""}).start()
    try:
        async with server.client() as client:
            record = {"namespace": HERE, "type": "fact", "title": "Cache size", "content": "512 entries"}
            assert (await client.post("/api/store", json=record)).status_code == 200
        server.stop()
        server.start()
        with trio.fail_after(60):
            while "event=vectors-loaded" not in server.log():
                await trio.sleep(0.05)
        assert server.log().index("event=ready") < server.log().index("event=vectors-loaded")
    finally:
        server.end()


def test_a_second_process_on_the_same_folder_is_refused_in_one_line(server: Server) -> None:
    second = subprocess.run(
        [sys.executable, "-m", "agent_memory", "serve", "--data", server.folder, "--port", "0", "--page-port", "0"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert second.returncode == 1
    assert "another process is using" in second.stderr
    assert "Traceback" not in second.stderr
    assert server.process is not None
    assert server.process.poll() is None


def test_a_folder_is_free_again_after_kill_9(tmp_path: Path) -> None:
    server = Server(tmp_path / "data").start()
    server.kill()
    server.start()
    assert server.stop() < STOP_S


async def test_a_request_that_runs_when_the_stop_comes_is_answered(server: Server) -> None:
    body = b'{"namespace": "local/stop", "type": "fact", "title": "the last", "content": "before the stop"}'
    head = (
        f"POST /api/store HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token_of('owner')}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode()
    stream = await trio.open_tcp_stream("127.0.0.1", server.port)
    async with stream:
        await stream.send_all(head + body[:20])  # the request runs, and waits for the rest of its body
        await trio.sleep(0.2)
        assert server.process is not None
        server.process.terminate()
        await trio.sleep(0.5)
        await stream.send_all(body[20:])
        reply = await read_reply(stream)
    assert reply.status == 200
    assert server.process.wait(STOP_S) == 0
    assert not (server.folder / "memory.db-wal").exists()
    assert server.rows("SELECT id FROM records WHERE title = 'the last'") == [(reply.json["id"],)]


async def test_a_request_that_waits_behind_the_last_one_does_not_delay_the_stop(server: Server) -> None:
    """A client under load sends it as soon as it has read the last answer, before the connection is closed."""
    head = (
        f"POST /api/namespace HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token_of('owner')}\r\n"
        "Content-Type: application/json\r\nContent-Length: 15\r\n\r\n"
    ).encode()
    async with await trio.open_tcp_stream("127.0.0.1", server.port) as stream:
        await stream.send_all(head)
        await trio.sleep(0.2)
        assert server.process is not None
        server.process.terminate()
        await trio.sleep(0.5)
        await stream.send_all(b'{"name": "one"}' + head)
        assert (await read_reply(stream)).status == 200
        assert server.process.wait(GRACE_S / 2) == 0


async def test_idle_connections_do_not_delay_the_stop(server: Server) -> None:
    request = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    streams = [await trio.open_tcp_stream("127.0.0.1", server.port) for _ in range(20)]
    for stream in streams[:15]:
        await stream.send_all(request)
        assert (await read_reply(stream)).status == 200
    await streams[15].send_all(request[:10])  # a request that never ends, and four connections that say nothing
    for _ in range(5):  # a browser that has the page open
        streams.append(await trio.open_tcp_stream("127.0.0.1", server.page_port))
        await streams[-1].send_all(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert (await read_reply(streams[-1])).status == 200
    assert await trio.to_thread.run_sync(server.stop) < 2.0
    for stream in streams:
        await stream.aclose()


async def test_http_2_is_not_taken_up(shared_server: Server) -> None:
    """An HTTP/2 connection without a request would stay open for ever."""
    for port, refusal in ((shared_server.port, 404), (shared_server.page_port, 403)):
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            await stream.send_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\x04\0\0\0\0\0")
            assert (await read_reply(stream)).status == refusal
    async with await trio.open_tcp_stream("127.0.0.1", shared_server.port) as stream:
        await stream.send_all(
            b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
            b"HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n\r\n"
        )
        assert (await read_reply(stream)).status == 200


async def test_it_stops_in_time_under_load_and_loses_nothing_it_answered(server: Server) -> None:
    answered: list[str] = []

    async def write(number: int) -> None:
        import httpx

        async with server.client() as client:
            for turn in range(10_000):
                record = {"namespace": HERE, "type": "fact", "title": f"load {number} {turn}", "content": "x"}
                try:
                    reply = await client.post("/api/store", json=record)
                except httpx.TransportError:
                    return
                if reply.status_code != 200:
                    return
                answered.append(reply.json()["id"])

    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            for number in range(16):
                nursery.start_soon(write, number)
            while len(answered) < 40:
                await trio.sleep(0.02)
            took_s = await trio.to_thread.run_sync(server.stop)
    assert took_s < STOP_S
    assert set(answered) <= {row[0] for row in server.rows("SELECT id FROM records")}


@pytest.mark.parametrize("locale", ["C", "POSIX"])
async def test_text_is_utf8_whatever_the_locale(tmp_path: Path, locale: str) -> None:
    environment = {"LC_ALL": locale, "LANG": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    server = Server(tmp_path / "data", environment=environment).start()
    try:
        async with server.client() as client:
            text = "中文缓存 Größe 😀"
            record = {"namespace": "local/ünï", "type": "fact", "title": text, "content": text}
            assert (await client.post("/api/store", json=record)).status_code == 200
            for query in ("缓存", "größe", "groesse"):
                found = await client.post("/api/search", json={"query": query, "namespace": "local/ünï"})
                assert [hit["title"] for hit in found.json()["hits"]] == [text], query
        assert server.stop() < STOP_S
    finally:
        server.end()


async def test_a_flood_of_connections_does_not_take_the_server_down(server: Server) -> None:
    streams = [await trio.open_tcp_stream("127.0.0.1", server.port) for _ in range(300)]
    async with server.client() as client:
        begun = time.monotonic()
        assert (await client.get("/health")).status_code == 200
        assert time.monotonic() - begun < 5
    for stream in streams:
        await stream.aclose()
