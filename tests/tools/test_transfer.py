"""Records out and in again: nothing is lost, nothing is half-done, and what is refused says why without saying what."""

import json
import random
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_memory.domain.errors import InvalidArgument
from agent_memory.domain.records import ORIGINS, TYPES, Record, check_line, check_tags, check_text, new_id, stamp
from agent_memory.domain.screen import screen_text
from agent_memory.store import transfer
from agent_memory.store.anchors import AnchorRow
from agent_memory.store.connection import open_database
from agent_memory.store.evidence import Observation
from agent_memory.store.migrations import migrate
from agent_memory.store.transfer import Portable
from agent_memory.store.worker import Store
from agent_memory.tools import transfer as transfer_tool
from agent_memory.tools.portable import PortableRecord, read_line
from agent_memory.tools.transfer import ImportReport, export_lines, import_lines
from support.secrets import OWN_TOKEN
from support.world import ELSEWHERE, HERE, Ticking, World

PASSWORD_URL = "postgres://memo:" + "Lantern4147" + "@db/memo"


async def take_in(store: Store, lines: Iterable[str | bytes]) -> ImportReport:
    raw = [line if isinstance(line, bytes) else line.encode() for line in lines]
    return await import_lines(store, raw, client="cli", now=Ticking(), entropy=random.Random(1).randbytes)


async def lines_of(store: Store, namespace: str | None = None) -> list[str]:
    return await store.read(lambda conn: list(export_lines(conn, namespace)))


# -- the property ------------------------------------------------------------------------------------------------------

texts = st.text(min_size=1, max_size=40)
shares = st.floats(0, 1)
moments = st.datetimes(min_value=datetime(2020, 1, 1)).map(lambda moment: stamp(moment.replace(tzinfo=UTC)))


def cleaned(strategy: st.SearchStrategy[str], clean: Any) -> st.SearchStrategy[str]:
    def keep(text: str) -> str | None:
        try:
            kept = str(clean(text))
        except InvalidArgument:
            return None
        # Hypothesis draws from the program's own constants, too: among them are words for passwords.
        return kept if screen_text(kept) is None else None

    return strategy.map(keep).filter(lambda text: text is not None)  # type: ignore[return-value]


lines = cleaned(texts, lambda text: check_line("x", text, 100))
contents = cleaned(st.text(min_size=1, max_size=200), lambda text: check_text("x", text))


@st.composite
def portables(draw: st.DrawFn, number: int = 0) -> Portable:
    record_id = new_id(datetime(2026, 1, 1 + number, tzinfo=UTC), draw(st.binary(min_size=10, max_size=10)))
    status = draw(st.sampled_from(["active", "candidate", "superseded"]))
    record = Record(
        id=record_id,
        namespace=draw(st.sampled_from([HERE, ELSEWHERE, "global", "local/日本"])),
        type=draw(st.sampled_from(TYPES)),
        status=status,
        title=draw(lines),
        content=draw(contents),
        tags=check_tags(draw(st.lists(lines.filter(lambda text: len(text) < 30), max_size=3))),
        confidence=draw(shares),
        effective_confidence=draw(shares),
        proof_count=draw(st.integers(0, 9)),
        refutation_count=draw(st.integers(0, 9)),
        revision=draw(st.integers(1, 10**6)),
        writer=draw(lines),
        session=draw(st.none() | lines),
        origin=draw(st.sampled_from(ORIGINS)),
        model=draw(st.none() | lines),
        supersedes=None,
        superseded_by="f" * 32 if status == "superseded" else None,
        created_at=draw(moments),
        updated_at=draw(moments),
        deleted_at=None,
    )
    names = draw(st.lists(st.sampled_from(["src/a.py", "/etc/x y", "docs"]), unique=True))
    ties = tuple(
        AnchorRow(
            record_id,
            position,
            f"path:{name}",
            "path",
            draw(st.sampled_from(["unchecked", "ok", "missing"])),
            draw(st.integers(0, 5)),
            draw(st.none() | moments),
            draw(st.none() | moments),
        )
        for position, name in enumerate(names)
    )
    seen = tuple(
        Observation(draw(moments), source, witness, stance, draw(contents))
        for source, witness, stance in draw(
            st.lists(
                st.tuples(
                    st.sampled_from(["witness", "anchor"]),
                    st.sampled_from(["codex", "claude-code", "sweep"]),
                    st.sampled_from(["corroborates", "contradicts"]),
                ),
                unique=True,
                max_size=4,
            )
        )
    )
    place = None if record.session is None else draw(st.integers(1, 999))
    return Portable(record, place, ties, seen)


