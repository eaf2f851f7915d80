"""The blocks of a result as pictures: heat maps, lines, or the pictures that the data are made of."""

import math
from typing import Any

import numpy as np

from bregopt.blocks import Array
from bregopt.reports.drawing import COLOURS, INK, Figure, figure, tidy

NAMED = 40
"""Rows or columns that are named in a heat map at most."""
LONGEST = 24
"""Characters of a name that are shown."""
TILES, ACROSS = 24, 8
"""Pictures that are drawn of a block, and those in a line."""
Names = tuple[str, ...] | None


def heat_map(X: Array, rows: Names, columns: Names, beside: str, above: str) -> Figure:
    """White is zero, blue positive and red negative, the darker the larger."""
    m, n = X.shape
    width = min(9.0, 2.6 + 0.22 * n) if n <= NAMED else 9.0
    made = figure(width, min(7.0, 1.5 + 0.19 * m) if m <= NAMED else 4.6)
    axes = made.subplots()
    top = float(np.abs(X).max()) or 1.0
    signed = bool((X < 0).any())
    image = axes.imshow(
        X,
        aspect="auto",
        cmap="RdBu" if signed else "Blues",
        vmin=-top if signed else 0.0,
        vmax=top,
        extent=(0.5, n + 0.5, m + 0.5, 0.5),  # rows and columns are counted from 1
    )
    made.colorbar(image, ax=axes, shrink=0.8, pad=0.02).ax.tick_params(labelsize=7)
    _ticks(axes.set_yticks, m, rows, rotation=0)
    _ticks(axes.set_xticks, n, columns, rotation=90)
    axes.set_ylabel(beside, fontsize=9)
    axes.set_xlabel(above, fontsize=9)
    axes.tick_params(labelsize=7, colors=INK)
    return made


def _ticks(put: Any, size: int, names: Names, rotation: int) -> None:
    """The names where there is room for them; of what has none the numbers from 1."""
    if names is not None and size <= NAMED:
        short = [name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…" for name in names]
        put(range(1, size + 1), short, rotation=rotation)
    elif size <= NAMED:
        put(range(1, size + 1, max(1, size // 10)))


def line(x: Array) -> Figure:
    """A vector."""
    made = figure(8.6, 2.6)
    axes = made.subplots()
    axes.plot(np.arange(1, x.size + 1), x, color=COLOURS[0], linewidth=1.2)
    axes.set_xlabel("entry", fontsize=9)
    tidy(axes)
    return made


def pictures(X: Array, shape: tuple[int, int], titles: list[str]) -> Figure:
    """The first rows of X as pictures of this height and width, each in its own range of grey."""
    count = min(len(X), TILES, len(titles))
    lines = math.ceil(count / ACROSS)
    made = figure(9.0, lines * (9.0 / ACROSS * shape[0] / shape[1] + 0.3))
    panels = made.subplots(lines, ACROSS, squeeze=False).ravel()
    for k, axes in enumerate(panels):
        axes.set_axis_off()
        if k < count:
            axes.imshow(X[k].reshape(shape), cmap="gray", interpolation="nearest")
            axes.set_title(titles[k], fontsize=8, pad=2)
    return made
