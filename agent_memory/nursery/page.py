"""What the page is handed: the settings that concern it, and how it asks clients, encoder and model servers."""

from dataclasses import dataclass

from agent_memory.config import Settings
from agent_memory.encoder.protocol import Encoder
from agent_memory.llm.router import Router
from agent_memory.nursery.embedding import Embedder
from agent_memory.retrieval.live import LiveIndexes
from agent_memory.store import questions
from agent_memory.tools.services import Services
from agent_memory.web.auth import Doorkeeper
from agent_memory.web.gate import App
from agent_memory.web.page.app import PageSettings, build_page
from agent_memory.web.page.inputs import EncoderStatus, Inputs


@dataclass(frozen=True, slots=True)
class EncoderWatch:
    """Asks the parts around the encoder how it fares; None where vectors are off."""

    encoder: Encoder | None
    embedder: Embedder | None
    indexes: LiveIndexes

    def status(self) -> EncoderStatus | None:
        """The encoder now."""
        if self.encoder is None or self.embedder is None:
            return None
        vectors, records = self.indexes.vectors, self.indexes.records
        loaded = vectors.index is not None or vectors.filling is not None
        waiting = self.embedder.waiting() if loaded else records
        return EncoderStatus(self.encoder.state, self.encoder.is_up, max(records - waiting, 0), waiting)


def open_page(
    settings: Settings,
    services: Services,
    doorkeeper: Doorkeeper,
    encoder: EncoderWatch,
    router: Router,
    mcp_url: str,
) -> App:
    """The page's app.

    Args: mcp_url: the server's MCP URL as an agent reaches it.
    """
    inputs = Inputs(
        mcp_url=mcp_url,
        clients=lambda: doorkeeper.clients,
        servers=router.status,
        encoder=encoder.status,
        standing_questions=questions.count,
    )
    page_settings = PageSettings(
        now=lambda: services.now().astimezone(),
        started_at=services.now(),
        actions=settings.page_actions,
        allowed_hosts=settings.allowed_hosts,
    )
    return build_page(services, inputs, page_settings)
