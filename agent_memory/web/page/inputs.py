"""What the page is handed by the parts it does not read from the store: clients, model servers, encoder."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from apsw import Connection

from agent_memory.domain.clients import Client
from agent_memory.llm.servers import ServerStatus


@dataclass(frozen=True, slots=True)
class EncoderStatus:
    """The encoder as its tasks see it.

    Fields:
      state: one line for people: what it is, where, or why it does not answer; no credentials.
      live: whether it answered its last probe.
      vectors: live records that have a current vector.
      waiting: live records that have none yet.
      latency_ms: how long a text took; None while that is not known.
    """

    state: str
    live: bool
    vectors: int
    waiting: int
    latency_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Inputs:
    """Where the page looks at each request; every function answers at once and never fails.

    Fields:
      mcp_url: the server's MCP URL as an agent reaches it.
      clients: the known clients.
      servers: the model servers, in the order they are preferred; empty when none is configured.
      encoder: the encoder, or None when vectors are off.
      standing_questions: how many standing questions the store holds.
    """

    mcp_url: str
    clients: Callable[[], Sequence[Client]]
    servers: Callable[[], Sequence[ServerStatus]] = tuple
    encoder: Callable[[], EncoderStatus | None] = lambda: None
    standing_questions: Callable[[Connection], int] = lambda _conn: 0
