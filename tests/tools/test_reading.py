"""Search, get, timeline and packets: budgets, paging, odd queries, and what reading leaves behind."""

import json
from itertools import pairwise
from typing import Any

import pytest

from agent_memory.domain.budgets import RECORDS_TOKENS, SEARCH_TOKENS
from agent_memory.domain.errors import InvalidArgument
from agent_memory.store import records
from support.world import HERE, SECRET, World

ODD_QUERIES = (
    "POL-358",
    "don't",
    "C++",
    "a:b",
    "title:cache",
    "NEAR(",
    "NEAR(a b, 5)",
    '"',
    '""',
    "'",
    "*",
    "cache*",
    "^cache",
    "-cache",
    "(cache",
    "cache OR",
    "AND",
    "NOT",
    "OR OR OR",
    "{title content}: x",
    "\x00",
    "cache\x00size",
    "😀",
    "👩‍👩‍👧",
    "\ud800",
    "cache \udfff",
    "\u202e",
    "%_%",
    "; DROP TABLE records",
    "\\",
    "\n",
    " ",
    "。、",
    "the and of",
    "缓存",
    "a" * 5_000,
    "x " * 100_000,
    "x" * 1_000_000,
)


async def ids(world: World, query: str, **arguments: Any) -> list[str]:
    found = await world.call("search", namespace=HERE, query=query, limit=50, **arguments)
    return [hit["id"] for hit in found["hits"]]


async def test_no_query_is_an_error(world: World) -> None:
    await world.remember("Cache size", "POL-358: don't use C++ for a:b; the 缓存 is NEAR( the edge 😀")
    for query in ODD_QUERIES:
        for reply in (
            await world.rest("search", namespace=HERE, query=query),
            await world.rest("project_context", namespace=HERE, task=query),
        ):
            assert reply.status == 200, query[:30]


async def test_odd_words_find_the_record_that_holds_them(world: World) -> None:
    wanted = await world.remember("Cache size", "POL-358: don't use C++ for a:b; the 缓存 is NEAR( the edge")
    for number in range(5):
        await world.remember(f"Nothing of interest {number}", "An unrelated text about colours.")
    for query in ("POL-358", "pol358", "don't", "a:b", "NEAR(", "缓存", "cache\x00size", '"cache"', "cache*", "-cache"):
        assert (await ids(world, query))[:1] == [wanted], query


async def test_a_longer_query_never_finds_less(world: World) -> None:
    words = ["cache", "importer", "retry", "缓存", "POL-358", "schedule"]
    for number, word in enumerate(words):
        await world.remember(f"{word} {number}", f"about {word} and nothing else {number}")
    for length in range(1, len(words)):
        fewer = set(await ids(world, " ".join(words[:length])))
        more = set(await ids(world, " ".join(words[: length + 1])))
        assert fewer <= more, words[length]
    pasted = " ".join(words) + " and more of a pasted page" * 5_000
    assert set(await ids(world, " ".join(words))) <= set(await ids(world, pasted))


async def test_cjk_is_found_by_any_run_of_two_characters(world: World) -> None:
    first = await world.remember("缓存大小", "缓存大小是五百一十二个条目")
    second = await world.remember("キャッシュの大きさ", "設定ファイルを読む")
    third = await world.remember("캐시 크기", "설정 파일을 읽는다")
    for query, wanted in [("大小", first), ("五百", first), ("設定", second), ("キャッシュ", second), ("설정", third)]:
        assert (await ids(world, query))[:1] == [wanted], query


async def test_accents_and_umlauts_fold(world: World) -> None:
    wanted = await world.remember("Größe der Übersicht", "naïve café")
    for query in ("größe", "groesse", "GRÖSSE", "übersicht", "uebersicht", "cafe", "naive"):
        assert await ids(world, query) == [wanted], query


async def test_search_keeps_to_its_budget_and_says_when_it_cut(world: World) -> None:
    for number in range(20):
        await world.remember(f"needle {number}", f"needle {number} " + "long text of a record " * 400)
    found = await world.call("search", namespace=HERE, query="needle", limit=20)
    texts = sum(len((hit.get("content") or hit.get("excerpt") or "").encode()) for hit in found["hits"])
    titles = sum(len(hit["title"]) for hit in found["hits"])
    assert texts + titles <= SEARCH_TOKENS * 4
    assert found["truncated"] is True
    assert all(hit.get("excerpt") for hit in found["hits"])


