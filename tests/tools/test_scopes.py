"""Scope: nothing of one namespace shows in another, through any reading, count, prefix, error text or link."""

from typing import Any

import pytest

from support.world import ELSEWHERE, HERE, HUB, LINKED, World

LOCAL = "local/private"
TOPIC = "topics/python"
SENTINEL = "zephyrion"


async def seed(world: World) -> dict[str, str]:
    """One record in each namespace, all about the same word."""
    found = {}
    for namespace in (HERE, ELSEWHERE, LINKED, LOCAL, TOPIC, "global", "gitea/acme/app", "projects/other", HUB):
        found[namespace] = await world.remember(
            f"{SENTINEL} in {namespace}", f"{SENTINEL} text of {namespace}", namespace=namespace, type="decision"
        )
    return found


REACH: list[tuple[str, list[str], set[str]]] = [
    (HERE, [], {HERE, LINKED, "global"}),
    (HERE, ["python"], {HERE, LINKED, TOPIC, "global"}),
    (ELSEWHERE, [], {ELSEWHERE, LINKED, "global"}),
    (LOCAL, [], {LOCAL, "global"}),
    ("local/new", [], {"global"}),
    ("global", [], {"global"}),
    ("projects/suite", [], {LINKED, "global"}),
    (HUB, [], {HUB, HERE, ELSEWHERE, "gitea/acme/app", "global"}),
]


def namespaces_in(value: Any) -> set[str]:
    """Every namespace whose sentinel shows anywhere in an answer."""
    text = str(value)
    known = (HERE, ELSEWHERE, LINKED, LOCAL, TOPIC, "gitea/acme/app", "projects/other", HUB)
    found = {name for name in known if f"{SENTINEL} in {name}'" in text or f"text of {name}'" in text}
    return found | ({"global"} if f"{SENTINEL} in global'" in text else set())


@pytest.mark.parametrize(("namespace", "topics", "reach"), REACH)
async def test_search_and_packets_reach_exactly_their_scopes(
    world: World, namespace: str, topics: list[str], reach: set[str]
) -> None:
    await seed(world)
    found = await world.call("search", namespace=namespace, query=SENTINEL, topics=topics, limit=50)
    assert namespaces_in(found) == reach
    for filters in ({"types": ["decision"]}, {"exclude": ["0" * 8]}):
        found = await world.call("search", namespace=namespace, query=SENTINEL, topics=topics, limit=50, **filters)
        assert namespaces_in(found) == reach
    packet = await world.call("project_context", namespace=namespace, task=SENTINEL, topics=topics)
    assert namespaces_in(packet) == reach


@pytest.mark.parametrize(("namespace", "topics", "reach"), REACH)
async def test_bootstrap_lists_and_counts_its_scopes_without_a_hub_s_reach(
    world: World, namespace: str, topics: list[str], reach: set[str]
) -> None:
    await seed(world)
    for each in reach | {ELSEWHERE, LOCAL}:
        record_id = await world.remember("pending", namespace=each)
        await world.call("update", id=record_id, revision=1, changes={"status": "candidate"})
    own = {namespace, "global"} if namespace == HUB else reach
    answer = await world.call("bootstrap", namespace=namespace, topics=topics)
    assert namespaces_in(answer) == own & namespaces_in(answer)
    assert answer["left_out"] + len(answer["items"]) == len(own)
    assert answer["candidates_pending"] == len(own)


async def test_timeline_counts_and_lists_one_namespace(world: World) -> None:
    await seed(world)
    await world.remember("more", namespace=ELSEWHERE)
    page = await world.call("timeline", namespace=HERE)
    assert namespaces_in(page) == {HERE}
    assert page["counts"] == {"active": 1, "candidate": 0, "superseded": 0}


async def test_get_within_a_namespace_finds_nothing_outside_its_reach_not_even_by_prefix(world: World) -> None:
    ids = await seed(world)
    outside = ids[LOCAL]
    for wanted in (outside, outside[:20], outside[:31]):
        found = await world.call("get", ids=[wanted], namespace=HERE)
        assert (found["records"], found["not_found"], found["ambiguous"]) == ([], [wanted], [])
    # A prefix that only records outside share with one inside is no ambiguity either.
    shared = 8
    found = await world.call("get", ids=[ids[HERE][:shared]], namespace="local/new")
    assert {record["namespace"] for record in found["records"]} <= {"global"}


async def test_a_link_to_a_record_of_another_namespace_cannot_be_made(world: World) -> None:
    ids = await seed(world)
    reply = await world.rest("store", namespace=HERE, type="fact", title="t", content="c", supersedes=ids[LOCAL])
    assert reply.status == 409
    assert SENTINEL not in reply.body.decode()
    assert LOCAL not in reply.body.decode()


async def test_export_anchors_and_questions_keep_to_their_namespace(world: World) -> None:
    ids = await seed(world)
    for number, record_id in enumerate(ids.values()):
        await world.call("update", id=record_id, revision=1, changes={"anchors": [f"host:h{number}.lan"]})
    routes = {tool.route for tool in world.registry}
    if "export" in routes:
        assert namespaces_in(await world.call("export", namespace=HERE)) == {HERE}
    anchors = await world.call("anchors", namespace=HERE)
    assert {anchor["namespace"] for anchor in anchors["anchors"]} == {HERE}
    if "questions" in routes:
        await world.call("search", namespace=LOCAL, query="sentinel question")
        await world.services.read_log.flush(world.store)
        assert "sentinel question" not in str(await world.call("questions", namespace=HERE))


async def test_a_hub_reaches_repositories_alone_and_no_lookalike(world: World) -> None:
    await seed(world)
    for lookalike in ("local/github", "topics/github", "projects/github"):
        await world.remember(f"{SENTINEL} in {lookalike}", namespace=lookalike)
    found = await world.call("search", namespace=HUB, query=SENTINEL, limit=50)
    assert {hit["namespace"] for hit in found["hits"]} == {HUB, HERE, ELSEWHERE, "gitea/acme/app", "global"}


async def test_spelling_and_compounds_of_another_namespace_leak_no_words(world: World) -> None:
    """The vocabulary is of the whole store; what it suggests may steer a search, and must not show in an answer."""
    await world.remember("unobtainium", namespace=LOCAL)
    found = await world.call("search", namespace=HERE, query="unobtanium")
    assert "unobtainium" not in str(found)
