"""The tables and figures of the l1–l1 experiment."""

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from bregopt_paper.experiments.curves import GAP, draw, legend, lines
from bregopt_paper.experiments.experiment import Figure, Table
from bregopt_paper.experiments.l1_rows import (
    MORE,
    MOST_ITERATIONS,
    MOST_SECONDS,
    OURS,
    PAPER,
    RANDOM,
    RIVALS,
    STARTS,
    TSVD,
    Row,
)
from bregopt_paper.experiments.l1_runs import Runs, Target, lowest_of_each_row

BUDGETS = (100, 150, 300, 1000)
"""Iterations of three products at which every run is looked at."""
LOOK = lines(PAPER, OURS, (*RIVALS, *MORE))
CALLED = {RANDOM: "random", TSVD: "TSVD"}


def paper_table(runs: Sequence[Runs]) -> Table:
    """Every cell of the paper's table, and what its rules give here."""
    rows = {it.row.name: it.row for it in runs}
    by = {(it.row.name, it.start): it for it in runs}

    def cells(row: Row, method: str) -> list[str | None]:
        ends = [by.get((row.name, start)) for start in STARTS]
        printed = short(row.printed[method]) if method in row.printed else None
        return [printed, *(_end(it.stopped(method)) if it and method in it.curves else None for it in ends)]

    body = [(row.called, row.rank, *(cell for name in PAPER for cell in cells(row, name))) for row in rows.values()]
    heads = [f"{called}: {what}" for called in PAPER.values() for what in ("paper", *CALLED.values())]
    return Table(
        "l1-paper",
        "**The paper's table.** Relative errors as printed, and by the same stop rules from two starts here. The "
        f"letter is the rule: a {MOST_SECONDS:g} s, b {MOST_ITERATIONS} iterations, c the smallest error of the four, "
        "p only the budget of products was run.",
        ("data", "r", *heads),
        tuple(body),
    )


def _end(found: tuple[float, str]) -> str:
    return f"{short(found[0])} {found[1]}"


def short(error: float) -> str:
    """As the paper prints it, ``6.2e-3``."""
    return re.sub(r"e([+-])0*(\d)", r"e\1\2", f"{error:.1e}")


def least_error_table(runs: Sequence[Runs]) -> Table:
    """Rule (c) for ours."""
    body = []
    for it in runs:
        least = it.least_error()
        if least is None or it.start != RANDOM:
            continue
        error, method = least
        took = {
            name: [it.curves[name][0].reached(error, axis) for axis in ("iteration", "seconds")]
            for name in (method, "aapb", "ecd", "auto")
            if name in it.curves
        }
        cells = [took.get(name, [None, None]) for name in (method, "aapb", "ecd", "auto")]
        flat = [value if value is not None and math.isfinite(value) else None for pair in cells for value in pair]
        body.append((it.row.called, it.row.rank, error, PAPER[method], *flat))
    heads = [f"{name}: {what}" for name in ("that one", "aapb", "ecd", "auto") for what in ("iterations", "seconds")]
    return Table(
        "l1-least-error",
        "**The paper's stop rule (c).** The smallest error e_min of its four methods from the random start, whose it "
        "is, and how long that one and three of ours need for it (– for not within their runs).",
        ("data", "r", "e_min", "reached by", *heads),
        tuple(body),
    )


def budget_tables(rows: Sequence[Row], runs: Sequence[Runs]) -> list[Table]:
    """Objective and error of every method at the budget of each row."""
    tables = []
    for start in STARTS:
        by = {it.row.name: it for it in runs if it.start == start}
        methods = [name for name in (*PAPER, *RIVALS, *MORE, *OURS) if any(name in it.curves for it in by.values())]
        body = [(name, *(_reached(by.get(row.name), name) for row in rows)) for name in methods]
        heads = [f"{row.called} {row.rank} @{row.iterations}" for row in rows]
        tables.append(
            Table(
                f"l1-budget-{start}",
                f"**Equal products, {CALLED[start]} start.** Objective Φ, and in brackets the relative error, after "
                "three products for each of the iterations in the head (… where the run ended before; – for not run).",
                ("method", *heads),
                tuple(body),
            )
        )
    return tables


