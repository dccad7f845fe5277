"""Content words of a text and how many of them another text holds; crude on purpose, for rules that need no model."""

import re

from agent_memory.domain.specifics import normalise

STEM_CHARS = 5  # words are compared by their first letters, so that `pods` and `pod`, `writes` and `write` meet

_WORD = re.compile(r"[^\W\d_]{2,}")
_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_STOP_TEXT = """
a about above after again all also an and any are as at be because been before being below between both but by
can could did do does done down during each for from had has have he her here his how i if in into is it its
itself just me more most my now of off on once only or other our out over own per same she since so some such
than that the their them then there these they this those through to too under until up us very was we were what
when where which while who why will with would you your may might must shall should use used uses using via
every one two der die das den dem des ein eine einer eines und oder aber ist sind war im am auf mit von zu zum
zur bei für nach aus als wie wenn dass sich es er sie wir ich man auch nur noch
"""
STOP_WORDS = frozenset(_STOP_TEXT.split())


def content_words(text: str) -> frozenset[str]:
    """The stems of a text's words without stop words; a run of CJK text is taken in pairs of characters."""
    words: set[str] = set()
    for word in _WORD.findall(normalise(text)):
        if _CJK.search(word):
            words.update(word[at : at + 2] for at in range(max(1, len(word) - 1)))
        elif word not in STOP_WORDS:
            words.add(stem(word))
    return frozenset(words)


def stem(word: str) -> str:
    """A word's first letters without a plural s, by which inflected forms meet; CJK words stay whole."""
    if _CJK.search(word):
        return word
    singular = word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
    return singular[:STEM_CHARS]


def coverage(part: str, whole: str) -> float:
    """Share of the content words of `part` that `whole` holds, in [0, 1]; 0 when `part` has none."""
    wanted = content_words(part)
    return len(wanted & content_words(whole)) / len(wanted) if wanted else 0.0
