"""The tables of ``bregopt bench race``."""

import math
from collections.abc import Sequence

import click

from bregopt.cli.bench_table import PAGE, print_table, ratio
from bregopt.cli.race_cell import TIE, Cell
from bregopt.cli.race_heat import PRODUCTS, SECONDS, Heat
from bregopt.cli.race_standing import WITHIN, duels, profile, reaches, sides

DIVERGED = "diverged"
NEVER = "not reached"
BESIDE, ALONE = 3, 6
"""Columns of objectives in the first table of a row, beside other figures, and in those that follow."""
FAIR = (
    "For each seed every method starts from the same point and minimises the same objective; a product is a "
    "multiplication of 2·m·n·r flops, counted alike for all; peers run at their defaults. Figures are the lowest "
    "objective so far, or for methods that know only an upper bound of it the lowest bound; the median over seeds. "
    f"*: the best, or less than {TIE:.1%} above it. …: the limit on seconds came first."
)


def print_heat(heat: Heat, ours: Sequence[str]) -> None:
    """Every method at every budget, the best at the largest one first; many budgets fill more than one table."""
    mine, _ = sides(heat.curves, ours)
    cells, final = heat.cells, heat.cells[len(heat.products) - 1].objective
    groups = [cells[:BESIDE], *(cells[at : at + ALONE] for at in range(BESIDE, len(cells), ALONE))]
    click.echo(click.style(f"\n{_title(heat)}", bold=True))
    for group in groups:
        shown = [
            {
                "method": name,
                "side": "ours" if name in mine else "peer",
                **{_heading(cell): _objective(heat, cell, name) for cell in group if cell.axis == PRODUCTS},
                **(_work(heat, name) if group is groups[0] else {}),
                **{_heading(cell): _objective(heat, cell, name) for cell in group if cell.axis == SECONDS},
            }
            for name in sorted(final, key=final.__getitem__)
        ]
        left_out = [f"Left out: {name}. {why}" for name, why in heat.skipped.items()]
        print_table(shown, "\n".join([*heat.notes, *left_out]) if group is groups[-1] else "")
    _print_reaches(heat, ours)


def _work(heat: Heat, name: str) -> dict[str, str]:
    error = heat.middle(name, PRODUCTS, heat.last, "relative_error")
    return {
        f"error\n@{heat.last:g}": f"{error:.3g}" if math.isfinite(error) else "–",
        "products\n/iteration": ratio(heat.per_iteration(name)),
        f"seconds\n@{heat.last:g}": _seconds(heat.spent(name)),
    }


def _print_reaches(heat: Heat, ours: Sequence[str]) -> None:
    """What each of ours needed for the best peer's last objective."""
    found = reaches(heat, ours)
    if not found:
        return
    click.echo(
        f"The best peer is {found[0].peer}, with {found[0].objective:.5g} at {heat.last:g} products. Reached by:"
    )
    shown = [
        {
            "method": reach.method,
            "products": NEVER if math.isinf(reach.products) else f"{reach.products:.4g}",
            "times fewer": ratio(reach.gain(PRODUCTS)),
            "seconds": NEVER if math.isinf(reach.seconds) else _seconds(reach.seconds),
            "times faster": ratio(reach.gain(SECONDS)),
        }
        for reach in found
    ]
    print_table(shown, "")


def print_standing(heats: Sequence[Heat], ours: Sequence[str]) -> None:
    """All rows together, by products and by seconds."""
    for axis in (PRODUCTS, SECONDS):
        cells = [cell for heat in heats for cell in heat.cells if cell.axis == axis]
        found = profile(cells)
        click.echo(click.style(f"\nAt equal {axis}", bold=True) + f": cells (row × budget) of {len(cells)}")
        shown = [
            {
                "method": name,
                "cells": str(counts["cells"]),
                "best": str(counts["best"]),
                **{f"≤ {limit:g}× best": f"{counts[f'within_{limit:g}'] / counts['cells']:.0%}" for limit in WITHIN},
            }
            for name, counts in sorted(found.items(), key=lambda it: [-count for count in it[1].values()][1:])
        ]
        print_table(shown, "\n".join(_duel(name, **counts) for name, counts in duels(cells, ours).items()))
    click.echo(f"\n{click.wrap_text(FAIR, PAGE)}")


def _duel(name: str, ahead: int, level: int, behind: int) -> str:
    return f"{name} against every peer: ahead in {ahead}, level in {level}, behind in {behind}."


def _title(heat: Heat) -> str:
    facts, seeds = heat.facts, max(len(curves) for curves in heat.curves.values())
    size = f"{facts['rows']}×{facts['columns']}, {100 * facts['density']:.3g} % non-zeros"
    runs = "1 run" if seeds == 1 else f"{seeds} seeds"
    return f"{facts['matrix']}, {size}, rank {facts['rank']}, {facts['start']} start, {runs}"


def _heading(cell: Cell) -> str:
    return "objective\n@" + (f"{cell.budget:.3g} s" if cell.axis == SECONDS else f"{cell.budget:g}")


def _objective(heat: Heat, cell: Cell, name: str) -> str:
    value = cell.objective[name]
    if math.isinf(value):
        return f"{DIVERGED}  "
    mark = "*" if name in cell.winners else " "
    return f"{value:.5g}{'…' if heat.cut(name, cell.axis, cell.budget) else ' '}{mark}"


def _seconds(value: float) -> str:
    return f"{value:.3g}" if math.isfinite(value) else "–"
