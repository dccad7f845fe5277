"""The status page against a store with known contents: every card, exact numbers, and no word too many."""

import re
from datetime import timedelta
from functools import partial
from html import unescape

from agent_memory import __version__
from agent_memory.domain.connect import PROGRAMS
from agent_memory.web.page import facts, status_view
from agent_memory.web.page.connect_view import client_cards
from agent_memory.web.page.tiles import Server
from agent_memory.web.page.visits import SUPERVISOR
from support.page import CLIENTS, HOSTILE, IMAGE, INGRESS, NOW, QUOTES, SCRIPT, SECRET_TEXT, USER, Page, fill, ingress
from support.world import ELSEWHERE, HERE, World

CARDS = (
    "Records by type and status",
    "Namespaces",
    "Audit by action",
    "Audit by client",
    "Model servers",
    "Encoder",
    "Nightly review",
    "Anchor sweep",
    "Unused records",
    "Latest audit rows",
    "Connect an agent",
)


async def view_of(world: World) -> status_view.StatusView:
    """The view as the route builds it."""
    found = await world.store.read(partial(facts.gather, now=NOW, standing_questions=lambda _conn: 4))
    server = Server(__version__, NOW - timedelta(hours=3, minutes=4), 4_200_000, "wal")
    return status_view.build(found, server, servers=(), encoder=None, clients=(), clients_more=(), now=NOW)


async def test_the_tiles_say_what_the_store_holds(world: World) -> None:
    await fill(world)
    view = await view_of(world)
    assert [(tile.label, tile.value) for tile in view.tiles] == [
        ("Records", "6"),
        ("Candidates", "2"),
        ("Questions", "4"),
        ("Sessions", "1"),
        ("Jobs", "0"),
        ("Database", "4.2 MB"),
        ("Version", __version__),
        ("Uptime", "3 h 4 min"),
    ]
    assert [tile.label for tile in view.tiles if tile.alert] == ["Candidates"]


async def test_records_are_counted_by_type_state_and_namespace(world: World) -> None:
    await fill(world)
    view = await view_of(world)
    assert {part.label: part.value for part in view.states.parts} == {
        "active": 6, "candidate": 2, "superseded": 1, "forgotten": 1
    }  # fmt: skip
    assert {row.label: row.total for row in view.types} == {"decision": 2, "constraint": 1, "fact": 7}
    assert {part.label: part.value for part in view.types[0].parts if part.value} == {"active": 1, "superseded": 1}
    assert [(row.label, row.total) for row in view.namespaces] == [(HERE, 9), (ELSEWHERE, 1)]
    assert (view.widest_type, view.widest_namespace, view.namespaces_more) == (7, 9, 0)


async def test_the_audit_of_a_day_is_counted_by_hour_action_and_client(world: World) -> None:
    await fill(world)
    view = await view_of(world)
    actions = {series.label: series.total for series in view.by_action.series}
    # the refused store of the reader counts too; what happened 41 days ago does not
    assert actions == {
        "store": 7, "supersede": 1, "forget": 1, "corroborate": 1, "session-close": 1, "candidate-review": 1,
        "anchor-sweep": 1,
    }  # fmt: skip
    clients = {series.label: series.total for series in view.by_client.series}
    assert clients == {"owner": 9, "author": 1, "reader": 1, "server": 2}
    stores = next(series for series in view.by_action.series if series.label == "store")
    hours = dict(zip(view.by_action.times, stores.values, strict=True))
    assert {time: count for time, count in hours.items() if count} == {"07:00": 3, "11:00": 3, "12:00": 1}


async def test_an_action_has_one_name_whether_it_was_done_or_refused(world: World) -> None:
    await world.call("session_close", namespace=HERE, summary="done")
    assert (await world.rest("session_close", "reader", namespace=HERE, summary="done")).status == 403
    view = await view_of(world)
    assert {series.label: series.total for series in view.by_action.series} == {"session-close": 2}
    named = {line.outcome: line.action for line in view.audit if line.client != "server"}
    assert named == {"ok": "session-close", "refused": "session-close"}


async def test_the_counts_of_hours_match_the_audit_and_old_ones_go(world: World) -> None:
    await fill(world)
    by_row = await world.rows("SELECT count(*) FROM audit WHERE at >= '2025-12-31'")
    kept = await world.rows("SELECT sum(rows), min(hour) FROM audit_hours")
    assert kept[0][0] == by_row[0][0]
    assert str(kept[0][1]) >= "2025-12-30T12"


