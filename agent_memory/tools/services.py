"""What tools work with: the store, the clock, and the options that concern them, as plain values."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from agent_memory.domain import namespaces
from agent_memory.domain.namespaces import ForgeRules, Scopes
from agent_memory.domain.records import new_id, stamp
from agent_memory.domain.screen.memo import ScreenMemo
from agent_memory.encoder.queries import QueryVectors
from agent_memory.retrieval.fusion import Ranking
from agent_memory.retrieval.live import LiveIndexes
from agent_memory.store.read_log import ReadLog
from agent_memory.store.worker import Store

if TYPE_CHECKING:
    from agent_memory.homeassistant.states import EntityStates


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

    def stamp(self) -> str:
        """The present moment as stored."""
        return stamp(self.now())

    def new_id(self) -> str:
        """An id for a record written now."""
        return new_id(self.now(), self.entropy(10))

    def scopes(self, namespace: str, topics: Sequence[str] | None = None) -> Scopes:
        """What a reading in this namespace reaches. Raises: InvalidArgument."""
        return namespaces.retrieval_order(namespace, topics or (), self.policy.project_links, self.policy.hubs)
