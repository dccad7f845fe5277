"""Deletion that can be shown: after a purge or a hard forget the text is in no file of the data folder, in any byte."""

import random
from datetime import timedelta
from functools import partial
from pathlib import Path

import apsw
import trio

from agent_memory.nursery.retention import purge_once
from agent_memory.store import audit, backup, embeddings, jobs, records, scrub
from agent_memory.store.connection import open_reader
from agent_memory.store.embeddings import Embedding
from agent_memory.store.migrations import safety_copy
from agent_memory.store.retention import Purged
from agent_memory.store.worker import Store
from support.traces import files_holding
from support.world import HERE, Ticking, World, open_world

SENTINEL = "zqxvkjw"  # the porter stemmer leaves it as it is, so its stem is in the index as these bytes
EARLY = "2026-01-01T00:00:00.000Z"
CJK = "秘匿標識"  # its pairs are in the column of extra terms


async def purge(world: World, days: int = 30) -> Purged:
    return await purge_once(world.store, days=days, now=world.services.now())


def pass_days(world: World, days: int) -> None:
    world.services.now.now += timedelta(days=days)  # type: ignore[attr-defined]


async def fill(world: World, count: int = 40, seed: int = 1) -> list[str]:
    """Other records around it, so that pages split and words share them."""
    dice = random.Random(seed)
    words = ["".join(dice.choices("abcdefghijklmnopqrstuvwxyz", k=dice.randint(3, 9))) for _ in range(500)]
    made = []
    for place in range(count):
        text = " ".join(dice.choices(words, k=dice.choice([5, 30, 300])))
        made.append(await world.remember(f"filler {place}", text))
    return made


async def remember_everywhere(world: World) -> str:
    """A record with the sentinel in every place that can hang on it."""
    record_id = await world.remember(
        f"About {SENTINEL}",
        f"It says {SENTINEL} {SENTINEL}able and {CJK}. " * 40,
        tags=[SENTINEL],
        anchors=[f"path:docs/{SENTINEL}.md", f"url:https://example.org/{SENTINEL}"],
        session=f"session {SENTINEL}",
    )
    await world.call("corroborate", "author", id=record_id, quote=f"seen: {SENTINEL}", stance="corroborates")
    anchor = f"path:docs/{SENTINEL}.md"
    for state in ("ok", "missing"):
        report = {"id": record_id, "anchor": anchor, "state": state, "detail": f"{SENTINEL} {state}"}
        await world.call("anchor_report", reports=[report])
    vector = SENTINEL.encode() * 8

    def embed(conn: apsw.Connection) -> None:
        record = records.live(conn, record_id)
        kept = embeddings.keep(conn, [(Embedding(record_id, "model", "digest", vector), record.title, record.content)])
        assert kept == [record_id]

    await world.store.write(embed)
    await world.call("get", ids=[record_id])
    await world.services.read_log.flush(world.store)
    return record_id


async def fold_log(world: World) -> None:
    """Fold the log in and go on, so that the sentinel is in the database file and not in its log alone."""
    await world.store.maintain(lambda conn: conn.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE))


async def sound(world: World) -> None:
    def work(conn: apsw.Connection) -> None:
        conn.execute("INSERT INTO records_fts (records_fts) VALUES ('integrity-check')")
        assert conn.execute("PRAGMA integrity_check").get == "ok"
        assert conn.execute("PRAGMA foreign_key_check").fetchall() == []

    await world.store.write(work)


async def test_a_hard_forget_leaves_no_byte_of_the_record(store: Store) -> None:
    async with open_world(store) as world:
        await fill(world)
        record_id = await remember_everywhere(world)
        await fold_log(world)
        assert files_holding(store.path.parent, SENTINEL) == ["memory.db"]
        await world.call("forget", id=record_id, hard=True)
        assert files_holding(store.path.parent, SENTINEL) == []
        assert files_holding(store.path.parent, CJK[:2]) == []
        await sound(world)


async def test_a_hard_forget_of_a_forgotten_record_leaves_no_byte_and_empties_its_audit(store: Store) -> None:
    async with open_world(store) as world:
        record_id = await remember_everywhere(world)
        await world.call("forget", id=record_id, reason=f"because {SENTINEL}")
        await world.call("forget", id=record_id, hard=True)
        assert files_holding(store.path.parent, SENTINEL) == []
        await sound(world)


async def test_a_purge_leaves_no_byte_of_anything_past_retention(store: Store) -> None:
    async with open_world(store, ollama_url="http://127.0.0.1:9", summary_candidates=True) as world:
        await fill(world)
        record_id = await remember_everywhere(world)
        await world.call("search", query=f"where is {SENTINEL}", namespace=HERE)
        await world.services.read_log.flush(store)
        closed = await world.call(
            "session_close",
            namespace=HERE,
            summary=f"Did {SENTINEL}",
            notes=f"Learnt {SENTINEL}",
            op_id="close-0001",
            agent=SENTINEL,
        )
        now = world.services.stamp()

        def park(conn: apsw.Connection) -> None:
            job = jobs.claim(conn, now=now, leased_until=now)
            assert job is not None
            assert SENTINEL in job.payload["notes"]
            jobs.put_back(conn, job.id, attempts=job.attempts, due_at=None, error="failed", now=now)

        await store.write(park)
        await world.call("forget", id=record_id, reason=f"wrong about {SENTINEL}")
        await world.call("forget", id=closed["candidate_id"])
        await fold_log(world)
        pass_days(world, 32)
        assert SENTINEL in str(await world.rows("SELECT * FROM audit"))
        purged = await purge(world)
        assert (purged.records, purged.queries, purged.receipts, purged.jobs) == (2, 1, 1, 1)
        assert purged.audit_contexts > 1
        assert files_holding(store.path.parent, SENTINEL) == []
        await sound(world)
        left = [await world.rows(f"SELECT count(*) FROM {table}") for table in ("usage", "anchors", "observations")]
        assert left == [[(0,)]] * 3


