"""How far a record can be believed: what counts as evidence, and the confidence it has earned."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Stance = Literal["corroborates", "contradicts"]
STANCES: tuple[Stance, ...] = ("corroborates", "contradicts")

# Seed 001, Evidence: a corroboration closes a third of the distance to 1.0, a contradiction halves what is left.
CORROBORATION_LEAVES = 2 / 3
CONTRADICTION_LEAVES = 1 / 2
SMALLEST_RATIO_BASE = 1e-6  # below it an asserted confidence is nothing, and a ratio to it would only overflow


@dataclass(frozen=True)
class Observation:
    """One witness's stance on a record. The witness is the client's name, as the server recorded it."""

    witness: str
    stance: Stance


@dataclass(frozen=True)
class Counts:
    """What counts for and against a record now; refutations include its missing anchors."""

    proofs: int
    refutations: int


def weigh(observations: Iterable[Observation], missing_anchors: int = 0) -> Counts:
    """Count the evidence on a record; the order of the observations does not matter.

    Rules (issue 3, Evidence and Anchors):
    - A witness counts once per stance, however often it speaks; one that took both stances counts on both sides.
    - The author is a witness like any other, because a later session of the same client may well have looked again.
      Counting once is what keeps it from talking its own record into certainty: alone it lifts 0.7 to 0.8 and no
      further.
    - An anchor that is missing now counts as one contradiction; resolved, it counts nothing. Observations filed when
      an anchor changed state are not witnesses: leave them out.

    Args: missing_anchors: anchors of the record whose state is `missing` now, 0 or more.
    """
    heard = {(observation.witness, observation.stance) for observation in observations}
    proofs = sum(stance == "corroborates" for _, stance in heard)
    return Counts(proofs, len(heard) - proofs + missing_anchors)


def effective_confidence(asserted: float, proofs: int, refutations: int) -> float:
    """The confidence a record has earned: `(1 - (1 - asserted) (2/3)^proofs) (1/2)^refutations`.

    The corroborations apply first and the contradictions to what they left, so the result depends on the two counts
    alone. The seed implies this order: "one refusal outweighs two agreements" holds for the default confidence 0.7
    this way (0.7 → 0.87 → 0.43, below 0.7; for every asserted confidence above 5/14) and fails the other way round
    (0.7 → 0.35 → 0.71, above 0.7).

    Args: asserted: what the writer gave, in [0, 1]; proofs, refutations: as `weigh` counts them.
    Returns: a value in [0, 1]; the asserted one itself without evidence; never lower with one more proof, never
      higher with one more refutation.
    """
    risen = 1.0 - (1.0 - asserted) * CORROBORATION_LEAVES**proofs
    # max: 1 - (1 - x) rounds, and a record without evidence keeps exactly what it was given
    risen = max(risen, asserted) if proofs else asserted
    return float(risen * CONTRADICTION_LEAVES**refutations)


def evidence_factor(asserted: float, effective: float) -> float:
    """What a ranking score is multiplied by: earned over asserted confidence (seed 001, Fusion).

    Returns: a finite number of 0 or more; 1.0 without evidence, and for an asserted confidence of (nearly) 0, where
      no ratio exists.
    """
    return effective / asserted if asserted >= SMALLEST_RATIO_BASE else 1.0


def why(proofs: int, refutations: int) -> str:
    """The evidence in words for a hit: `2 for/1 against`, or `asserted, unwitnessed`."""
    return f"{proofs} for/{refutations} against" if proofs or refutations else "asserted, unwitnessed"
