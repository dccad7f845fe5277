"""Clients: who may call, how a token or an address names one, and how tokens are made; keeping them is the store's."""

import hashlib
import hmac
import re
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from agent_memory.domain.errors import InvalidArgument, Unauthenticated

SCOPES = ("read", "write", "delete", "export", "admin")
ADDRESS_SCOPES = frozenset({"read"})  # an address can be borrowed by any program on that machine
CLIENT_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")  # the same pattern as the add-on's schema
# Under these the audit holds what the server does by itself, what its page and its command line do.
OWN_NAMES = frozenset({"candidate-review", "cli", "nightly", "page", "server"})
SHA256_HEX = re.compile(r"[0-9a-f]{64}")
# A prefix of our own lets the screen, and a person, recognise a token in a text.
TOKEN_PREFIX = "agentmem_"  # noqa: S105
TOKEN_BYTES = 32  # 256 bits: past guessing, so one plain SHA-256 is enough to keep

Network = IPv4Network | IPv6Network


@dataclass(frozen=True)
class Client:
    """One configured client: named by a token (its SHA-256 in hex), or by a source network, never by both.

    With neither it waits for a generated token and is known by nothing until it has one.
    """

    name: str
    scopes: frozenset[str]
    ip: Network | None = None
    token_sha256: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Identity:
    """Who is calling: the name that is audited, what it may do, and whether it may be recorded as a writer."""

    name: str
    scopes: frozenset[str]
    writer: bool


def new_token(random_bytes: Callable[[int], bytes]) -> str:
    """A fresh token: 256 random bits as URL-safe text.

    Args: random_bytes: `secrets.token_bytes`, or a fixed one in tests.
    """
    return TOKEN_PREFIX + urlsafe_b64encode(random_bytes(TOKEN_BYTES)).rstrip(b"=").decode("ascii")


def token_digest(token: str) -> str:
    """What is kept of a token: its SHA-256 as 64 lower-case hex digits."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def parse_network(text: str) -> Network:
    """An address or a CIDR network as options write it; IPv4 mapped into IPv6 becomes plain IPv4.

    Raises: InvalidArgument("ip"): neither, or a network with host bits set (the text says which network is meant).
    """
    try:
        network = ip_network(text)
    except ValueError:
        try:
            meant = f"; did you mean {ip_network(text, strict=False)}?"
        except ValueError:
            meant = ""
        raise InvalidArgument("ip", f"expected an address or a network such as 192.168.1.0/24{meant}") from None
    mapped = network.network_address.ipv4_mapped if isinstance(network, IPv6Network) else None
    if mapped is not None and network.prefixlen >= 96:
        return IPv4Network((mapped, network.prefixlen - 96))
    return network


def check_clients(clients: Iterable[Client]) -> None:
    """Refuse clients that contradict each other.

    Raises: InvalidArgument("clients"): a name, token digest or network listed twice; a client with both a network and
      a token; an unknown scope or a bad name or digest; a name of the server's own. No text repeats a digest.
    """
    names: set[str] = set()
    doors: dict[Network | str, str] = {}
    for client in clients:
        if not CLIENT_NAME.fullmatch(client.name):
            raise InvalidArgument("clients", f"a name is 1 to 40 of a-z, 0-9, _ and -, found {client.name[:60]!r}")
        if client.name in OWN_NAMES:
            raise InvalidArgument(
                "clients",
                f"{client.name} is a name of the server itself; allowed: any but {', '.join(sorted(OWN_NAMES))}",
            )
        if client.name in names:
            raise InvalidArgument("clients", f"{client.name} is listed twice")
        names.add(client.name)
        if unknown := sorted(client.scopes.difference(SCOPES)):
            raise InvalidArgument("clients", f"{client.name} has scope {unknown[0]!r}; known: {', '.join(SCOPES)}")
        if client.ip is not None and client.token_sha256 is not None:
            raise InvalidArgument("clients", f"{client.name} has ip and token_sha256; give one of them")
        if client.token_sha256 is not None and not SHA256_HEX.fullmatch(client.token_sha256):
            raise InvalidArgument("clients", f"{client.name}: token_sha256 is 64 lower-case hex digits")
        door = client.ip or client.token_sha256
        if door is not None and doors.setdefault(door, client.name) != client.name:
            what = "address" if client.ip else "token"
            raise InvalidArgument("clients", f"{doors[door]} and {client.name} have the same {what}")


def identify(clients: Iterable[Client], authorization: str | None, peer_ip: str | None) -> Identity:
    """Who a request comes from.

    A token wins over an address, and an unknown token is refused even from a known address: falling back would hide a
    mistyped token behind a client that cannot write. Without a header the narrowest network that holds the peer names
    the client, with `read` at most.

    Args:
      authorization: the Authorization header's value, or None.
      peer_ip: the TCP peer's address, or None when the transport has none; never a forwarded header.
    Raises: Unauthenticated: says whether the Authorization header was missing, malformed or unknown; holds no token.
    """
    known = tuple(clients)
    if authorization is not None:
        scheme, _, token = authorization.strip().partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise Unauthenticated("the Authorization header must read 'Bearer <token>'")
        return _by_token(known, token.strip())
    return _by_address(known, peer_ip)


def _by_token(clients: tuple[Client, ...], token: str) -> Identity:
    digest = token_digest(token)
    found: Client | None = None
    for client in clients:  # to the end, so that the time tells neither whether nor where it matched
        if hmac.compare_digest(digest, client.token_sha256 or "") and client.ip is None:
            found = client
    if found is None:
        raise Unauthenticated("the Authorization header holds an unknown token")
    return Identity(found.name, found.scopes, writer=True)


def _by_address(clients: tuple[Client, ...], peer_ip: str | None) -> Identity:
    address = _peer(peer_ip)
    networks = [(client.ip, client) for client in clients if client.ip is not None]
    holding = [(net.prefixlen, client) for net, client in networks if address is not None and address in net]
    if not holding:
        raise Unauthenticated("the Authorization header is missing; send 'Authorization: Bearer <token>'")
    client = max(holding, key=lambda pair: pair[0])[1]
    return Identity(client.name, client.scopes & ADDRESS_SCOPES, writer=False)


def _peer(peer_ip: str | None) -> IPv4Address | IPv6Address | None:
    if peer_ip is None:
        return None
    try:
        address = ip_address(peer_ip.partition("%")[0])  # a link-local peer carries its interface behind %
    except ValueError:
        return None  # a Unix socket has a path for a peer
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address
