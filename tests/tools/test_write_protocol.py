"""The seed's Write protocol, row by row: status, revision, transactions, supersession and the screen."""

import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import apsw
import pytest
import trio

import agent_memory
from agent_memory.domain.errors import (
    Conflict,
    InvalidArgument,
    RecordNotFound,
    RevisionConflict,
    SecretRefused,
)
from agent_memory.store import records
from agent_memory.store.statement_screen import composed
from agent_memory.store.worker import Store
from support.screen_examples import filled
from support.secrets import OWN_TOKEN
from support.world import ELSEWHERE, HERE, World, open_world

TABLES = ("records", "anchors", "observations", "receipts", "jobs", "usage", "audit", "embeddings", "queries")
SECRET = "password: Xk9-Trq2-Lm7w"


async def get(world: World, record_id: str) -> dict[str, Any]:
    (record,) = (await world.call("get", ids=[record_id]))["records"]
    return dict(record)


async def change(world: World, record_id: str, /, **changes: Any) -> dict[str, Any]:
    revision = (await get(world, record_id))["revision"]
    return dict((await world.call("update", id=record_id, revision=revision, changes=changes))["record"])


async def everything(world: World) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table, and the words of the index."""
    found = {table: await world.rows(f"SELECT * FROM {table}") for table in TABLES}
    return found | {"words": await world.rows("SELECT * FROM records_vocabulary")}


async def candidate(world: World, title: str = "waiting") -> str:
    record_id = await world.remember(title)
    await change(world, record_id, status="candidate")
    return record_id


# Status


async def test_a_store_writes_an_active_record_at_revision_one(world: World) -> None:
    stored = await world.call("store", namespace=HERE, type="fact", title="t", content="c")
    assert (stored["status"], stored["revision"]) == ("active", 1)


async def test_an_update_moves_a_candidate_to_active_and_back(world: World) -> None:
    record_id = await world.remember("one")
    for status in ("candidate", "active", "candidate"):
        assert (await change(world, record_id, status=status))["status"] == status


@pytest.mark.parametrize("status", ["superseded", "deleted", "ACTIVE", ""])
async def test_an_update_makes_no_other_state(world: World, status: str) -> None:
    record_id = await world.remember("one")
    with pytest.raises(InvalidArgument, match=r"changes\.status"):
        await change(world, record_id, status=status)
    assert (await get(world, record_id))["revision"] == 1


async def test_an_unknown_argument_is_answered_with_those_that_are_known_in_its_place(world: World) -> None:
    with pytest.raises(InvalidArgument, match=r"changes\.namespace: unknown argument; changes takes title, content"):
        await change(world, await world.remember("one"), namespace=HERE)
    with pytest.raises(InvalidArgument, match=r"x: unknown argument; memory_update takes id, revision, changes"):
        await world.call("update", id="0" * 32, revision=1, changes={}, x=1)
    with pytest.raises(InvalidArgument, match=r"reports\.0 takes id, anchor, state, detail"):
        await world.call("anchor_report", reports=[{"id": "0" * 32, "anchor": "path:/x", "state": "ok", "x": 1}])
    with pytest.raises(InvalidArgument, match="memory_anchor_sweep takes none"):
        await world.call("anchor_sweep", x=1)


async def test_a_superseded_or_forgotten_record_takes_no_update_and_no_evidence(world: World) -> None:
    old = await world.remember("old")
    new = await world.remember("new", supersedes=old)
    gone = await world.remember("gone")
    await world.call("forget", id=gone)
    for record_id in (old, gone):
        with pytest.raises(RecordNotFound):
            await world.call("update", id=record_id, revision=2, changes={"status": "active"})
        with pytest.raises(RecordNotFound):
            await world.call("corroborate", id=record_id, quote="q", stance="corroborates")
    with pytest.raises(RecordNotFound, match=f"no live record {old}; it was superseded by {new}$"):
        await world.remember("late", supersedes=old)


def test_store_candidate_is_the_only_writer_of_candidates() -> None:
    """Beside it only an update's demotion and an import of what an export held reach the state."""
    sources = Path(agent_memory.__file__).parent.rglob("*.py")
    writing = [path.name for path in sources if re.search(r"insert\([^)]*status=\"candidate\"", path.read_text())]
    assert writing == ["records.py"]


# Revision


async def missing_report(world: World, record_id: str) -> None:
    await world.call("anchor_report", reports=[{"id": record_id, "anchor": "path:a", "state": "missing"}])


