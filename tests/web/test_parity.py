"""Every tool through REST and through MCP, in each protocol revision: the same answer, the same refusal."""

from typing import Any

import pytest

from agent_memory.tools import build_registry
from support.world import ERAS, HERE, LINKED, World, tool_answer

QUESTION = "Which standing question is this?"
# Arguments with which each tool answers on a store that holds the record `$id`; and with which it refuses, and how.
WORKS: dict[str, dict[str, Any]] = {
    "namespace": {"remote": "git@github.com:Acme/App.git"},
    "bootstrap": {"namespace": HERE, "topics": ["python"]},
    "search": {"namespace": HERE, "query": "cache POL-358"},
    "get": {"ids": ["$id", "0" * 32]},
    "timeline": {"namespace": HERE},
    "project_context": {"namespace": HERE, "task": "enlarge the cache"},
    "store": {"namespace": HERE, "type": "fact", "title": "Größe", "content": "中文"},
    "update": {"id": "$id", "revision": 1, "changes": {"title": "The cache, again"}},
    "forget": {"id": "$id", "reason": "no longer so"},
    "corroborate": {"id": "$id", "quote": "seen in the log", "stance": "corroborates"},
    "session_close": {"namespace": HERE, "summary": "Did it."},
    "anchors": {"namespace": HERE},
    "anchor_report": {"reports": [{"id": "$id", "anchor": "host:db.lan", "state": "missing"}]},
    "anchor_sweep": {},
    "export": {"namespace": HERE},
    "question_add": {"namespace": HERE, "question": "How large is the cache?"},
    "questions": {"namespace": HERE},
    "answer": {"namespace": HERE, "question": QUESTION},
}
REFUSES: dict[str, tuple[dict[str, Any], str]] = {
    "namespace": ({"remote": "https://elsewhere.example/a/b"}, "invalid_argument"),
    "bootstrap": ({"namespace": "no/such/form"}, "invalid_argument"),
    "search": ({"namespace": HERE, "query": ""}, "invalid_argument"),
    "get": ({"ids": ["short"]}, "invalid_argument"),
    "timeline": ({"namespace": HERE, "status": "deleted"}, "invalid_argument"),
    "project_context": ({"namespace": HERE, "task": "x", "budget_tokens": 8001}, "invalid_argument"),
    "store": ({"namespace": HERE, "type": "rumour", "title": "x", "content": "x"}, "invalid_argument"),
    "update": ({"id": "$id", "revision": 9, "changes": {"title": "x"}}, "revision_conflict"),
    "forget": ({"id": "0" * 32}, "not_found"),
    "corroborate": ({"id": "0" * 32, "quote": "x", "stance": "contradicts"}, "not_found"),
    "session_close": ({"namespace": HERE, "summary": "x", "op_id": "short"}, "invalid_argument"),
    "anchors": ({"kind": "rumour"}, "invalid_argument"),
    "anchor_report": ({"reports": []}, "invalid_argument"),
    "anchor_sweep": ({"x": 1}, "invalid_argument"),
    "export": ({"namespace": "no/such/form"}, "invalid_argument"),
    "question_add": ({"namespace": HERE, "question": ""}, "invalid_argument"),
    "questions": ({"namespace": "no/such/form"}, "invalid_argument"),
    "answer": ({"namespace": "no/such/form", "question": "x"}, "invalid_argument"),
}
TOOLS = [tool.route for tool in build_registry()]
PRESENT_ONLY_HERE = {"id", "revision", "updated_at", "created_at", "session_id"}  # differ from call to call


def test_every_tool_has_an_example_of_both() -> None:
    assert set(TOOLS) <= WORKS.keys()
    assert set(TOOLS) <= REFUSES.keys()


async def prepare(world: World) -> str:
    await world.remember("The cache holds POL-358", namespace=LINKED)
    if not await world.rows("SELECT 1 FROM questions"):
        await world.call("question_add", namespace=HERE, question=QUESTION)
    return await world.remember("Cache size", "POL-358: the cache has 512 entries", anchors=["host:db.lan"])


def filled(arguments: dict[str, Any], record_id: str) -> dict[str, Any]:
    import json

    found: dict[str, Any] = json.loads(json.dumps(arguments).replace("$id", record_id))
    return found


def comparable(value: Any) -> Any:
    """An answer without what no two calls share: ids and times of what they made, and the size that follows."""
    if isinstance(value, dict):
        dropped = {*PRESENT_ONLY_HERE, "estimated_tokens", "next_cursor"}
        return {key: comparable(each) for key, each in value.items() if key not in dropped}
    return [comparable(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("route", TOOLS)
async def test_a_tool_answers_the_same_through_every_front(world: World, route: str) -> None:
    answers = []
    for era in (None, *ERAS):
        record_id = await prepare(world)
        arguments = filled(WORKS[route], record_id)
        if era is None:
            reply = await world.rest(route, **arguments)
            assert reply.status == 200, reply
            answers.append(reply.json)
        else:
            failed, answer = tool_answer(await world.mcp(route, era=era, **arguments))
            assert not failed, answer
            answers.append(answer)
        assert {"estimated_tokens", "truncated"} <= answers[-1].keys()
        await forget_all(world)
    assert all(comparable(answer) == comparable(answers[0]) for answer in answers), answers


async def forget_all(world: World) -> None:
    for (record_id,) in await world.rows("SELECT id FROM records"):
        await world.call("forget", id=record_id, hard=True)


@pytest.mark.parametrize("route", TOOLS)
async def test_a_tool_refuses_the_same_through_every_front(world: World, route: str) -> None:
    record_id = await prepare(world)
    arguments, code = REFUSES[route]
    arguments = filled(arguments, record_id)
    reply = await world.rest(route, **arguments)
    assert reply.code == code
    assert reply.status >= 400
    for era in ERAS:
        failed, answer = tool_answer(await world.mcp(route, era=era, **arguments))
        assert failed
        assert answer == reply.json


@pytest.mark.parametrize("route", TOOLS)
async def test_an_unknown_argument_is_named_and_never_ignored(world: World, route: str) -> None:
    reply = await world.rest(route, **WORKS[route], misspelt=1)
    assert reply.code == "invalid_argument"
    assert "misspelt" in reply.json["error"]["message"]


async def test_the_openapi_document_has_every_tool_and_its_models(world: World) -> None:
    document = (await world.request("GET", "/api/openapi.json")).json
    assert document["openapi"] == "3.1.0"
    assert {f"/api/{route}" for route in TOOLS} <= document["paths"].keys()
    schemas = document["components"]["schemas"]

    def refs(value: Any) -> set[str]:
        if isinstance(value, dict):
            own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
            return own.union(*(refs(each) for each in value.values()))
        return set().union(*(refs(each) for each in value)) if isinstance(value, list) else set()

    assert {ref.removeprefix("#/components/schemas/") for ref in refs(document)} <= schemas.keys()
