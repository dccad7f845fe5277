"""The page in a real browser: at both widths, under an ingress path, by keyboard, with script off, for all readers."""

from typing import Any

import pytest

from support.browser import Seen, accessibility_findings, browse, missing, served
from support.page import HOSTILE, INGRESS, QUOTES, SCRIPT, USER, Ingress, Page, fill
from support.world import HERE, World

REASON = missing()
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON)

NARROW, WIDE = {"width": 360, "height": 740}, {"width": 1600, "height": 900}
BASES = ("", INGRESS)
CARDS = {
    "records": ("active 6", "candidate 2", "superseded 1", "forgotten 1", "decision 2", "constraint 1", "fact 7"),
    "namespaces": (f"{HERE} 9", "github/acme/other 1"),
    "by-action": ("13 audited in 24 h", "store 7", "session-close 1"),
    "by-client": ("owner 9", "server 2"),
    "servers": ("gpu.example", "2 in flight", "41 ms", "down"),
    "encoder": ("embedded, ready", "with a vector 7", "waiting 1"),
    "review-run": ("kept 3", "forgotten 2", "candidates 5"),
    "sweep-run": ("checked 12", "unavailable 4", "changed 1"),
    "unused": (SCRIPT, "written 40 d ago", "last returned never"),
    "audit": ("session-close", "refused", "Forbidden"),
    "connect": ("owner", "<token>"),
}


def words(page: Any, selector: str) -> str:
    return " ".join(page.locator(selector).inner_text().split())


def all_of(selector: str) -> str:
    return f"[...document.querySelectorAll('{selector}')]"


def calm(page: Any, seen: Seen, base: str) -> None:
    """What holds for every page: nothing failed, nothing asked of others, nothing hostile ran, nothing sticks out."""
    assert seen.problems == []
    here = page.url.split("/")[2]
    assert {address.split("/")[2] for address in seen.addresses} == {here}
    if base:
        assert all(f"{here}{base}/" in address for address in seen.addresses)
    assert page.title().endswith(" · Agent Memory")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), page.url
    assert accessibility_findings(page) == []


@pytest.mark.parametrize("base", BASES, ids=["plain", "ingress"])
@pytest.mark.parametrize("viewport", [NARROW, WIDE], ids=["360", "1600"])
async def test_every_card_is_there_with_its_numbers(world: World, viewport: dict[str, int], base: str) -> None:
    await fill(world)

    def visit(page: Any, seen: Seen) -> None:
        page.goto(f"{address}{base}/")
        assert [words(page, f".tile:nth-child({i}) strong") for i in range(1, 5)] == ["6", "2", "0", "1"]
        for card, expected in CARDS.items():
            page.locator(f"#{card}").scroll_into_view_if_needed()
            text = words(page, f"#{card}") if card != "connect" else page.locator("#connect").text_content()
            for each in expected:
                assert each in text, (card, each, text)
        assert page.locator("svg.columns rect").count() > 0
        calm(page, seen, base)

    async with served(Ingress(Page(world).app)) as address:
        await browse(visit, viewport=viewport)


@pytest.mark.parametrize("base", BASES, ids=["plain", "ingress"])
@pytest.mark.parametrize("viewport", [NARROW, WIDE], ids=["360", "1600"])
async def test_the_other_pages_are_as_calm(world: World, viewport: dict[str, int], base: str) -> None:
    contents = await fill(world)

    def visit(page: Any, seen: Seen) -> None:
        page.goto(f"{address}{base}/records")
        assert page.locator(".lines .title").first.inner_text() == QUOTES
        calm(page, seen, base)
        page.reload()  # a hard reload below the root must find its assets again
        page.fill("[name=text]", "thirty seconds")
        page.click("text=Show")
        page.click("text=Cache of prices")
        assert "thirty seconds" in words(page, "#content")
        calm(page, seen, base)
        page.goto(f"{address}{base}/records/{contents.ids['Newer']}")
        assert SCRIPT in words(page, "#evidence")
        calm(page, seen, base)
        page.click("nav >> text=Review")
        page.click("text=Prices are cached")
        assert page.locator("del").count() > 1
        calm(page, seen, base)

    async with served(Ingress(Page(world).app)) as address:
        await browse(visit, viewport=viewport)


@pytest.mark.parametrize("viewport", [NARROW, WIDE], ids=["360", "1600"])
async def test_words_without_an_end_stay_in_their_card(world: World, viewport: dict[str, int]) -> None:
    contents = await fill(world)
    where = f"github/{'o' * 70}/{'r' * 80}"
    record = await world.remember("T" * 200, "C" * 3000, namespace=where, tags=["g" * 64])
    await world.call("corroborate", "author", id=record, stance="contradicts", quote="Q" * 900)

    def visit(page: Any, seen: Seen) -> None:
        for path in ("", "records", f"records/{record}", "review", f"review/{contents.candidate}"):
            page.goto(f"{address}/{path}")
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), path
            spill = (
                "[...document.querySelectorAll('.card')].filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.id)"
            )
            assert page.evaluate(spill) == [], path
        page.goto(f"{address}/")
        assert where in words(page, "#namespaces")
        assert page.evaluate(
            "[...document.querySelectorAll('#namespaces a')].every(e => e.scrollWidth <= e.clientWidth)"
        )

    async with served(Page(world).app) as address:
        await browse(visit, viewport=viewport)


