"""The seed's Session close and Screen rows: receipts, refused notes, what is kept and what is queued."""

import threading
from datetime import timedelta
from typing import Any

import pytest
import trio

from agent_memory.domain.errors import Conflict, Expired, InvalidArgument, SecretRefused
from agent_memory.domain.screen import MARKER, screened
from agent_memory.domain.screen.memo import ScreenMemo
from agent_memory.nursery.retention import purge_once
from agent_memory.store.worker import Store
from agent_memory.tools.services import JUDGED_AT_ONCE_CHARS
from support.world import ELSEWHERE, HERE, SECRET, World, open_world

MODEL = "http://127.0.0.1:9"
CLOSE = {"namespace": HERE, "summary": "Moved the tests.", "notes": "The old runner hung.", "op_id": "close-0001"}


async def counts(world: World) -> dict[str, int]:
    tables = {"records": "records", "jobs": "jobs", "receipts": "receipts"}
    closes = "audit WHERE action = 'session-close' AND outcome = 'ok'"
    found = {name: await world.rows(f"SELECT count(*) FROM {source}") for name, source in tables.items()}
    found["closes"] = await world.rows(f"SELECT count(*) FROM {closes}")
    return {name: rows[0][0] for name, rows in found.items()}


@pytest.fixture
async def model_world(inline_store: Store) -> Any:
    async with open_world(inline_store, ollama_url=MODEL, summary_candidates=True) as world:
        yield world


async def test_a_close_without_options_keeps_neither_summary_nor_job(world: World) -> None:
    result = await world.call("session_close", **CLOSE)
    assert set(result) == {"session_id", "estimated_tokens", "truncated"}
    assert await counts(world) == {"records": 0, "jobs": 0, "receipts": 1, "closes": 1}
    assert "Moved" not in str(await world.rows("SELECT * FROM receipts"))


async def test_a_job_is_queued_when_enrichment_is_configured_and_only_then(inline_store: Store) -> None:
    async with open_world(inline_store, ollama_url=MODEL) as world:
        result = await world.call("session_close", **CLOSE)
        assert "candidate_id" not in result
        ((job_id, kind, client, namespace, payload),) = await world.rows(
            "SELECT id, kind, client, namespace, payload FROM jobs"
        )
        assert (job_id, kind, client, namespace) == (result["job_id"], "extract", "owner", HERE)
        assert CLOSE["notes"] in payload
        assert CLOSE["summary"] in payload


async def test_the_summary_is_a_candidate_when_the_option_is_on_and_only_then(inline_store: Store) -> None:
    async with open_world(inline_store, summary_candidates=True) as world:
        result = await world.call("session_close", **CLOSE)
        assert "job_id" not in result
        (record,) = (await world.call("timeline", namespace=HERE, status="candidate"))["records"]
        assert record["id"] == result["candidate_id"]
        assert (record["type"], record["origin"], record["content"], record["session"], record["writer"]) == (
            "session-summary",
            "summary",
            CLOSE["summary"],
            result["session_id"],
            "owner",
        )


async def test_a_replay_returns_the_first_result_and_has_no_second_effect(model_world: World) -> None:
    first = await model_world.call("session_close", **CLOSE)
    before = await counts(model_world)
    again = await model_world.call("session_close", **CLOSE)
    assert again.pop("replayed") is True
    for result in (first, again):
        result.pop("estimated_tokens")
    assert again == first
    assert await counts(model_world) == before == {"records": 1, "jobs": 1, "receipts": 1, "closes": 1}


async def test_closes_without_an_op_id_are_two_closes(model_world: World) -> None:
    given = {name: value for name, value in CLOSE.items() if name != "op_id"}
    results = [await model_world.call("session_close", **given) for _ in range(2)]
    assert results[0]["session_id"] != results[1]["session_id"]
    assert await counts(model_world) == {"records": 2, "jobs": 2, "receipts": 0, "closes": 2}


async def test_two_concurrent_closes_with_one_op_id_have_one_effect(model_world: World) -> None:
    results: list[dict[str, Any]] = []

    async def close() -> None:
        results.append(await model_world.call("session_close", **CLOSE))

    async with trio.open_nursery() as clients:
        for _ in range(5):
            clients.start_soon(close)
    assert len({(each["session_id"], each["job_id"], each["candidate_id"]) for each in results}) == 1
    assert sorted(each.get("replayed", False) for each in results) == [False, True, True, True, True]
    assert await counts(model_world) == {"records": 1, "jobs": 1, "receipts": 1, "closes": 1}


