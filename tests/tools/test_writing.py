"""Store, update, forget, evidence: what is refused and why, revisions, supersession, and the audit of all of it."""

from typing import Any

import pytest
import trio

from agent_memory.domain.errors import Conflict, InvalidArgument, RecordNotFound, RevisionConflict, SecretRefused
from support.world import ELSEWHERE, HERE, SECRET, World

RECORD: dict[str, Any] = {"namespace": HERE, "type": "fact", "title": "title", "content": "content"}
INFINITIES = ("NaN", "Infinity", "-Infinity", "1e999")


async def get(world: World, record_id: str) -> dict[str, Any]:
    (record,) = (await world.call("get", ids=[record_id]))["records"]
    found: dict[str, Any] = record
    return found


@pytest.mark.parametrize(
    "bad",
    [
        {"title": ""},
        {"title": "   \n"},
        {"title": "x" * 201},
        {"title": "nul \x00"},
        {"title": "bell \x07"},
        {"title": 7},
        {"title": None},
        {"title": ["x"]},
        {"content": ""},
        {"content": "x" * (16 * 1024 + 1)},
        {"content": "é" * (8 * 1024 + 1)},
        {"content": "nul \x00"},
        {"content": {"a": 1}},
        {"type": "rumour"},
        {"type": "Fact"},
        {"type": ""},
        {"namespace": ""},
        {"namespace": "github/acme"},
        {"namespace": "github/acme/../etc"},
        {"namespace": "a b"},
        {"namespace": True},
        {"tags": ["t"] + [str(number) for number in range(16)]},
        {"tags": ["x" * 65]},
        {"tags": [""]},
        {"tags": [1]},
        {"tags": "tag"},
        {"tags": {"a": 1}},
        {"confidence": 1.01},
        {"confidence": -0.01},
        {"confidence": True},
        {"confidence": "0.5"},
        {"confidence": 10**400},
        {"anchors": ["nothing"]},
        {"anchors": ["host:"]},
        {"anchors": [f"host:h{number}" for number in range(17)]},
        {"supersedes": "short"},
        {"supersedes": "0" * 8},
        {"session": "x" * 129},
        {"session": ""},
        {"unknown": 1},
        {"id": "0" * 32},
        {"status": "candidate"},
    ],
    ids=str,
)
async def test_a_store_refuses_what_no_record_may_hold(world: World, bad: dict[str, Any]) -> None:
    reply = await world.rest("store", **(RECORD | bad))
    assert reply.code == "invalid_argument", reply
    assert await world.rows("SELECT id FROM records") == []


@pytest.mark.parametrize("number", INFINITIES)
async def test_numbers_that_are_none_are_refused(world: World, number: str) -> None:
    body = f'{{"namespace": "{HERE}", "type": "fact", "title": "t", "content": "c", "confidence": {number}}}'
    reply = await world.post("/api/store", body.encode())
    assert reply.status in (400, 422)
    body = f'{{"id": "{"0" * 32}", "revision": {number}, "changes": {{"title": "t"}}}}'
    assert (await world.post("/api/update", body.encode())).status in (400, 422)


async def test_types_at_the_door_are_exact(world: World) -> None:
    record_id = await world.remember("one")
    for bad in (True, "1", 1.5, None, -1, 0, 2**70, [1]):
        reply = await world.rest("update", id=record_id, revision=bad, changes={"title": "two"})
        assert reply.code in {"invalid_argument", "revision_conflict"}, bad
    for field, bad in [("limit", True), ("limit", "5"), ("limit", 1.5), ("limit", 2**70), ("recall", "yes")]:
        reply = await world.rest("search", namespace=HERE, query="one", **{field: bad})
        assert reply.code == "invalid_argument", (field, bad)
    assert (await world.rest("forget", "author", id=record_id, hard="false")).code == "invalid_argument"
    assert (await world.rest("forget", "author", id=record_id, hard=0)).code == "invalid_argument"


@pytest.mark.parametrize("field", ["title", "content", "tags", "session", "agent", "anchors", "namespace"])
async def test_a_secret_in_any_field_is_refused_named_and_audited_and_nothing_is_stored(
    world: World, field: str
) -> None:
    value: Any = f"see {SECRET}"
    value = {"tags": [SECRET], "anchors": [f"host:{SECRET}"], "namespace": f"local/{SECRET}"}.get(field, value)
    reply = await world.rest("store", **(RECORD | {field: value}))
    assert reply.code in {"secret_refused", "invalid_argument"}, reply
    if reply.code == "secret_refused":
        assert reply.json["error"]["field"] == field
        assert reply.json["error"]["pattern"]
        refused = [row for row in await world.audited() if row.outcome == "refused"]
        assert refused[0].context["field"] == field
    assert SECRET not in reply.body.decode()
    assert SECRET not in str(await world.audited())
    assert await world.rows("SELECT id FROM records") == []
    assert SECRET.encode() not in world.store.path.read_bytes()


