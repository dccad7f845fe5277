"""How much a screening does, counted and bounded, so that hostile text cannot buy time."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

# What a text may cost, in microseconds, about; a text of more is refused. Every step is counted before it is taken, at
# what it takes where a text was made to take long.
MAX_COST: Final = 46_000
Spend = Callable[[float], None]


class TooDense(ValueError):
    """The text holds more disguises or places than any honest one; it can only be refused."""


@dataclass(slots=True)
class Work:
    """How much a screening did; the tests bound it, for times differ from machine to machine."""

    cost: float = 0
    bounded: bool = True
    exceeded: bool = False  # something was not done, for it would have cost too much

    def spend(self, cost: float) -> None:
        """Count what something will cost. Raises: TooDense: no text may cost so much; it is not counted then."""
        if self.bounded and self.cost + cost > MAX_COST:
            self.exceeded = True
            raise TooDense
        self.cost += cost
