"""The two ports of a server: agents on one, people on the other; both or none."""

import socket
from functools import partial
from pathlib import Path

import httpx
import pytest
import trio

from agent_memory import config
from agent_memory.nursery.main import Bind, CannotListen, http_config, serve
from support.http import raw


def server(  # type: ignore[type-arg]
    folder: Path, page_port: int = 0, stop: trio.Event | None = None, hosts: tuple[str, str] = ("127.0.0.1",) * 2
) -> partial:
    settings = config.load(str(folder), None, {"AGENT_MEMORY_EMBED_URL": "off"})
    return partial(
        serve,
        settings,
        bind=Bind(hosts[0], 0),
        page=Bind(hosts[1], page_port),
        mcp_url="http://127.0.0.1/mcp",
        announce=lambda _client, _token: None,
        stop=stop,
    )


async def status(address: str, path: str) -> int:
    port = int(address.rpartition(":")[2])
    return (await raw(port, f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())).status


async def test_agents_and_people_have_a_port_each_and_both_stop(tmp_path: Path) -> None:
    stop = trio.Event()
    async with trio.open_nursery() as nursery:
        agents, people = await nursery.start(server(tmp_path, stop=stop))
        assert (await status(agents, "/healthz"), await status(agents, "/records")) == (200, 404)
        assert (await status(people, "/records"), await status(people, "/healthz")) == (200, 404)
        stop.set()
    for address in (agents, people):
        with pytest.raises(OSError, match=r"refused|connect"):
            await trio.open_tcp_stream("127.0.0.1", int(address.rpartition(":")[2]))


async def test_a_taken_page_port_refuses_the_start_and_names_the_option(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CannotListen, match=rf"127.0.0.1:{port}: another process listens there; .* --page-port"):
            await server(tmp_path / "data", port)()
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("foreign", ["192.0.2.1", "2001:db8::1", "no-such-host.invalid", "a..b", "[::1]", "fe80::1"])
async def test_an_address_of_another_machine_is_refused_and_the_option_named(tmp_path: Path, foreign: str) -> None:
    for hosts, option in (((foreign, "127.0.0.1"), "--host"), (("127.0.0.1", foreign), "--page-host")):
        with pytest.raises(
            CannotListen, match=rf"no address of this machine; {option} takes 127\.0\.0\.1, .* 0\.0\.0\.0"
        ):
            await server(tmp_path / "data", hosts=hosts)()
    assert not (tmp_path / "data").exists()


def test_a_client_is_the_first_to_close_an_idle_connection() -> None:
    """Else it may send a request just as the server closes, and never learn whether that was carried out."""
    assert http_config(Bind("127.0.0.1", 0)).keep_alive_timeout > httpx.Limits().keepalive_expiry * 2