async def test_the_statement_screen_catches_a_call_site_that_forgot(world: World) -> None:
    with pytest.raises(SecretRefused) as refused:
        await world.store.write(
            lambda conn: conn.execute(
                "INSERT INTO queries (at, client, namespace, query, hits, coverage) VALUES ('t', 'c', 'n', ?, 0, 0)",
                (SECRET,),
            )
        )
    assert refused.value.field == "queries"
    with pytest.raises(SecretRefused):
        await world.store.write(
            lambda conn: conn.execute("UPDATE records SET title = :title WHERE 0", {"title": SECRET})
        )
    with pytest.raises(SecretRefused):
        await world.store.write(
            lambda conn: conn.execute("-- a comment first\nUPDATE records SET title = ? WHERE 0", (SECRET,))
        )
    assert await world.rows("SELECT count(*) FROM queries") == [(0,)]


async def test_an_update_applies_at_its_revision_alone_and_a_conflict_returns_what_is_current(world: World) -> None:
    record_id = await world.remember("one", tags=["a"], anchors=["host:db.lan"])
    updated = await world.call("update", id=record_id, revision=1, changes={"title": "two", "tags": []})
    assert (updated["record"]["revision"], updated["record"]["title"], updated["record"]["tags"]) == (2, "two", [])
    reply = await world.rest("update", id=record_id, revision=1, changes={"title": "three"})
    assert reply.status == 409
    assert reply.json["error"]["revision"] == 2
    current = reply.json["error"]["current"]
    assert (current["title"], current["revision"], current["anchors"][0]["anchor"]) == ("two", 2, "host:db.lan")
    retried = await world.call("update", id=record_id, revision=current["revision"], changes={"title": "three"})
    assert retried["record"]["revision"] == 3


async def test_of_many_updates_at_one_revision_one_applies(world: World) -> None:
    record_id = await world.remember("one")
    outcomes: list[str] = []

    async def update(number: int) -> None:
        try:
            await world.call("update", id=record_id, revision=1, changes={"title": f"by {number}"})
            outcomes.append("applied")
        except RevisionConflict as conflict:
            outcomes.append(f"conflict with {conflict.revision}")

    async with trio.open_nursery() as nursery:
        for number in range(10):
            nursery.start_soon(update, number)
    assert sorted(outcomes) == ["applied", *["conflict with 2"] * 9]


NO_CHANGES: list[Any] = [
    {},
    {"title": None},
    {"title": ""},
    {"status": "deleted"},
    {"status": "superseded"},
    {"status": "rumour"},
    {"namespace": HERE},
    {"revision": 5},
    {"confidence": 2},
    {"tags": ["x" * 65]},
    {"type": "rumour"},
    [],
    None,
]


@pytest.mark.parametrize("changes", NO_CHANGES, ids=str)
async def test_an_update_refuses_what_it_may_not_change(world: World, changes: Any) -> None:
    record_id = await world.remember("one")
    assert (await world.rest("update", id=record_id, revision=1, changes=changes)).code == "invalid_argument"
    assert (await get(world, record_id))["revision"] == 1


async def test_a_candidate_is_promoted_and_an_active_record_demoted(world: World) -> None:
    record_id = await world.remember("one")
    for revision, status in ((1, "candidate"), (2, "active"), (3, "active")):
        changed = await world.call("update", id=record_id, revision=revision, changes={"status": status})
        assert changed["record"]["status"] == status


async def test_a_supersession_retires_the_old_record_and_links_both_ways(world: World) -> None:
    old = await world.remember("old")
    new = await world.remember("new", supersedes=old)
    before, after = await get(world, old), await get(world, new)
    assert (before["status"], before["superseded_by"], before["revision"]) == ("superseded", new, 2)
    assert (after["status"], after["supersedes"]) == ("active", old)
    found = await world.call("search", namespace=HERE, query="old new")
    assert [hit["id"] for hit in found["hits"]] == [new]
    assert [row.action for row in await world.audited(2)] == ["store", "supersede"]


async def test_every_refusal_of_a_supersession_stores_nothing(world: World) -> None:
    live = await world.remember("live")
    retired = await world.remember("retired")
    await world.remember("its successor", supersedes=retired)
    candidate = await world.remember("candidate")
    await world.call("update", id=candidate, revision=1, changes={"status": "candidate"})
    forgotten = await world.remember("forgotten")
    await world.call("forget", id=forgotten)
    elsewhere = await world.remember("elsewhere", namespace=ELSEWHERE)
    count = await world.rows("SELECT count(*) FROM records")
    for old, status in ((retired, 404), (candidate, 409), (forgotten, 404), (elsewhere, 409), ("0" * 32, 404)):
        reply = await world.rest("store", **(RECORD | {"supersedes": old}))
        assert reply.status == status, (old, reply)
    assert await world.rows("SELECT count(*) FROM records") == count
    assert (await get(world, live))["revision"] == 1


