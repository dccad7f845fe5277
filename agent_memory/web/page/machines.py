"""Model servers and the encoder as cards: pure functions from what the nursery hands over to what the page shows."""

from collections.abc import Iterable
from dataclasses import dataclass

from agent_memory.llm.servers import ServerStatus
from agent_memory.web.page.drawings import Part
from agent_memory.web.page.inputs import EncoderStatus


@dataclass(frozen=True, slots=True)
class ServerCard:
    """A model server: its address, its state in a word and a tone, calls in flight, and latency (empty: unknown)."""

    address: str
    state: str
    tone: str
    in_flight: int
    latency: str
    direct: bool


@dataclass(frozen=True, slots=True)
class EncoderCard:
    """The encoder: a line about it, its state, latency (empty: unknown), and how many live records have a vector."""

    line: str
    state: str
    tone: str
    latency: str
    parts: tuple[Part, ...]
    total: int


def server_cards(servers: Iterable[ServerStatus]) -> tuple[ServerCard, ...]:
    """One card a server, in the order given."""
    return tuple(
        ServerCard(each.url, *_state(each.live), each.in_flight, _latency(each.latency_ms), each.direct)
        for each in servers
    )


def encoder_card(encoder: EncoderStatus | None) -> EncoderCard | None:
    """The encoder's card, or None when vectors are off."""
    if encoder is None:
        return None
    parts = (Part("with a vector", encoder.vectors, "active"), Part("waiting", encoder.waiting, "candidate"))
    return EncoderCard(
        encoder.state,
        *_state(encoder.live),
        _latency(encoder.latency_ms),
        parts,
        encoder.vectors + encoder.waiting,
    )


def _state(live: bool) -> tuple[str, str]:
    return ("live", "good") if live else ("down", "bad")


def _latency(latency_ms: float | None) -> str:
    if latency_ms is None:
        return ""
    return f"{latency_ms:.0f} ms" if latency_ms < 1000 else f"{latency_ms / 1000:.1f} s"