def _reached(it: Runs | None, method: str) -> str | None:
    if it is None or method not in it.curves:
        return None
    objective = it.at(method, it.row.iterations)
    if not math.isfinite(objective):
        return "diverged"
    more = "" if it.used(method, it.row.iterations) else "…"
    return f"{objective:.4g} ({it.at(method, it.row.iterations, 'relative_error'):.2g}){more}"


def target_table(targets: Sequence[Target]) -> Table:
    body = [
        (
            *(it.row.called, it.row.rank, f"@{it.row.iterations}", it.what, CALLED[it.start], it.method),
            *(it.target, it.objective, round(it.objective / it.target, 3), "reached" if it.reached else "not reached"),
        )
        for it in targets
    ]
    heads = ("data", "r", "budget", "what", "start", "method", "target Φ", "found Φ", "found/target", "verdict")
    return Table(
        "l1-targets", "**Targets.** Objectives set beforehand; up to 3 % above counts as reached.", heads, tuple(body)
    )


def floor_table(runs: Sequence[Runs]) -> Table:
    body = [
        (
            *(it.row.called, it.row.rank, it.printed if it.row.printed else None),
            *(it.objective, it.record["error"], it.record["bound"], f"{it.method}, {CALLED[it.start]}"),
            *(it.row.floor or (None, None)),
        )
        for it in lowest_of_each_row(runs)
    ]
    return Table(
        "l1-floor",
        "**How low can it go?** The lowest objective found here, the relative error there, the bound H/(2|M||X_A|) of "
        "√(2f)/|M| with the H and X of that point, and what longer runs had found before.",
        ("data", "r", "printed error", "lowest Φ", "error there", "bound", "method, start", "known Φ", "known error"),
        tuple(body),
    )


def long_table(runs: Sequence[Runs]) -> Table:
    body = []
    for it in runs:
        for method in it.curves:
            budgets = [k for k in BUDGETS if k < it.row.iterations and it.used(method, k)]
            for k in (*budgets, it.row.iterations):
                values = [it.at(method, k, name) for name in ("objective", "relative_error", "products", "seconds")]
                ended = it.curves[method][0].record["reason"] if k == it.row.iterations else None
                body.append((it.row.called, it.row.rank, CALLED[it.start], method, f"@{k}", *values, ended))
    heads = ("data", "r", "start", "method", "budget", "Φ", "error", "products", "seconds", "ended")
    return Table("l1-all", "**Every run at every budget.** Medians over seeds.", heads, tuple(body))


# ---- figures


def figures(runs: Sequence[Runs]) -> tuple[Figure, ...]:
    random = [it for it in runs if it.start == RANDOM and it.first()]
    if not random:
        return ()
    height = 2.6 * math.ceil(len(random) / 3) + 0.9
    figures = [
        Figure(
            "l1-overview",
            f"**Objectives over products** from the random start: {GAP}, with Φ* the lowest objective found in that "
            "row. The paper's methods are dashed, ours are thick.",
            lambda figure: _overview(figure, random),
            (10.5, height),
        )
    ]
    figures += [
        Figure(
            f"l1-{it.row.name}",
            f"**{it.row.called}, r = {it.row.rank}**, random start: {GAP} above, relative error below, over "
            "iterations, products and seconds.",
            _details(it),
            (10.5, 6.2),
        )
        for it in random
        if it.row.in_figure or (it.row.large and it.row.rank == 35)
    ]
    return tuple(figures)


def _overview(figure: Any, runs: Sequence[Runs]) -> None:
    panels = np.ravel(figure.subplots(math.ceil(len(runs) / 3), 3, squeeze=False))
    for panel, it in zip(panels, runs, strict=False):
        draw(panel, it.first(), "products", "objective", LOOK)
        panel.set_title(f"{it.row.called}, r = {it.row.rank}")
    for panel in panels[len(runs) :]:
        panel.set_axis_off()
    for panel in panels[::3]:
        panel.set_ylabel(GAP)
    legend(figure, LOOK, [it.first() for it in runs])


def _details(it: Runs) -> Any:
    def paint(figure: Any) -> None:
        panels = figure.subplots(2, 3, sharex="col", sharey="row")
        for line, column, label in zip(panels, ("objective", "relative_error"), (GAP, "relative error"), strict=True):
            for panel, axis in zip(line, ("iteration", "products", "seconds"), strict=True):
                draw(panel, it.first(), axis, column, LOOK)
            line[0].set_ylabel(label)
        legend(figure, LOOK, [it.first()])

    return paint