async def test_of_two_that_supersede_the_same_record_one_is_refused(world: World) -> None:
    old = await world.remember("old")
    outcomes: list[str] = []

    async def replace(number: int) -> None:
        try:
            await world.remember(f"new {number}", supersedes=old)
            outcomes.append("stored")
        except (RecordNotFound, Conflict):
            outcomes.append("refused")

    async with trio.open_nursery() as nursery:
        for number in range(4):
            nursery.start_soon(replace, number)
    assert sorted(outcomes) == ["refused"] * 3 + ["stored"]
    assert len(await world.rows("SELECT id FROM records")) == 2


async def test_a_forgotten_record_is_out_of_every_reading_at_once(world: World) -> None:
    record_id = await world.remember("gone tomorrow", type="decision")
    forgotten = await world.call("forget", id=record_id, reason="no longer so")
    assert (forgotten["status"], forgotten["revision"]) == ("deleted", 2)
    assert (await world.call("search", namespace=HERE, query="gone tomorrow"))["hits"] == []
    assert (await world.call("get", ids=[record_id]))["not_found"] == [record_id]
    assert (await world.call("timeline", namespace=HERE))["records"] == []
    assert (await world.call("bootstrap", namespace=HERE))["items"] == []
    assert (await world.call("project_context", namespace=HERE, task="gone tomorrow"))["entries"] == []
    for call in (
        world.call("forget", id=record_id),
        world.call("update", id=record_id, revision=2, changes={"title": "back"}),
        world.call("corroborate", id=record_id, quote="x", stance="corroborates"),
    ):
        with pytest.raises(RecordNotFound):
            await call


async def test_a_hard_forget_erases_live_superseded_and_forgotten_records(world: World) -> None:
    old = await world.remember("old sentinel4711")
    new = await world.remember("new sentinel4711", supersedes=old)
    third = await world.remember("third sentinel4711")
    await world.call("forget", id=third)
    for record_id in (old, new, third):
        assert (await world.call("forget", id=record_id, hard=True))["status"] == "erased"
        with pytest.raises(RecordNotFound):
            await world.call("forget", id=record_id, hard=True)
    assert await world.rows("SELECT id FROM records") == []
    assert b"sentinel4711" not in world.store.path.read_bytes()


async def test_every_mutation_has_its_audit_row_and_none_holds_content(world: World) -> None:
    record_id = await world.remember("sentinel-title", "sentinel-content", tags=["sentinel-tag"])
    await world.call("update", id=record_id, revision=1, changes={"content": "sentinel-new"})
    await world.call("corroborate", id=record_id, quote="sentinel-quote", stance="contradicts")
    await world.call("session_close", namespace=HERE, summary="sentinel-summary", notes="sentinel-notes")
    await world.rest("update", id=record_id, revision=1, changes={"content": "sentinel-conflict"})
    await world.rest("store", **(RECORD | {"content": f"sentinel {SECRET}"}))
    await world.call("forget", id=record_id)
    rows = [(row.action, row.outcome) for row in reversed(await world.audited()) if row.client == "owner"]
    assert rows == [
        ("store", "ok"),
        ("update", "ok"),
        ("corroborate", "ok"),
        ("session-close", "ok"),
        ("update", "refused"),
        ("store", "refused"),
        ("forget", "ok"),
    ]
    assert "sentinel" not in str(await world.audited())


async def test_a_record_goes_in_and_comes_out_the_same(world: World) -> None:
    given = {
        "type": "procedure",
        "tags": ["Build", "build", " ci "],
        "confidence": 0,
        "anchors": ["path:src/app.py", "url:https://example.org/x"],
        "session": "s-1",
    }
    record_id = await world.remember("  A   title\n", "line one\r\nline two\n\n", **given)
    record = await get(world, record_id)
    assert (record["title"], record["content"]) == ("A title", "line one\nline two")
    assert (record["tags"], record["confidence"], record["session"]) == (["build", "ci"], 0.0, "s-1")
    assert [tie["anchor"] for tie in record["anchors"]] == given["anchors"]
    assert (record["namespace"], record["type"], record["writer"], record["origin"]) == (
        HERE,
        "procedure",
        "owner",
        "agent",
    )


async def test_an_invalid_id_says_what_an_id_is(world: World) -> None:
    for bad in ("x" * 100_000, "0" * 31, "0" * 33, "", "zz"):
        with pytest.raises(InvalidArgument) as refused:
            await world.call("forget", id=bad)
        assert len(str(refused.value)) < 300
