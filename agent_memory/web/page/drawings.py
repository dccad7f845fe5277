"""The page's graphics as SVG: pure functions of small values; words in them are escaped as they are put in.

Bars and columns hold no text and may be stretched to any width: labels stand beside them in HTML, so that they stay
readable on a narrow screen. Colours are classes of the style sheet (`tone-<name>`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

HOUR_WIDTH: Final = 10
BAR_WIDTH: Final = 8
HEIGHT: Final = 100
HAIR: Final = 0.8  # percent of a bar's width, or of a column's height: the least that a count above nothing is drawn as


@dataclass(frozen=True, slots=True)
class Part:
    """A share of a bar: what it is, how many, and the tone it is drawn in."""

    label: str
    value: int
    tone: str


@dataclass(frozen=True, slots=True)
class Series:
    """One kind of thing over time: a value a column, and the tone it is drawn in."""

    label: str
    values: tuple[int, ...]
    tone: str

    @property
    def total(self) -> int:
        """All of it."""
        return sum(self.values)


def bar(name: str, parts: Sequence[Part], *, of: int) -> Markup:
    """One horizontal bar of parts side by side.

    Args:
      name: what the bar is about, for those who hear it.
      of: the value that fills the whole width; parts beyond it are cut by the picture's edge.
    """
    drawn, left = [], 0.0
    for part in parts:
        if part.value <= 0 or of <= 0:
            continue
        width = max(part.value / of * 100, HAIR)
        drawn.append(
            Markup(
                '<rect class="tone-{}" x="{:.2f}" y="0" width="{:.2f}" height="10"><title>{}: {}</title></rect>'
            ).format(part.tone, left, width, part.label, part.value)
        )
        left += width
    spoken = ", ".join(f"{part.value} {part.label}" for part in parts if part.value) or "none"
    return Markup(
        '<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label="{}: {}">'
        '<rect class="track" x="0" y="0" width="100" height="10"/>{}</svg>'
    ).format(name, spoken, Markup("").join(drawn))


def columns(name: str, times: Sequence[str], series: Sequence[Series]) -> Markup:
    """Stacked columns, one a time, oldest on the left, as high as the highest needs.

    Args:
      times: how each column is called, in the order of the series' values.
    """
    sums = [sum(each.values[i] for each in series) for i in range(len(times))]
    peak = max(sums, default=0)
    drawn = [_column(i, time, series, peak) for i, time in enumerate(times) if sums[i]]
    spoken = f"{sum(sums)} in all, at most {peak} in one hour" if peak else "none"
    return Markup(
        '<svg class="columns" viewBox="0 0 {} {}" preserveAspectRatio="none" role="img" aria-label="{}: {}">{}</svg>'
    ).format(len(times) * HOUR_WIDTH, HEIGHT, name, spoken, Markup("").join(drawn))


def dot(tone: str) -> Markup:
    """A round mark of a state; the word for the state stands beside it."""
    return Markup(
        '<svg class="dot" viewBox="0 0 10 10" aria-hidden="true"><circle class="tone-{}" cx="5" cy="5" r="4"/></svg>'
    ).format(tone)


def _column(place: int, time: str, series: Sequence[Series], peak: int) -> Markup:
    rects, top = [], float(HEIGHT)
    for each in series:
        if each.values[place]:
            height = max(each.values[place] / peak * HEIGHT, HAIR)
            top -= height
            rects.append(
                Markup('<rect class="tone-{}" x="{}" y="{:.1f}" width="{}" height="{:.1f}"/>').format(
                    each.tone, place * HOUR_WIDTH + 1, top, BAR_WIDTH, height
                )
            )
    counted = ", ".join(f"{each.label} {each.values[place]}" for each in series if each.values[place])
    return Markup("<g><title>{}: {}</title>{}</g>").format(time, counted, Markup("").join(rects))
