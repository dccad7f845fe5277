"""Asks a model for one verdict on a candidate beside its neighbours; what the verdict may do is domain/review's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from agent_memory.domain.orders import gives_orders
from agent_memory.domain.review import NEIGHBOURS, Ruling, Shown, Verdict, VerdictKind, rule
from agent_memory.llm.chat import PROSE_TOKENS, ChatReply, ChatRequest, Kind, ReplySchema
from agent_memory.llm.errors import BadReply, ModelError
from agent_memory.llm.fence import Block, fence
from agent_memory.llm.replies import read_object
from agent_memory.llm.router import Router

REASON_CHARS = 200  # of the reason kept in the audit row
CANDIDATE_CHARS = 4_000  # shown of a candidate; with five neighbours about 2,500 tokens
NEIGHBOUR_CHARS = 1_200  # shown of each neighbour; the guards read all of it

_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "reason": {"type": "string", "maxLength": REASON_CHARS},
        "verdict": {"type": "string", "enum": [kind.value for kind in VerdictKind]},
        "duplicate_of": {"type": "string", "maxLength": 40},
    },
    "required": ["reason", "verdict", "duplicate_of"],
    "additionalProperties": False,
}
_INSTRUCTIONS = """You review one candidate memory of a coding project beside stored records, and give one verdict:
duplicate: one record already says everything the candidate says. Every number, version, path, name and quotation of \
the candidate stands in that record, about the same component and with the same meaning. A record that says the \
opposite, another value, or the same about something else is not a duplicate.
session-state: the candidate only mattered during its session: progress, a next step, the state of a branch or \
machine, a one-off reading or measurement in passing. A rule, decision, cause, cure, limit or lasting setting is not.
keep: anything else, and whenever you are in doubt.
Reply with one JSON object and nothing else: {"reason": up to twenty words, "verdict": "duplicate" or \
"session-state" or "keep", "duplicate_of": the record's label such as "R1", or "" unless the verdict is duplicate}"""


class _Reply(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    verdict: str
    duplicate_of: str | None = None
    reason: str = ""


@dataclass(frozen=True)
class Reviewed:
    """A candidate's ruling, with the server and model that gave the verdict; both are empty when none was asked."""

    ruling: Ruling
    server: str = ""
    model: str = ""


async def review_candidate(router: Router, candidate: Shown, neighbours: Sequence[Shown]) -> Reviewed:
    """Ask for a verdict and pass it through the guards. A failed call keeps the candidate and raises nothing.

    A candidate that gives its reviewer orders is kept without asking. A neighbour that does is not shown, so that one
    poisoned record cannot speak for the candidates near it. Only the first five neighbours are shown.
    """
    if gives_orders(candidate.text):
        return Reviewed(Ruling(False, Verdict(VerdictKind.KEEP), "orders"))
    shown = [record for record in neighbours if not gives_orders(record.text)][:NEIGHBOURS]
    labels = {f"R{at}": record.id for at, record in enumerate(shown, start=1)}
    try:
        served = await router.call(verdict_request(candidate, shown), lambda reply: read_verdict(reply, labels))
    except ModelError as error:
        return Reviewed(Ruling(False, Verdict(VerdictKind.KEEP, reason=str(error)[:REASON_CHARS]), "call-failed"))
    return Reviewed(rule(candidate, shown, served.value), served.server, served.model)


def verdict_request(candidate: Shown, shown: Sequence[Shown]) -> ChatRequest:
    """The request for one verdict; the records are labelled R1, R2, … in the order given."""
    blocks = [Block(f"candidate, type {candidate.type}", _cut(candidate.text, CANDIDATE_CHARS))]
    blocks += [
        Block(f"record R{at}, type {record.type}", _cut(record.text, NEIGHBOUR_CHARS))
        for at, record in enumerate(shown, start=1)
    ]
    fenced = fence(blocks)
    system = f"{_INSTRUCTIONS}\n\n{fenced.notice}"
    user = f"{fenced.data}\n\nNow write the JSON object with your verdict on the candidate."
    return ChatRequest(Kind.REVIEW, system, user, PROSE_TOKENS, ReplySchema("verdict", _SCHEMA))


def read_verdict(reply: ChatReply, labels: Mapping[str, str]) -> Verdict:
    """Read a reply into a verdict whose `duplicate_of` is a record id, or empty when it names no shown record.

    Raises: BadReply: no JSON object of the asked form, or a verdict that is none of the three.
    """
    try:
        answer = _Reply.model_validate(read_object(reply))
        kind = VerdictKind(answer.verdict.strip().lower().replace("_", "-").replace(" ", "-"))
    except ValidationError:
        raise BadReply("it has no verdict of the asked form") from None
    except ValueError:
        raise BadReply("its verdict is none of duplicate, session-state and keep") from None
    named = (answer.duplicate_of or "").strip().strip("[]<>.")
    record_id = labels.get(named.upper(), named if named in labels.values() else "")
    reason = " ".join(answer.reason.split())[:REASON_CHARS]
    return Verdict(kind, record_id if kind is VerdictKind.DUPLICATE else "", reason)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
