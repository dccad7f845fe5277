"""Builds everything and opens the one nursery. The nesting is the order of stopping: requests, timers, store, file."""

import secrets
import signal
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Final

import structlog
import trio
from apsw import Connection
from hypercorn.config import Config as HypercornConfig
from hypercorn.trio import serve as hypercorn_serve

from agent_memory import __version__
from agent_memory.config import Settings
from agent_memory.domain import namespaces
from agent_memory.domain.clients import new_token
from agent_memory.domain.records import stamp
from agent_memory.encoder.cache import QueryCache
from agent_memory.encoder.protocol import Encoder
from agent_memory.encoder.queries import QueryVectors
from agent_memory.encoder.textmodel import shipped_vocabulary
from agent_memory.nursery.embedding import Embedder
from agent_memory.nursery.encoders import open_encoders
from agent_memory.nursery.readings import run_read_log
from agent_memory.nursery.retention import run_retention
from agent_memory.retrieval.concepts import shipped_concepts
from agent_memory.retrieval.live import LiveIndexes
from agent_memory.store import audit, records, token_file, usage
from agent_memory.store.read_log import ReadLog
from agent_memory.store.stems import Stemmer
from agent_memory.store.worker import Store
from agent_memory.tools import build_registry
from agent_memory.tools.services import Policy, Services
from agent_memory.web.auth import Doorkeeper
from agent_memory.web.gate import Gate
from agent_memory.web.health import Health
from agent_memory.web.mcp import McpFront
from agent_memory.web.rest import build_app

log = structlog.get_logger("server")

GRACE_S: Final = 10.0  # for running requests after a stop signal; the container's own limit is 10 s and more
BACKLOG: Final = 256


@dataclass(frozen=True, slots=True)
class Bind:
    """Where the server listens; port 0 lets the system choose."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


async def serve(
    settings: Settings,
    *,
    bind: Bind,
    announce: Callable[[str, str], None],
    stop: trio.Event | None = None,
    task_status: trio.TaskStatus[list[str]] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Run the server until a stop signal.

    Args:
      announce: called with client and token for every token made at this start; the only time it can be shown.
      stop: set from outside to stop without a signal (tests).
    Reports the addresses it listens on once it is ready.
    Raises: DataFolderError, TokenFileError: the data folder, the database or the token file cannot be used.
    """
    started = trio.current_time()
    stop = stop or trio.Event()
    async with trio.open_nursery() as outer, AsyncExitStack() as stack:
        indexes = build_indexes()
        with Store(settings.data_dir, now=_now, follower=indexes) as store:
            await outer.start(store.run)
            await prepare(store, settings)
            doorkeeper = _doorkeeper(settings, announce)
            encoder, older = await stack.enter_async_context(open_encoders(settings, store))
            services = build_services(settings, store, indexes, [each for each in (encoder, older) if each])
            registry = build_registry()
            front = McpFront(registry, services, doorkeeper)
            health = Health(store, settings.data_dir, started_at=_now())
            app = build_app(registry, services, doorkeeper, health.report)
            gate = Gate(mcp=front, app=app, allowed_hosts=settings.allowed_hosts)

            def ready(addresses: list[str]) -> None:
                log.info("ready", version=__version__, listens=",".join(addresses), took_ms=_since_ms(started))
                task_status.started(addresses)

            async with front.run(), trio.open_nursery() as nursery:
                await nursery.start(watch_signals, stop)
                await nursery.start(run_read_log, services.read_log, store)
                if encoder is not None:
                    embedder = Embedder(store, indexes, encoder, older)
                    await nursery.start(embedder.run)
                    await nursery.start(embedder.run_probe)
                await nursery.start(partial(run_retention, store, days=settings.retention_deleted_days, now=_now))
                await hypercorn_serve(
                    gate,  # type: ignore[arg-type]
                    http_config(bind),
                    shutdown_trigger=stop.wait,
                    mode="asgi",
                    task_status=_Ready(ready),
                )
                nursery.cancel_scope.cancel()  # after the last answer; the store still works
    log.info("stopped")


async def prepare(store: Store, settings: Settings) -> None:
    """What changes in the database at start: owner renames, and the day that usage counting began."""
    now = stamp(_now())

    def work(conn: Connection) -> int:
        usage.start_counting(conn, now=now)
        moves = {
            old: new
            for old in records.namespaces(conn)
            if (new := namespaces.rename(old, settings.namespace_renames)) != old
        }
        for old, new in moves.items():
            moved = records.rename_namespaces(conn, {old: new}, now=now)
            audit.note(
                conn, at=now, client="server", action="rename", namespace=new, context={"from": old, "records": moved}
            )
        return len(moves)

    renamed = await store.write(work)
    if renamed:
        log.info("renamed", namespaces=renamed)


def build_indexes() -> LiveIndexes:
    """The words and vectors kept in memory; empty until their tasks load them."""
    stemmer = Stemmer()
    known = frozenset(word for word in shipped_vocabulary() if word.isalpha())
    return LiveIndexes(shipped_concepts(stemmer.stems), stemmer, known)


def build_services(settings: Settings, store: Store, indexes: LiveIndexes, encoders: Sequence[Encoder]) -> Services:
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
        read_log=ReadLog(),
        indexes=indexes,
        query_vectors=QueryVectors(encoders, QueryCache()),
        policy=policy,
        now=_now,
        entropy=secrets.token_bytes,
    )


async def watch_signals(stop: trio.Event, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
    """Set `stop` on SIGTERM or SIGINT; a second signal finds the default action and ends the process at once."""
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        task_status.started()
        async for number in signals:
            log.info("signal", name=signal.Signals(number).name)
            stop.set()
            return


def http_config(bind: Bind) -> HypercornConfig:
    """Hypercorn's settings, by name: its own reader of mappings takes misspelt keys silently."""
    config = HypercornConfig()
    config.bind = [str(bind)]
    config.backlog = BACKLOG
    config.graceful_timeout = GRACE_S
    config.include_server_header = False
    config.errorlog = None
    config.accesslog = None
    return config


class _Ready(trio.TaskStatus[list[str]]):
    """Passes the addresses that hypercorn reports to a function."""

    def __init__(self, then: Callable[[list[str]], None]) -> None:
        self._then = then

    def started(self, value: list[str] | None = None) -> None:
        self._then(value or [])


def _doorkeeper(settings: Settings, announce: Callable[[str, str], None]) -> Doorkeeper:
    make_token = partial(new_token, secrets.token_bytes)
    issued = token_file.settle(settings.data_dir, settings.clients, make_token)
    for name, token in issued.new_tokens.items():
        announce(name, token)
    return Doorkeeper(issued.clients, reload=token_file.Watcher(settings.data_dir, settings.clients).changed)


def _now() -> datetime:
    return datetime.now(UTC)


def _since_ms(started: float) -> int:
    return round((trio.current_time() - started) * 1000)