def database(path: Path) -> apsw.Connection:
    connection = open_database(path).connection
    migrate(connection, path, now=Ticking()())
    connection.pragma("synchronous", 0)
    return connection


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(st.tuples(*(portables(number=number) for number in range(3))))
def test_what_was_exported_and_put_back_exports_to_the_same_bytes(
    tmp_path_factory: pytest.TempPathFactory, records: tuple[Portable, ...]
) -> None:
    folder = tmp_path_factory.mktemp("x")
    first, second = database(folder / "first.db"), database(folder / "second.db")
    try:
        with first:
            for each in records:
                transfer.put_back(first, each)
        exported = list(export_lines(first, None))
        assert len(exported) == len(records)
        read = [read_line(line) for line in exported]
        with second:
            for each in read:
                assert isinstance(each, Portable)
                transfer.put_back(second, each)
        assert list(export_lines(second, None)) == exported
        assert [transfer.find(second, each.record.id) for each in records] == list(records)
    finally:
        first.close()
        second.close()


# -- export ------------------------------------------------------------------------------------------------------------


async def test_a_full_life_round_trips_through_a_second_store(world: World, tmp_path: Path, nursery: Any) -> None:
    old = await world.remember("The build uses make", anchors=["path:Makefile", "path:src"], tags=["build"])
    await world.call("corroborate", "author", id=old, quote="saw it run", stance="corroborates")
    await world.remember("The build uses just", supersedes=old)
    gone = await world.remember("A mistake")
    await world.call("forget", id=gone)
    exported = await lines_of(world.store)
    assert len(exported) == 2
    with Store(tmp_path / "second", now=Ticking()) as second:
        await nursery.start(second.run)
        report = await take_in(second, exported)
        assert (report.restored, report.refused, report.kept) == (2, [], [])
        assert await lines_of(second) == exported


async def test_the_tool_pages_through_everything_once_and_in_order(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer_tool, "PAGE_RECORDS", 3)
    ids = [await world.remember(f"Record {number}") for number in range(8)]
    await world.remember("Elsewhere", namespace=ELSEWHERE)
    found: list[str] = []
    cursor = None
    while True:
        page = await world.call("export", namespace=HERE, **({"cursor": cursor} if cursor else {}))
        found += [each["id"] for each in page["records"]]
        cursor = page.get("next_cursor")
        assert page["truncated"] == (cursor is not None)
        if cursor is None:
            break
    assert found == ids


async def test_a_page_ends_at_its_size_and_always_holds_one_record(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer_tool, "PAGE_BYTES", 10)
    await world.remember("One")
    await world.remember("Two")
    page = await world.call("export")
    assert [each["title"] for each in page["records"]] == ["One"]
    assert page["next_cursor"]


async def test_export_needs_its_own_scope(world: World) -> None:
    assert (await world.rest("export", "author")).status == 403
    assert (await world.rest("export", "exporter")).status == 200


async def test_a_page_of_the_tool_and_a_line_of_the_command_are_the_same_record(world: World) -> None:
    await world.remember("Same", anchors=["path:x"])
    (given,) = (await world.call("export"))["records"]
    assert PortableRecord.model_validate(given).line() == (await lines_of(world.store))[0]


# -- import ------------------------------------------------------------------------------------------------------------

SHORT = {"namespace": HERE, "type": "fact", "title": "Imported", "content": "By hand", "anchors": ["path:x"]}


async def test_a_short_line_becomes_a_candidate_of_origin_import(store: Store) -> None:
    report = await take_in(store, [json.dumps(SHORT)])
    assert report.candidates == 1
    (line,) = await lines_of(store)
    record = json.loads(line)
    assert (record["status"], record["origin"], record["writer"], record["confidence"]) == (
        "candidate", "import", "cli", 0.7,
    )  # fmt: skip
    assert record["anchors"][0]["anchor"] == "path:x"


async def test_the_same_import_twice_changes_nothing(store: Store) -> None:
    first = await take_in(store, [json.dumps(SHORT), json.dumps(SHORT)])
    before = await lines_of(store)
    again = await take_in(store, [json.dumps(SHORT), *before])
    assert (first.candidates, first.skipped) == (1, 1)
    assert (again.restored, again.candidates, again.skipped) == (0, 0, 2)
    assert await lines_of(store) == before


