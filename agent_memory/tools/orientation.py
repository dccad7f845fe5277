"""Where a session starts: its namespace, and the titles of what is known there."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from apsw import Connection
from pydantic import BaseModel, Field

from agent_memory.domain import namespaces
from agent_memory.domain.budgets import BOOTSTRAP_BYTES
from agent_memory.domain.errors import InvalidArgument
from agent_memory.domain.namespaces import Scopes
from agent_memory.domain.records import shortest_prefix
from agent_memory.store import anchors, records
from agent_memory.tools.registry import Arguments, Call, Result, Wire, tool

# What a session needs first; within a type the newest comes first.
TYPE_ORDER: Final = (
    "constraint",
    "decision",
    "open-work",
    "failure",
    "procedure",
    "requirement",
    "preference",
    "fact",
    "session-summary",
)
GROUP_MAX: Final = 24  # titles read of one scope and type; 2,000 bytes hold fewer in all
SMALLEST_ITEM_BYTES: Final = 48
ITEMS_MAX: Final = 64  # more than 2,000 bytes hold even of the smallest


class NamespaceArguments(Arguments):
    remote: str | None = Field(default=None, description="Output of git remote get-url origin.")
    name: str | None = Field(default=None, description="Project name, when it has no remote.")


class NamespaceResult(Result):
    namespace: str
    scopes: list[str] = Field(description="What a search here reads, in this order.")


@tool("read", read_only=True)
async def memory_namespace(call: Call, args: NamespaceArguments) -> NamespaceResult:
    """Name the namespace of a project from its git remote, or from its name when it has none. Call once per project."""
    if (args.remote is None) == (args.name is None):
        raise InvalidArgument("arguments", "give either remote or name")
    if args.remote is not None:
        namespace = namespaces.from_remote(args.remote, call.services.policy.forges)
    else:
        namespace = namespaces.from_name(args.name or "")
    return NamespaceResult(namespace=namespace, scopes=list(call.services.scopes(namespace).ordered))


class BootstrapArguments(Arguments):
    namespace: str
    topics: list[str] | None = None


class Item(BaseModel):
    id: str = Field(description="A prefix that stays unique; memory_get takes it.")
    title: str
    type: str
    missing_anchors: list[str] | None = None


class BootstrapResult(Result):
    items: list[Item]
    candidates_pending: int
    left_out: int = Field(description="Active records in scope that did not fit.")


@tool("read", read_only=True)
async def memory_bootstrap(call: Call, args: BootstrapArguments) -> BootstrapResult:
    """Start here, once per session: titles of what is known in this namespace. Then memory_get the ids that matter
    and memory_search for the rest.

    The whole answer takes at most 2,000 bytes on the wire.
    """
    scopes = call.services.scopes(args.namespace, args.topics)
    now = call.services.now()

    def work(conn: Connection) -> tuple[list[Item], int, int]:
        return (
            list_titles(conn, scopes, now),
            records.count_active(conn, scopes),
            records.candidates_pending(conn, scopes),
        )

    items, active, pending = await call.services.store.read(work)
    return fit_items(items, active, pending, call.wire)


def list_titles(conn: Connection, scopes: Scopes, now: datetime) -> list[Item]:
    """Titles worth showing, best first: the newest of every type and scope, then the second newest, and so on."""
    ranked = []
    for scope_place, namespace in enumerate(scopes.ordered):
        for type_place, record_type in enumerate(TYPE_ORDER):
            titles = records.newest_titles(conn, namespace, record_type, limit=GROUP_MAX)
            ranked += [
                ((place, type_place, scope_place), record_id, title, record_type)
                for place, (record_id, title) in enumerate(titles)
            ]
    ranked.sort()
    del ranked[ITEMS_MAX:]
    missing = anchors.missing(conn, [row[1] for row in ranked])
    return [
        Item(
            id=shortest_prefix(record_id, records.neighbours(conn, record_id), now),
            title=title,
            type=record_type,
            missing_anchors=missing.get(record_id),
        )
        for _, record_id, title, record_type in ranked
    ]


def fit_items(items: Sequence[Item], active: int, pending: int, wire: Wire) -> BootstrapResult:
    """Take items in order while they fit 2,000 bytes on the wire; one that does not is left out, the first included.

    Raises: InvalidArgument: the answer without any item does not fit.
    """
    # The largest counts stand in for the real ones, so that the numbers cannot push the answer over.
    base = BootstrapResult(items=[], candidates_pending=pending, left_out=active, estimated_tokens=500, truncated=True)
    room = BOOTSTRAP_BYTES - wire.envelope_bytes - wire.size(base.model_dump_json(exclude_none=True))
    if room < 0:
        raise InvalidArgument("id", f"the request's id is too long for an answer of {BOOTSTRAP_BYTES} bytes")
    fitting: list[Item] = []
    for item in items:
        if room < SMALLEST_ITEM_BYTES:
            break
        cost = wire.size(json.dumps(item.model_dump(exclude_none=True), ensure_ascii=False, separators=(",", ":"))) + 1
        if cost <= room:
            fitting.append(item)
            room -= cost
    left_out = max(active - len(fitting), 0)
    return BootstrapResult(items=fitting, candidates_pending=pending, left_out=left_out, truncated=left_out > 0)


TOOLS: tuple[Any, ...] = (memory_namespace, memory_bootstrap)
