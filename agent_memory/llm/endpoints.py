"""The addresses of model servers: what an option may hold, which API it speaks, and how it is shown."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from agent_memory.domain.errors import InvalidArgument


@dataclass(frozen=True)
class Endpoint:
    """A configured server. `url` may hold credentials and is for the HTTP client alone; `shown` is for everyone else.

    `direct` servers are asked only while no other is live.
    """

    url: str
    shown: str
    openai: bool
    direct: bool = False


def read_endpoint(url: str, field: str, *, direct: bool = False) -> Endpoint:
    """Check a server address: http or https with a host; one that ends in `/v1` speaks the OpenAI-style API.

    Raises: InvalidArgument: anything else; the text never repeats the credentials of the URL.
    """
    import httpx  # here: most servers have no model server, and never need it

    text = url.strip().rstrip("/")
    try:
        parts = urlsplit(text)
        port = parts.port
        # The client's own rules (IDNA hosts, control characters) are checked here, not at the first call.
        httpx.URL(text)
    except (ValueError, httpx.InvalidURL):
        raise InvalidArgument(field, "found an address that is no URL; allowed: http://host[:port][/v1]") from None
    if (
        parts.scheme not in {"http", "https"}
        or not parts.hostname
        or parts.query
        or parts.fragment
        or len(text.split()) != 1
    ):
        raise InvalidArgument(field, "allowed: http:// or https:// with a host, without spaces, query or fragment")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    shown = f"{parts.scheme}://{host}{f':{port}' if port else ''}{parts.path}"
    return Endpoint(text, shown, parts.path.endswith("/v1"), direct)


def read_endpoints(url: str | None, fallback_url: str | None, direct_urls: Sequence[str]) -> tuple[Endpoint, ...]:
    """The servers of the options `ollama_url`, `ollama_fallback_url` and `ollama_direct_urls`, in that order.

    None and empty texts mean unset; an address named twice is used once, in its first place.
    Raises: InvalidArgument: an address is not acceptable.
    """
    named = [
        read_endpoint(text, field, direct=field == "ollama_direct_urls")
        for field, texts in (
            ("ollama_url", [url]),
            ("ollama_fallback_url", [fallback_url]),
            ("ollama_direct_urls", direct_urls),
        )
        for text in texts
        if text and text.strip()
    ]
    return tuple({endpoint.shown: endpoint for endpoint in reversed(named)}[shown] for shown in _first(named))


def _first(endpoints: Sequence[Endpoint]) -> list[str]:
    return list(dict.fromkeys(endpoint.shown for endpoint in endpoints))