async def test_another_clients_op_id_is_refused_even_with_the_same_inputs(model_world: World) -> None:
    await model_world.call("session_close", **CLOSE)
    before = await counts(model_world)
    with pytest.raises(Conflict, match="another client"):
        await model_world.call("session_close", "author", **CLOSE)
    reply = await model_world.rest("session_close", "author", **CLOSE)
    assert (reply.status, reply.code) == (409, "conflict")
    assert await counts(model_world) == before


@pytest.mark.parametrize(
    "other",
    [
        {"namespace": ELSEWHERE},
        {"summary": "Moved the tests!"},
        {"summary": "Moved the tests. "},
        {"notes": "Another."},
        {"notes": None},
        {"agent": "codex"},
    ],
)
async def test_an_op_id_is_bound_to_every_input(model_world: World, other: dict[str, Any]) -> None:
    await model_world.call("session_close", **CLOSE)
    before = await counts(model_world)
    with pytest.raises(Conflict, match="another close"):
        await model_world.call("session_close", **CLOSE | other)
    assert await counts(model_world) == before


@pytest.mark.parametrize("op_id", ["short", "x" * 65, "has space1", "ünicode-1", "line\nbreak", "trailing1\n", ""])
async def test_an_op_id_is_8_to_64_of_its_alphabet(world: World, op_id: str) -> None:
    with pytest.raises(InvalidArgument, match="op_id"):
        await world.call("session_close", **CLOSE | {"op_id": op_id})
    for good in ("a" * 8, "Z-_9" * 16):
        await world.call("session_close", **CLOSE | {"op_id": good})


async def test_past_retention_the_receipt_is_a_tombstone_and_a_replay_is_expired(model_world: World) -> None:
    await model_world.call("session_close", **CLOSE)
    model_world.services.now.now += timedelta(days=29)  # type: ignore[attr-defined]
    await purge_once(model_world.store, days=30, now=model_world.services.now())
    assert (await model_world.call("session_close", **CLOSE))["replayed"] is True
    model_world.services.now.now += timedelta(days=2)  # type: ignore[attr-defined]
    await purge_once(model_world.store, days=30, now=model_world.services.now())
    with pytest.raises(Expired):
        await model_world.call("session_close", **CLOSE)
    reply = await model_world.rest("session_close", **CLOSE)
    assert (reply.status, reply.code) == (410, "expired")
    assert (await counts(model_world))["closes"] == 1
    # The tombstone still knows whose it was.
    assert (await model_world.rest("session_close", "author", **CLOSE)).status == 409
    assert (await model_world.rest("session_close", **CLOSE | {"summary": "x"})).status == 409


MARKED = [
    "fine\n<do-not-store>\nfine",
    "DO-NOT-STORE",
    "do\u200b-not-\u200bstore",
    "ｄｏ－ｎｏｔ－ｓｔｏｒｅ",
    "do\u2010not\u2011store",
    "<!-- do-not-store -->",
    "word do-not-store, in the middle",
    "x" * 5000 + " do-not-store",
]


@pytest.mark.parametrize("notes", MARKED)
async def test_notes_with_the_marker_are_refused_and_the_summary_is_still_kept(model_world: World, notes: str) -> None:
    result = await model_world.call("session_close", **CLOSE | {"notes": notes})
    assert result["notes_refused"] == MARKER
    ((content,),) = await model_world.rows("SELECT content FROM records")
    assert content == CLOSE["summary"]
    ((payload,),) = await model_world.rows("SELECT payload FROM jobs")
    assert '"notes": null' in payload
    refused, closed = await model_world.audited(2)
    assert (refused.outcome, refused.context["field"], closed.outcome) == ("refused", "notes", "ok")
    assert (await model_world.call("session_close", **CLOSE | {"notes": notes}))["notes_refused"] == MARKER


async def test_a_summary_that_is_erased_takes_the_job_that_holds_its_text_along(model_world: World) -> None:
    closed = await model_world.call("session_close", **CLOSE)
    other = await model_world.call("session_close", namespace=HERE, summary="Another session.")
    await model_world.call("forget", id=closed["candidate_id"], hard=True)
    assert await model_world.rows("SELECT id FROM jobs") == [(other["job_id"],)]


async def test_a_long_first_line_is_cut_for_the_title_and_never_fails_the_close(model_world: World) -> None:
    ends = 'password := viper.GetString("db.password") in the settings'
    padded = [("word " * 40)[:length] + ends for length in range(140, 200)]
    looks_secret = [line for line in padded if screened(line) == line and screened(line[:200]) != line[:200]]
    assert looks_secret
    for line in looks_secret:
        closed = await model_world.call("session_close", namespace=HERE, summary=f"{line}\nand more")
        (record,) = (await model_world.call("get", ids=[closed["candidate_id"]]))["records"]
        assert record["title"].startswith("[screened:")
        assert record["content"] == f"{line}\nand more"


