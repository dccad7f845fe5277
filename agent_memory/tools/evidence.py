"""Evidence: one dated, attributed quote for or against a record, which stays readable whatever is said of it."""

from typing import Annotated, Any, Final, Literal

from apsw import Connection
from pydantic import Field

from agent_memory.domain.records import Record, check_text
from agent_memory.store import audit, evidence, records
from agent_memory.store.evidence import Observation
from agent_memory.tools.registry import Arguments, Call, Result, tool
from agent_memory.tools.writing import full_id

QUOTE_MAX_BYTES: Final = 2 * 1024


class CorroborateArguments(Arguments):
    id: str
    quote: Annotated[str, Field(description="What you saw, in its own words.")]
    stance: Literal["corroborates", "contradicts"]
    agent: str | None = None


class CorroborateResult(Result):
    proof_count: int
    refutation_count: int
    effective_confidence: float
    revision: int


@tool("write")
async def memory_corroborate(call: Call, args: CorroborateArguments) -> CorroborateResult:
    """Say that a record holds, or does not, with a quote of what you saw. Disagreement is kept, not resolved.

    A client is one witness: it counts once for each record and stance, its own records included, so that no client
    can repeat itself into certainty. A stance taken before is answered with the counts as they are.
    """
    record_id = full_id("id", args.id)
    quote = check_text("quote", args.quote, max_bytes=QUOTE_MAX_BYTES)
    await call.services.refuse([("quote", quote), ("agent", args.agent or "")])
    now, witness = call.services.stamp(), call.identity.name

    def work(conn: Connection) -> Record:
        record = records.live(conn, record_id)
        if evidence.observe(conn, record_id, Observation(now, "witness", witness, args.stance, quote)):
            records.advance(conn, record_id, now=now)
            evidence.derive(conn, record_id)
            audit.note(
                conn,
                at=now,
                client=witness,
                action="corroborate",
                record_id=record_id,
                namespace=record.namespace,
                context={"stance": args.stance},
            )
        return records.live(conn, record_id)

    record = await call.services.store.write(work)
    return CorroborateResult(
        proof_count=record.proof_count,
        refutation_count=record.refutation_count,
        effective_confidence=round(record.effective_confidence, 4),
        revision=record.revision,
    )


TOOLS: tuple[Any, ...] = (memory_corroborate,)
