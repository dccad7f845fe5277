"""A power cut in the middle of a crowd of writers: every answered store is there, once, and found.

`make test-long` runs twenty rounds; the default is short enough for every test run.
"""

import os
import random
import time
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
import trio

from support.server import Server
from support.world import HERE

ROUNDS = 20 if "AGENT_MEMORY_LONG" in os.environ else 2
CLIENTS = 16
STORES = 1_000


@dataclass
class Writers:
    """What sixteen clients stored: the ids that were answered, by the word that only their record holds."""

    answered: dict[str, str] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)


def word_of(*numbers: int) -> str:
    """A word of letters alone that no other numbers give, so that no part of it is another's."""
    return "zq" + "y".join("".join(chr(ord("a") + int(digit)) for digit in f"{number:03d}") for number in numbers)


async def write(server: Server, number: int, count: int, writers: Writers, round_: int) -> None:
    name = ("owner", "author")[number % 2]
    async with server.client(name) as client:
        for turn in range(count):
            word = word_of(round_, number, turn)
            record = {"namespace": HERE, "type": "fact", "title": f"Note {word}", "content": f"The word is {word}."}
            writers.asked.add(word)
            try:
                reply = await client.post("/api/store", json=record)
            except httpx.TransportError:
                return  # the power is out
            if reply.status_code == 503:
                await trio.sleep(0.05)
            else:
                assert reply.status_code == 200, reply.text
                writers.answered[word] = reply.json()["id"]


async def crowd_and_kill(server: Server, round_: int, kill_at: int) -> Writers:
    """1,000 stores from 16 clients; the process is killed once `kill_at` were answered."""
    writers = Writers()

    async def kill() -> None:
        while len(writers.answered) < kill_at:
            await trio.sleep(0.001)
        server.kill()

    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(kill)
            for number in range(CLIENTS):
                nursery.start_soon(write, server, number, STORES // CLIENTS + 1, writers, round_)
    return writers


@pytest.mark.parametrize("round_", range(ROUNDS))
async def test_every_answered_store_survives_kill_9_once_and_is_found(tmp_path: Path, round_: int) -> None:
    server = Server(tmp_path / "data").start()
    try:
        writers = await crowd_and_kill(server, round_, kill_at=random.Random(round_).randrange(50, 900))
        assert len(writers.answered) >= 50
        server.start()
        async with server.client("reader") as client:
            for word, record_id in writers.answered.items():
                reply = await client.post("/api/search", json={"query": word, "namespace": HERE, "recall": True})
                hits = [hit["id"] for hit in reply.json()["hits"]]
                assert hits[:1] == [record_id], word
        server.stop()
    finally:
        server.end()
    titles = [row[0] for row in server.rows("SELECT title FROM records")]
    assert len(titles) == len(set(titles))
    assert {f"Note {word}" for word in writers.answered} <= set(titles) <= {f"Note {word}" for word in writers.asked}
    assert server.rows("PRAGMA integrity_check") == [("ok",)]
    assert server.rows("PRAGMA foreign_key_check") == []
    server.rows("INSERT INTO records_fts (records_fts, rank) VALUES ('integrity-check', 1)")
    audited = server.rows("SELECT record_id FROM audit WHERE action = 'store' ORDER BY 1")
    assert audited == server.rows("SELECT id FROM records ORDER BY 1")  # an audit row for each, and no more


async def test_a_store_answered_is_found_by_the_very_next_search_of_another_client(shared_server: Server) -> None:
    async def hand(number: int) -> None:
        async with shared_server.client("author") as writer, shared_server.client("reader") as reader:
            for turn in range(15):
                word = word_of(number, turn)
                record = {"namespace": "local/next", "type": "fact", "title": word, "content": f"about {word}"}
                stored = (await writer.post("/api/store", json=record)).json()
                found = await reader.post("/api/search", json={"query": word, "namespace": "local/next"})
                assert stored["id"] in [hit["id"] for hit in found.json()["hits"]], word

    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            for number in range(8):
                nursery.start_soon(hand, number)


async def test_a_client_that_hangs_up_leaves_the_server_whole(shared_server: Server) -> None:
    record = {"namespace": "local/hangup", "type": "fact", "title": "hung up", "content": "x"}
    async with shared_server.client() as client:
        for wait_s in (0.0, 0.001, 0.002, 0.004, 0.008) * 4:
            with trio.move_on_after(wait_s):
                await client.post("/api/store", json=record)
        begun = time.monotonic()
        for _ in range(5):
            assert (await client.post("/api/store", json=record)).status_code == 200
        assert time.monotonic() - begun < 5