async def test_the_excerpt_shows_the_match(world: World) -> None:
    await world.remember(
        "A long one", "filler words here " * 500 + " the zephyrion stands here " + "more filler " * 300
    )
    (hit,) = (await world.call("search", namespace=HERE, query="zephyrion"))["hits"]
    assert "zephyrion" in hit["excerpt"]


async def test_filters_hold_together(world: World) -> None:
    wanted = await world.remember("alpha one", type="decision", tags=["Build", "ci"])
    await world.remember("alpha two", type="decision", tags=["build"])
    await world.remember("alpha three", type="fact", tags=["build", "ci"])
    assert await ids(world, "alpha", types=["decision"], tags=["build", "CI"]) == [wanted]
    assert await ids(world, "alpha", tags=["none"]) == []
    assert wanted not in await ids(world, "alpha", exclude=[wanted[:9]])
    assert await ids(world, "alpha", min_cosine=0.1) == []
    for bad in ({"types": ["rumour"]}, {"limit": 0}, {"limit": 51}, {"exclude": ["short"]}, {"min_cosine": 2}):
        with pytest.raises(InvalidArgument):
            await world.call("search", namespace=HERE, query="alpha", **bad)


async def test_get_never_cuts_a_record_and_names_what_it_left_out(world: World) -> None:
    texts = [f"{number} " + "x" * 6_000 for number in range(4)]
    stored = [await world.remember(f"large {number}", text) for number, text in enumerate(texts)]
    seen: list[str] = []
    wanted = stored
    while wanted:
        found = await world.call("get", ids=wanted)
        assert found["estimated_tokens"] <= RECORDS_TOKENS + 2_000
        for record in found["records"]:
            assert record["content"] == texts[stored.index(record["id"])]
            seen.append(record["id"])
        wanted = found.get("left_out", [])
        assert found["truncated"] == bool(wanted)
    assert seen == stored


async def test_the_largest_record_is_given_whole(world: World) -> None:
    text = "y" * 16 * 1024
    record_id = await world.remember("largest", text)
    found = await world.call("get", ids=[record_id])
    assert found["records"][0]["content"] == text
    assert found["truncated"] is False


async def test_prefixes_are_resolved_told_ambiguous_or_not_found(world: World) -> None:
    first = await world.remember("one")
    second = await world.remember("two")
    shared = 0
    while first[shared] == second[shared]:
        shared += 1
    assert shared >= 8  # both were written in the same instant
    found = await world.call("get", ids=[first[:shared], first[: shared + 1], "0" * 8, second.upper(), second[:9]])
    assert {record["id"] for record in found["records"]} == {first, second}
    assert found["ambiguous"] == [first[:shared], second[:9]]
    assert found["matches"] == {first[:shared]: 2, second[:9]: 2}
    assert found["not_found"] == ["0" * 8]


async def test_a_live_record_is_found_however_many_superseded_ones_share_its_prefix(world: World) -> None:
    retired = [await world.remember(f"version {number}") for number in range(8)]
    for old, new in pairwise(retired):
        await world.store.write(
            lambda conn, old=old, new=new: records.supersede(conn, old, records.live(conn, new), now="")
        )
    found = await world.call("get", ids=[retired[0][:8]])
    assert ([record["id"] for record in found["records"]], found["ambiguous"]) == ([retired[-1]], [])


@pytest.mark.parametrize("bad", ["", " ", "1234567", "g" * 32, "0" * 33, "%" * 8, "_" * 8, "0" * 8 + "*"])
async def test_what_is_no_id_is_refused_and_named(world: World, bad: str) -> None:
    refused = await world.rest("get", ids=["0" * 8, bad])
    assert refused.code == "invalid_argument"
    assert b"ids[1]" in refused.body


