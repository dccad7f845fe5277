"""The project packet: one bounded answer with what a task needs, a reason for each record."""

from collections.abc import Iterable
from typing import Annotated, Any, Final

from apsw import Connection
from pydantic import Field

from agent_memory.domain.budgets import BYTES_PER_TOKEN, estimate_tokens, excerpt
from agent_memory.domain.errors import InvalidArgument
from agent_memory.domain.records import LIVE, Record
from agent_memory.store import records
from agent_memory.tools.finding import Query, Wanted, find
from agent_memory.tools.registry import Arguments, Call, Result, tool
from agent_memory.tools.views import RecordView, views

TASK_MATCHES: Final = 12
LISTED_MAX: Final = 40  # of each group below; 8,000 tokens hold fewer

# After the task's matches, in this order (seed 001, Tools).
GROUPS: Final = (
    (("constraint", "decision"), "{type} of {namespace}"),
    (("open-work",), "open work in {namespace}"),
    (("failure", "procedure"), "known {type} in {namespace}"),
)


class PacketArguments(Arguments):
    namespace: str
    task: Annotated[Query, Field(description="What you are about to do, in a sentence.")]
    topics: list[str] | None = None
    budget_tokens: Annotated[int | None, Field(ge=100)] = None


class Entry(RecordView):
    reason: str


class PacketResult(Result):
    entries: list[Entry]
    left_out: int = Field(description="Chosen records that did not fit the budget.")


@tool("read", read_only=True)
async def memory_project_context(call: Call, args: PacketArguments) -> PacketResult:
    """One bounded packet for a task: records that match it, then the repository's constraints and decisions, open
    work, known failures and procedures, each with its reason. Use instead of bootstrap when you know the task.
    """
    policy = call.services.policy
    budget = policy.context_budget_tokens if args.budget_tokens is None else args.budget_tokens
    if budget > policy.hard_context_limit_tokens:
        raise InvalidArgument("budget_tokens", f"must be at most {policy.hard_context_limit_tokens}")
    scopes = call.services.scopes(args.namespace, args.topics)
    found = await find(call.services, Wanted(query=args.task, scopes=scopes, limit=TASK_MATCHES))

    def work(conn: Connection) -> list[Entry]:
        # Read again: a record may have been forgotten since the search.
        now = records.by_ids(conn, [hit.record.id for hit in found.hits])
        chosen: dict[str, tuple[Record, str]] = {
            hit.record.id: (now[hit.record.id], f"matches the task ({hit.why})")
            for hit in found.hits
            if hit.record.id in now and now[hit.record.id].status in LIVE
        }
        for types, reason in GROUPS:
            for record in records.listed(conn, scopes, types=types, limit=LISTED_MAX):
                text = reason.format(type=record.type, namespace=record.namespace)
                chosen.setdefault(record.id, (record, text))
        shown = views(conn, [record for record, _ in chosen.values()])
        return [Entry(**shown[record.id].model_dump(), reason=reason) for record, reason in chosen.values()]

    candidates = await call.services.store.read(work)
    entries, cut = _fit(candidates, budget)
    call.services.read_log.returned((entry.id for entry in entries), call.services.stamp())
    left_out = len(candidates) - len(entries)
    return PacketResult(entries=entries, left_out=left_out, truncated=cut or left_out > 0)


def _fit(candidates: Iterable[Entry], budget_tokens: int) -> tuple[list[Entry], bool]:
    """Entries in order while they fit; the very first is cut to the budget rather than left out."""
    room = budget_tokens - estimate_tokens(120)  # the answer's own frame
    entries: list[Entry] = []
    cut = False
    for entry in candidates:
        cost = _tokens(entry)
        if cost > room and not entries:
            spare = room * BYTES_PER_TOKEN - (cost * BYTES_PER_TOKEN - len(entry.content.encode()))
            entry = entry.model_copy(update={"content": excerpt(entry.content, max(spare, 0))})
            cost, cut = _tokens(entry), True
        if cost <= room:
            entries.append(entry)
            room -= cost
    return entries, cut


def _tokens(entry: Entry) -> int:
    return estimate_tokens(len(entry.model_dump_json(exclude_none=True).encode()) + 1)


TOOLS: tuple[Any, ...] = (memory_project_context,)
