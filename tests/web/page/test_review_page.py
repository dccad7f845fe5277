"""Candidates beside their neighbours, and the two decisions about one: who, when, and against forged requests."""

import re
from html import unescape
from typing import Any

import pytest

from agent_memory.store.audit import AuditRow
from agent_memory.web.page.visits import LOOPBACK_USER, SUPERVISOR
from support.page import INGRESS, USER, Page, fill, ingress
from support.world import World


def form_of(body: bytes) -> dict[str, str]:
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="(\w+)">', body.decode()))


async def state(world: World, record_id: str) -> str:
    return str((await world.rows("SELECT status FROM records WHERE id = ?", (record_id,)))[0][0])


async def last(world: World) -> AuditRow:
    return (await world.audited(1))[0]


async def test_waiting_candidates_are_listed_oldest_first(world: World) -> None:
    contents = await fill(world)
    text = (await Page(world).get("/review")).body.decode()
    assert "2 candidates waiting" in text
    assert text.index(contents.candidate) < text.rindex("/review/")
    assert "from extraction" in text


async def test_a_candidate_stands_beside_its_neighbours_with_the_words_that_differ(world: World) -> None:
    contents = await fill(world)
    text = unescape((await Page(world).get(f"/review/{contents.candidate}")).body.decode())
    assert contents.near in text
    assert "<del>thirty seconds. </del><ins>ninety seconds, I think. </ins>" in text or "<ins>" in text
    assert re.search(r"<del>[^<]*thirty", text)
    assert re.search(r"<ins>[^<]*ninety", text)
    assert f'records/{contents.candidate}"' in text
    neighbours = re.findall(r'<h3><a href="\.\./records/(\w+)"', text)
    assert contents.candidate not in neighbours


async def test_promote_makes_it_active_under_the_visitors_name(world: World) -> None:
    contents = await fill(world)
    page, path = Page(world), f"/review/{contents.candidate}"
    form = form_of((await page.get(path)).body)
    reply = await page.post(path, {**form, "decision": "promote"})
    assert reply.status == 303
    assert re.fullmatch(r"\.\./review/[0-9a-f]{32}", reply.headers["location"])
    assert await state(world, contents.candidate) == "active"
    row = await last(world)
    assert (row.client, row.action, row.record_id) == (LOOPBACK_USER, "update", contents.candidate)
    assert row.context == {"fields": "status", "via": "page"}


async def test_forget_through_ingress_is_audited_as_the_home_assistant_user(world: World) -> None:
    contents = await fill(world)
    page, path = Page(world), f"/review/{contents.candidate}"
    shown = await page.request("GET", path, headers=ingress(), peer=SUPERVISOR)
    form = form_of(shown.body)
    reply = await page.post(path, {**form, "decision": "forget"}, peer=SUPERVISOR, **ingress())
    assert reply.headers["location"].startswith(f"{INGRESS}/review/")
    assert await state(world, contents.candidate) == "deleted"
    row = await last(world)
    assert (row.client, row.action, row.context) == (f"{USER} (page)", "forget", {"via": "page"})


async def refused(world: World, page: Page, record_id: str, form: dict[str, str], status: int, **where: Any) -> None:
    before = await world.audited(1)
    reply = await page.post(f"/review/{record_id}", form, **where)
    assert reply.status == status
    assert await state(world, record_id) == "candidate"
    assert await world.audited(1) == before


@pytest.mark.parametrize("token", [None, "", "0" * 64, "é", "of another user", "of another process"])
async def test_a_forged_form_changes_nothing(world: World, token: str | None) -> None:
    contents = await fill(world)
    page, path = Page(world), f"/review/{contents.candidate}"
    if token == "of another user":
        token = form_of((await page.request("GET", path, headers=ingress("Eve"), peer=SUPERVISOR)).body)["token"]
    elif token == "of another process":
        token = form_of((await Page(world).get(path)).body)["token"]
    form = {"revision": "1", "decision": "promote", **({} if token is None else {"token": token})}
    await refused(world, page, contents.candidate, form, 403)


async def test_without_the_option_there_are_no_buttons_and_no_decisions(world: World) -> None:
    contents = await fill(world)
    token = form_of((await Page(world).get(f"/review/{contents.candidate}")).body)["token"]
    page = Page(world, actions=False)
    assert b"<form" not in (await page.get(f"/review/{contents.candidate}")).body
    form = {"revision": "1", "decision": "forget", "token": token}
    await refused(world, page, contents.candidate, form, 403)


@pytest.mark.parametrize("wrong", [{"revision": "2"}, {"revision": "x"}, {"decision": "erase"}, {"decision": ""}])
async def test_a_decision_holds_for_the_revision_that_was_read(world: World, wrong: dict[str, str]) -> None:
    contents = await fill(world)
    page = Page(world)
    form = form_of((await page.get(f"/review/{contents.candidate}")).body) | {"decision": "forget", **wrong}
    await refused(world, page, contents.candidate, form, 409 if wrong == {"revision": "2"} else 422)


async def test_a_record_that_is_no_candidate_any_more_stays_as_it_is(world: World) -> None:
    contents = await fill(world)
    page, path = Page(world), f"/review/{contents.candidate}"
    form = form_of((await page.get(path)).body) | {"decision": "forget"}
    await world.call("update", id=contents.candidate, revision=1, changes={"status": "active"})
    assert (await page.post(path, form)).status == 409
    assert await state(world, contents.candidate) == "active"
    shown = await page.get(path)
    assert (shown.status, shown.headers["location"]) == (303, f"../records/{contents.candidate}")


async def test_a_get_never_decides(world: World) -> None:
    contents = await fill(world)
    page = Page(world)
    token = form_of((await page.get(f"/review/{contents.candidate}")).body)["token"]
    await page.get(f"/review/{contents.candidate}?decision=forget&revision=1&token={token}")
    assert await state(world, contents.candidate) == "candidate"
