"""From candidates to ranked hits: full text alone, reciprocal rank fusion, or score fusion.

Pure: candidates in, hits out. Whether the encoder's answer may be used at all is decided by the caller.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from agent_memory.retrieval.candidates import Candidate, Hit
from agent_memory.retrieval.plan import QueryPlan
from agent_memory.retrieval.sessions import session_scores
from agent_memory.retrieval.weights import WEIGHTS, Weights

NEWEST_AMONG = 20  # hits; near-identical records stand near each other

Ranking = Literal["fts5", "rrf", "score"]
Similarity = Callable[[Sequence[str]], npt.NDArray[np.float32]]
"""Cosines between records: ids in, matrix (n, n) out, unit diagonal; 0 where a record has no vector."""


def rank(
    candidates: Sequence[Candidate],
    plan: QueryPlan,
    *,
    ranking: Ranking,
    limit: int,
    similarity: Similarity | None = None,
    weights: Weights = WEIGHTS,
) -> list[Hit]:
    """Order candidates.

    Args:
      candidates: every record of either list, each once; `weights.pool` of each list is enough.
      plan: of the query that brought them up.
      ranking: `fts5` reads no cosine; `rrf` is the seed's formula; `score` is the better one on our sets.
      limit: largest number of hits, 0 or more.
      similarity: looked up for the first twenty of `score`, to put the newest of near-identical records first; None
        leaves that out.
    Returns: hits, best first; ties to the higher cosine, then the lower id.
    """
    shares = _rrf(candidates, limit, weights) if ranking == "rrf" else _shares(candidates, plan, ranking, weights)
    scored = [(shares.scores[c.id] * c.evidence, c) for c in candidates if c.id in shares.scores]
    tie = (lambda candidate: 0.0) if ranking == "fts5" else _cosine
    scored.sort(key=lambda item: (-item[0], -tie(item[1]), item[1].id))
    hits = [_hit(c, score, shares.why(c), ranking) for score, c in scored[: max(limit, NEWEST_AMONG)]]
    if ranking == "score" and similarity is not None:
        hits = newest_first(hits, {c.id: c for _, c in scored[: len(hits)]}, similarity, weights)
    return hits[:limit]


def is_weak(candidates: Sequence[Candidate], plan: QueryPlan, weights: Weights = WEIGHTS) -> bool:
    """Whether nothing found is convincing: no record is near in meaning or stands out, and words are unknown.

    A hint for callers that would rather hand over nothing than a guess (a hook that searches with every prompt); the
    hits stay the same. Never true without cosines: full text alone cannot tell.
    """
    cosines = sorted((c.cosine for c in candidates if c.cosine is not None), reverse=True)
    if not cosines:
        return False
    lead = cosines[0] - cosines[min(4, len(cosines) - 1)]
    return cosines[0] + weights.weak_lead * lead + weights.weak_unknown * plan.unknown < weights.weak_below


@dataclass(frozen=True, slots=True)
class _Shares:
    """Scores by id, and how to explain one."""

    scores: Mapping[str, float]
    why: Callable[[Candidate], tuple[str, ...]]


def _rrf(candidates: Sequence[Candidate], limit: int, weights: Weights) -> _Shares:
    """Sum of 1 / (60 + position) over the lists that hold a record, each cut to max(limit, 20) (the seed's rule;
    after Cormack, Clarke and Buettcher, SIGIR 2009)."""
    cut = max(limit, weights.rrf_cut)
    matching = sorted((c for c in candidates if c.bm25 is not None), key=lambda c: (c.bm25, c.id))[:cut]
    near = sorted((c for c in candidates if c.cosine is not None), key=lambda c: (-_cosine(c), c.id))[:cut]
    scores: dict[str, float] = {}
    why: dict[str, tuple[str, ...]] = {}
    for name, found in (("text", matching), ("meaning", near)):
        for position, candidate in enumerate(found, 1):
            scores[candidate.id] = scores.get(candidate.id, 0.0) + 1 / (weights.rrf_k + position)
            why[candidate.id] = (*why.get(candidate.id, ()), f"{name} #{position}")
    return _Shares(scores, lambda candidate: why[candidate.id])


def _shares(candidates: Sequence[Candidate], plan: QueryPlan, ranking: Ranking, weights: Weights) -> _Shares:
    """Shares of the words and of the meaning, added; the words alone for `fts5`."""
    words = _words(candidates, plan, weights)
    meaning = _meaning(candidates, weights) if ranking == "score" else {}
    share = weights.meaning if ranking == "score" else 0.0
    scores = {
        candidate: share * meaning.get(candidate, 0.0) + (1 - share) * words.get(candidate, 0.0)
        for candidate in (words | meaning)
    }
    if ranking == "score":
        scores |= session_scores([c for c in candidates if c.id in scores], words, meaning, plan.text, weights)

    def why(candidate: Candidate) -> tuple[str, ...]:
        parts = [
            ("words", (1 - share) * words.get(candidate.id, 0.0)),
            ("meaning", share * meaning.get(candidate.id, 0.0)),
        ]
        parts.sort(key=lambda part: -part[1])
        named = tuple(f"{name} {value:.2f}" for name, value in parts if value > 0)
        return (*named, "with its session") if candidate.session and ranking == "score" else named

    return _Shares(scores, why)


def _words(candidates: Sequence[Candidate], plan: QueryPlan, weights: Weights) -> dict[str, float]:
    """bm25 of what matches, divided by the geometric mean of the best one and of an ideal one: 1 is about a full match.

    A list whose best is far from ideal is so scaled down, which a list's own maximum would hide. Translations add
    their bm25 at a lower weight; without any match of the words typed, the best translation counts half its weight.
    """
    best = max((-c.bm25 for c in candidates if c.bm25 is not None), default=0.0)
    scale = math.sqrt(best * weights.ideal * plan.ideal) if best > 0 and plan.ideal > 0 else 0.0
    if not scale:
        scale = 2 * max((-c.translated for c in candidates if c.translated is not None), default=0.0) or 1.0
    return {
        c.id: (-(c.bm25 or 0.0) - weights.translated * (c.translated or 0.0)) / scale
        for c in candidates
        if c.bm25 is not None or c.translated is not None
    }


def _meaning(candidates: Sequence[Candidate], weights: Weights) -> dict[str, float]:
    """Cosines over the best one, none below 0."""
    best = max((_cosine(candidate) for candidate in candidates), default=0.0)
    scale = max(best, weights.cosine_floor)
    return {c.id: max(c.cosine, 0.0) / scale for c in candidates if c.cosine is not None}


def newest_first(
    hits: Sequence[Hit], candidates: Mapping[str, Candidate], similarity: Similarity, weights: Weights = WEIGHTS
) -> list[Hit]:
    """Put the newer of two near-identical records of a namespace first, among the first twenty hits.

    Near-identical: cosine of at least `same_fact_cosine`; and the newer one must score `same_fact_ratio` of the older
    one. Session summaries (they retell others) and records of a session take no part. The two change places and scores.
    """
    head = [hit for hit in hits[:NEWEST_AMONG] if hit.score > 0]
    if len(head) < 2:
        return list(hits)
    alike = similarity([hit.id for hit in head]) >= weights.same_fact_cosine
    np.fill_diagonal(alike, False)
    if not alike.any():  # nearly always: the pairs are not looked at one by one
        return list(hits)
    order = list(range(len(head)))
    for high in range(len(order)):
        for low in range(high + 1, len(order)):
            old, new = order[high], order[low]
            close = head[new].score >= weights.same_fact_ratio * head[old].score
            if close and alike[old, new] and _supersedes(candidates[head[new].id], candidates[head[old].id]):
                order[high], order[low] = new, old
    moved = []
    for place, now in enumerate(order):
        hit = head[now]
        why = (*hit.why, "newer than one like it") if now > place else hit.why
        moved.append(Hit(hit.id, head[place].score, why, hit.cosine))
    return moved + list(hits[len(head) :])


def _supersedes(new: Candidate, old: Candidate) -> bool:
    notes = not (new.session or old.session) and "session-summary" not in (new.type, old.type)
    return notes and new.namespace == old.namespace and new.created > old.created


def _cosine(candidate: Candidate) -> float:
    return -1.0 if candidate.cosine is None else candidate.cosine


def _hit(candidate: Candidate, score: float, why: tuple[str, ...], ranking: Ranking) -> Hit:
    if candidate.evidence != 1.0:
        why = (*why, f"evidence x{candidate.evidence:.2f}")
    cosine = None if ranking == "fts5" or candidate.cosine is None else round(candidate.cosine, 4)
    return Hit(candidate.id, score, why, cosine)