async def test_timed_tasks_show_their_last_run(world: World) -> None:
    await fill(world)
    view = await view_of(world)
    assert view.review is not None
    assert view.sweep is not None
    assert [(part.label, part.value) for part in view.review.parts] == [("forgotten", 2), ("kept", 3)]
    assert [(part.label, part.value) for part in view.review.counts] == [("candidates", 5)]
    assert view.review.other == (("model", f"qwen {SCRIPT}"),)
    assert view.review.ago == "9 h ago"
    assert [(part.label, part.value) for part in view.sweep.parts] == [("checked", 12), ("unavailable", 4)]


async def test_unused_records_are_the_old_ones_that_nothing_returned(world: World) -> None:
    ids = (await fill(world)).ids
    view = await view_of(world)
    assert [(each.id, each.title, each.returned) for each in view.unused] == [(ids[SCRIPT], SCRIPT, "never")]
    assert (view.unused_more, view.counting_days) == (False, 0)


async def test_unused_records_wait_until_counting_ran_for_30_days(world: World) -> None:
    await fill(world)
    found = await world.store.read(
        partial(facts.gather, now=NOW - timedelta(days=12, hours=1), standing_questions=lambda _conn: 0)
    )
    assert found.unused == []
    server = Server(__version__, NOW, 0, "wal")
    early = NOW - timedelta(days=12, hours=1)
    view = status_view.build(found, server, servers=(), encoder=None, clients=(), clients_more=(), now=early)
    assert view.counting_days == 2


async def test_the_page_holds_every_card_and_shows_hostile_texts_as_text(world: World) -> None:
    await fill(world)
    reply = await Page(world).get("/")
    text = reply.body.decode()
    assert reply.status == 200
    headings = [unescape(found) for found in re.findall(r"<h2[^>]*>(.*?)</h2>", text)]
    assert headings == list(CARDS)
    assert SCRIPT in unescape(text)
    assert "<script>document" not in text
    assert "<img" not in text
    assert "{{" not in text
    assert re.findall(r"<script(?![^>]* src=)", text) == []
    assert re.findall(r"\s(on\w+|style)=", re.sub(r'"[^"]*"', '""', text)) == []


async def test_the_status_page_tells_titles_of_unused_records_alone(world: World) -> None:
    """The seed lists titles there and nowhere else on it; contents, quotes and reasons nowhere."""
    contents = await fill(world)
    text = unescape((await Page(world).get("/")).body.decode())
    for title in contents.ids:
        assert (title in text) == (title == SCRIPT), title
    for word in (SECRET_TEXT, "quoted words", "seen <", "Done.", "The cache holds", IMAGE, QUOTES):
        assert word not in text


async def test_clients_get_every_programs_commands_and_no_token(world: World) -> None:
    text = unescape((await Page(world).get("/")).body.decode())
    assert "<token>" in text
    assert "agentmem_" not in text
    cards, more = client_cards(CLIENTS, "http://127.0.0.1:8765/mcp")
    assert len(cards) + len(more) == len(CLIENTS)
    for card in cards:
        assert len(card.programs) == len(PROGRAMS)
        assert card.name in text
    assert "its address, 192.0.2.7/32, for reading only" in {card.known_by for card in cards}


async def test_machines_are_shown_or_said_to_be_missing(world: World) -> None:
    text = (await Page(world).get("/")).body.decode()
    for words in (
        "gpu.example",
        "2 in flight",
        "41 ms",
        "down",
        "only when the others are down",
        "13 ms",
        "embedded, ready",
    ):
        assert words in text
    text = (await Page(world, machines=False).get("/")).body.decode()
    assert "Not configured. Storing and finding work without one." in text
    assert "Not configured. Search ranks by words alone." in text


async def test_an_empty_store_has_a_page_too(world: World) -> None:
    text = (await Page(world).get("/")).body.decode()
    assert "No record yet." in text
    assert "Nothing was written in the last 24 hours." in text
    assert text.count("Not run yet.") == 2


async def test_links_and_assets_hold_under_ingress_and_without_it(world: World) -> None:
    await fill(world)
    page = Page(world)
    plain = (await page.get("/")).body.decode()
    assert not re.findall(r'(?:href|src|action)="/', plain)
    assert not re.findall(r'(?:href|src|action)="https?:', plain)
    under = (await page.request("GET", "/", headers=ingress(USER), peer=SUPERVISOR)).body.decode()
    links = re.findall(r'(?:href|src|action)="([^"]*)"', under)
    assert all(link.startswith((f"{INGRESS}/", "#")) for link in links)


async def test_no_hostile_text_leaves_its_place(world: World) -> None:
    """Also where it comes from clients' names, models and namespaces: every value of every page is escaped."""
    contents = await fill(world)
    page = Page(world)
    for path in ("/", "/records", "/review", f"/review/{contents.candidate}", f"/records/{contents.ids['Newer']}"):
        text = (await page.get(path)).body.decode()
        for hostile in HOSTILE:
            assert hostile not in text, path
