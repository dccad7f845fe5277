"""Texts like those agents store: function words, technical words by Zipf's law, identifiers. Seeded, so alike."""

import random
from bisect import bisect
from dataclasses import dataclass
from itertools import accumulate

FUNCTION_WORDS = tuple(
    """the a of to in and is for on with that this it as by from when not are be at so if an or must only which after
    before than into because its has was we no all can does one each""".split()  # noqa: SIM905 - a list of 50 strings reads worse
)
TECHNICAL_WORDS = tuple(
    """test build server cache token error file branch deploy config query index migration release schema user request
    timeout retry worker thread lock commit rollback docker image port database record client session header socket
    parser lint type module package version upgrade backup restore log metric alert queue job schedule webhook proxy
    certificate endpoint route template form page style script bundle worktree rebase merge review pipeline runner
    secret role permission tenant invoice payment order cart search ranking vector embedding model prompt agent tool
    """.split()  # noqa: SIM905
)
SYLLABLES = tuple("ka ro ti mel sun dor vi pra lo ne gan tu fe bri co ma xi del ur san po qui ze hal mor".split())  # noqa: SIM905
CONTENT_WORDS = 30_000  # distinct; a team's wiki of a few thousand pages has about as many
FUNCTION_SHARE = 0.35
TYPES = ("fact", "decision", "procedure", "failure", "constraint", "preference", "requirement", "open-work")


@dataclass(frozen=True)
class Text:
    namespace: str
    type: str
    title: str
    content: str
    tags: tuple[str, ...]


class Writer:
    """Makes texts and queries. Two thirds of the texts go to the namespace that the queries search."""

    HOME = "github/acme/main"

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        tails = ["", *SYLLABLES, *(x + y for x in SYLLABLES for y in SYLLABLES)]
        made = (f"{a}{b}{c}" for a in SYLLABLES for b in SYLLABLES for c in tails)
        rare = sorted(set(made))
        random.Random(7).shuffle(rare)  # the same vocabulary for every seed
        self._words = [*TECHNICAL_WORDS, *rare[: CONTENT_WORDS - len(TECHNICAL_WORDS)]]
        self._weights = list(accumulate(1 / (rank + 10) for rank in range(len(self._words))))

    def text(self) -> Text:
        rng = self._random
        namespace = self.HOME if rng.random() < 2 / 3 else f"github/acme/repo{rng.randrange(30)}"
        title = " ".join(self._token() for _ in range(rng.randint(5, 10))).capitalize()
        sentences = (
            " ".join(self._token() for _ in range(rng.randint(6, 18))).capitalize() + "."
            for _ in range(rng.randint(2, 9))
        )
        tags = tuple({self._word() for _ in range(rng.randint(0, 3))})
        return Text(namespace, rng.choice(TYPES), title[:200], " ".join(sentences), tags)

    def query(self) -> str:
        """What someone would type who looks for a text like these: two to six words, some of them function words."""
        rng = self._random
        words = [self._word() for _ in range(rng.randint(2, 5))]
        if rng.random() < 0.5:
            words.insert(rng.randrange(len(words)), rng.choice(FUNCTION_WORDS))
        return " ".join(words)

    def _token(self) -> str:
        roll = self._random.random()
        if roll < FUNCTION_SHARE:
            return self._random.choice(FUNCTION_WORDS)
        if roll < 0.96:
            return self._word()
        a, b = self._word(), self._word()
        return self._random.choice(
            (
                f"{a}_{b}",
                f"{a}{b.capitalize()}",
                f"--{a}-{b}",
                f"src/{a}/{b}.py",
                f"{a.upper()[:3]}-{self._random.randrange(999)}",
            )
        )

    def _word(self) -> str:
        return self._words[bisect(self._weights, self._random.random() * self._weights[-1])]
