"""Whether a text that a model wrote says what its sources say; catches inventions, not subtle errors."""

from agent_memory.domain.specifics import specifics_of
from agent_memory.domain.wording import content_words, coverage

GROUNDED_COVERAGE = 0.25  # share of a text's words that its sources hold; a paraphrase holds half, an invention few
MIN_WORDS = 3  # content words; "Yes." has too few to tell by
COUNTED_BY_HAND = 12  # a reader may count what the sources list; a larger number it did not read is made up

_SMALL = frozenset(str(number) for number in range(COUNTED_BY_HAND + 1))


def is_grounded(text: str, sources: str) -> bool:
    """Whether sources hold enough of a text's words, and every number in it past what a reader may have counted."""
    invented = specifics_of(text).numbers - specifics_of(sources).numbers
    if not invented <= _SMALL:
        return False
    return len(content_words(text)) < MIN_WORDS or coverage(text, sources) >= GROUNDED_COVERAGE