@pytest.mark.parametrize("limit", [1, 3, 7, 100])
async def test_the_timeline_is_complete_without_gap_or_repeat(world: World, limit: int) -> None:
    stored = [await world.remember(f"note {number}", "z" * (number * 300)) for number in range(30)]
    seen: list[str] = []
    before = None
    for _ in range(60):
        arguments = {} if before is None else {"before": before}
        page = await world.call("timeline", namespace=HERE, limit=limit, **arguments)
        seen += [record["id"] for record in page["records"]]
        before = page.get("next_before")
        if before is None:
            break
    assert seen == stored[::-1]
    assert page["counts"]["active"] == 30


async def test_the_timeline_takes_a_time(world: World) -> None:
    first = await world.remember("first")
    (record,) = (await world.call("get", ids=[first]))["records"]
    await world.remember("second")
    page = await world.call("timeline", namespace=HERE, before=record["created_at"])
    assert [each["title"] for each in page["records"]] in ([], ["first"])
    page = await world.call("timeline", namespace=HERE, before="2099-01-01T00:00:00Z")
    assert len(page["records"]) == 2
    for bad in ("yesterday", "", "1" * 100_000, "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"):
        reply = await world.rest("timeline", namespace=HERE, before=bad)
        assert reply.status in (200, 422), bad[:40]


async def test_a_packet_keeps_to_its_budget_with_a_reason_for_each_record(world: World) -> None:
    for number in range(10):
        for kind in ("constraint", "decision", "open-work", "failure", "procedure", "fact"):
            await world.remember(f"{kind} {number}", f"about {kind} " + "w" * 300, type=kind)
    await world.remember("The zephyrion", "zephyrion matters")
    for budget in (100, 300, 1_000, 4_000, 8_000):
        packet = await world.call("project_context", namespace=HERE, task="zephyrion", budget_tokens=budget)
        assert packet["estimated_tokens"] <= budget + 60
        assert all(entry["reason"] for entry in packet["entries"])
        assert packet["truncated"] == (packet["left_out"] > 0)
        if budget >= 300:
            assert packet["entries"][0]["title"] == "The zephyrion"
            assert packet["entries"][0]["reason"].startswith("matches the task")
    order = [entry["type"] for entry in packet["entries"] if not entry["reason"].startswith("matches")]
    ranks = {"constraint": 0, "decision": 0, "open-work": 1, "failure": 2, "procedure": 2}
    assert [ranks[kind] for kind in order] == sorted(ranks[kind] for kind in order)


async def test_reading_is_counted_as_the_seed_says(world: World) -> None:
    record_id = await world.remember("counted")

    async def counts() -> tuple[int, int]:
        await world.services.read_log.flush(world.store)
        rows = await world.rows("SELECT returned, fetched FROM usage WHERE record_id = ?", (record_id,))
        return (rows[0][0], rows[0][1]) if rows else (0, 0)

    await world.call("bootstrap", namespace=HERE)
    await world.call("timeline", namespace=HERE)
    assert await counts() == (0, 0)
    await world.call("search", namespace=HERE, query="counted")
    await world.call("search", namespace=HERE, query="counted", recall=True)
    assert await counts() == (2, 0)
    await world.call("project_context", namespace=HERE, task="counted")
    await world.call("get", ids=[record_id])
    assert await counts() == (3, 1)
    (record,) = (await world.call("get", ids=[record_id]))["records"]
    assert record["revision"] == 1  # reading changes nothing of a record


async def test_a_query_is_recorded_but_not_a_recall_nor_a_secret(world: World) -> None:
    await world.call("search", namespace=HERE, query="a plain question")
    await world.call("search", namespace=HERE, query="an automatic one", recall=True)
    await world.call("search", namespace=HERE, query=f"with {SECRET} in it")
    await world.services.read_log.flush(world.store)
    rows = await world.rows("SELECT query, client, namespace FROM queries")
    assert rows == [("a plain question", "owner", HERE)]


async def test_what_is_read_is_json_of_plain_text(world: World) -> None:
    text = 'tab\there, "quotes", back\\slash, <b>&amp;</b>, \u2028 and \U0001f600'
    record_id = await world.remember("text", text)
    (record,) = (await world.call("get", ids=[record_id]))["records"]
    assert record["content"] == text
    assert json.loads(json.dumps(record)) == record
