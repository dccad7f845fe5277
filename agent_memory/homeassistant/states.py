"""Reads which entities Home Assistant has, in one GET. The API could switch things; this client only reads."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import httpx
import trio

from agent_memory.domain.anchor_sweep import entities_in

TIMEOUT_S: Final = 30.0  # a large home's list is about 1 MB, and the Supervisor's proxy waits 300 s on its own
BODY_MAX_BYTES: Final = 64 * 1024 * 1024


class EntityStates:
    """The states list of one Home Assistant."""

    def __init__(self, http: httpx.AsyncClient, *, timeout_s: float = TIMEOUT_S) -> None:
        """
        Args:
          http: a client with base URL and Authorization header set, closed by whoever made it.
        """
        self._http = http
        self._timeout_s = timeout_s

    async def read(self) -> frozenset[str] | None:
        """The ids of every entity, or None when nobody could look (see `domain.anchor_sweep.entities_in`)."""
        with trio.move_on_after(self._timeout_s):
            try:
                async with self._http.stream("GET", "/api/states") as answer:
                    body = await _body(answer)
                    return await trio.to_thread.run_sync(_entities, answer.status_code, body)
            except httpx.HTTPError:
                return None
        return None


@asynccontextmanager
async def open_states(url: str, token: str, *, timeout_s: float = TIMEOUT_S) -> AsyncIterator[EntityStates]:
    """A reader for the Home Assistant at this URL; contacts nothing by itself, and follows no redirect."""
    headers = {"Authorization": f"Bearer {token}"}
    # No proxy of the environment: it would be handed the token.
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=None, trust_env=False) as http:  # noqa: S113 - see `read`
        yield EntityStates(http, timeout_s=timeout_s)


async def _body(answer: httpx.Response) -> bytes:
    parts, size = [], 0
    async for part in answer.aiter_bytes():
        parts.append(part)
        size += len(part)
        if size > BODY_MAX_BYTES:
            return b""
    return b"".join(parts)


def _entities(status: int, body: bytes) -> frozenset[str] | None:
    try:
        return entities_in(status, json.loads(body))
    except (ValueError, RecursionError):
        return None
