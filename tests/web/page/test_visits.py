"""Who may look at the page, under whose name, and where its links start."""

import pytest

from agent_memory.cli.transfer import CLIENT
from agent_memory.domain.clients import CLIENT_NAME, OWN_NAMES
from agent_memory.nursery.answers import SERVER
from agent_memory.nursery.review import NIGHTLY, REVIEWER
from agent_memory.tools.anchors import SWEEPER
from agent_memory.web.page.visits import LOOPBACK_USER, SUPERVISOR, Visit, admit
from agent_memory.web.requests import RequestRefused
from support.page import INGRESS

HOST = [(b"host", b"localhost:8766")]


def visit(peer: str | None, *headers: tuple[bytes, bytes], hosts: tuple[str, ...] = ()):  # type: ignore[no-untyped-def]
    return admit(peer, headers, allowed_hosts=hosts)


@pytest.mark.parametrize("peer", ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"])
def test_this_machine_may_look(peer: str) -> None:
    assert visit(peer, *HOST) == Visit(LOOPBACK_USER, "")


@pytest.mark.parametrize(
    "peer",
    ["192.168.1.20", "172.30.32.1", "172.30.33.4", "172.17.0.1", "fd00::1", "::ffff:10.0.0.1", "", "unix:x", None],
)
def test_nobody_else_may_whatever_the_headers_say(peer: str | None) -> None:
    lies = [(b"x-forwarded-for", b"127.0.0.1"), (b"x-real-ip", SUPERVISOR.encode()), (b"forwarded", b"for=127.0.0.1")]
    lies += [
        (b"x-ingress-path", INGRESS.encode()),
        (b"x-remote-user-name", b"anna"),
        (b"x-hass-source", b"core.ingress"),
    ]
    with pytest.raises(RequestRefused) as refusal:
        visit(peer, *HOST, *lies)
    assert refusal.value.status == 403


@pytest.mark.parametrize("peer", [SUPERVISOR, f"::ffff:{SUPERVISOR}"])
def test_home_assistants_user_comes_with_the_supervisor(peer: str) -> None:
    ingress = [(b"x-ingress-path", INGRESS.encode()), (b"x-remote-user-name", "Anna  Ärger\n".encode())]
    assert visit(peer, (b"host", b"homeassistant.local:8123"), *ingress) == Visit("Anna Ärger (page)", INGRESS)


def test_a_user_header_on_this_machine_is_no_user() -> None:
    assert visit("127.0.0.1", *HOST, (b"x-remote-user-name", b"anna")).user == LOOPBACK_USER


def test_a_person_is_told_apart_from_an_agent_and_from_the_server_itself() -> None:
    for name in (*OWN_NAMES, "codex"):
        user = visit(SUPERVISOR, (b"x-remote-user-name", name.encode())).user
        assert user == f"{name} (page)"
        assert user not in OWN_NAMES
        assert not CLIENT_NAME.fullmatch(user)
    assert visit(SUPERVISOR, (b"x-remote-user-name", b" ")).user == LOOPBACK_USER
    assert len(visit(SUPERVISOR, (b"x-remote-user-name", b"x" * 500)).user) == 47


def test_the_names_of_the_server_itself_are_those_it_writes() -> None:
    assert {LOOPBACK_USER, REVIEWER, NIGHTLY, SWEEPER, SERVER, CLIENT} == OWN_NAMES


@pytest.mark.parametrize("host", [b"evil.example:8766", b"127.0.0.1.evil.example", b"", b"[::2]:8766"])
def test_a_name_made_to_point_here_is_refused(host: bytes) -> None:
    with pytest.raises(RequestRefused) as refusal:
        visit("127.0.0.1", (b"host", host))
    assert refusal.value.code == "host_refused"


@pytest.mark.parametrize("host", [b"localhost", b"LOCALHOST:9", b"127.0.0.1:8766", b"[::1]:8766", b"memory.lan"])
def test_this_machines_names_and_allowed_ones_are_answered(host: bytes) -> None:
    assert visit("127.0.0.1", (b"host", host), hosts=("memory.lan",))


@pytest.mark.parametrize(
    "base",
    [
        '/api/hassio_ingress/x"><script>',
        "/api/hassio_ingress/",
        "/api/hassio_ingress/a/../b",
        "//evil.example",
        "javascript:",
        f"{INGRESS}/",
        f"{INGRESS}\n",
    ],
)
@pytest.mark.parametrize("peer", [SUPERVISOR, "127.0.0.1"])
def test_a_crooked_ingress_path_is_refused(base: str, peer: str) -> None:
    with pytest.raises(RequestRefused) as refusal:
        visit(peer, *HOST, (b"x-ingress-path", base.encode()))
    assert refusal.value.status == 400


def test_links_start_at_the_ingress_path_or_as_many_steps_up_as_it_takes() -> None:
    assert Visit("page", INGRESS).root("/records/0123") == f"{INGRESS}/"
    plain = Visit("page", "")
    assert [plain.root(path) for path in ("/", "/records", "/records/x", "/a/b/c")] == ["./", "./", "../", "../../"]
