"""A store with known contents for the page, hostile texts among them, and requests as a browser makes them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from apsw import Connection

from agent_memory.domain.clients import Client, parse_network
from agent_memory.domain.records import draft, stamp
from agent_memory.llm.servers import ServerStatus
from agent_memory.store import audit, records
from agent_memory.web.page.app import PageSettings, build_page
from agent_memory.web.page.inputs import EncoderStatus, Inputs
from agent_memory.web.page.visits import SUPERVISOR
from support.http import Reply, asgi
from support.world import ADDRESS, ELSEWHERE, HERE, SCOPES, World

NOW = datetime(2026, 1, 1, 12, 30, tzinfo=UTC)
LOCAL = {"host": "127.0.0.1:8766"}
INGRESS = "/api/hassio_ingress/aBc-12_3"
USER = "Anna Ärger"

SCRIPT = "<script>document.title='owned'</script>"
IMAGE = '<img src=x onerror="document.title=1">'
QUOTES = "\"'><svg/onload=document.title=2> {{ 7 * 7 }} ]]>"
HOSTILE = (SCRIPT, IMAGE, QUOTES)
SECRET_TEXT = "nobody reads this on the status page"
MCP_URL = "http://127.0.0.1:8765/mcp"

CLIENTS = (
    *(Client(name, frozenset(scopes), token_sha256="0" * 64) for name, scopes in SCOPES.items()),
    Client("desk", frozenset({"read"}), ip=parse_network(ADDRESS)),
)
SERVERS = (
    ServerStatus("http://gpu.example:8080/v1", True, 2, 41.4, False),
    ServerStatus("http://old.example:11434", False, 0, None, True),
)
ENCODER = EncoderStatus("all-MiniLM-L6-v2-int8, embedded, ready", True, 7, 1, 12.6)


@dataclass
class Contents:
    """The ids of what was stored, by title."""

    ids: dict[str, str]
    candidate: str
    near: str


async def fill(world: World) -> Contents:
    """Store it: 2 records long ago and 6 today, one of them superseded, one forgotten, and 2 candidates."""
    clock: Any = world.services.now
    clock.now = NOW - timedelta(days=41)
    # beside the row of the world's own start, which has the real date
    await world.store.write(lambda conn: audit.note(conn, at=stamp(clock()), client="server", action="usage-start"))
    ids = {SCRIPT: await world.remember(SCRIPT, SECRET_TEXT), "Old and used": await world.remember("Old and used")}
    clock.now = NOW - timedelta(hours=5)
    world.services.read_log.returned([ids["Old and used"]], stamp(clock()))
    await world.services.read_log.flush(world.store)
    for title, kind in ((IMAGE, "decision"), (QUOTES, "fact"), ("Elsewhere", "constraint")):
        where = ELSEWHERE if kind == "constraint" else HERE
        ids[title] = await world.remember(title, SECRET_TEXT, type=kind, namespace=where)
    clock.now = NOW - timedelta(hours=1)
    newer = {"type": "decision", "supersedes": ids[IMAGE], "anchors": ["entity:light.kitchen"]}
    ids["Newer"] = await world.remember("Newer", "The cache holds prices for sixty seconds.", **newer)
    ids["Gone"] = await world.remember("Gone", SECRET_TEXT)
    await world.call("forget", id=ids["Gone"], reason="quoted words of a person")
    await world.call("corroborate", "author", id=ids["Newer"], stance="corroborates", quote=f"seen {SCRIPT}")
    await world.call("session_close", namespace=HERE, summary="Done.")
    await world.rest("store", "reader", namespace=HERE, type="fact", title="t", content="c")
    clock.now = NOW
    near = await world.remember("Cache of prices", "The cache holds prices for thirty seconds.", type="fact")
    await world.store.write(_extras)
    rows = await world.rows("SELECT id FROM records WHERE status = 'candidate' ORDER BY id")
    return Contents(ids, str(rows[0][0]), near)


def _extras(conn: Connection) -> None:
    """Candidates as extraction leaves them, and the audit rows of timed tasks."""
    for place, title in enumerate(("Prices are cached", QUOTES)):
        content = "The cache holds prices for ninety seconds, I think."
        text = draft(namespace=HERE, record_type="fact", title=title, content=content)
        record_id = f"{int(NOW.timestamp() * 1000):012x}7{place:03d}8{'0' * 15}"
        records.store_candidate(conn, text, record_id=record_id, writer="author", origin="extraction", now=stamp(NOW))
    context = {"candidates": 5, "kept": 3, "forgotten": 2, "model": f"qwen {SCRIPT}"}
    audit.note(conn, at=stamp(NOW - timedelta(hours=9)), client="server", action="candidate-review", context=context)
    counts = {"checked": 12, "changed": 1, "unavailable": 4}
    audit.note(conn, at=stamp(NOW - timedelta(hours=2)), client="server", action="anchor-sweep", context=counts)


class Page:
    """The page of a world, and requests to it from this machine or through ingress."""

    def __init__(self, world: World, *, actions: bool = True, machines: bool = True, now: datetime = NOW) -> None:
        inputs = Inputs(
            mcp_url=MCP_URL,
            clients=lambda: CLIENTS,
            servers=lambda: SERVERS if machines else (),
            encoder=lambda: ENCODER if machines else None,
        )
        settings = PageSettings(now=lambda: now, started_at=now - timedelta(hours=3, minutes=4), actions=actions)
        self.app = build_page(world.services, inputs, settings)

    async def get(self, path: str, **headers: str) -> Reply:
        """A page as a browser on this machine asks for it."""
        return await self.request("GET", path, headers=headers)

    async def post(self, path: str, form: Mapping[str, str], *, peer: str = "127.0.0.1", **headers: str) -> Reply:
        """A form as a browser sends it, with its Origin."""
        body = urlencode(form).encode()
        given = {
            "content-type": "application/x-www-form-urlencoded",
            "content-length": str(len(body)),
            "origin": "http://127.0.0.1:8766",
            **headers,
        }
        return await self.request("POST", path, headers=given, body=body, peer=peer)

    async def request(
        self, method: str, path: str, *, headers: Mapping[str, str] = {}, body: bytes = b"", peer: str = "127.0.0.1"
    ) -> Reply:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        return await asgi(self.app, method, path, headers={**LOCAL, **given}, body=body, peer=peer)


def ingress(user: str = USER, base: str = INGRESS) -> dict[str, str]:
    """The headers that Home Assistant adds; header values travel as UTF-8."""
    return {"x-ingress-path": base, "x-remote-user-name": user.encode().decode("latin-1")}


class Ingress:
    """What Home Assistant does with a request: strip the prefix, add headers, come from the Supervisor."""

    def __init__(self, app: Any, user: str = USER) -> None:
        self._app = app
        self._user = user

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan" or not scope["path"].startswith(f"{INGRESS}/"):
            await self._app(scope, receive, send)
            return
        ours = [(name.encode(), value.encode("latin-1")) for name, value in ingress(self._user).items()]
        kept = [(name, value) for name, value in scope["headers"] if not name.startswith((b"x-ingress", b"x-remote"))]
        path = scope["path"].removeprefix(INGRESS)
        changed = {"path": path, "raw_path": path.encode(), "headers": [*kept, *ours], "client": (SUPERVISOR, 40_000)}
        await self._app({**scope, **changed}, receive, send)
