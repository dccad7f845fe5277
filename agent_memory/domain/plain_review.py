"""A reviewer without a model: finds exact and near duplicates and plain progress notes by rule, and keeps the rest.

It is meant to be wrong on the side of keeping; its verdicts pass the same guards as a model's.
"""

import re
from collections.abc import Sequence

from agent_memory.domain.review import Shown, Verdict, VerdictKind, duplicate_refusal, may_be_session_state
from agent_memory.domain.specifics import normalise, specifics_of
from agent_memory.domain.wording import STOP_WORDS, content_words, coverage, stem

BARE_COVERAGE = 0.9  # the same where the candidate has no specifics, so that the guards have nothing to compare
NEAR_COVERAGE = 0.7  # share of the candidate's content words that a record must hold; chosen on tools/review-eval
MIN_WORDS = 5  # content words of a near duplicate; less is too little to tell by
MIN_EXACT_WORDS = 3  # content words of an exact one; "Done." stands in many records

_NEGATION = re.compile(
    r"\b(?:not|no|never|none|neither|nor|without|cannot|forbidden|forbid|forbids|disallowed|refus\w+|kein\w*|nicht|nie|"
    r"ohne|\w+n't)\b"
)
_CLAUSE = re.compile(r"(?<=[.!?;,])\s+|[\n:]|[。！？；，]")
_NEGATED_WORDS = 4  # a negation colours about this many content words after it, or before it where it ends the clause

_PASSING = tuple(
    re.compile(pattern)
    for pattern in (
        # what comes next in this sitting
        r"\bnext (?:step|steps|i|up|thing)\b|\b(?:i'll|i will|i am going to|i'm going to|i go on|i continue|"
        r"will continue|"
        r"continuing|continue with|remaining steps|to ?do|when i (?:come|get) back|let me|i check again|i keep)\b|"
        r"下一步|"
        r"\b(?:als nächstes|schaue ich|mache ich|werde ich|ich werde|weiter mit)\b",
        # a moment of this sitting
        r"\b(?:for now|right now|at the moment|currently|so far|today|tonight|tomorrow|overnight|after lunch|"
        r"this morning|"
        r"this afternoon|this evening|in an hour|in a moment|before lunch|for today|since \d{1,2}:\d\d|"
        r"at \d{1,2}:\d\d)\b|"
        r"今天|现在|晚上|明天|\b(?:heute|morgen|gerade|momentan|stand heute)\b",
        # work that is under way
        r"\b(?:in progress|is running|still running|are running|half done|not done yet|not yet|pending|"
        r"(?<!by )waiting|uncommitted|"
        r"work in progress|wip|is done|are done|went on|under way|underway|stopping here|rebased|stash\w*|typo|"
        r"\d+ of \d+|two of \w+)\b|进度|改完|\b(?:noch nicht|fertig|läuft)\b",
        # the sitting itself
        r"\b(?:on my (?:machine|branch|laptop)|this branch|my branch|this task|working tree|while testing|this machine|"
        r"before lunch|this session|no code change|paired with|looks as expected|i (?:moved|tried|called|ran|"
        r"posted|fixed|"
        r"removed|started|installed|looked|corrected|rebased|decided))\b",
    )
)
_LASTING = re.compile(
    r"\b(?:must|never|always|because|since (?:the|it|they)|required?|requires|policy|from now on|decided on|"
    r"rule|in order|"
    r"instead of|in place of|needs?|only if|whenever|means|otherwise|cause[ds]?|due to|therefore|exists|defined in)\b|"
    r"必须|因为|\b(?:muss|müssen|immer|weil|darf|dürfen)\b"
)
MIN_PASSING = 2  # kinds of progress wording that must meet before a note is called session state
MIN_PASSING_NAMED = 3  # the same for a note that names files or identifiers, which may hold a lesson in passing


def review_plainly(candidate: Shown, neighbours: Sequence[Shown]) -> Verdict:
    """Judge a candidate by rule; the caller still passes the verdict to `review.rule`.

    Returns: duplicate of the first neighbour with the same wording, else of the one that holds most of the candidate's
      words (ties to the earlier neighbour), else session-state for a plain progress note, else keep.
    """
    allowed = [record for record in neighbours if not duplicate_refusal(candidate, record)]
    exact = len(content_words(candidate.content)) >= MIN_EXACT_WORDS
    for record in allowed if exact else ():
        if normalise(candidate.content) in normalise(record.content) and not _flipped(candidate.title, record.text):
            return Verdict(VerdictKind.DUPLICATE, record.id, "same wording")
    near = [(coverage(candidate.text, record.text), record) for record in allowed]
    needed = NEAR_COVERAGE if has_specifics(candidate.text) else BARE_COVERAGE
    near = [pair for pair in near if pair[0] >= needed and not _flipped(candidate.text, pair[1].text)]
    if near and len(content_words(candidate.text)) >= MIN_WORDS:
        share, best = max(near, key=lambda pair: pair[0])
        return Verdict(VerdictKind.DUPLICATE, best.id, f"holds {share:.0%} of its words and every specific")
    if may_be_session_state(candidate) and is_progress_note(candidate.text):
        return Verdict(VerdictKind.SESSION_STATE, reason="progress of one session")
    return Verdict(VerdictKind.KEEP)


def has_specifics(text: str) -> bool:
    """Whether a text states a number, version, path, identifier or quoted phrase."""
    specifics = specifics_of(text)
    return bool(specifics.numbers or specifics.names or specifics.phrases)


def is_progress_note(text: str) -> bool:
    """Whether a text tells of work under way in several ways and states nothing that outlasts it."""
    folded, specifics = normalise(text), specifics_of(text)
    needed = MIN_PASSING_NAMED if specifics.names or specifics.phrases else MIN_PASSING
    return not _LASTING.search(folded) and sum(bool(kind.search(folded)) for kind in _PASSING) >= needed


def _flipped(part: str, whole: str) -> bool:
    """Whether some word is negated in every place of one text and in no place of the other, though both hold it."""
    one_negated, one_plain = _polarity(part)
    two_negated, two_plain = _polarity(whole)
    return bool((one_negated - one_plain) & (two_plain - two_negated)) or bool(
        (one_plain - one_negated) & (two_negated - two_plain)
    )


def _polarity(text: str) -> tuple[set[str], set[str]]:
    """The content words of a text that stand under a negation somewhere, and those that stand without one."""
    negated: set[str] = set()
    plain: set[str] = set()
    for clause in _CLAUSE.split(text):
        tokens = re.findall(r"[^\W\d_][\w']*", normalise(clause))
        if tokens and _NEGATION.fullmatch(tokens[-1]):  # "memory limits are not"
            tokens.reverse()
        left = 0
        for token in tokens:
            if _NEGATION.fullmatch(token):
                left = _NEGATED_WORDS
            elif token not in STOP_WORDS:
                (negated if left > 0 else plain).add(stem(token))
                left -= 1
    return negated, plain