async def test_a_purge_before_its_time_removes_nothing(store: Store) -> None:
    async with open_world(store) as world:
        record_id = await remember_everywhere(world)
        await world.call("search", query=SENTINEL, namespace=HERE)
        await world.services.read_log.flush(store)
        await world.call("forget", id=record_id)
        pass_days(world, 29)
        assert not (await purge(world)).any()
        assert "purge" not in {row.action for row in await world.audited()}


async def test_a_word_that_only_tells_two_pages_of_the_index_apart_is_seen_and_goes_with_the_scrub(
    store: Store,
) -> None:
    async with open_world(store) as world:
        kept = await world.remember("kept", " ".join(f"zqx{place:04d}a" for place in range(1500)))
        gone = await world.remember("gone", " ".join(f"zqx{place:04d}b" for place in range(1500)))
        await store.write(lambda conn: conn.execute("INSERT INTO records_fts (records_fts) VALUES ('optimize')"))
        assert await store.read(scrub.dead_separators) == []
        await world.call("forget", id=gone)
        dead = await store.read(scrub.dead_separators)
        assert any(each.endswith(b"b") for each in dead)
        await world.call("forget", id=gone, hard=True)
        assert await store.read(scrub.dead_separators) == []
        assert files_holding(store.path.parent, dead[0][1:].decode()) == []
        await sound(world)
        assert [hit["id"] for hit in (await world.call("search", query="zqx0042a", namespace=HERE))["hits"]] == [kept]


async def test_the_index_is_rebuilt_of_live_records_alone(store: Store) -> None:
    async with open_world(store) as world:
        kept, forgotten = await world.remember("alpha kept"), await world.remember("alpha forgotten")
        await world.call("forget", id=forgotten)
        await store.maintain(scrub.rebuild_index)
        await sound(world)
        assert await world.rows("SELECT term, doc FROM records_vocabulary WHERE term LIKE 'alpha'") == [("alpha", 1)]
        assert [hit["id"] for hit in (await world.call("search", query="alpha", namespace=HERE))["hits"]] == [kept]


async def test_an_erasure_drops_safety_copies_and_what_a_restore_replaced(store: Store) -> None:
    async with open_world(store) as world:
        record_id = await remember_everywhere(world)
        folder = store.path.parent
        await store.maintain(partial(safety_copy, path=store.path, version=1, now=world.services.now()))
        (folder / "safety" / "memory-schema0001-20260101T000000Z.part").write_text(SENTINEL)  # a crash ended it
        (folder / "safety" / f"{backup.REPLACED}20260101T000000Z").mkdir()
        (folder / "safety" / f"{backup.REPLACED}20260101T000000Z" / "memory.db").write_text(SENTINEL)
        (folder / f"{backup.RESTORING}abc").mkdir()
        (folder / f"{backup.RESTORING}abc" / "memory.db").write_text(SENTINEL)
        await world.call("forget", id=record_id, hard=True)
        assert files_holding(folder, SENTINEL) == []


async def test_safety_copies_stay_while_nothing_was_erased(store: Store) -> None:
    async with open_world(store) as world:
        await fill(world, 3)
        copy = await store.maintain(partial(safety_copy, path=store.path, version=1, now=world.services.now()))
        pass_days(world, 3)
        await purge(world)
        assert copy.exists()


async def test_a_scrub_that_a_reader_prevented_is_made_up_for_by_the_next_retention(store: Store) -> None:
    async with open_world(store) as world:
        await store.maintain(lambda conn: conn.set_busy_timeout(50))
        record_id = await remember_everywhere(world)
        reader = open_reader(store.path)  # `agent-memory export` in another process
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM records").fetchall()
        assert (await world.call("forget", id=record_id, hard=True))["status"] == "erased"
        assert files_holding(store.path.parent, SENTINEL) != []
        assert await store.read(scrub.due)
        reader.execute("COMMIT")
        reader.close()
        await purge(world)
        assert files_holding(store.path.parent, SENTINEL) == []
        assert not await store.read(scrub.due)


async def test_a_scrub_that_a_crash_prevented_is_due_after_the_restart(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    async with trio.open_nursery() as nursery:
        with Store(folder, now=Ticking()) as store:
            await nursery.start(store.run)
            async with open_world(store) as world:
                record_id = await remember_everywhere(world)

                def erase(conn: apsw.Connection) -> None:  # as memory_forget does, and then the power fails
                    records.erase(conn, [record_id])
                    audit.note(conn, at=EARLY, client="owner", action="forget-hard", record_id=record_id)

                await store.write(erase)
    async with trio.open_nursery() as nursery:
        with Store(folder, now=Ticking()) as store:
            await nursery.start(store.run)
            async with open_world(store) as world:
                assert await store.read(scrub.due)
                await purge(world)
                assert files_holding(folder, SENTINEL) == []


async def test_a_hundred_hard_forgets_together_rewrite_the_file_few_times(store: Store) -> None:
    async with open_world(store) as world:
        ids = await fill(world, 100)
        async with trio.open_nursery() as clients:
            for record_id in ids:
                clients.start_soon(partial(world.call, "forget", id=record_id, hard=True))
        assert len([row for row in await world.audited(400) if row.action == scrub.SCRUB]) < 20
        assert not await store.read(scrub.due)
