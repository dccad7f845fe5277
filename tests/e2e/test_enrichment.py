"""Two hundred session notes through a real server, two model servers and a power cut: every job is done exactly once.

`make test-long` runs 2,000 jobs.
"""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import trio

from support.model_servers import OpenAIStandIn
from support.server import Server
from support.tasks import found_numbers, memories, verdict
from support.world import HERE

JOBS = 2_000 if "AGENT_MEMORY_LONG" in os.environ else 200
CLOSERS = 8
WITHIN_S = 30.0 + JOBS / 4


class NoteReader(OpenAIStandIn):
    """Finds the one memory of notes like `Note 17: the relay answers on port 7017.`, and keeps every candidate."""

    def say(self, model: str, cap: int) -> tuple[str, bool]:
        text = str(self.asked[-1]["messages"][-1]["content"])
        if "verdict on the candidate" in text:
            return verdict("keep"), False
        number, port = found_numbers(text)
        return memories((f"Relay {number} port", f"Note {number}: the relay answers on port {port}.")), False

    def answer(self, method: str, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if body:  # the call that is answered now, for others may have come since
            self.asked.append(body)
        return super().answer(method, path, body)


async def close_sessions(server: Server, first: int, sessions: dict[int, str]) -> None:
    """Close every CLOSERS-th session; each close is repeated until it is answered, as a hook's queue does."""
    for number in range(first, JOBS, CLOSERS):
        body = {
            "namespace": HERE,
            "summary": f"Session {number}.",
            "notes": f"Note {number}: the relay answers on port {10_000 + number}.",
            "op_id": f"close-{number:06d}",
        }
        while number not in sessions:
            with suppress(httpx.TransportError):
                async with server.client("author") as client:
                    reply = await client.post("/api/session_close", json=body)
                if reply.status_code == 200:
                    sessions[number] = reply.json()["job_id"]
            if number not in sessions:
                await trio.sleep(0.1)


async def health(server: Server) -> dict[str, Any]:
    async with server.client() as client:
        found: dict[str, Any] = (await client.get("/health")).json()
        return found


async def wait_for(server: Server, done: int) -> dict[str, Any]:
    with trio.fail_after(WITHIN_S):
        while (report := await health(server))["jobs"]["done"] < done:
            await trio.sleep(0.1)
    return report


async def test_every_job_is_done_once_though_a_server_dies_and_the_power_goes(
    tmp_path: Path, nursery: trio.Nursery
) -> None:
    dying, slow = NoteReader(delay_s=0.02), NoteReader(delay_s=0.06)
    ports = [await nursery.start(each.serve) for each in (dying, slow)]
    options = {
        "ollama_url": f"http://127.0.0.1:{ports[0]}/v1",
        "ollama_fallback_url": f"http://127.0.0.1:{ports[1]}/v1",
        "ollama_model": "m",
        "review_at": "off",
    }
    server = Server(tmp_path / "data", options=options).start()
    try:
        sessions: dict[int, str] = {}
        async with trio.open_nursery() as closers:
            for first in range(CLOSERS):
                closers.start_soon(close_sessions, server, first, sessions)
            await wait_for(server, JOBS // 5)
            server.kill()  # in the middle of closes and of jobs
            await trio.to_thread.run_sync(server.start)
        assert len(set(sessions.values())) == JOBS
        await wait_for(server, JOBS // 2)
        dying.up = False
        server.kill()
        await trio.to_thread.run_sync(server.start)
        report = await wait_for(server, JOBS)
        assert {state: report["jobs"][state] for state in ("queued", "leased", "done", "parked")} == {
            "queued": 0,
            "leased": 0,
            "done": JOBS,
            "parked": 0,
        }
        shown = {each["url"]: each["live"] for each in report["enrichment"]["servers"]}
        assert list(shown) == [options["ollama_url"], options["ollama_fallback_url"]]
        async with server.client() as client:
            reviewed = (await client.post("/api/review", json={})).json()
        assert reviewed.get("running") is True or reviewed["kept"] == JOBS
        server.stop()
    finally:
        server.end()
    titles = [title for (title,) in server.rows("SELECT title FROM records WHERE origin = 'extraction'")]
    assert sorted(titles) == sorted(f"Relay {number} port" for number in range(JOBS))
    contexts = [json.loads(row[0]) for row in server.rows("SELECT context FROM audit WHERE action = 'extract'")]
    assert sorted(each["job"] for each in contexts) == sorted(sessions.values())
    assert {each["server"] for each in contexts} == set(shown)
    assert min(len(dying.asked), len(slow.asked)) > 10