async def test_notes_with_a_secret_are_refused_by_pattern_and_the_summary_is_still_kept(model_world: World) -> None:
    result = await model_world.call("session_close", **CLOSE | {"notes": "password: Xk9-Trq2-Lm7w"})
    assert result["notes_refused"]
    assert (await counts(model_world))["records"] == 1
    dump = [await model_world.rows(f"SELECT * FROM {table}") for table in ("jobs", "audit", "receipts", "records")]
    assert "Xk9" not in str(dump)


async def test_a_summary_with_the_marker_is_refused_and_nothing_is_closed(model_world: World) -> None:
    with pytest.raises(SecretRefused):
        await model_world.call("session_close", **CLOSE | {"summary": "do-not-store"})
    assert await counts(model_world) == {"records": 0, "jobs": 0, "receipts": 0, "closes": 0}


async def test_many_lines_and_quotes_in_notes_reach_the_job_as_they_were(model_world: World) -> None:
    import json

    notes = 'First "line"\n\tsecond: \\n\n{"session": "x"}\nüñî'
    await model_world.call("session_close", **CLOSE | {"notes": notes})
    ((payload,),) = await model_world.rows("SELECT payload FROM jobs")
    assert json.loads(payload)["notes"] == notes


async def test_the_name_of_no_pattern_is_refused_where_the_audit_names_it(world: World) -> None:
    for text in ("do-not-store", "password: Xk9-Trq2-Lm7w", "https://anna:Xk9Trq2Lm7w@example.org"):
        assert screened(screened(text)) == screened(text) != text
    with pytest.raises(SecretRefused):
        await world.call("store", namespace=HERE, type="fact", title="t", content="do-not-store")
    (row,) = await world.audited(1)
    assert (row.outcome, row.context["field"], row.context["pattern"]) == ("refused", "content", MARKER)


# Candidates


async def test_candidates_are_pending_in_bootstrap_and_listed_by_timeline_with_revisions_and_counts(
    model_world: World,
) -> None:
    await model_world.remember("active one")
    for number in range(3):
        await model_world.call("session_close", namespace=HERE, summary=f"Session {number}.")
    await model_world.call("session_close", namespace=ELSEWHERE, summary="Elsewhere.")
    assert (await model_world.call("bootstrap", namespace=HERE))["candidates_pending"] == 3
    listed = await model_world.call("timeline", namespace=HERE, status="candidate")
    assert [record["revision"] for record in listed["records"]] == [1, 1, 1]
    assert [record["title"] for record in listed["records"]] == ["Session 2.", "Session 1.", "Session 0."]
    assert listed["counts"] == {"active": 1, "candidate": 3, "superseded": 0}
    assert listed["candidates_pending"] == 3
    seen = listed["records"][0]
    await model_world.call("update", id=seen["id"], revision=seen["revision"], changes={"status": "active"})
    await model_world.call("forget", id=listed["records"][1]["id"])
    assert (await model_world.call("bootstrap", namespace=HERE))["candidates_pending"] == 1
    active = await model_world.call("timeline", namespace=HERE)
    assert next((record["title"], record["revision"]) for record in active["records"]) == ("Session 2.", 2)


async def test_a_long_text_is_judged_beside_the_event_loop(world: World) -> None:
    """Notes of 256 KiB take 70 ms, in which every other request would wait."""
    judged: set[tuple[bool, bool]] = set()  # (is long, in the event loop's thread)

    class Watched(ScreenMemo):
        def pattern(self, text: str) -> str | None:
            judged.add((len(text) > JUDGED_AT_ONCE_CHARS, threading.current_thread() is threading.main_thread()))
            return super().pattern(text)

    long = "The relay listens. " * (200_000 // 19)
    object.__setattr__(world.services, "screen", Watched())
    record_id = await world.remember("t", anchors=["path:a"])
    await world.call("session_close", namespace=HERE, summary="Done.", notes=long)
    await world.call("store", namespace=HERE, type="fact", title="t", content="c", agent=long)
    await world.call("corroborate", id=record_id, quote="Seen.", stance="corroborates", agent=long)
    await world.call("anchor_report", reports=[{"id": record_id, "anchor": "path:a", "state": "ok", "detail": long}])
    assert (True, False) in judged
    assert (True, True) not in judged
    assert (False, True) in judged
    refused = await world.call("session_close", namespace=HERE, summary="Done.", notes=long + SECRET)
    assert refused["notes_refused"]
