"""A whole server but its socket: store, tools and both fronts behind the gate, with clients of every kind."""

import json
import random
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import apsw

from agent_memory import config
from agent_memory.domain.clients import Identity, token_digest
from agent_memory.nursery.build import build, build_indexes
from agent_memory.nursery.review import Reviewer
from agent_memory.store import audit
from agent_memory.store.audit import AuditRow
from agent_memory.store.worker import Store
from agent_memory.tools.registry import Registry, Wire
from agent_memory.tools.services import Services
from agent_memory.web.gate import Gate
from support.http import Reply, asgi

HERE = "github/acme/app"
ELSEWHERE = "github/acme/other"
HUB = "github/acme/hub"
LINKED = "projects/suite"

MODERN = "2026-07-28"
ERAS = ("2024-11-05", "2025-11-25", MODERN)

SCOPES = {
    "owner": {"read", "write", "delete", "export", "admin"},
    "author": {"read", "write"},
    "reader": {"read"},
    "eraser": {"delete"},
    "exporter": {"export"},
    "warden": {"admin"},
}
SECRET = "ghp_" + "x9Kq27LmZp04TrVw" + "Yb81NcJd36HsFgQaEu52"  # of the shape of a token, and nobody's
ADDRESS = "192.0.2.7"  # of the client `desk`, which is known by it alone


class Ticking:
    """A clock that goes on one millisecond each time someone looks, so that ids and times follow the calls."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(milliseconds=1)
        return self.now


def token_of(client: str) -> str:
    return f"agentmem_test-token-of-{client}"


OPTIONS: dict[str, Any] = {
    # One client for each set of scopes, and one known by address that asks for more than it may have.
    "clients": [
        *(
            {"name": name, "scopes": sorted(scopes), "token_sha256": token_digest(token_of(name))}
            for name, scopes in SCOPES.items()
        ),
        {"name": "desk", "scopes": ["read", "write", "delete"], "ip": ADDRESS},
    ],
    "forge_hosts": ["git.example.org"],
    "project_links": [{"project": LINKED, "namespaces": [HERE, ELSEWHERE]}],
    "hubs": [HUB],
    "embed_url": "off",
}


@dataclass
class World:
    """The server as its fronts see it. `call` goes through the registry, `rest` and `mcp` through the gate."""

    store: Store
    services: Services
    registry: Registry
    gate: Gate
    reviewer: Reviewer
    request_id: Any = 1

    async def call(self, tool: str, client: str = "owner", /, **arguments: Any) -> dict[str, Any]:
        """A tool's result. Raises what the tool raises."""
        identity = Identity(client, frozenset(SCOPES[client]), writer=True)
        wire = Wire(envelope_bytes=0, escaped=False)
        text = await self.registry.invoke(self.services, identity, wire, f"memory_{tool}", arguments)
        found: dict[str, Any] = json.loads(text)
        return found

    async def remember(self, title: str, content: str = "", /, **arguments: Any) -> str:
        """Store a record and return its id."""
        given = {"namespace": HERE, "type": "fact", "title": title, "content": content or title, **arguments}
        return str((await self.call("store", **given))["id"])

    async def rest(self, tool: str, client: str = "owner", /, **arguments: Any) -> Reply:
        """A tool through REST."""
        return await self.post(f"/api/{tool}", json.dumps(arguments).encode(), client)

    async def post(self, path: str, body: bytes, client: str = "owner", /, **headers: str) -> Reply:
        given = {
            "content-type": "application/json",
            "content-length": str(len(body)),
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        return await self.request("POST", path, client, headers=given, body=body)

    async def request(
        self, method: str, path: str, client: str = "owner", /, *, headers: Mapping[str, str] = {}, body: bytes = b""
    ) -> Reply:
        """Any request as a client; `desk` comes from its address, everyone else with a token."""
        given = dict(headers)
        if client == "desk":
            return await asgi(self.gate, method, path, headers=given, body=body, peer=ADDRESS)
        given.setdefault("authorization", f"Bearer {token_of(client)}")
        return await asgi(self.gate, method, path, headers=given, body=body)

    async def mcp(self, tool: str, client: str = "owner", /, *, era: str = MODERN, **arguments: Any) -> Reply:
        """A tools/call message, as a client of that protocol revision sends it."""
        return await self.message(
            "tools/call", client, era=era, params={"name": f"memory_{tool}", "arguments": arguments}
        )

    async def message(
        self, method: str, client: str = "owner", /, *, era: str = MODERN, params: dict[str, Any] | None = None
    ) -> Reply:
        params = dict(params or {})
        headers = {"mcp_protocol_version": era}
        if era == MODERN:
            params["_meta"] = {
                "io.modelcontextprotocol/protocolVersion": era,
                "io.modelcontextprotocol/clientCapabilities": {},
            }
            headers["mcp_method"] = method
            if "name" in params:
                headers["mcp_name"] = str(params["name"])
        body = {"jsonrpc": "2.0", "id": self.request_id, "method": method, "params": params}
        return await self.post("/mcp", json.dumps(body).encode(), client, **headers)

    async def audited(self, limit: int = 100) -> list[AuditRow]:
        """The audit's newest rows, newest first."""
        return await self.store.read(lambda conn: audit.latest(conn, limit=limit))

    async def rows(self, sql: str, bindings: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """What a statement of a test reads."""

        def work(conn: apsw.Connection) -> list[tuple[Any, ...]]:
            return [tuple(row) for row in conn.execute(sql, bindings)]

        return await self.store.read(work)


def tool_answer(reply: Reply) -> tuple[bool, Any]:
    """(is an error, the tool's JSON) of a tools/call answer."""
    result = reply.json["result"]
    (block,) = result["content"]
    return bool(result.get("isError")), json.loads(block["text"])


@asynccontextmanager
async def open_world(store: Store, **options: Any) -> AsyncIterator[World]:
    """Everything above an open store, built as the server builds it, until the context ends.

    Args: options: over the usual ones, by name.
    """
    folder = store.path.parent
    file = folder / "options.json"
    file.write_text(json.dumps(OPTIONS | options))
    settings = config.load(str(folder), str(file), {})
    store.follower = indexes = build_indexes()
    async with AsyncExitStack() as resources:
        parts = await build(
            settings, store, indexes, resources, lambda _client, _token: None, "http://127.0.0.1:8765/mcp"
        )
        # Both fronts share this one object; only its clock and its dice are the test's.
        object.__setattr__(parts.services, "now", Ticking())
        object.__setattr__(parts.services, "entropy", random.Random(0).randbytes)
        async with parts.front.run():
            yield World(store, parts.services, parts.registry, parts.gate, parts.reviewer)
