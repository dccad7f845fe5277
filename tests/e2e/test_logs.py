"""Log lines: one event each, key=value, and never content, a token or a query."""

import re
from pathlib import Path

from support.http import raw
from support.server import Server
from support.world import SECRET, token_of

SENTINEL = "zqsentinelzq"


async def test_no_line_holds_content_a_query_or_a_token_whatever_happens(tmp_path: Path) -> None:
    server = Server(tmp_path / "data").start()
    try:
        record = {"namespace": "local/logs", "type": "fact", "title": SENTINEL, "content": f"{SENTINEL} text"}
        async with server.client() as client:
            record_id = (await client.post("/api/store", json=record)).json()["id"]
            await client.post("/api/search", json={"namespace": "local/logs", "query": SENTINEL})
            await client.post("/api/store", json={**record, "content": f"{SENTINEL} {SECRET}"})
            await client.post("/api/update", json={"id": record_id, "revision": 9, "changes": {"title": SENTINEL}})
            await client.post("/api/search", json={"namespace": SENTINEL, "query": SENTINEL, SENTINEL: 1})
            await client.post(f"/api/{SENTINEL}", json={})
            await client.get(f"/{SENTINEL}/{SENTINEL}?token={SENTINEL}")
            await client.post("/mcp", content=SENTINEL, headers={"content-type": "application/json"})
            call = {"name": "memory_search", "arguments": {"query": SENTINEL, "namespace": SENTINEL}}
            for method in ("tools/call", SENTINEL):
                message = {"jsonrpc": "2.0", "id": SENTINEL, "method": method, "params": call}
                await client.post("/mcp", json=message)
                await client.post("/mcp", json=message, headers={"mcp-protocol-version": SENTINEL})
            await client.get("/health", headers={"Authorization": f"Bearer {SENTINEL}"})
        await raw(server.port, f"{SENTINEL} / HTTP/9\r\n{SENTINEL}\r\n\r\n".encode())
        server.stop()
    finally:
        server.end()
    log = server.log()
    for forbidden in (SENTINEL, SECRET, token_of("owner"), "Bearer", "Traceback"):
        assert forbidden not in log, log
    lines = [line for line in log.splitlines() if line.startswith("at=")]
    assert len(lines) >= 4
    for line in lines:
        assert re.match(r"at=\S+Z level=\w+ event=[\w-]+( [\w.-]+=(\"[^\"]*\"|\S*))*$", line), line


def test_a_generated_token_is_shown_once_and_only_its_digest_is_kept(tmp_path: Path) -> None:
    clients = [{"name": "claude-code", "scopes": ["read", "write"]}]
    server = Server(tmp_path / "data", options={"clients": clients}).start()
    try:
        (token,) = set(re.findall(r"agentmem_[\w-]{40,}", server.log()))
        kept = (server.folder / "client_tokens.json").read_text()
        assert token not in kept
        assert (server.folder / "client_tokens.json").stat().st_mode & 0o077 == 0
        server.stop()
        server.start()
        assert "agentmem_" not in server.log()
        server.stop()
    finally:
        server.end()
