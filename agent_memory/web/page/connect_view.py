"""Connect an agent: for each client the commands of every program, without a token, which the page never knows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agent_memory.domain.clients import Client
from agent_memory.domain.connect import PROGRAMS, Step, program_of, steps

CLIENTS_SHOWN: Final = 8  # with their commands; a page of 150 KB holds no more
NAMES: Final = {
    "claude-code": "Claude Code",
    "codex": "Codex",
    "cursor": "Cursor",
    "vscode": "VS Code",
    "gemini": "Gemini CLI",
    "opencode": "opencode",
}


@dataclass(frozen=True, slots=True)
class ProgramCard:
    """A program's name and what to do to connect it."""

    name: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class ClientCard:
    """A client: its name, what it may do, how it is known, and the programs, the one it is named after first."""

    name: str
    scopes: tuple[str, ...]
    known_by: str
    own: str
    programs: tuple[ProgramCard, ...]


def client_cards(clients: Sequence[Client], mcp_url: str) -> tuple[tuple[ClientCard, ...], tuple[str, ...]]:
    """Cards for the first clients, and the names of those that come after."""
    cards = tuple(_card(client, mcp_url) for client in clients[:CLIENTS_SHOWN])
    return cards, tuple(client.name for client in clients[CLIENTS_SHOWN:])


def _card(client: Client, mcp_url: str) -> ClientCard:
    own = program_of(client.name)
    order = sorted(PROGRAMS, key=lambda name: (name != own, list(PROGRAMS).index(name)))
    known_by = f"its address, {client.ip}, for reading only" if client.ip is not None else "its token"
    return ClientCard(
        name=client.name,
        scopes=tuple(sorted(client.scopes)),
        known_by=known_by,
        own=NAMES.get(own or "", ""),
        programs=tuple(ProgramCard(NAMES.get(name, name), steps(name, mcp_url)) for name in order),
    )
