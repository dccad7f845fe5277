"""Builds everything and opens the one nursery. The nesting is the order of stopping: requests, timers, store, file."""

import secrets
import signal
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import structlog
import trio
from hypercorn.config import Config as HypercornConfig
from hypercorn.trio import serve as hypercorn_serve

from agent_memory import __version__
from agent_memory.config import Settings
from agent_memory.domain import namespaces
from agent_memory.domain.clients import Client
from agent_memory.domain.records import stamp
from agent_memory.nursery.readings import run_read_log
from agent_memory.store import audit, records, usage
from agent_memory.store.read_log import ReadLog
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
    clients: Sequence[Client],
    reload_clients: Callable[[], Sequence[Client] | None],
    stop: trio.Event | None = None,
    task_status: trio.TaskStatus[list[str]] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Run the server until a stop signal.

    Args:
      clients: who may call; `reload_clients` gives them anew when the token file changed.
      stop: set from outside to stop without a signal (tests).
    Reports the addresses it listens on once it is ready.
    Raises: DataFolderError: the data folder or the database cannot be used.
    """
    started = trio.current_time()
    stop = stop or trio.Event()
    async with trio.open_nursery() as outer:
        with Store(settings.data_dir, now=_now) as store:
            await outer.start(store.run)
            await prepare(store, settings)
            services = build_services(settings, store)
            registry = build_registry()
            doorkeeper = Doorkeeper(clients, reload=reload_clients)
            front = McpFront(registry, services, doorkeeper)
            health = Health(store, settings.data_dir, started_at=_now())
            app = build_app(registry, services, doorkeeper, health.report)
            gate = Gate(mcp=front, app=app, allowed_hosts=settings.allowed_hosts)
            async with AsyncExitStack() as stack:
                await stack.enter_async_context(front.run())
                nursery = await stack.enter_async_context(trio.open_nursery())
                await nursery.start(watch_signals, stop)
                await nursery.start(run_read_log, services.read_log, store)
                addresses = await nursery.start(_serve_http, gate, bind, stop)
                log.info("ready", version=__version__, listens=",".join(addresses), took_ms=_since_ms(started))
                task_status.started(addresses)
                await stop.wait()
                log.info("stopping")
    log.info("stopped")


async def prepare(store: Store, settings: Settings) -> None:
    """What changes in the database at start: owner renames, and the day that usage counting began."""
    now = stamp(_now())

    def work(conn: records.Connection) -> int:
        usage.start_counting(conn, now=now)
        moves = {
            old: new
            for old in records.namespaces(conn)
            if (new := namespaces.rename(old, settings.namespace_renames)) != old
        }
        for old, new in moves.items():
            moved = records.rename_namespaces(conn, {old: new}, now=now)
            audit.note(conn, at=now, client="server", action="rename", namespace=new, context={"from": old, "records": moved})
        return len(moves)

    renamed = await store.write(work)
    if renamed:
        log.info("renamed", namespaces=renamed)


def build_services(settings: Settings, store: Store) -> Services:
    """What the tools work with, from the settings."""
    policy = Policy(
        forges=settings.forge_rules,
        project_links=settings.project_links,
        hubs=frozenset(settings.hubs),
        context_budget_tokens=settings.context_budget_tokens,
        hard_context_limit_tokens=settings.hard_context_limit_tokens,
    )
    return Services(store=store, read_log=ReadLog(), policy=policy, now=_now, entropy=secrets.token_bytes)


async def watch_signals(
    stop: trio.Event, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> None:
    """Set `stop` on SIGTERM or SIGINT; a second signal finds the default action and ends the process at once."""
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        task_status.started()
        async for number in signals:
            log.info("signal", name=signal.Signals(number).name)
            stop.set()
            return


async def _serve_http(
    gate: Gate, bind: Bind, stop: trio.Event, *, task_status: trio.TaskStatus[list[str]] = trio.TASK_STATUS_IGNORED
) -> None:
    config = HypercornConfig()
    config.bind = [str(bind)]
    config.backlog = BACKLOG
    config.graceful_timeout = GRACE_S
    config.include_server_header = False
    config.include_date_header = True
    config.errorlog = None
    config.accesslog = None
    await hypercorn_serve(gate, config, shutdown_trigger=stop.wait, mode="asgi", task_status=task_status)  # type: ignore[arg-type]


def _now() -> datetime:
    return datetime.now(UTC)


def _since_ms(started: float) -> int:
    return round((trio.current_time() - started) * 1000)