async def test_hostile_titles_are_text_everywhere(world: World) -> None:
    contents = await fill(world)

    def visit(page: Any, seen: Seen) -> None:
        shown = ""
        for path in ("", "records?status=all", "review", f"records/{contents.ids['Newer']}"):
            page.goto(f"{address}/{path}")
            shown += page.locator("main").inner_text()
            assert page.locator("main img, main script, main svg[onload]").count() == 0
            assert "owned" not in page.title()
        for title in HOSTILE:
            assert title in shown
        assert seen.problems == []

    async with served(Page(world).app) as address:
        await browse(visit)


async def test_without_script_it_all_works(world: World) -> None:
    contents = await fill(world)

    def visit(page: Any, seen: Seen) -> None:
        page.goto(f"{address}/")
        assert page.locator(".card").count() == 11
        assert page.locator("button").count() == 0  # what only script can do is not offered
        page.click("#connect summary >> nth=0")
        page.click("#connect .program summary >> nth=1")
        assert "<token>" in page.locator("#connect pre:visible").first.inner_text()
        page.goto(f"{address}/records")
        page.fill("[name=text]", "thirty")
        page.press("[name=text]", "Enter")
        assert page.locator(".lines .title").all_inner_texts() == ["Cache of prices"]
        page.goto(f"{address}/review/{contents.candidate}")
        page.click("text=Promote")
        assert page.url != f"{address}/review/{contents.candidate}"
        assert seen.problems == []

    async with served(Page(world).app) as address:
        await browse(visit, java_script_enabled=False)
    assert await world.rows("SELECT status FROM records WHERE id = ?", (contents.candidate,)) == [("active",)]


async def test_a_decision_through_ingress_leads_to_the_next_candidate(world: World) -> None:
    contents = await fill(world)

    def visit(page: Any, seen: Seen) -> None:
        page.goto(f"{address}{INGRESS}/review/{contents.candidate}")
        page.click("text=Forget")
        assert page.locator("h1").inner_text() == QUOTES
        page.click("text=Forget")
        assert "0 candidates waiting" in words(page, "main")
        calm(page, seen, INGRESS)

    async with served(Ingress(Page(world).app)) as address:
        await browse(visit)
    assert [row.client for row in await world.audited(2)] == [f"{USER} (page)"] * 2


async def test_the_keyboard_reaches_everything(world: World) -> None:
    await fill(world)

    def visit(page: Any, seen: Seen) -> None:
        page.goto(f"{address}/")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        assert page.locator(".skip").bounding_box()["width"] > 50
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.closest('#records') !== null")
        page.locator("#connect .client > summary").first.focus()
        page.keyboard.press("Enter")
        assert page.locator("#connect .client").first.get_attribute("open") is not None
        outline = "getComputedStyle(document.activeElement).outlineStyle"
        assert page.evaluate(outline) == "solid"
        page.locator("#connect .program > summary").first.press("Enter")
        page.locator("#connect .copy").first.press("Enter")
        page.wait_for_selector("text=Copied")
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied == page.locator("#connect pre code").first.inner_text()
        assert seen.problems == []

    async with served(Page(world).app) as address:
        await browse(visit, permissions=["clipboard-read", "clipboard-write"])


async def test_the_refresh_draws_anew_but_not_what_someone_is_in(world: World) -> None:
    await fill(world)

    def visit(page: Any, seen: Seen) -> None:
        page.goto(f"{address}/")
        page.click("#by-action summary")
        page.locator("#connect summary").first.click()
        page.locator("#namespaces a").first.focus()
        for place in (".tile strong", "#namespaces h2", "#by-action h2"):
            page.evaluate(f"document.querySelector('{place}').textContent = 'stale'")
        page.evaluate("redraw()")
        assert words(page, ".tile:nth-child(1) strong") == "6"
        assert words(page, "#namespaces h2") == "stale"
        assert words(page, "#by-action h2") == "stale"
        assert page.locator("#by-action details").get_attribute("open") is not None
        assert page.locator("#connect details").first.get_attribute("open") is not None
        page.click("text=Pause refresh")
        assert page.locator("text=Refresh every 30 s").count() == 1
        calm(page, seen, "")

    async with served(Page(world).app) as address:
        await browse(visit)


async def test_nothing_moves_for_those_who_asked_for_it(world: World) -> None:
    await fill(world)

    def visit(page: Any, seen: Seen) -> None:
        page.goto(f"{address}/")
        moving = f"{all_of('*')}.filter(e => parseFloat(getComputedStyle(e).transitionDuration) > 0)"
        assert page.evaluate(f"{moving}.length") == 0

    async with served(Page(world).app) as address:
        await browse(visit, reduced_motion="reduce")
