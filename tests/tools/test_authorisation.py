"""Scopes times tools: one rule for both fronts, and only a client with a token writes."""

from datetime import UTC, datetime
from typing import Any

import pytest

from agent_memory.store.audit import LAST_LISTED, REFUSALS_MAX_PER_HOUR
from agent_memory.tools import build_registry
from support.world import HERE, MODERN, SCOPES, SECRET, World, tool_answer

TOOLS = list(build_registry())
# A tool that reads by scope `read` writes nothing; the scope each other tool needs, as the seed and DESIGN.md have it.
NEEDS = {"store": "write", "update": "write", "forget": "write", "corroborate": "write", "session_close": "write"}
NEEDS |= {"anchor_report": "write", "anchor_sweep": "write", "question_add": "write", "export": "export"}


@pytest.mark.parametrize("client", [*SCOPES, "desk"])
async def test_a_client_reaches_exactly_the_tools_of_its_scopes(world: World, client: str) -> None:
    scopes = SCOPES.get(client, {"read"})  # `desk` asked for more and is known by its address alone
    for tool in TOOLS:
        needed = NEEDS.get(tool.route, "read")
        # Without arguments: what passes the rule is then told what it misses.
        reply = await world.rest(tool.route, client)
        failed, answer = tool_answer(await world.mcp(tool.route, client, era=MODERN))
        refused = reply.code == "forbidden"
        if tool.scope_of is None:
            assert refused == (needed not in scopes), (client, tool.name, reply.body)
        assert (failed and answer["error"]["code"] == "forbidden") == refused
        assert reply.status != 500


async def test_a_hard_forget_needs_delete_and_a_soft_one_write(world: World) -> None:
    record_id = await world.remember("to go")
    for client, hard, allowed in [
        ("author", True, False),
        ("eraser", False, False),
        ("reader", False, False),
        ("desk", True, False),
        ("desk", False, False),
        ("author", False, True),
        ("eraser", True, True),
    ]:
        reply = await world.rest("forget", client, id=record_id, hard=hard)
        assert (reply.status == 200) == allowed, (client, hard, reply.body)
        if not allowed:
            assert reply.code == "forbidden"


async def test_the_writer_is_the_client_whatever_agent_claims(world: World) -> None:
    reply = await world.rest("store", "author", namespace=HERE, type="fact", title="t", content="c", agent="somebody")
    (found,) = (await world.call("get", ids=[reply.json["id"]]))["records"]
    assert found["writer"] == "author"
    (stored,) = [row for row in await world.audited() if row.action == "store"]
    assert stored.client == "author"


async def test_an_address_client_reads_at_most(world: World) -> None:
    await world.remember("readable")
    assert (await world.rest("search", "desk", namespace=HERE, query="readable")).json["hits"]
    arguments: dict[str, Any] = {"namespace": HERE, "type": "fact", "title": "t", "content": "c"}
    assert (await world.rest("store", "desk", **arguments)).status == 403


async def test_refusals_without_end_fill_no_table(world: World) -> None:
    """The first of each client and hour are listed, the last of them says so, and the page's chart counts them all."""
    object.__setattr__(world.services, "now", lambda: datetime(2026, 1, 1, 12, tzinfo=UTC))
    for _ in range(REFUSALS_MAX_PER_HOUR + 7):
        assert (await world.rest("store", "reader", namespace=HERE, type="fact", title="t", content="c")).status == 403
    await world.rest("store", "author", namespace=HERE, type="fact", title="t", content=SECRET)
    refused = [row for row in await world.audited() if row.outcome == "refused" and row.client == "reader"]
    assert len(refused) == REFUSALS_MAX_PER_HOUR
    assert [row.context.get("more") for row in refused] == [LAST_LISTED, *[None] * (len(refused) - 1)]
    assert [row.client for row in await world.audited(1)] == ["author"]
    counted = await world.rows("SELECT client, rows FROM audit_hours WHERE action = 'store' ORDER BY client")
    assert counted == [("author", 1), ("reader", REFUSALS_MAX_PER_HOUR + 7)]
    object.__setattr__(world.services, "now", lambda: datetime(2026, 1, 1, 13, tzinfo=UTC))
    await world.rest("store", "reader", namespace=HERE, type="fact", title="t", content="c")
    assert [row.client for row in await world.audited(1)] == ["reader"]


async def test_a_refusal_of_scope_is_audited_without_content(world: World) -> None:
    await world.rest("store", "reader", namespace=HERE, type="fact", title="sentinel", content="sentinel")
    refused = [row for row in await world.audited() if row.outcome == "refused"]
    assert [(row.client, row.action, row.namespace) for row in refused] == [("reader", "store", HERE)]
    assert "sentinel" not in str(refused)
