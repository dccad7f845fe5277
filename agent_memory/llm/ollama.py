"""The client of Ollama's own API: `GET /api/tags` and `POST /api/chat`."""

from typing import TYPE_CHECKING

from agent_memory.llm.chat import TEMPERATURE, ChatReply, ChatRequest
from agent_memory.llm.errors import BadReply
from agent_memory.llm.wire import exchange

if TYPE_CHECKING:
    import httpx


class OllamaClient:
    """Speaks to one Ollama server over an HTTP client whose base URL is the server's root."""

    def __init__(self, http: "httpx.AsyncClient") -> None:
        self._http = http

    async def probe(self) -> None:
        """See ModelClient.probe."""
        await exchange(self._http, "GET", "/api/tags")

    async def chat(self, model: str, request: ChatRequest) -> ChatReply:
        """See ModelClient.chat; `format: json` stands in for the schema, which the prompt spells out."""
        body: dict[str, object] = {
            "model": model,
            "messages": request.messages,
            "stream": False,
            "think": False,  # a thinking model fills the 4096-token default context before it writes the reply
            "options": {"temperature": TEMPERATURE, "num_predict": request.max_tokens},
        }
        if request.schema is not None:
            body["format"] = "json"
        answer = await exchange(self._http, "POST", "/api/chat", body)
        message = answer.get("message")
        text = message.get("content") if isinstance(message, dict) else None
        if not isinstance(text, str):
            raise BadReply("no message.content in the answer")
        return ChatReply(text, truncated=answer.get("done_reason") == "length")
