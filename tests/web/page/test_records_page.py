"""The list of records and the view of one."""

import re
from html import unescape

import pytest

from agent_memory.store import browse
from support.page import IMAGE, QUOTES, SCRIPT, SECRET_TEXT, Page, fill
from support.world import ELSEWHERE, HERE, World


def titles(body: bytes) -> list[str]:
    return [unescape(found) for found in re.findall(r'<a class="title"[^>]*>(.*?)</a>', body.decode())]


async def test_live_records_are_listed_newest_first(world: World) -> None:
    await fill(world)
    reply = await Page(world).get("/records")
    assert titles(reply.body) == [
        QUOTES, "Prices are cached", "Cache of prices", "Newer", "Elsewhere", QUOTES, "Old and used", SCRIPT
    ]  # fmt: skip
    assert "8 records, newest first" in reply.body.decode()


async def test_filters_narrow_the_list_and_forgotten_records_are_in_none(world: World) -> None:
    await fill(world)
    page = Page(world)
    assert titles((await page.get("/records?status=superseded")).body) == [IMAGE]
    assert titles((await page.get(f"/records?namespace={ELSEWHERE}")).body) == ["Elsewhere"]
    assert titles((await page.get("/records?type=decision&status=all")).body) == ["Newer", IMAGE]
    assert "Gone" not in titles((await page.get("/records?status=all")).body)
    assert "0 records" in (await page.get("/records?namespace=github/no/such")).body.decode()


async def test_the_form_leads_to_a_link_that_finds_by_words(world: World) -> None:
    await fill(world)
    page = Page(world)
    reply = await page.post("/records", {"text": "concat( union select (thirty) ../", "status": "live"})
    assert reply.status == 303
    where = reply.headers["location"]
    assert re.fullmatch(r"\./records\?words=[A-Za-z0-9_-]+", where)
    found = await page.get(where.removeprefix("."))
    assert titles(found.body) == ["Cache of prices"]
    assert 'value="concat( union select (thirty) ../"' in unescape(found.body.decode())


async def test_words_find_superseded_records_too_where_the_list_shows_them(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    replaced = [await world.remember(f"Relay {number}", "Listens on Größe 7017.") for number in range(60)]
    for number, old in enumerate(replaced):
        await world.remember(f"Relay anew {number}", "Nothing.", supersedes=old)
    page = Page(world)

    async def found(text: str, status: str) -> tuple[list[str], str]:
        where = (await page.post("/records", {"text": text, "status": status})).headers["location"]
        seen: list[str] = []
        path = where.removeprefix(".")
        while path:
            body = (await page.get(path)).body.decode()
            seen += titles(body.encode())
            following = re.search(r'rel="next" href="\./(.*?)"', body)
            path = f"/{unescape(following[1])}" if following else ""
        return seen, unescape(body)

    newest_first = [f"Relay {number}" for number in reversed(range(60))]
    assert (await found("GRÖSSE relay", "superseded"))[0] == newest_first
    seen, said = await found("relay", "all")
    assert (len(seen), seen[60:]) == (120, newest_first)
    assert "then superseded records with all the words" in said
    assert (await found("relay nowhere", "superseded"))[0] == []
    assert "Relay 1" not in (await found("relay", "live"))[0]
    monkeypatch.setattr(browse, "READ_MAX_BYTES", 2_000)
    seen, said = await found("relay", "superseded")
    assert 0 < len(seen) < 60
    assert seen == newest_first[: len(seen)]
    assert "of those the newest were looked at" in said


async def test_an_id_or_its_start_finds_the_record(world: World) -> None:
    ids = (await fill(world)).ids
    page = Page(world)
    where = (await page.post("/records", {"text": ids["Elsewhere"]})).headers["location"]
    assert titles((await page.get(where.removeprefix("."))).body) == ["Elsewhere"]


async def test_long_lists_have_pages(world: World) -> None:
    for number in range(60):
        await world.remember(f"Record {number}", "word")
    page, seen, path = Page(world), [], "/records"
    while path:
        body = (await page.get(path)).body
        seen += titles(body)
        following = re.search(r'rel="next" href="\./(.*?)"', body.decode())
        path = f"/{unescape(following[1])}" if following else ""
    assert seen == [f"Record {number}" for number in reversed(range(60))]
    where = (await page.post("/records", {"text": "word"})).headers["location"]
    first = (await page.get(where.removeprefix("."))).body
    assert len(titles(first)) == 50
    following = re.search(r'rel="next" href="\./(.*?)"', first.decode())
    assert following is not None
    second = titles((await page.get("/" + unescape(following[1]))).body)
    assert len(second) == 10
    assert not set(second) & set(titles(first))


async def test_a_record_shows_content_evidence_anchors_chain_and_audit(world: World) -> None:
    ids = (await fill(world)).ids
    text = unescape((await Page(world).get(f"/records/{ids['Newer']}")).body.decode())
    for words in (
        "The cache holds prices for sixty seconds.",
        f"seen {SCRIPT}",
        "entity:light.kitchen",
        "unchecked",
        "80 % earned, 70 % asserted",
        "1 for, 0 against",
        HERE,
        "type decision",
    ):
        assert words in text, words
    assert "Replaced</h3>" in text
    assert IMAGE in text
    old = unescape((await Page(world).get(f"/records/{ids[IMAGE]}")).body.decode())
    assert "Replaced by</h3>" in old
    assert SECRET_TEXT in old


async def test_a_forgotten_record_is_not_found(world: World) -> None:
    ids = (await fill(world)).ids
    reply = await Page(world).get(f"/records/{ids['Gone']}")
    assert reply.status == 404
    assert SECRET_TEXT.encode() not in reply.body
