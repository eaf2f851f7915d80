"""How values look in a notebook: small tables and curves, as HTML and SVG that need nothing from outside."""

import math
from collections.abc import Mapping, Sequence
from html import escape

WIDTH, HEIGHT, MARGIN = 260, 70, 4
POINTS = 200
"""Points of a curve at most."""
DECADES = 10.0
"""The ratio of the largest value to the smallest from which on a curve is drawn by powers of ten."""
STYLE = "border-collapse:collapse;font-size:90%;margin:0.3em 0"
CELL = "text-align:left;padding:0.1em 0.8em 0.1em 0;vertical-align:top"


def table(rows: Mapping[str, str], title: str = "") -> str:
    """A title, and below it a line for each row; line breaks of a text are kept."""
    head = f"<div><strong>{escape(title)}</strong></div>" if title else ""
    lines = "".join(
        f'<tr><th style="{CELL};white-space:nowrap">{escape(label)}</th><td style="{CELL}">{_lines(text)}</td></tr>'
        for label, text in rows.items()
    )
    return f'{head}<table style="{STYLE}">{lines}</table>'


def _lines(text: str) -> str:
    return escape(text).replace("\n", "<br>")


def curve(values: Sequence[float], caption: str) -> str:
    """A small curve of the finite values; empty where there are fewer than two."""
    finite = [(k, value) for k, value in enumerate(values) if math.isfinite(value)]
    if len(finite) < 2:
        return ""
    step = -(-len(finite) // POINTS)
    shown = [*finite[:-1:step], finite[-1]]
    low, high = min(value for _, value in shown), max(value for _, value in shown)
    logarithmic = low > 0 and high > DECADES * low
    heights = [math.log(value) if logarithmic else value for _, value in shown]
    left, right = shown[0][0], shown[-1][0]
    least, span = min(heights), (max(heights) - min(heights)) or 1.0
    points = " ".join(
        f"{MARGIN + (WIDTH - 2 * MARGIN) * (k - left) / (right - left):.1f},"
        f"{HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * (height - least) / span:.1f}"
        for (k, _), height in zip(shown, heights, strict=True)
    )
    scale = ", by powers of ten" if logarithmic else ""
    told = f"{caption}: from {shown[0][1]:.3g} to {shown[-1][1]:.3g}{scale}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" role="img">'
        f"<title>{escape(told)}</title>"
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#ccc"/>'
        f'<polyline points="{points}" fill="none" stroke="#1f77b4" stroke-width="1.5"/></svg>'
        f'<div style="font-size:80%;color:#666">{escape(told)}</div>'
    )
