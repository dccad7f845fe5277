"""A power cut while records are embedded loses nothing: after it the rest is embedded, and nothing twice."""

from pathlib import Path
from typing import Any

import httpx
import trio

from agent_memory.encoder.embedded import EmbeddedEncoder
from support.server import Server
from support.world import HERE

RECORDS = 160
EMBEDDED = {"embed_url": ""}  # the default, which the tests' options turn off


async def waiting(client: httpx.AsyncClient) -> tuple[int, str]:
    """How many records wait for their vector, and the encoder's state."""
    encoder = (await client.get("/health")).json()["encoder"]
    return encoder.get("waiting", 0), encoder["state"]


async def ranking(client: httpx.AsyncClient) -> dict[str, Any]:
    found = await client.post("/api/search", json={"namespace": HERE, "query": "which broker port", "limit": 50})
    answer: dict[str, Any] = found.json()
    return answer


async def until_by_meaning(client: httpx.AsyncClient) -> None:
    with trio.fail_after(60):
        while (await ranking(client))["ranking"] != "score":
            await trio.sleep(0.05)


async def test_kill_9_during_embedding_loses_nothing_and_the_next_start_goes_on(tmp_path: Path) -> None:
    server = Server(tmp_path / "data", options=EMBEDDED).start()
    try:
        stored = {}
        async with server.client() as client:
            for number in range(RECORDS):
                title, content = f"Note {number}", f"The broker of house {number} listens on port {number}. " * 6
                record = {"namespace": HERE, "type": "fact", "title": title, "content": content}
                reply = await client.post("/api/store", json=record)
                assert reply.status_code == 200, reply.text
                stored[reply.json()["id"]] = (title, content.strip())
            with trio.fail_after(30):
                while (await waiting(client))[0] in (0, RECORDS):
                    await trio.sleep(0.01)
        server.kill()
        before = dict(server.rows("SELECT record_id, hex(vector) FROM embeddings"))
        assert 0 < len(before) < RECORDS
        assert set(before) <= set(stored)
        server.start()
        async with server.client() as client:
            await until_by_meaning(client)
            assert await waiting(client) == (0, "all-MiniLM-L6-v2-int8, embedded, ready")
            found = await ranking(client)
            assert len(found["hits"]) == 50
        server.stop()
        rows = server.rows("SELECT record_id, model, digest, hex(vector) FROM embeddings")
        assert len(rows) == RECORDS
        encoder = EmbeddedEncoder()
        for record_id, model, digest, vector in rows:
            title, content = server.rows(f"SELECT title, content FROM records WHERE id = '{record_id}'")[0]
            assert (model, digest) == (encoder.model, encoder.digest(encoder.record_text(title, content)))
            assert vector == before.get(record_id, vector), "a vector that was stored was made again"
    finally:
        server.end()


async def test_a_model_folder_that_is_no_model_starts_with_full_text_and_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    server = Server(tmp_path / "data", options={**EMBEDDED, "embed_model_dir": str(folder)}).start()
    try:
        async with server.client() as client:
            record = {"namespace": HERE, "type": "fact", "title": "Broker", "content": "which broker port"}
            assert (await client.post("/api/store", json=record)).status_code == 200
            with trio.fail_after(10):
                while "cannot be read" not in (await waiting(client))[1]:
                    await trio.sleep(0.05)
            assert "model.json" in (await waiting(client))[1]
            found = await ranking(client)
            assert (found["ranking"], len(found["hits"])) == ("fts5", 1)
            assert (await client.get("/health")).json()["encoder"]["live"] is False
    finally:
        server.end()
