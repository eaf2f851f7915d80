"""What is told of a race: tables for people, and JSON with everything that the tables and the picture are made of."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import click

import bregopt
from bregopt_bench.display import PAGE, print_table, ratio
from bregopt_bench.race.comparison import (
    PRODUCTS,
    SECONDS,
    TIE,
    WITHIN,
    AtBudget,
    Comparison,
    against_peers,
    headline,
    performance_profile,
    times_to_target,
)
from bregopt_bench.race.entrants import ours_and_peers

DIVERGED = "diverged"
NEVER = "not reached"
BESIDE, ALONE = 3, 6
"""Columns of objectives in the first table of a case, beside other figures, and in those that follow."""
FAIR = (
    "For each seed every method starts from the same point and minimises the same objective; a product is a "
    "multiplication of 2·m·n·r flops, counted alike for all; peers run at their defaults. Figures are the lowest "
    "objective so far, or for methods that know only an upper bound of it the lowest bound; the median over seeds. "
    f"*: the best, or less than {TIE:.1%} above it. …: the limit on seconds came first."
)


def print_comparison(comparison: Comparison, ours: Sequence[str]) -> None:
    """Every method at every budget, the best at the largest one first; many budgets fill more than one table."""
    mine, _ = ours_and_peers(comparison.curves, ours)
    found, last = comparison.at_budgets, comparison.at_budgets[len(comparison.products) - 1].objective
    groups = [found[:BESIDE], *(found[at : at + ALONE] for at in range(BESIDE, len(found), ALONE))]
    click.echo(click.style(f"\n{_title(comparison)}", bold=True))
    for group in groups:
        shown = [
            {
                "method": name,
                "side": "ours" if name in mine else "peer",
                **_objectives(comparison, group, PRODUCTS, name),
                **(_work(comparison, name) if group is groups[0] else {}),
                **_objectives(comparison, group, SECONDS, name),
            }
            for name in sorted(last, key=last.__getitem__)
        ]
        print_table(shown, "\n".join([*comparison.notes, *_refusals(comparison)]) if group is groups[-1] else "")
    _print_times_to_target(comparison, ours)


def _title(comparison: Comparison) -> str:
    facts, seeds = comparison.facts, max(len(curves) for curves in comparison.curves.values())
    size = f"{'×'.join(map(str, facts['shape']))}, {100 * facts['density']:.3g} % non-zeros"
    return f"{headline(facts, size)}, {'1 run' if seeds == 1 else f'{seeds} seeds'}"


def _refusals(comparison: Comparison) -> list[str]:
    """Who does not take part and why, a line for each reason."""
    names: dict[str, list[str]] = {}
    for name, why in comparison.skipped.items():
        names.setdefault(why, []).append(name)
    return [f"{', '.join(them)} {'refuse' if them[1:] else 'refuses'}: {why}" for why, them in names.items()]


def _objectives(comparison: Comparison, group: Sequence[AtBudget], axis: str, name: str) -> dict[str, str]:
    return {_heading(it): _objective(comparison, it, name) for it in group if it.axis == axis}


def _heading(it: AtBudget) -> str:
    return "objective\n@" + (f"{it.budget:.3g} s" if it.axis == SECONDS else f"{it.budget:g}")


def _objective(comparison: Comparison, it: AtBudget, name: str) -> str:
    value = it.objective[name]
    if math.isinf(value):
        return f"{DIVERGED}  "
    mark = "*" if name in it.winners else " "
    return f"{value:.5g}{'…' if comparison.cut_short(name, it.axis, it.budget) else ' '}{mark}"


def _work(comparison: Comparison, name: str) -> dict[str, str]:
    most = comparison.most_products
    error = comparison.median_at(name, PRODUCTS, most, "relative_error")
    return {
        **({f"error\n@{most:g}": f"{error:.3g}" if math.isfinite(error) else "–"} if comparison.has_error else {}),
        "products\n/iteration": ratio(comparison.products_per_iteration(name)),
        f"seconds\n@{most:g}": _seconds(comparison.seconds_of(name)),
    }


def _seconds(value: float) -> str:
    return f"{value:.3g}" if math.isfinite(value) else "–"


def _print_times_to_target(comparison: Comparison, ours: Sequence[str]) -> None:
    """What each of ours needed for the best peer's last objective."""
    found = times_to_target(comparison, ours)
    if not found:
        return
    target = f"{found[0].objective:.5g} at {comparison.most_products:g} products"
    click.echo(f"The best peer is {found[0].peer}, with {target}. Reached by:")
    shown = [
        {
            "method": time.method,
            "products": NEVER if math.isinf(time.products) else f"{time.products:.4g}",
            "times fewer": ratio(time.gain(PRODUCTS)),
            "seconds": NEVER if math.isinf(time.seconds) else _seconds(time.seconds),
            "times faster": ratio(time.gain(SECONDS)),
        }
        for time in found
    ]
    print_table(shown, "")