MUTATIONS: dict[str, Callable[[World, str], Awaitable[Any]]] = {
    "content": lambda world, record_id: change(world, record_id, content="other", title="both", tags=["t"]),
    "anchors": lambda world, record_id: change(world, record_id, anchors=["host:nas"]),
    "anchors and status": lambda world, record_id: change(world, record_id, anchors=[], status="candidate"),
    "anchor state": missing_report,
    "evidence": lambda world, record_id: world.call("corroborate", id=record_id, quote="q", stance="contradicts"),
    "status": lambda world, record_id: change(world, record_id, status="candidate"),
    "supersession": lambda world, record_id: world.remember("new", supersedes=record_id),
}


@pytest.mark.parametrize("mutation", MUTATIONS)
async def test_a_mutation_advances_the_revision_exactly_once(world: World, mutation: str) -> None:
    record_id = await world.remember("one", anchors=["path:a"])
    await MUTATIONS[mutation](world, record_id)
    assert (await get(world, record_id))["revision"] == 2


async def test_a_forget_advances_the_revision_exactly_once(world: World) -> None:
    record_id = await world.remember("one")
    assert (await world.call("forget", id=record_id))["revision"] == 2
    assert await world.rows("SELECT revision, status FROM records") == [(2, "deleted")]


async def test_a_rename_advances_the_revision_exactly_once(inline_store: Store) -> None:
    async with open_world(inline_store) as world:
        record_id = await world.remember("one")
    async with open_world(inline_store, namespace_renames=[{"from": "github/acme", "to": "github/new"}]) as world:
        record = await get(world, record_id)
        assert (record["namespace"], record["revision"]) == ("github/new/app", 2)
    async with open_world(inline_store, namespace_renames=[{"from": "github/acme", "to": "github/new"}]) as world:
        assert (await get(world, record_id))["revision"] == 2


async def test_reading_advances_no_revision(world: World) -> None:
    record_id = await world.remember("one apple")
    await world.call("search", query="apple", namespace=HERE)
    await world.call("project_context", namespace=HERE, task="apple")
    await world.services.read_log.flush(world.store)
    assert (await get(world, record_id))["revision"] == 1


async def test_an_update_at_another_revision_changes_nothing_and_returns_the_current_record(world: World) -> None:
    record_id = await world.remember("one")
    await change(world, record_id, title="two")
    for revision in (1, 3):
        with pytest.raises(RevisionConflict) as refused:
            await world.call("update", id=record_id, revision=revision, changes={"title": "x", "anchors": ["path:b"]})
        assert (refused.value.revision, refused.value.current["title"]) == (2, "two")
    reply = await world.rest("update", id=record_id, revision=1, changes={"title": "x"})
    assert (reply.status, reply.json["error"]["revision"]) == (409, 2)
    assert reply.json["error"]["current"]["title"] == "two"
    assert "anchors" not in await get(world, record_id)


async def test_two_updates_at_one_revision_have_one_winner(world: World) -> None:
    record_id = await world.remember("one")
    replies = []

    async def write(title: str) -> None:
        replies.append((await world.rest("update", id=record_id, revision=1, changes={"title": title})).status)

    async with trio.open_nursery() as clients:
        for title in ("a", "b", "c"):
            clients.start_soon(write, title)
    assert sorted(replies) == [200, 409, 409]
    assert (await get(world, record_id))["revision"] == 2


# Transactions


async def store_over(world: World, record_id: str) -> None:
    await world.remember("new", supersedes=record_id, anchors=["path:new"])


async def update_all(world: World, record_id: str) -> None:
    changes = {"title": "new", "anchors": ["path:new"], "status": "candidate"}
    await world.call("update", id=record_id, revision=3, changes=changes)


async def close_all(world: World, record_id: str) -> None:
    await world.call("session_close", namespace=HERE, summary="did it", notes="learnt it", op_id="close-0001")


async def corroborate(world: World, record_id: str) -> None:
    await world.call("corroborate", "author", id=record_id, quote="q", stance="contradicts")


async def forget_hard(world: World, record_id: str) -> None:
    await world.call("forget", id=record_id, hard=True)


async def forget(world: World, record_id: str) -> None:
    await world.call("forget", id=record_id)


PARTS = [
    (store_over, "INSERT", "records"),
    (store_over, "UPDATE", "records"),
    (store_over, "INSERT", "anchors"),
    (store_over, "INSERT", "audit"),
    (update_all, "UPDATE", "records"),
    (update_all, "INSERT", "anchors"),
    (update_all, "DELETE", "anchors"),
    (update_all, "INSERT", "audit"),
    (missing_report, "UPDATE", "anchors"),
    (missing_report, "INSERT", "observations"),
    (missing_report, "UPDATE", "records"),
    (missing_report, "INSERT", "audit"),
    (corroborate, "UPDATE", "records"),
    (corroborate, "INSERT", "audit"),
    (forget, "INSERT", "audit"),
    (forget_hard, "DELETE", "records"),
    (forget_hard, "DELETE", "anchors"),
    (forget_hard, "INSERT", "audit"),
    (close_all, "INSERT", "records"),
    (close_all, "INSERT", "jobs"),
    (close_all, "INSERT", "receipts"),
    (close_all, "INSERT", "audit"),
]


