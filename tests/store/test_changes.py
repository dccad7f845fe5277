"""Every commit's follower learns which records changed, as they are afterwards, before their writer is answered."""

from collections.abc import Sequence

import apsw
import pytest

from agent_memory.store import changes
from agent_memory.store.changes import ChangedRecord
from agent_memory.store.worker import Store

INSERT = (
    "INSERT INTO records (id, namespace, type, status, revision, confidence, effective_confidence, created_at,"
    " updated_at, writer, origin, tags, title, content, terms)"
    " VALUES (?, 'n', 'fact', ?, 1, .5, .5, 't', 't', 'w', 'agent', '[]', 'title', 'content', '')"
)
ONE, TWO = "1" * 32, "2" * 32


class Follower:
    def __init__(self) -> None:
        self.heard: list[tuple[str, bool, bool]] = []

    def digest(self, changed: Sequence[ChangedRecord]) -> list[ChangedRecord]:
        return list(changed)

    def apply(self, digested: list[ChangedRecord]) -> None:
        self.heard += [(each.id, each.was_live, each.live) for each in digested]


@pytest.fixture
async def follower(inline_store: Store) -> Follower:
    await write(inline_store, (INSERT, (ONE, "active")))
    inline_store.follower = made = Follower()
    return made


async def write(store: Store, *statements: tuple[str, tuple[object, ...]]) -> None:
    def work(conn: apsw.Connection) -> None:
        for sql, bindings in statements:
            conn.execute(sql, bindings)  # type: ignore[arg-type]

    await store.write(work)


@pytest.mark.parametrize(
    ("sql", "heard"),
    [
        ("UPDATE records SET title = 'another'", [(ONE, True, True)]),
        ("UPDATE records SET namespace = 'm'", [(ONE, True, True)]),
        ("UPDATE records SET status = 'candidate'", []),
        ("UPDATE records SET title = title, content = content, tags = '[1]', confidence = .6", []),
        ("UPDATE records SET status = 'deleted', deleted_at = 't'", [(ONE, True, False)]),
        ("UPDATE records SET status = 'superseded', superseded_by = 'x'", [(ONE, True, False)]),
        ("DELETE FROM records", [(ONE, True, False)]),
        ("SELECT 1", []),
    ],
)
async def test_a_change_that_an_index_can_see_is_heard_and_no_other(
    inline_store: Store, follower: Follower, sql: str, heard: list[tuple[str, bool, bool]]
) -> None:
    await write(inline_store, (sql, ()))
    assert follower.heard == heard


async def test_a_record_stored_and_edited_in_one_commit_is_heard_once(inline_store: Store, follower: Follower) -> None:
    await write(inline_store, (INSERT, (TWO, "candidate")), ("UPDATE records SET content = 'x' WHERE id = ?", (TWO,)))
    assert follower.heard == [(TWO, False, True)]


async def test_a_record_in_the_place_of_an_erased_one_is_heard_beside_it(
    inline_store: Store, follower: Follower
) -> None:
    await write(inline_store, ("DELETE FROM records", ()), (INSERT, (TWO, "active")))
    assert sorted(follower.heard) == [(ONE, True, False), (TWO, False, True)]


async def test_what_is_rolled_back_is_not_heard(inline_store: Store, follower: Follower) -> None:
    with pytest.raises(apsw.SQLError):
        await write(inline_store, ("DELETE FROM records", ()), ("SELECT nonsense", ()))
    assert follower.heard == []


@pytest.mark.parametrize(
    ("sql", "changes_records"),
    [
        ("UPDATE records SET effective_confidence = .1", True),
        ("UPDATE records SET type = 'decision'", True),
        ("UPDATE records SET status = 'candidate'", True),
        ("UPDATE records SET title = 'another'", True),
        ("DELETE FROM records", True),
        ("UPDATE records SET title = 'another' WHERE id = 'none'", False),
        (f"INSERT INTO usage (record_id, returned, fetched) VALUES ('{ONE}', 1, 1)", False),
    ],
)
async def test_the_version_changes_with_anything_about_a_record_and_with_nothing_else(
    inline_store: Store, follower: Follower, sql: str, changes_records: bool
) -> None:
    before = await inline_store.read(changes.version)
    await write(inline_store, (sql, ()))
    after = await inline_store.read(changes.version)
    assert (after != before) == changes_records
    await write(inline_store, (INSERT, (TWO, "active")))
    assert await inline_store.read(changes.version) not in (before, after)


async def test_what_is_rolled_back_leaves_the_version(inline_store: Store, follower: Follower) -> None:
    before = await inline_store.read(changes.version)
    with pytest.raises(apsw.SQLError):
        await write(inline_store, ("DELETE FROM records", ()), ("SELECT nonsense", ()))
    assert await inline_store.read(changes.version) == before
