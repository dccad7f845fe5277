"""What is known of the index's words after a restart."""

from pathlib import Path

import pytest

from support.server import Server


@pytest.mark.parametrize("embed_url", ["off", ""])
async def test_a_misspelt_word_is_found_after_a_restart_with_or_without_an_encoder(
    tmp_path: Path, embed_url: str
) -> None:
    server = Server(tmp_path / "data", options={"embed_url": embed_url}).start()
    try:
        record = {
            "namespace": "local/words",
            "type": "fact",
            "title": "The zephyrion scheduler",
            "content": "It waits.",
        }
        async with server.client() as client:
            assert (await client.post("/api/store", json=record)).status_code == 200
        server.stop()
        server.start()
        async with server.client() as client:
            for _ in range(50):
                query = {"query": "zephyrrion", "namespace": "local/words"}
                hits = (await client.post("/api/search", json=query)).json()["hits"]
                if hits:
                    break
            assert [hit["title"] for hit in hits] == ["The zephyrion scheduler"]
    finally:
        server.end()
