"""Figures of merit for rankings, and how sure a difference between two rankers is."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

FIGURES = ("MRR", "recall@1", "recall@5", "recall@10", "nDCG@10")
RESAMPLES = 10_000


@dataclass(frozen=True)
class Scored:
    """One query's figures under one ranker."""

    query: str
    kind: str
    figures: dict[str, float]


@dataclass(frozen=True)
class Difference:
    """A mean difference with the 2.5 and 97.5 percentiles of its paired bootstrap."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:+.3f} [{self.low:+.3f}, {self.high:+.3f}]"


def score(query: str, kind: str, ranked: Sequence[str], relevant: Sequence[str]) -> Scored:
    """Figures of one ranking; relevant records count alike (binary gain), and there is at least one."""
    wanted = set(relevant)
    places = [place for place, record in enumerate(ranked, 1) if record in wanted]
    gain = sum(1 / math.log2(place + 1) for place in places if place <= 10)
    ideal = sum(1 / math.log2(place + 1) for place in range(1, min(len(wanted), 10) + 1))
    figures = {"MRR": 1 / places[0] if places else 0.0, "nDCG@10": gain / ideal}
    for cut in (1, 5, 10):
        figures[f"recall@{cut}"] = sum(place <= cut for place in places) / len(wanted)
    return Scored(query, kind, figures)


def mean(scored: Sequence[Scored], figure: str) -> float:
    return float(np.mean([one.figures[figure] for one in scored]))


def paired(better: Sequence[Scored], base: Sequence[Scored], figure: str, seed: int = 0) -> Difference:
    """The mean difference over the same queries, with a bootstrap over queries (Efron's percentile interval)."""
    assert [one.query for one in better] == [one.query for one in base]
    gains = np.array([a.figures[figure] - b.figures[figure] for a, b in zip(better, base, strict=True)])
    drawn = np.random.default_rng(seed).integers(0, len(gains), (RESAMPLES, len(gains)))
    low, high = np.quantile(gains[drawn].mean(axis=1), [0.025, 0.975])
    return Difference(float(gains.mean()), float(low), float(high))


def by_kind(scored: Sequence[Scored]) -> dict[str, list[Scored]]:
    kinds: dict[str, list[Scored]] = {}
    for one in sorted(scored, key=lambda one: one.kind):
        kinds.setdefault(one.kind, []).append(one)
    return kinds


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows as a Markdown table, the first one its head."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    line: Callable[[Sequence[str]], str] = lambda row: (  # noqa: E731
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
    )
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([line(rows[0]), rule, *map(line, rows[1:])])