async def test_a_record_that_differs_here_is_kept_and_told(world: World) -> None:
    kept = await world.remember("Mine")
    exported = (await lines_of(world.store))[0]
    await world.call("update", id=kept, revision=1, changes={"title": "Newer"})
    report = await take_in(world.store, [exported])
    assert [(remark.line, "revision 2" in remark.text) for remark in report.kept] == [(1, True)]
    assert "Newer" in (await lines_of(world.store))[0]


@pytest.mark.parametrize("hard", [False, True])
async def test_a_record_that_was_forgotten_here_does_not_come_back(world: World, hard: bool) -> None:
    gone = await world.remember("Gone")
    exported = await lines_of(world.store)
    await world.call("forget", id=gone, hard=hard)
    report = await take_in(world.store, exported)
    assert "forgotten" in report.kept[0].text
    assert await lines_of(world.store) == []


async def test_refused_lines_say_where_and_why_and_the_others_are_taken(store: Store) -> None:
    full = {"id": "1" * 32, "status": "active", "revision": 0}
    report = await take_in(
        store,
        [
            json.dumps(SHORT | {"content": f"use {PASSWORD_URL}"}),
            "",
            "{not json",
            b"\xff\xfe",
            json.dumps(SHORT | {"title": ""}),
            json.dumps(SHORT | {"surprise": "Lantern4147"}),
            json.dumps(SHORT | {"type": "Lantern4147"}),
            json.dumps(SHORT | full),
            json.dumps(["Lantern4147"]),
            json.dumps(SHORT),
        ],
    )
    assert [remark.line for remark in report.refused] == [1, 3, 4, 5, 6, 7, 8, 9]
    assert "content was refused by the screen (pattern " in report.refused[0].text
    assert not any("Lantern" in remark.text for remark in report.refused)
    assert report.candidates == 1
    assert len(await lines_of(store)) == 1


async def test_secrets_anywhere_in_a_whole_record_are_refused(world: World) -> None:
    await world.remember("Fine", anchors=["path:x"])
    good = json.loads((await lines_of(world.store))[0]) | {"id": "2" * 32}
    seen = {"at": good["created_at"], "source": "witness", "witness": "codex", "stance": "contradicts"}
    bad = [
        good | {"writer": PASSWORD_URL},
        good | {"session": PASSWORD_URL, "session_place": 1},
        good | {"tags": [PASSWORD_URL]},
        good | {"tags": [OWN_TOKEN]},
        good | {"namespace": f"local/{OWN_TOKEN}"},
        good | {"anchors": [{"anchor": f"host:{OWN_TOKEN}", "state": "ok"}]},
        SHORT | {"tags": [OWN_TOKEN]},
        SHORT | {"namespace": f"local/{OWN_TOKEN}"},
        SHORT | {"anchors": [f"host:{OWN_TOKEN}"]},
        good | {"observations": [seen | {"quote": PASSWORD_URL}]},
    ]
    report = await take_in(world.store, map(json.dumps, bad))
    assert [remark.line for remark in report.refused] == list(range(1, len(bad) + 1))
    assert all("pattern" in remark.text for remark in report.refused)


async def test_each_taken_line_leaves_an_audit_row_without_content(world: World) -> None:
    await take_in(world.store, [json.dumps(SHORT)])
    row = (await world.audited(1))[0]
    assert (row.client, row.action, row.namespace, row.context) == ("cli", "import", HERE, {"as": "candidate"})


async def test_an_imported_record_is_found_by_the_next_search(world: World) -> None:
    await take_in(world.store, [json.dumps(SHORT | {"title": "Quokka habitat"})])
    found = await world.call("search", namespace=HERE, query="quokka")
    assert [hit["title"] for hit in found["hits"]] == ["Quokka habitat"]


def test_no_column_of_a_record_is_left_out_of_an_export() -> None:
    connection = apsw.Connection(":memory:")
    migrate(connection, Path("/nowhere/memory.db"), now=Ticking()())
    derived = {"seq", "terms", "deleted_at"}  # the row's place, the index's words, and what exported records have not
    columns = {row[1] for row in connection.execute("SELECT * FROM pragma_table_info('records')")}
    assert columns - derived == PortableRecord.model_fields.keys() - {"anchors", "observations"}


def test_a_record_that_contradicts_itself_is_refused() -> None:
    record = Record(
        "1" * 32, HERE, "fact", "active", "t", "c", (), 0.5, 0.5, 0, 0, 1, "w", None, "agent", None, None, None,
        "2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00.000Z", None,
    )  # fmt: skip
    line = transfer_tool.portable(Portable(replace(record, superseded_by="2" * 32), None, (), ())).line()
    with pytest.raises(InvalidArgument, match="superseded_by"):
        read_line(line)
