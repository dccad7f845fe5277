"""Words of several languages that stand for one idea, so that a note is found from a question in another language.

The table `data/concepts.txt` is our own compilation of the words software teams use. It is read once, by whoever builds
a `Concepts`, and knows neither the index nor the counts of its words.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files

from agent_memory.domain import terms as words

MAX_WORDS = 3  # words in the longest expression of the table that is looked for in a query
ENGLISH_COLUMN = 0
GERMAN_COLUMN = 1
# Words that hardly a text in German, Spanish, Portuguese or French does without, by the column of the language. None is
# an English word, nor stemmed to one; three of them in an index show that it holds notes in that language.
MARKERS = {
    GERMAN_COLUMN: ("und", "der", "nicht", "eine", "wird", "auf", "oder", "werden"),
    2: ("los", "una", "para", "por", "como", "pero", "cuando", "están"),
    3: ("não", "uma", "são", "pelo", "mais", "quando", "foi", "também"),
    4: ("les", "une", "est", "pas", "dans", "avec", "pour", "sont"),
}
MARKERS_NEEDED = 3
MAX_RUN = 6  # characters in the longest CJK expression


@dataclass(frozen=True, slots=True)
class Expression:
    """A word or fixed expression, with its stems (characters, for Han and kana) and the column of its language."""

    text: str
    stems: tuple[str, ...]
    column: int


@dataclass(frozen=True, slots=True)
class Typed:
    """A word of a query: its stem, and whether it is a known English word."""

    stem: str
    english: bool


class Concepts:
    """Finds the ideas named in a query and gives their words in the other languages."""

    def __init__(self, lines: Iterable[str], stems: Callable[[str], Sequence[str]]) -> None:
        """Read the table.

        Args:
          lines: one idea a line, languages by `|`, words by commas; `#` starts a comment line.
          stems: cuts a text into stems as the full-text index does.
        """
        self._ideas: list[list[list[Expression]]] = []
        self._places: dict[tuple[str, ...], list[tuple[int, int]]] = {}
        for line in lines:
            if line.strip() and not line.startswith("#"):
                self._add(line, stems)

    def __len__(self) -> int:
        return len(self._ideas)

    def translations(self, query: str, typed: Sequence[Typed]) -> list[Expression]:
        """What the ideas named in a query are called in other languages than the one they are named in.

        Args:
          query: the query as typed; its runs of Han, kana and Hangul are searched for expressions.
          typed: its other words, in order, without stop words.
        Returns: expressions in the order of the table, each text once.
        """
        found: dict[str, Expression] = {}
        for idea, column in sorted(self._named(query, typed)):
            for other, expressions in enumerate(self._ideas[idea]):
                if other != column:  # synonyms in the query's own language cost conversations more than they gave notes
                    for expression in expressions:
                        found.setdefault(expression.text, expression)
        return list(found.values())

    def _named(self, query: str, typed: Sequence[Typed]) -> set[tuple[int, int]]:
        """Idea and column of what the query names."""
        named: set[tuple[int, int]] = set()
        for start in range(len(typed)):
            for end in range(start + 1, min(start + MAX_WORDS, len(typed)) + 1):
                span = typed[start:end]
                # `data` is Portuguese for a date, and `pays` a French country: an English word is taken for English.
                english = all(word.english for word in span)
                places = self._places.get(tuple(word.stem for word in span), [])
                named.update(place for place in places if place[1] == ENGLISH_COLUMN or not english)
        for run in words.cjk_runs(words.clean(query)):
            for start in range(len(run)):
                for end in range(start + 2, min(start + MAX_RUN, len(run)) + 1):
                    named.update(self._places.get(tuple(run[start:end]), ()))
        return named

    def _add(self, line: str, stems: Callable[[str], Sequence[str]]) -> None:
        idea: list[list[Expression]] = []
        for column, cell in enumerate(line.split("|")):
            expressions = []
            for text in filter(None, map(str.strip, cell.split(","))):
                key = tuple(text) if words.cjk_runs(text) else tuple(stems(text))
                expressions.append(Expression(text, key, column))
                places = self._places.setdefault(key, [])
                if all(place[0] != len(self._ideas) for place in places):  # a word shared by languages is the first's
                    places.append((len(self._ideas), column))
            idea.append(expressions)
        self._ideas.append(idea)


def shipped_concepts(stems: Callable[[str], Sequence[str]]) -> Concepts:
    """The table that comes with the product."""
    text = files("agent_memory.retrieval").joinpath("data/concepts.txt").read_text(encoding="utf-8")
    return Concepts(text.splitlines(), stems)
