"""What tools work with: the store, the clock, and the options that concern them, as plain values."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Final

import trio

from agent_memory.domain import namespaces
from agent_memory.domain.namespaces import ForgeRules, Scopes
from agent_memory.domain.records import new_id, stamp
from agent_memory.domain.screen.memo import ScreenMemo
from agent_memory.encoder.queries import QueryVectors
from agent_memory.retrieval.fusion import Ranking
from agent_memory.retrieval.live import LiveIndexes
from agent_memory.retrieval.remembered import Remembered
from agent_memory.store.read_log import ReadLog
from agent_memory.store.worker import Store

if TYPE_CHECKING:
    from agent_memory.homeassistant.states import EntityStates

JUDGED_AT_ONCE_CHARS: Final = 64 * 1024  # some 10 ms; what is longer would keep every other request waiting


@dataclass(frozen=True, slots=True)
class Policy:
    """The options that tools follow: which remotes have a namespace, what is linked, how large a packet may be."""

    forges: ForgeRules
    project_links: Mapping[str, Sequence[str]]
    hubs: frozenset[str]
    context_budget_tokens: int
    hard_context_limit_tokens: int
    fusion: Ranking
    summary_candidates: bool
    enrichment: bool


@dataclass(frozen=True, slots=True)
class Services:
    """Everything a tool may use. Built once in the nursery."""

    store: Store
    screen: ScreenMemo
    read_log: ReadLog
    indexes: LiveIndexes
    query_vectors: QueryVectors
    entity_states: "EntityStates | None"
    policy: Policy
    now: Callable[[], datetime]
    entropy: Callable[[int], bytes]
    remembered: Remembered = field(default_factory=Remembered)
    judging: trio.CapacityLimiter = field(default_factory=partial(trio.CapacityLimiter, 1))

    async def refuse(self, fields: Iterable[tuple[str, str]]) -> None:
        """Pass named texts through the screen. Raises: SecretRefused: names field and pattern, never the value."""
        given = list(fields)
        if sum(len(text) for _, text in given) <= JUDGED_AT_ONCE_CHARS:
            self.screen.refuse(given)
        else:
            await trio.to_thread.run_sync(self.screen.refuse, given, limiter=self.judging)

    async def pattern(self, text: str) -> str | None:
        """Name of the pattern that refuses a text, None when it may be kept."""
        if len(text) <= JUDGED_AT_ONCE_CHARS:
            return self.screen.pattern(text)
        return await trio.to_thread.run_sync(self.screen.pattern, text, limiter=self.judging)

    def stamp(self) -> str:
        """The present moment as stored."""
        return stamp(self.now())

    def new_id(self) -> str:
        """An id for a record written now."""
        return new_id(self.now(), self.entropy(10))

    def scopes(self, namespace: str, topics: Sequence[str] | None = None) -> Scopes:
        """What a reading in this namespace reaches. Raises: InvalidArgument."""
        return namespaces.retrieval_order(namespace, topics or (), self.policy.project_links, self.policy.hubs)
