"""A curve in words and as a table, for people."""

import math
import shutil
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from bregopt_selection.curve import Curve

BAR = 24
"""Characters of the longest bar of the table."""
NARROW = 84
"""Columns of a terminal below which the table has no bars."""
EIGHTHS = " ▏▎▍▌▋▊▉"


def answer(curve: "Curve") -> str:
    """What to choose and why, in sentences."""
    chosen = f"{curve.variable.capitalize()} {curve.chosen:g}"
    if curve.chosen != curve.minimum:
        said = f"{chosen} is the {curve.simplest} whose held-out error is within one standard error of the least, "
        said += f"which {curve.variable} {curve.minimum:g} has."
    elif len(curve.seeds) == 1:
        said = f"{chosen} has the least held-out error. One seed has no standard error: try more."
    else:
        simpler = "smaller rank" if curve.variable == "rank" else "larger weight"
        said = f"{chosen} has the least held-out error, and no {simpler} comes within one standard error of it."
    return " ".join([said, f"The knee is at {curve.knee:g}.", *_warnings(curve)])


def _warnings(curve: "Curve") -> list[str]:
    first, last = ("smaller", "larger") if curve.variable == "rank" else ("larger", "smaller")
    found = []
    if len(curve.values) > 1 and curve.minimum == curve.values[-1]:
        found.append(f"The error still falls at {curve.values[-1]:g}, the last {curve.variable}: try {last} ones.")
    elif len(curve.values) > 1 and curve.chosen == curve.values[0] and (curve.variable, curve.chosen) != ("rank", 1):
        found.append(f"{curve.values[0]:g} is the first {curve.variable} that was tried: try {first} ones.")
    if curve.worse_than_zeros:
        found.append(
            f"{curve.worse_than_zeros} of {len(curve.fits)} fits predict held-out entries worse than zeros would, and "
            "count as an error of 1: a small ridge on U and V holds the factors where the data say little."
        )
    if curve.interrupted:
        found.append(f"This is after {len(curve.fits)} fits; more were asked for.")
    return found


def table(curve: "Curve") -> str:
    """A row a value, with a bar and the three choices beside; a bar that is cut ends in an arrow."""
    several, zeros = len(curve.seeds) > 1, curve.variable == "weight"
    blocks = curve.blocks if zeros else ()
    heads = [curve.variable, "held-out error" + (" ± s.e." if several else ""), "fit error"]
    heads += [f"zeros {block}" for block in blocks]
    mean, spread, fit_error, shares = curve.mean, curve.standard_error, curve.fit_error, [*map(curve.zeros, blocks)]
    rows = []
    shown = [k for k in range(len(curve.values)) if curve.reached[k]]
    for k in shown:
        error = f"{mean[k]:.4f}" + (f" ± {spread[k]:.4f}" if several else "")
        row = [f"{curve.values[k]:g}", error, f"{fit_error[k]:.4f}", *(f"{100 * share[k]:.0f} %" for share in shares)]
        rows.append([cell.replace("nan", "–") for cell in row])
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    lines = ["  ".join(head.rjust(width) for head, width in zip(heads, widths, strict=True))]
    upto = mean[: curve.values.index(curve.minimum) + 1]
    full = float(np.max(upto, where=np.isfinite(upto), initial=0.0)) or 1.0
    wide = shutil.get_terminal_size((100, 24)).columns >= NARROW
    for k, row in zip(shown, rows, strict=True):
        cells = "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        bar = f"  {_bar(float(mean[k]) / full):{BAR}}" if wide else ""
        lines.append(f"{cells}{bar}  {_marks(curve, k)}".rstrip())
    return "\n".join(lines)


def _marks(curve: "Curve", k: int) -> str:
    value, reached = curve.values[k], int(curve.reached[k])
    marks = ["◀ chosen"] if value == curve.chosen else []
    marks += [name for name, at in (("least", curve.minimum), ("knee", curve.knee)) if value == at]
    marks += [f"{reached} of {len(curve.seeds)} seeds"] if reached < len(curve.seeds) else []
    return ", ".join(marks)


def _bar(share: float) -> str:
    if math.isnan(share):
        return ""
    if share > 1.0 + 1e-9:
        return "█" * (BAR - 1) + "▶"
    eighths = round(8.0 * BAR * share)
    return "█" * (eighths // 8) + EIGHTHS[eighths % 8].strip()
