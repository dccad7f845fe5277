"""What is stored is judged as it was when it was written: the texts, and no name that the program gave them."""

from collections.abc import AsyncIterator

import apsw
import pytest

from agent_memory.store.rescreen import COMPOSED, TEXTS, Stored, rescreen
from agent_memory.store.worker import Store
from support.world import HERE, World, open_world

REFUSED = "do-not-store"
# Columns that the program fills with what it made or chose itself, or took out of another column.
OWN = {
    "id", "record_id", "question_id", "op_id", "type", "kind", "status", "state", "stance", "source", "origin",
    "action", "outcome", "digest", "basis", "hour", "superseded_by", "terms", "current", "attempted", "at", "due_at",
    "leased_until", "checked_at", "unavailable_since", "created_at", "updated_at", "deleted_at", "attempted_at",
    "answered_at", "last_returned_at", "last_fetched_at",
}  # fmt: skip
COPIES = {("embeddings", "model"), ("audit_hours", "client")}


@pytest.fixture
async def model_world(inline_store: Store) -> AsyncIterator[World]:
    async with open_world(inline_store, ollama_url="http://127.0.0.1:9", summary_candidates=True) as world:
        record = await world.remember("The relay", tags=["relay"], anchors=["path:/etc/relay"], session="a1")
        await world.call("corroborate", "author", id=record, quote="it listens", stance="corroborates")
        await world.call("question_add", namespace=HERE, question="Which port has the relay?")
        await world.call("session_close", namespace=HERE, summary="Done.", notes="Long notes.", op_id="close-0001")
        await world.rest("session_close", "reader", namespace=HERE, summary="Done.")
        yield world


async def judged(world: World) -> list[Stored]:
    return await world.services.store.read(lambda conn: list(rescreen(conn)))


async def test_what_the_server_wrote_itself_is_refused_nowhere(model_world: World) -> None:
    for table in ("records", "observations", "anchors", "questions", "receipts", "jobs", "audit"):
        assert (await model_world.rows(f"SELECT count(*) FROM {table}"))[0][0] > 0
    assert await judged(model_world) == []


async def test_a_text_that_todays_rules_refuse_is_found_in_every_column_that_is_looked_at(model_world: World) -> None:
    for table, column in [("records", "content"), ("questions", "question"), *sorted(COMPOSED)]:
        text = f'{{"notes": ["{REFUSED}"]}}' if (table, column) in COMPOSED else REFUSED

        def break_it(conn: apsw.Connection, sql: str = f"UPDATE {table} SET {column} = '{text}'") -> None:
            conn.execute("DROP TRIGGER IF EXISTS audit_keeps_facts")
            conn.execute(sql)

        await model_world.services.store.write(break_it)
        assert (table, column) in {(found.table, found.column) for found in await judged(model_world)}


async def test_every_column_that_takes_a_text_from_outside_is_looked_at(model_world: World) -> None:
    columns = await model_world.rows(
        "SELECT tables.name, columns.name FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS columns"
        " WHERE tables.type = 'table' AND tables.name NOT LIKE '%fts%' AND columns.type = 'TEXT'"
    )
    looked_at = {(table, column) for table, (_, listed) in TEXTS.items() for column in listed}
    assert {pair for pair in columns if pair[1] not in OWN} - looked_at - COPIES == set()
    assert COMPOSED <= looked_at <= set(columns)
