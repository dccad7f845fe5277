"""Opens the one nursery. The nesting is the order of stopping: requests drain, tasks stop, the store finishes, the
file closes.
"""

import errno
import signal
import socket
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import trio
from hypercorn.config import Config as HypercornConfig
from hypercorn.trio import serve as hypercorn_serve

from agent_memory import __version__
from agent_memory.config import Settings
from agent_memory.llm.probes import run_probe
from agent_memory.logs import Log
from agent_memory.nursery.answers import Answerer, Refresher
from agent_memory.nursery.build import Parts, build, build_indexes, now
from agent_memory.nursery.extraction import Extractor
from agent_memory.nursery.h11 import speak_plain_http
from agent_memory.nursery.jobs import Consumer, Handler, consumer_count, take_over
from agent_memory.nursery.readings import run_read_log
from agent_memory.nursery.retention import run_retention
from agent_memory.nursery.sweep import run_anchor_sweep
from agent_memory.nursery.words import load_words
from agent_memory.store.worker import Store
from agent_memory.web.gate import App

log = Log("server")

GRACE_S: Final = 8.0  # for running requests after a stop signal; a container is killed 10 s after it
BACKLOG: Final = 256


@dataclass(frozen=True, slots=True)
class Bind:
    """Where the server listens; port 0 lets the system choose."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class CannotListen(OSError):
    """Nobody can listen there; the text names the command-line option that chooses another place."""

    def __init__(self, bind: Bind, problem: str) -> None:
        super().__init__(f"cannot listen on {bind}: {problem}")


async def serve(
    settings: Settings,
    *,
    bind: Bind,
    page: Bind,
    mcp_url: str,
    announce: Callable[[str, str], None],
    stop: trio.Event | None = None,
    task_status: trio.TaskStatus[list[str]] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Run the server until a stop signal.

    Args:
      bind, page: where agents reach the server, and where people reach the page.
      mcp_url: the URL that agents use for `bind`; the page repeats it.
      announce: called with client and token for every token made at this start; the only time it can be shown.
      stop: set from outside to stop without a signal (tests).
    Reports the addresses it listens on once it is ready, the page's last.
    Raises: CannotListen: another process listens on one of them, or it is no address of this machine.
      DataFolderError, TokenFileError: the data folder, the database or the token file cannot be used.
    """
    started = trio.current_time()
    stop = trio.Event() if stop is None else stop
    try_listening(bind, "--host", "--port")
    try_listening(page, "--page-host", "--page-port")

    def ready(addresses: list[str]) -> None:
        took_ms = round((trio.current_time() - started) * 1000)
        log.info("ready", version=__version__, listens=",".join(addresses), took_ms=took_ms)
        task_status.started(addresses)

    async with trio.open_nursery() as outer, AsyncExitStack() as resources:
        indexes = build_indexes()
        with Store(settings.data_dir, now=now, follower=indexes) as store:
            await outer.start(store.run)
            parts = await build(settings, store, indexes, resources, announce, mcp_url)
            async with parts.front.run(), trio.open_nursery() as nursery:
                await nursery.start(watch_signals, stop)
                for task in tasks(settings, parts):
                    await nursery.start(task)
                speak_plain_http()
                async with trio.open_nursery() as fronts:  # over once both have answered what was running
                    listens = await fronts.start(partial(run_front, parts.gate, bind, stop))
                    listens += await fronts.start(partial(run_front, parts.page, page, stop))
                    ready(listens)
                nursery.cancel_scope.cancel()  # after the last answer; the store still works
    log.info("stopped")


def tasks(settings: Settings, parts: Parts) -> list[Callable[..., Awaitable[Any]]]:
    """The tasks that run beside the HTTP server, in the order they start."""
    services = parts.services
    found: list[Callable[..., Awaitable[Any]]] = [
        partial(run_read_log, services.read_log, services.store),
        partial(load_words, services.indexes, services.store),
    ]
    if parts.embedder is not None:
        found += [parts.embedder.run, parts.embedder.run_probe]
    if services.entity_states is not None:
        found.append(partial(run_anchor_sweep, services, every_hours=settings.anchor_sweep_hours))
    found += enrichment(parts)
    found.append(partial(parts.reviewer.run, settings.review_at))
    found.append(partial(run_retention, services.store, days=settings.retention_deleted_days, now=now))
    return found


def enrichment(parts: Parts) -> list[Callable[..., Awaitable[Any]]]:
    """A probe task for each model server, and the consumers of the job queue; nothing where no server is configured."""
    router, services = parts.router, parts.services
    if not router.enabled:
        return []
    handlers: dict[str, Handler] = {"extract": Extractor(services, router), "answer": Answerer(services, router)}
    consumer = Consumer(services, router, handlers, idle=Refresher(services).poll)
    probes = [partial(run_probe, server) for server in router.servers]
    return [*probes, partial(take_over, services), *[consumer.run] * consumer_count(len(router.servers))]


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


async def run_front(app: App, bind: Bind, stop: trio.Event, *, task_status: trio.TaskStatus[list[str]]) -> None:
    """Serve an ASGI app until `stop`; reports the addresses it listens on."""
    await hypercorn_serve(app, http_config(bind), shutdown_trigger=stop.wait, mode="asgi", task_status=task_status)


def try_listening(bind: Bind, host_option: str, port_option: str) -> None:
    """Find out before anything is opened. Raises: CannotListen."""
    family = socket.AF_INET6 if ":" in bind.host else socket.AF_INET
    try:
        socket.create_server((bind.host, bind.port), family=family).close()
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            problem = f"another process listens there; stop it, or choose another port with {port_option}"
        elif error.errno == errno.EACCES:
            problem = f"this port needs rights of an administrator; choose one from 1024 on with {port_option}"
        elif error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
            raise
        else:  # of another machine, a name that nothing resolves, a family that is off here: each has a code of its own
            allowed = "127.0.0.1, an address of this machine's network, or 0.0.0.0 for all of them"
            problem = f"no address of this machine; {host_option} takes {allowed}"
        raise CannotListen(bind, problem) from None
