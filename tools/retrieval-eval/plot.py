"""The figures as a drawing: for each kind of query one row, for each ranker one dot with its interval."""

from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

import numpy as np
from measure import RESAMPLES, Scored, by_kind

COLOURS = ("#8a8f98", "#2f7ed8", "#c98500", "#1a936f", "#b83280")
LEFT, TOP, ROW, WIDTH, RIGHT = 190, 64, 34, 520, 40


def draw(title: str, results: Mapping[str, Sequence[Scored]], figure: str) -> str:
    """An SVG of one figure by kind and over all; bars are 95 % bootstrap intervals of each mean."""
    kinds = ["all", *by_kind(next(iter(results.values())))]
    height = TOP + ROW * len(kinds) + 46
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + RIGHT}" height="{height}" '
        f'viewBox="0 0 {LEFT + WIDTH + RIGHT} {height}" font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        f'<text x="12" y="22" font-size="15">{escape(title)}: {escape(figure)}</text>',
    ]
    for place, name in enumerate(results):
        x = LEFT + place * 120
        parts.append(f'<circle cx="{x}" cy="40" r="5" fill="{COLOURS[place % len(COLOURS)]}"/>')
        parts.append(f'<text x="{x + 10}" y="44">{escape(name)}</text>')
    for tick in range(0, 11, 2):
        x = LEFT + WIDTH * tick / 10
        parts.append(f'<line x1="{x}" y1="{TOP - 6}" x2="{x}" y2="{height - 40}" stroke="#e3e5e8"/>')
        parts.append(f'<text x="{x}" y="{height - 24}" text-anchor="middle" fill="#555">{tick / 10:.1f}</text>')
    for row, kind in enumerate(kinds):
        y = TOP + ROW * row + ROW / 2
        parts += _row(kind, y, results, figure)
    parts.append("</svg>")
    return "\n".join(parts)


def _row(kind: str, y: float, results: Mapping[str, Sequence[Scored]], figure: str) -> list[str]:
    parts: list[str] = []
    count = 0
    for place, (name, scored) in enumerate(results.items()):
        values = np.array([one.figures[figure] for one in scored if kind in ("all", one.kind)])
        count = len(values)
        drawn = np.random.default_rng(0).integers(0, count, (min(RESAMPLES, 2000), count))
        low, high = np.quantile(values[drawn].mean(axis=1), [0.025, 0.975])
        at = y + (place - (len(results) - 1) / 2) * 6
        colour = COLOURS[place % len(COLOURS)]
        x = LEFT + WIDTH * values.mean()
        parts.append(
            f'<line x1="{LEFT + WIDTH * low:.1f}" y1="{at:.1f}" x2="{LEFT + WIDTH * high:.1f}" y2="{at:.1f}" '
            f'stroke="{colour}" stroke-width="2"/>'
        )
        label = escape(f"{name}, {kind}: {values.mean():.3f}")
        parts.append(f'<circle cx="{x:.1f}" cy="{at:.1f}" r="3.5" fill="{colour}"><title>{label}</title></circle>')
    parts.insert(0, f'<text x="12" y="{y + 4:.1f}">{escape(kind)} ({count})</text>')
    return parts
