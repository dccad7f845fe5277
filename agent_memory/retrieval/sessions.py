"""What records of one session tell about each other: turns of a conversation are read with what stands around them.

Only records that share a session take part; curated notes are ranked by themselves (neighbours made those worse).
"""

import re
from collections.abc import Mapping, Sequence

from agent_memory.retrieval.candidates import Candidate
from agent_memory.retrieval.weights import Weights

_TIME_WORDS = re.compile(
    r"\b(yesterday|today|tonight|tomorrow|last|next|ago|since|just|recently|weekend|weeks?|months?|years?|days?|morning"
    r"|january|february|march|april|may|june|july|august|september|october|november|december"
    r"|monday|tuesday|wednesday|thursday|friday|saturday|sunday"
    r"|gestern|heute|morgen|letzte\w*|nächste\w*|vor|seit|woche\w*|monat\w*|jahr\w*|tage?n?|\d{4})\b",
    re.IGNORECASE,
)
_ASKS_WHEN = re.compile(r"\s*(when|since when|how long ago|what (day|date|month|year)|wann|seit wann)\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]{2,}")
NEIGHBOURS = 2  # places before and after a record whose words count for it: those that the weights know


def session_scores(
    candidates: Sequence[Candidate],
    words: Mapping[str, float],
    meaning: Mapping[str, float],
    query: str,
    weights: Weights,
) -> dict[str, float]:
    """Scores of the candidates that belong to a session, from their own evidence and their neighbours'.

    A record's words count together with those one and two places before and after it; a question gives more to what
    follows and is worth less itself; the session's best record lifts all of it; a record by the one speaker whom the
    query names, a longer record and, for a query that asks when, one that names a time, are preferred.
    The result is scaled so that the best of these records scores what it would have scored alone: conversations
    neither push notes aside nor are pushed aside by them.

    Args:
      words: share of the words by id, 0 or more; missing means 0.
      meaning: share of the cosine by id, 0 to 1; missing means 0.
      query: as typed.
    Returns: scores by id of every candidate with a session; empty when there is none.
    """
    turns = sorted((candidate for candidate in candidates if candidate.session), key=lambda turn: turn.id)
    if not turns:
        return {}
    share = weights.meaning
    alone = {t.id: share * meaning.get(t.id, 0.0) + (1 - share) * words.get(t.id, 0.0) for t in turns}
    with_neighbours = _with_neighbours(turns, words, weights)
    scores = {t.id: share * meaning.get(t.id, 0.0) + (1 - share) * with_neighbours[t.id] for t in turns}
    best: dict[str, float] = {}
    for turn in turns:
        best[turn.session] = max(best.get(turn.session, 0.0), scores[turn.id])
    speaker = _speaker_named(turns, query)
    asks_when = bool(_ASKS_WHEN.match(query))
    for turn in turns:
        merit = weights.session * best[turn.session] + _own_merit(turn, speaker, asks_when, weights)
        scores[turn.id] = max(scores[turn.id] + merit, 0.0)
    top, plain = max(scores.values()), max(alone.values())
    scale = plain / top if top > 0 else 1.0
    return {record: score * scale for record, score in scores.items()}


def _with_neighbours(turns: Sequence[Candidate], words: Mapping[str, float], weights: Weights) -> dict[str, float]:
    """The words' score of each turn with its neighbours' shares added."""
    places = {(turn.session, turn.position): turn for turn in turns}
    steps = ((-1, weights.before_one), (-2, weights.before_two), (1, weights.after_one), (2, weights.after_two))
    total: dict[str, float] = {}
    for turn in turns:
        total[turn.id] = words.get(turn.id, 0.0)
        for step, weight in steps:
            neighbour = places.get((turn.session, turn.position + step))
            if neighbour is not None:
                gives = 1 + weights.question_gives if step < 0 and _is_question(neighbour) else 1.0
                total[turn.id] += weight * gives * words.get(neighbour.id, 0.0)
    return total


def _own_merit(turn: Candidate, speaker: str, asks_when: bool, weights: Weights) -> float:
    merit = weights.length * min(len(turn.content) / weights.length_full, 1.0)
    if speaker and _speaker(turn) == speaker:
        merit += weights.speaker
    if _is_question(turn):
        merit -= weights.question_costs
    if asks_when and _TIME_WORDS.search(turn.content):
        merit += weights.when
    return merit


def _is_question(turn: Candidate) -> bool:
    """Whether a turn ends by asking; what it shares in brackets after the text does not count."""
    return turn.content.split(" [", 1)[0].rstrip().endswith(("?", "？"))


def _speaker(turn: Candidate) -> str:
    """The first word of a turn's title, lower case: who speaks; empty when the title starts with something else."""
    match = _WORD.match(turn.title)
    return match.group().lower() if match else ""


def _speaker_named(turns: Sequence[Candidate], query: str) -> str:
    """The one speaker whom a query names; empty when it names none or several."""
    named = {word.lower() for word in _WORD.findall(query)} & {_speaker(turn) for turn in turns}
    return named.pop() if len(named) == 1 else ""
