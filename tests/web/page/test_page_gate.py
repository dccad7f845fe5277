"""The page's gate: what every answer carries, whom it refuses, and that browsers' forms pass."""

import pytest

from support.page import Page
from support.world import World

PATHS = ("/", "/records", "/review", "/records/" + "0" * 32, "/nothing/here", "/static/page.css", "/static/../app.py")


@pytest.mark.parametrize("path", PATHS)
async def test_every_answer_carries_the_security_headers(world: World, path: str) -> None:
    reply = await Page(world).get(path)
    policy = reply.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'self'" in policy  # the panel of Home Assistant is a frame of the same origin
    assert "x-frame-options" not in reply.headers
    assert reply.headers["referrer-policy"] == "no-referrer"
    assert reply.headers["x-content-type-options"] == "nosniff"
    kept = reply.status == 200 and path.startswith("/static/")
    assert reply.headers["cache-control"] == ("private, max-age=31536000, immutable" if kept else "no-store")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("peer", ["172.30.33.7", "192.168.1.4"])
async def test_other_peers_get_nothing_at_all(world: World, path: str, peer: str) -> None:
    reply = await Page(world).request("GET", path, headers={"x_ingress_path": "/api/hassio_ingress/a"}, peer=peer)
    assert reply.status == 403
    assert reply.headers["content-type"].startswith("text/plain")
    assert "content-security-policy" in reply.headers


async def test_a_browsers_origin_is_no_reason_to_refuse(world: World) -> None:
    page = Page(world)
    assert (await page.get("/", origin="http://127.0.0.1:8766")).status == 200
    assert (await page.post("/records", {"text": "x"}, origin="null")).status == 303


async def test_unknown_paths_methods_and_large_forms_are_refused_as_pages(world: World) -> None:
    page = Page(world)
    assert (await page.get("/nothing")).status == 404
    assert (await page.get("/records/short")).status == 404
    assert (await page.get("/static/app.py")).status == 404
    wrong = await page.post("/", {})
    assert (wrong.status, wrong.headers["allow"]) == (405, "GET, HEAD, OPTIONS")
    assert (await page.post("/records", {"text": "x" * 20_000})).status == 413
    assert b"That did not work" in (await page.get("/nothing")).body
