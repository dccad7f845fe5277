"""Builds the parts of a server from its settings. Nothing here runs by itself; `main` starts the tasks."""

import secrets
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from apsw import Connection

from agent_memory.config import Settings
from agent_memory.domain import namespaces
from agent_memory.domain.clients import new_token
from agent_memory.domain.records import stamp
from agent_memory.encoder.cache import QueryCache
from agent_memory.encoder.protocol import Encoder, EncoderUnavailable
from agent_memory.encoder.queries import QueryVectors
from agent_memory.encoder.textmodel import shipped_vocabulary
from agent_memory.llm.chains import chains_of
from agent_memory.llm.router import Router, open_router
from agent_memory.logs import Log
from agent_memory.nursery.embedding import Embedder
from agent_memory.nursery.encoders import open_encoders
from agent_memory.nursery.page import EncoderWatch, open_page
from agent_memory.nursery.review import Reviewer
from agent_memory.retrieval.concepts import shipped_concepts
from agent_memory.retrieval.live import LiveIndexes
from agent_memory.store import audit, jobs, queries, questions, records, token_file, usage
from agent_memory.store.read_log import ReadLog
from agent_memory.store.stems import Stemmer
from agent_memory.store.worker import Store
from agent_memory.tools import build_registry
from agent_memory.tools.registry import Registry
from agent_memory.tools.services import Policy, Services
from agent_memory.web.auth import Doorkeeper
from agent_memory.web.gate import App, Gate
from agent_memory.web.health import Health
from agent_memory.web.mcp_late import LateFront
from agent_memory.web.rest import build_app

if TYPE_CHECKING:
    from agent_memory.homeassistant.states import EntityStates
    from agent_memory.web.mcp import McpFront

log = Log("server")


@dataclass(frozen=True, slots=True)
class Parts:
    """A server, built and not running."""

    services: Services
    embedder: Embedder | None
    router: Router
    reviewer: Reviewer
    registry: Registry
    front: LateFront
    gate: Gate
    page: App


def build_indexes() -> LiveIndexes:
    """The words and vectors kept in memory; empty until their tasks load them."""
    stemmer = Stemmer()
    return LiveIndexes(shipped_concepts(stemmer.stems), stemmer, _known_words())


def _known_words() -> frozenset[str]:
    """Words that are spelt right. A damaged installation starts without them; health says what its encoder lacks."""
    try:
        return frozenset({word for word in shipped_vocabulary() if word.isalpha()})
    except EncoderUnavailable as error:
        log.warning("no-vocabulary", reason=str(error))
        return frozenset()


async def build(
    settings: Settings,
    store: Store,
    indexes: LiveIndexes,
    resources: AsyncExitStack,
    announce: Callable[[str, str], None],
    mcp_url: str,
) -> Parts:
    """Build everything on an open store.

    Args:
      resources: closes the HTTP clients of encoders, model servers and Home Assistant.
      announce: called with client and token for every token made now.
      mcp_url: where agents reach the server; the page repeats it.
    """
    await _prepare(store, settings)
    doorkeeper = _doorkeeper(settings, announce)
    encoder, older = await resources.enter_async_context(open_encoders(settings, store))
    states = await _states(settings, resources)
    services = build_services(settings, store, indexes, [each for each in (encoder, older) if each], states)
    router = await resources.enter_async_context(_router(settings))
    reviewer = Reviewer(services, router, expiry_days=settings.candidate_expiry_days)
    registry = build_registry()
    front = LateFront(partial(_mcp_front, registry, services, doorkeeper))
    embedder = None if encoder is None else Embedder(store, indexes, encoder, older)
    health = Health(
        store,
        settings.data_dir,
        started_at=now(),
        encoder=encoder,
        embedder=embedder,
        servers=router,
        review=reviewer,
    )
    app = build_app(registry, services, doorkeeper, health.report, reviewer.ask)
    page = open_page(settings, services, doorkeeper, EncoderWatch(encoder, embedder, indexes), router, mcp_url)
    gate = Gate(mcp=front, app=app, identify=doorkeeper.identify, allowed_hosts=settings.allowed_hosts)
    return Parts(services, embedder, router, reviewer, registry, front, gate, page)


def _mcp_front(registry: Registry, services: Services, doorkeeper: Doorkeeper) -> "McpFront":
    from agent_memory.web.mcp import McpFront  # see `LateFront`

    return McpFront(registry, services, doorkeeper)


def now() -> datetime:
    """The clock of a running server."""
    return datetime.now(UTC)


async def _prepare(store: Store, settings: Settings) -> None:
    """What changes in the database at start: owner renames, and the day that usage counting began."""
    at = stamp(now())

    def work(conn: Connection) -> int:
        usage.start_counting(conn, now=at)
        moves = {
            old: new
            for old in {*records.namespaces(conn), *questions.namespaces(conn)}
            if (new := namespaces.rename(old, settings.namespace_renames)) != old
        }
        for old, new in moves.items():
            moved = records.rename_namespaces(conn, {old: new}, now=at)
            context = {"from": old, "records": moved}
            for table in (questions, queries, jobs):
                table.rename_namespaces(conn, {old: new})
            audit.note(conn, at=at, client="server", action="rename", namespace=new, context=context)
        return len(moves)

    renamed = await store.write(work)
    if renamed:
        log.info("renamed", namespaces=renamed)


def _doorkeeper(settings: Settings, announce: Callable[[str, str], None]) -> Doorkeeper:
    make_token = partial(new_token, secrets.token_bytes)
    issued = token_file.settle(settings.data_dir, settings.clients, make_token)
    for name, token in issued.new_tokens.items():
        announce(name, token)
    return Doorkeeper(issued.clients, reload=token_file.Watcher(settings.data_dir, settings.clients).changed)


def _router(settings: Settings) -> AbstractAsyncContextManager[Router]:
    chains = chains_of(settings.ollama_model, settings.ollama_models)
    if settings.ollama_url is None:
        return open_router((), chains, settings.ollama_timeout_s)
    from agent_memory.llm.endpoints import read_endpoints

    endpoints = read_endpoints(settings.ollama_url, settings.ollama_fallback_url, settings.ollama_direct_urls)
    return open_router(endpoints, chains, settings.ollama_timeout_s)


async def _states(settings: Settings, resources: AsyncExitStack) -> "EntityStates | None":
    access = settings.home_assistant
    if access is None or access.token is None:
        return None
    from agent_memory.homeassistant.states import open_states  # httpx: a tenth of a second that few need

    return await resources.enter_async_context(open_states(access.url, access.token))


def build_services(
    settings: Settings,
    store: Store,
    indexes: LiveIndexes,
    encoders: Sequence[Encoder],
    states: "EntityStates | None",
) -> Services:
    """What the tools work with, from the settings."""
    policy = Policy(
        forges=settings.forge_rules,
        project_links=settings.project_links,
        hubs=frozenset(settings.hubs),
        context_budget_tokens=settings.context_budget_tokens,
        hard_context_limit_tokens=settings.hard_context_limit_tokens,
        fusion="rrf" if settings.fusion == "rrf" else "score",
        summary_candidates=settings.summary_candidates,
        enrichment=settings.ollama_url is not None,
    )
    return Services(
        store=store,
        screen=store.screen,
        read_log=ReadLog(),
        indexes=indexes,
        query_vectors=QueryVectors(encoders, QueryCache()),
        entity_states=states,
        policy=policy,
        now=now,
        entropy=secrets.token_bytes,
    )