def print_totals(comparisons: Sequence[Comparison], ours: Sequence[str]) -> None:
    """All cases together, by products and by seconds."""
    for axis in (PRODUCTS, SECONDS):
        found = _along(comparisons, axis)
        click.echo(click.style(f"\nAt equal {axis}", bold=True) + f": cells (row × budget) of {len(found)}")
        shown = [
            {
                "method": name,
                "cells": str(counts["cells"]),
                "best": str(counts["best"]),
                **{f"≤ {limit:g}× best": f"{counts[f'within_{limit:g}'] / counts['cells']:.0%}" for limit in WITHIN},
            }
            for name, counts in sorted(
                performance_profile(found).items(), key=lambda it: [-count for count in it[1].values()][1:]
            )
        ]
        verdicts = [
            f"{name} against every peer: ahead in {it['ahead']}, level in {it['level']}, behind in {it['behind']}."
            for name, it in against_peers(found, ours).items()
        ]
        print_table(shown, "\n".join(verdicts))
    click.echo(f"\n{click.wrap_text(FAIR, PAGE)}")


def _along(comparisons: Sequence[Comparison], axis: str) -> list[AtBudget]:
    """What all cases came to, at the budgets of products or of seconds."""
    return [it for comparison in comparisons for it in comparison.at_budgets if it.axis == axis]


def race_json(
    comparisons: Sequence[Comparison], asked: Mapping[str, Any], facts: Mapping[str, Any], interrupted: bool
) -> str:
    """The race in JSON; what is not finite is null, such as the objective of a method that diverged."""
    totals = {
        axis: {
            "profile": performance_profile(_along(comparisons, axis)),
            "ours_against_peers": against_peers(_along(comparisons, axis), asked["ours"]),
        }
        for axis in (PRODUCTS, SECONDS)
    }
    record = {
        "version": bregopt.__version__,
        "machine": facts,
        "asked": asked,
        "interrupted": interrupted,
        "rows": [_row(comparison, asked["ours"]) for comparison in comparisons],
        "standing": totals,
    }
    finite = json.loads(json.dumps(record, default=str), parse_constant=lambda word: None)
    return json.dumps(finite, allow_nan=False)


def _row(comparison: Comparison, ours: Sequence[str]) -> dict[str, Any]:
    mine, _ = ours_and_peers(comparison.curves, ours)
    return {
        **comparison.facts,
        "methods": {
            name: {
                "ours": name in mine,
                "products_per_iteration": comparison.products_per_iteration(name),
                "seconds": comparison.seconds_of(name),
                "curves": [curve.as_json() for curve in curves],
            }
            for name, curves in comparison.curves.items()
        },
        "cells": [_cell(comparison, it) for it in comparison.at_budgets],
        "best_peer_reached": [time.as_json() for time in times_to_target(comparison, ours)],
        "skipped": comparison.skipped,
        "notes": comparison.notes,
    }


def _cell(comparison: Comparison, it: AtBudget) -> dict[str, Any]:
    at = (it.axis, it.budget)
    return {
        "axis": it.axis,
        "budget": it.budget,
        "best": it.winners,
        "methods": {
            name: {
                "objective": objective,
                "relative_error": comparison.median_at(name, *at, "relative_error"),
                "diverged_runs": comparison.diverged(name, *at),
                "cut_short": comparison.cut_short(name, *at),
            }
            for name, objective in it.objective.items()
        },
    }
