"""Observations of records, and what they and the anchors derive: counts and effective confidence."""

from dataclasses import dataclass
from typing import Any

from apsw import Connection

from agent_memory.domain import evidence as rules


@dataclass(frozen=True, slots=True)
class Observation:
    """One dated, attributed quote. `source` is witness, or anchor for a swap between ok and missing."""

    at: str
    source: str
    witness: str
    stance: str
    quote: str


def observe(conn: Connection, record_id: str, seen: Observation) -> bool:
    """Add to a record's trail. Returns: False when this witness already took this stance (nothing is added)."""
    conn.execute(
        "INSERT OR IGNORE INTO observations (record_id, at, source, witness, stance, quote) VALUES (?, ?, ?, ?, ?, ?)",
        (record_id, seen.at, seen.source, seen.witness, seen.stance, seen.quote),
    )
    return bool(conn.changes())


def trail(conn: Connection, record_id: str, *, limit: int = 1000) -> list[Observation]:
    """A record's observations, oldest first."""
    rows = conn.execute(
        "SELECT at, source, witness, stance, quote FROM observations WHERE record_id = ? ORDER BY seq LIMIT ?",
        (record_id, limit),
    )
    return [_observation(row) for row in rows]


def derive(conn: Connection, record_id: str) -> None:
    """Set a record's counts and effective confidence from its witnesses and from the anchors that are missing now.

    A missing anchor counts as one contradiction while it is missing. The caller advances the revision.
    """
    row = conn.execute(
        "SELECT confidence, (SELECT count(*) FROM anchors WHERE record_id = id AND state = 'missing')"
        " FROM records WHERE id = ?",
        (record_id,),
    ).fetchone()
    if row is None:
        return
    asserted, missing = float(str(row[0])), int(str(row[1]))
    witnesses = conn.execute(
        "SELECT witness, stance FROM observations WHERE record_id = ? AND source = 'witness'", (record_id,)
    )
    weighed = rules.weigh((rules.Observation(*witness) for witness in witnesses), missing)
    counts = (weighed.proofs, weighed.refutations)
    conn.execute(
        "UPDATE records SET proof_count = ?, refutation_count = ?, effective_confidence = ? WHERE id = ?",
        (*counts, rules.effective_confidence(asserted, *counts), record_id),
    )


def _observation(row: tuple[Any, ...]) -> Observation:
    return Observation(*row)
