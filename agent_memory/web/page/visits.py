"""Who is looking at the page: which peers may, whose name an action carries, and where links start.

The page is for people on the same machine and for Home Assistant's ingress, which has checked its user. What counts is
the address the connection comes from; a header alone proves nothing.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import Final

from agent_memory.web.requests import Headers, RequestRefused, header, host

SUPERVISOR: Final = "172.30.32.2"  # ADDON.md section 4: the Supervisor's fixed address on the network of the add-ons
LOOPBACK_USER: Final = "page"
USER_MAX_CHARS: Final = 40
_INGRESS: Final = re.compile(r"/api/hassio_ingress/[A-Za-z0-9_-]+")
_LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})


@dataclass(frozen=True, slots=True)
class Visit:
    """An allowed request: the name an action is audited under, and the ingress path in front of ours (or empty)."""

    user: str
    base: str

    def root(self, path: str) -> str:
        """What every link on the page at `path` starts with: the ingress path, or as many steps up as it takes."""
        return f"{self.base}/" if self.base else "../" * (path.count("/") - 1) or "./"


def admit(peer: str | None, headers: Headers, *, allowed_hosts: Sequence[str]) -> Visit:
    """Let a request in.

    Args:
      peer: the address the connection comes from.
      allowed_hosts: further names that a browser on this machine may use in its Host header.
    Raises: RequestRefused: 403 for a peer that is neither this machine nor the Supervisor, and for a foreign Host on
      this machine (a web page elsewhere whose name was made to resolve to 127.0.0.1); 400 for a crooked ingress path.
    """
    supervisor = _is_supervisor(peer)
    if not supervisor and not _is_loopback(peer):
        raise RequestRefused(403, "peer_refused", "the page answers this machine and Home Assistant's ingress only")
    if not supervisor and host(headers) not in _LOOPBACK_NAMES.union(allowed_hosts):
        raise RequestRefused(
            403, "host_refused", "open the page as http://127.0.0.1 or http://localhost, with its port"
        )
    base = _text(headers, b"x-ingress-path")
    if base and not _INGRESS.fullmatch(base):
        raise RequestRefused(400, "bad_ingress_path", "the X-Ingress-Path header is not one of Home Assistant's")
    return Visit(_user(headers) if supervisor else LOOPBACK_USER, base)


def _user(headers: Headers) -> str:
    """The Home Assistant user's name, from the header that the Supervisor sets and that no browser can.

    It says where it comes from, in characters that no client's name and no name of the server's own may hold, so that
    nobody in the audit is taken for somebody else.
    """
    given = " ".join(_text(headers, b"x-remote-user-name").split())[:USER_MAX_CHARS]
    name = "".join(character for character in given if character.isprintable())
    return f"{name} ({LOOPBACK_USER})" if name else LOOPBACK_USER


def _is_supervisor(peer: str | None) -> bool:
    return peer is not None and _plain(peer) == SUPERVISOR


def _is_loopback(peer: str | None) -> bool:
    try:
        return peer is not None and ip_address(_plain(peer)).is_loopback
    except ValueError:
        return False


def _plain(peer: str) -> str:
    """An address without the IPv6 form that a socket for both families gives to IPv4 peers."""
    try:
        address = ip_address(peer)
    except ValueError:
        return peer
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)


def _text(headers: Headers, name: bytes) -> str:
    return (header(headers, name) or b"").decode("utf-8", "replace")