@pytest.mark.parametrize(("mutate", "verb", "table"), PARTS, ids=lambda part: getattr(part, "__name__", part))
async def test_a_mutation_commits_whole_or_not_at_all(
    inline_store: Store, mutate: Callable[[World, str], Awaitable[None]], verb: str, table: str
) -> None:
    async with open_world(inline_store, ollama_url="http://127.0.0.1:9", summary_candidates=True) as world:
        record_id = await world.remember("one", anchors=["path:a", "path:b"])
        reports = [{"id": record_id, "anchor": anchor, "state": "ok"} for anchor in ("path:a", "path:b")]
        await world.call("anchor_report", reports=reports)
        before = await everything(world)
        await world.store.maintain(
            lambda conn: conn.execute(
                f"CREATE TEMP TRIGGER fails BEFORE {verb} ON main.{table} BEGIN SELECT raise(ABORT, 'injected'); END"
            ).fetchall()
        )
        with pytest.raises(apsw.ConstraintError, match="injected"):
            await mutate(world, record_id)
        assert await everything(world) == before
        await world.store.maintain(lambda conn: conn.execute("DROP TRIGGER fails").fetchall())
        await mutate(world, record_id)
        assert await everything(world) != before


# Supersede


async def test_a_supersession_retires_a_live_active_record_of_the_same_namespace(world: World) -> None:
    old = await world.remember("old apple")
    stored = await world.call("store", namespace=HERE, type="fact", title="new pear", content="c", supersedes=old)
    assert stored["superseded"] == old
    retired, new = await get(world, old), await get(world, stored["id"])
    assert (retired["status"], retired["superseded_by"], new["supersedes"]) == ("superseded", stored["id"], old)
    assert (await world.call("search", query="apple", namespace=HERE))["hits"] == []


async def test_a_supersession_across_namespaces_or_of_a_candidate_or_of_nothing_live_stores_nothing(
    world: World,
) -> None:
    there = await world.remember("there", namespace=ELSEWHERE)
    waiting, gone, old = await candidate(world), await world.remember("gone"), await world.remember("old")
    await world.call("forget", id=gone)
    await world.remember("new", supersedes=old)
    before = await world.rows("SELECT * FROM records")
    for supersedes, error in (
        (there, Conflict),
        (waiting, Conflict),
        (gone, RecordNotFound),
        (old, RecordNotFound),
        ("0" * 32, RecordNotFound),
        (there[:12], InvalidArgument),
    ):
        with pytest.raises(error):
            await world.remember("replacement", supersedes=supersedes)
    assert await world.rows("SELECT * FROM records") == before


async def test_a_supersession_is_never_of_itself_nor_a_cycle_nor_by_a_candidate(world: World) -> None:
    first = await world.remember("first")
    second = await world.remember("second", supersedes=first)
    third = await world.remember("third", supersedes=second)
    waiting = await candidate(world)

    async def supersede(old: str, new: str) -> None:
        def work(conn: apsw.Connection) -> None:
            records.supersede(conn, old, records.stored(conn, new), now="2026-01-01T00:00:00.000Z")

        await world.store.write(work)

    with pytest.raises(Conflict, match="itself"):
        await supersede(third, third)
    with pytest.raises(Conflict, match="only an active"):
        await supersede(third, first)
    with pytest.raises(Conflict, match="only an active"):
        await supersede(third, waiting)
    assert await world.store.read(lambda conn: records.successors(conn, first)) == [second, third]


# Screen


@pytest.mark.parametrize(
    ("tool", "field", "arguments"),
    [
        ("store", "title", {"title": SECRET}),
        ("store", "content", {"content": SECRET}),
        ("store", "tags", {"tags": ["fine", SECRET]}),
        ("store", "session", {"session": SECRET}),
        ("store", "agent", {"agent": SECRET}),
        ("store", "anchors", {"anchors": ["url:https://u:Xk9Trq2Lm7w@example.org/"]}),
        ("store", "anchors", {"anchors": ["url:https://example.org/?access_token=Xk9Trq2Lm7wPz"]}),
        ("store", "anchors", {"anchors": ["url:https://example.org/#apiKey=Xk9Trq2Lm7wPz"]}),
        ("store", "anchors", {"anchors": ["url:https://example.org/?session_id=Xk9Trq2Lm7wPz"]}),
    ],
)
async def test_a_store_with_a_secret_is_refused_and_audited_by_field_and_pattern(
    world: World, tool: str, field: str, arguments: dict[str, Any]
) -> None:
    given = {"namespace": HERE, "type": "fact", "title": "t", "content": "c", **arguments}
    with pytest.raises(SecretRefused) as refused:
        await world.call(tool, **given)
    assert refused.value.field == field
    (row,) = await world.audited(1)
    assert (row.outcome, row.context["field"], row.context["pattern"]) == ("refused", field, refused.value.pattern)
    assert "Xk9" not in str(await everything(world))


