"""The client of OpenAI-style servers (llama-server, llama-swap): `GET /v1/models` and `POST /v1/chat/completions`."""

from typing import TYPE_CHECKING

from agent_memory.llm.chat import TEMPERATURE, ChatReply, ChatRequest
from agent_memory.llm.errors import BadReply
from agent_memory.llm.wire import exchange

if TYPE_CHECKING:
    import httpx


class OpenAIClient:
    """Speaks to one server over an HTTP client whose base URL ends in `/v1`."""

    def __init__(self, http: "httpx.AsyncClient") -> None:
        self._http = http

    async def probe(self) -> None:
        """See ModelClient.probe."""
        await exchange(self._http, "GET", "/models")

    async def chat(self, model: str, request: ChatRequest) -> ChatReply:
        """See ModelClient.chat."""
        body: dict[str, object] = {
            "model": model,
            "messages": request.messages,
            "stream": False,
            "temperature": TEMPERATURE,
            "max_tokens": request.max_tokens,
            "chat_template_kwargs": {"enable_thinking": False},
        }
        if request.schema is not None:
            # not `strict`: servers that know it refuse schemas with lengths, the rest hold to the schema anyway
            schema = {"name": request.schema.name, "schema": dict(request.schema.schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        answer = await exchange(self._http, "POST", "/chat/completions", body)
        choices = answer.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        message = choice.get("message") if isinstance(choice, dict) else None
        text = message.get("content") if isinstance(message, dict) else None
        if not isinstance(choice, dict) or not isinstance(text, str):
            raise BadReply("no choices[0].message.content in the answer")
        return ChatReply(text, truncated=choice.get("finish_reason") == "length")
