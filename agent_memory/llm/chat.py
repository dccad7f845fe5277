"""The one request and reply that every model server is spoken to with, and the client that carries them."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

TEMPERATURE = 0.1  # both APIs (seed, Model server)
STRUCTURED_TOKENS = 2048  # output cap of an extraction (seed, Model server)
PROSE_TOKENS = 512  # output cap of an answer (seed, Model server); a verdict is shorter still


class Kind(StrEnum):
    """What a call is for; each kind has its own chain of models."""

    EXTRACT = "extract"
    ANSWER = "answer"
    REVIEW = "review"


@dataclass(frozen=True)
class ReplySchema:
    """The JSON object a reply must be; `name` is what the OpenAI API wants it called."""

    name: str
    schema: Mapping[str, Any]


@dataclass(frozen=True)
class ChatRequest:
    """What is asked of a model: instructions, fenced data, an output cap in tokens, and a schema for JSON replies."""

    kind: Kind
    system: str
    user: str
    max_tokens: int
    schema: ReplySchema | None = None

    @property
    def messages(self) -> list[dict[str, str]]:
        """The request as chat turns, in the shape both APIs share."""
        return [{"role": "system", "content": self.system}, {"role": "user", "content": self.user}]


@dataclass(frozen=True)
class ChatReply:
    """A model's text as it came; `truncated` when the server stopped it at the output cap or its context."""

    text: str
    truncated: bool = False


class ModelClient(Protocol):
    """A model server's API. Calls have no deadline of their own: the caller's cancel scope ends them at any time."""

    async def probe(self) -> None:
        """Ask whether the server is there. Raises: ServerSilent, ServerRefused, BadReply: it is not."""

    async def chat(self, model: str, request: ChatRequest) -> ChatReply:
        """Ask one model once.

        Raises:
          ServerSilent: no answer, or one that broke off.
          ServerRefused: an HTTP error.
          BadReply: an answer that is not this API's.
        """
