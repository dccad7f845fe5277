"""Who a request comes from, and what a refusal may say."""

import hmac
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.domain import clients
from agent_memory.domain.clients import (
    Client,
    Identity,
    check_clients,
    identify,
    new_token,
    parse_network,
    token_digest,
)
from agent_memory.domain.errors import InvalidArgument, Unauthenticated

ALL = frozenset({"read", "write", "delete"})
TOKEN = new_token(lambda n: b"\x01" * n)
OTHER = new_token(lambda n: b"\x02" * n)
CLAUDE = Client("claude-code", ALL, token_sha256=token_digest(TOKEN))
CODEX = Client("codex", frozenset({"read"}), token_sha256=token_digest(OTHER))
LAN = Client("lan", ALL, ip=parse_network("192.168.1.0/24"))
DESK = Client("desk", frozenset({"read", "write"}), ip=parse_network("192.168.1.7"))
WAITING = Client("waiting", ALL)
EVERYONE = (CLAUDE, LAN, DESK, CODEX, WAITING)


def refusal(authorization: str | None, peer_ip: str | None = "10.0.0.1") -> str:
    with pytest.raises(Unauthenticated) as caught:
        identify(EVERYONE, authorization, peer_ip)
    return str(caught.value)


def test_a_token_names_its_client_with_its_scopes_as_a_writer() -> None:
    assert identify(EVERYONE, f"Bearer {TOKEN}", "10.0.0.1") == Identity("claude-code", ALL, writer=True)
    assert identify(EVERYONE, f"bearer  {OTHER} ", None) == Identity("codex", frozenset({"read"}), writer=True)


def test_a_token_wins_over_an_address() -> None:
    assert identify(EVERYONE, f"Bearer {TOKEN}", "192.168.1.7").name == "claude-code"


def test_an_address_client_reads_at_most_and_writes_nothing() -> None:
    assert identify(EVERYONE, None, "192.168.1.9") == Identity("lan", frozenset({"read"}), writer=False)
    nothing = Client("quiet", frozenset({"write"}), ip=parse_network("::1"))
    assert identify([nothing], None, "::1").scopes == frozenset()


def test_the_narrowest_network_names_the_client() -> None:
    assert identify(EVERYONE, None, "192.168.1.7").name == "desk"


@pytest.mark.parametrize("peer", ["::ffff:192.168.1.9", "::ffff:c0a8:109"])
def test_a_peer_mapped_into_ipv6_is_the_ipv4_peer(peer: str) -> None:
    assert identify(EVERYONE, None, peer).name == "lan"


def test_a_link_local_peer_is_known_without_its_interface() -> None:
    link = Client("link", ALL, ip=parse_network("fe80::/10"))
    assert identify([link], None, "fe80::1%eth0").name == "link"


def test_a_refusal_says_what_was_wrong_with_which_header() -> None:
    assert refusal(None) == "the Authorization header is missing; send 'Authorization: Bearer <token>'"
    assert refusal(None, None) == refusal(None, "not an address") == refusal(None)
    assert refusal("Bearer nope") == "the Authorization header holds an unknown token"
    assert "must read 'Bearer <token>'" in refusal("Basic dXNlcjpwYXNz")
    assert "must read 'Bearer <token>'" in refusal("Bearer ")
    assert "must read 'Bearer <token>'" in refusal("")


def test_an_unknown_token_is_refused_even_from_a_known_address() -> None:
    assert "unknown token" in refusal("Bearer nope", "192.168.1.9")


def test_a_client_without_a_token_yet_is_known_by_none() -> None:
    for token in ("", "None", token_digest("")):
        with pytest.raises(Unauthenticated):
            identify([WAITING], f"Bearer {token}", None)


@given(st.from_regex(r"zq[A-Za-z0-9._~+/-]{8,60}", fullmatch=True))
def test_a_refusal_never_repeats_what_was_sent(token: str) -> None:
    for header in (f"Bearer {token}", token, f"Basic {token}"):
        assert token not in refusal(header)


def test_every_client_is_compared_in_constant_time_to_the_end() -> None:
    with patch.object(clients.hmac, "compare_digest", wraps=hmac.compare_digest) as compare:
        identify(EVERYONE, f"Bearer {TOKEN}", None)
    assert compare.call_count == len(EVERYONE)


def test_a_digest_never_stands_in_a_repr() -> None:
    assert token_digest(TOKEN) not in repr(CLAUDE)


def test_a_token_is_recognisable_and_holds_256_bits() -> None:
    assert TOKEN.startswith("agentmem_")
    assert len(TOKEN) == len("agentmem_") + 43
    assert new_token(lambda n: bytes(range(n))) != TOKEN


def test_networks_are_read_as_options_write_them() -> None:
    assert str(parse_network("192.168.1.7")) == "192.168.1.7/32"
    assert str(parse_network("::ffff:192.168.1.7")) == "192.168.1.7/32"
    assert str(parse_network("::ffff:10.0.0.0/104")) == "10.0.0.0/8"
    with pytest.raises(InvalidArgument, match=r"did you mean 192\.168\.1\.0/24"):
        parse_network("192.168.1.7/24")
    with pytest.raises(InvalidArgument, match="expected an address"):
        parse_network("home")


@pytest.mark.parametrize(
    ("listed", "problem"),
    [
        ([CLAUDE, Client("claude-code", ALL)], "claude-code is listed twice"),
        ([CLAUDE, Client("x", ALL, token_sha256=CLAUDE.token_sha256)], "same token"),
        ([LAN, Client("x", ALL, ip=LAN.ip)], "same address"),
        ([Client("x", ALL, ip=LAN.ip, token_sha256="0" * 64)], "give one of them"),
        ([Client("server", ALL)], "server is a name of the server itself; allowed: any but candidate-review, cli"),
        ([Client("x", frozenset({"root"}))], "known: read, write"),
        ([Client("X", ALL)], "1 to 40 of a-z"),
        ([Client("a" * 41, ALL)], "1 to 40 of a-z"),
        ([Client("x", ALL, token_sha256=TOKEN)], "64 lower-case hex"),
    ],
)
def test_clients_that_contradict_each_other_are_refused(listed: list[Client], problem: str) -> None:
    with pytest.raises(InvalidArgument, match=problem) as caught:
        check_clients(listed)
    assert TOKEN not in str(caught.value)


def test_the_default_clients_agree() -> None:
    check_clients(EVERYONE)
