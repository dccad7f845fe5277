"""What can go wrong with a model server, by what its caller does next; no text here holds a prompt or a reply."""

from collections.abc import Sequence
from dataclasses import dataclass


class ModelError(Exception):
    """Base of the failures of enrichment; storage and search go on without it, and no caller is told of it."""


class ServerSilent(ModelError):
    """The server gave no answer (refused, dropped or too slow): mark it down and ask the next server."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"no answer ({problem})")
        self.problem = problem


class ServerRefused(ModelError):
    """The server answered with an HTTP error: ask its next model."""

    def __init__(self, status: int) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status


class BadReply(ModelError):
    """The model's reply cannot be used; the text says what is wrong with its form: ask the next model."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"unusable reply: {problem}")
        self.problem = problem


@dataclass(frozen=True)
class Attempt:
    """One model of one server that did not serve a call, and why; `server` is an address without credentials."""

    server: str
    model: str
    problem: str


class NoServerLive(ModelError):
    """No configured server is live, so nothing was asked: try again after the next probe; this is no failed attempt."""

    def __init__(self) -> None:
        super().__init__("no model server is live")


class EveryModelFailed(ModelError):
    """Every model of every live server was asked in vain: count a failed attempt and try again later."""

    def __init__(self, attempts: Sequence[Attempt]) -> None:
        tried = "; ".join(f"{one.model} on {one.server}: {one.problem}" for one in attempts)
        super().__init__(f"every model failed: {tried}")
        self.attempts = tuple(attempts)
