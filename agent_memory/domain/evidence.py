"""stand-in until the evidence room lands"""


def effective_confidence(asserted: float, corroborations: int, contradictions: int) -> float:
    return (1 - (1 - asserted) * (2 / 3) ** corroborations) * 0.5**contradictions


def evidence_factor(asserted: float, effective: float) -> float:
    return effective / asserted if asserted > 0 else 1.0


def why(corroborations: int, contradictions: int) -> str:
    return (
        f"{corroborations} for/{contradictions} against"
        if corroborations or contradictions
        else "asserted, unwitnessed"
    )