@pytest.mark.parametrize("parameter", ["author=anna", "session_count=3", "page=2"])
async def test_a_url_anchor_with_a_harmless_parameter_is_kept(world: World, parameter: str) -> None:
    anchor = f"url:https://example.org/?{parameter}"
    record_id = await world.remember("t", anchors=[anchor])
    assert [tie["anchor"] for tie in (await get(world, record_id))["anchors"]] == [anchor]


async def test_an_update_a_quote_a_reason_and_a_report_pass_the_same_screen(world: World) -> None:
    record_id = await world.remember("one", anchors=["path:a"])
    for tool, arguments in (
        ("update", {"id": record_id, "revision": 1, "changes": {"content": SECRET}}),
        ("update", {"id": record_id, "revision": 1, "changes": {"tags": [SECRET]}}),
        ("update", {"id": record_id, "revision": 1, "changes": {"anchors": ["url:https://u:Xk9Trq2@x.org/"]}}),
        ("corroborate", {"id": record_id, "quote": SECRET, "stance": "corroborates"}),
        ("forget", {"id": record_id, "reason": SECRET}),
        ("anchor_report", {"reports": [{"id": record_id, "anchor": "path:a", "state": "ok", "detail": SECRET}]}),
        ("session_close", {"namespace": HERE, "summary": SECRET}),
    ):
        with pytest.raises(SecretRefused):
            await world.call(tool, **arguments)
    assert (await get(world, record_id))["revision"] == 1
    assert "Xk9" not in str(await everything(world))


async def test_what_is_stored_in_lower_case_is_judged_as_it_was_sent(world: World) -> None:
    record_id = await world.remember("one")
    whole = {"namespace": HERE, "type": "fact", "title": "t", "content": "c"}
    hidden = f"local/{OWN_TOKEN}"
    for tool, arguments in (
        ("store", whole | {"namespace": hidden}),
        ("store", whole | {"tags": ["fine", OWN_TOKEN]}),
        ("store", whole | {"anchors": [f"host:{OWN_TOKEN}"]}),
        ("update", {"id": record_id, "revision": 1, "changes": {"tags": [OWN_TOKEN]}}),
        ("update", {"id": record_id, "revision": 1, "changes": {"anchors": [f"host:{OWN_TOKEN}"]}}),
        ("session_close", {"namespace": hidden, "summary": "done"}),
        ("question_add", {"namespace": hidden, "question": "why?"}),
    ):
        with pytest.raises(SecretRefused):
            await world.call(tool, **arguments)
    assert OWN_TOKEN.lower() not in str(await everything(world)).lower()


async def test_a_line_is_judged_as_sent_too_for_a_break_inside_a_token_becomes_a_space(world: World) -> None:
    record_id = await world.remember("one")
    whole = {"namespace": HERE, "type": "fact", "title": "t", "content": "c"}
    for broken in (filled("DB_PASSWORD=Tundra\n  {dig4}x"), filled("ghp_{an12}\n  {an24}"), "Do-not-st\n  ore"):
        for tool, arguments in (
            ("store", whole | {"title": broken}),
            ("store", whole | {"session": broken}),
            ("update", {"id": record_id, "revision": 1, "changes": {"title": broken}}),
            ("forget", {"id": record_id, "reason": broken}),
            ("question_add", {"namespace": HERE, "question": broken}),
        ):
            with pytest.raises(SecretRefused):
                await world.call(tool, **arguments)


async def test_json_that_the_store_composed_is_judged_by_its_texts(world: World) -> None:
    def put(value: object) -> Callable[[apsw.Connection], object]:
        return lambda conn: conn.execute(
            "INSERT INTO receipts (op_id, client, digest, at, result) VALUES ('x', 'c', 'd', 'now', ?)",
            (composed(value),),
        ).fetchall()

    await world.store.write(put({"session_id": "0198c0ffee0070008000000000000001"}))
    for hidden in ({"notes": SECRET}, {"list": ["fine", SECRET]}, {"deep": {"er": [SECRET]}}):
        with pytest.raises(SecretRefused):
            await world.store.write(put(hidden))
