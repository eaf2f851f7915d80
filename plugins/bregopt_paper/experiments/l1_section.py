"""What the runs on the rows of the l1–l1 table say: sentences chosen by the figures, with the tables they stand on."""

from collections.abc import Mapping, Sequence

import numpy as np

from bregopt_paper.experiments.curves import REFUSED, Curve, listed, of
from bregopt_paper.experiments.experiment import Record, Section
from bregopt_paper.experiments.l1_rows import MOST_ITERATIONS, MOST_SECONDS, OURS, PAPER, STARTS, Row
from bregopt_paper.experiments.l1_runs import SLACK, Runs, Target, lowest_of_each_row, targets_of
from bregopt_paper.experiments.l1_tables import (
    CALLED,
    budget_tables,
    figures,
    floor_table,
    least_error_table,
    long_table,
    paper_table,
    short,
    target_table,
)

CLOSE = 1.25
"""Errors that differ by no more than this factor agree."""
Found = Mapping[tuple[str, str], Mapping[str, Sequence[Record]]]
"""Records by row and start, then by method: one for each seed."""


def l1_section(rows: Sequence[Row], found: Found) -> Section:
    """The section of the report."""
    runs = [
        Runs(row, start, _curves(found.get((row.name, start), {})))
        for start in STARTS
        for row in rows
        if found.get((row.name, start))
    ]
    targets = targets_of(runs)
    printed = any(row.printed for row in rows)
    text = [
        _paper_text(rows) if printed else "**Quick.** Two small generated matrices stand in for the paper's data sets.",
        *_settings_text(runs),
        _ours_text(runs, targets),
        *(_floor_text(runs) if printed else ()),
        _refused_text(found),
        _verdict(runs, targets, printed),
    ]
    tables = [paper_table(runs), least_error_table(runs), *budget_tables(rows, runs)]
    tables += [target_table(targets), floor_table(runs), long_table(runs)]
    return Section(
        title="l1 on both factors",
        text=tuple(filter(None, text)),
        tables=tuple(table for table in tables if table.rows),
        figures=figures(runs),
    )


def _curves(records: Mapping[str, Sequence[Record]]) -> dict[str, list[Curve]]:
    return {
        method: [Curve.of(record) for record in made]
        for method, made in records.items()
        if all(record["status"] != REFUSED for record in made)
    }


def _of_start(runs: Sequence[Runs], start: str, *methods: str) -> list[Runs]:
    """Those from a start on which all these methods ran."""
    return [it for it in runs if it.start == start and all(name in it.curves for name in methods)]


def _paper_text(rows: Sequence[Row]) -> str:
    rows = [row for row in rows if row.printed]
    first = sum(min(row.printed, key=row.printed.__getitem__) == "aapb-paper" for row in rows)
    odd = [row for row in rows if row.printed["apb-paper"] >= row.printed["ippalm"]]
    ahead = of(len(rows) - len(odd), len(rows), "rows")
    exceptions = [f"{short(row.printed['apb-paper'])} for {row.called} with r = {row.rank}" for row in odd]
    but = f" (not with {listed(exceptions)}, above that of the smaller ranks)" if odd else ""
    return (
        "**What the paper printed.** Relative errors |M − max(0, UV)|/|M| of four methods after at most "
        f"{MOST_ITERATIONS} iterations or {MOST_SECONDS:g} s. NMD-AAPB has the smallest one in "
        f"{of(first, len(rows), 'rows')}, and NMD-APB is ahead of iPPALM in {ahead}{but}. The paper says neither "
        "where the methods start nor how long the steps of PPALM and iPPALM are; here the steps are 1/‖VVᵀ‖₂ and "
        "1/‖UᵀU‖₂, and there are two starts."
    )


def _settings_text(runs: Sequence[Runs]) -> list[str]:
    """What the paper's four methods did, by its rules."""
    text = []
    for start in STARTS:
        there = _of_start(runs, start, *PAPER)
        if not there:
            continue
        ends = [{name: it.stopped(name)[0] for name in PAPER} for it in there]
        best = [min(end, key=end.__getitem__) for end in ends]
        total = len(there)
        wins = [f"{PAPER[name]} in {of(best.count(name), total, 'rows')}" for name in PAPER if name in best]
        ahead = {name: sum(end["aapb-paper"] < end[name] for end in ends) for name in PAPER}
        pairs = [
            (end[name], it.row.printed[name]) for it, end in zip(there, ends, strict=True) for name in it.row.printed
        ]
        close = sum(max(a / b, b / a) <= CLOSE for a, b in pairs)
        many = f"{close or 'none'} {'comes' if close == 1 else 'come'}"
        agree = f" Of its {len(pairs)} errors {many} out within a factor of {CLOSE:g}." if pairs else ""
        text.append(
            f"**With its settings, {CALLED[start]} start.** By the paper's own rules the smallest error of the four "
            f"is that of {listed(wins)}. NMD-AAPB is ahead of NMD-APB in {of(ahead['apb-paper'], total, 'rows')}, of "
            f"iPPALM in {of(ahead['ippalm'], total, 'rows')} and of PPALM in "
            f"{of(ahead['ppalm'], total, 'rows')}.{agree}"
        )
    return text


def _ours_text(runs: Sequence[Runs], targets: Sequence[Target]) -> str:
    """What bregopt's methods did at equal products."""
    pairs = [(it, best) for it in runs if "aapb" in it.curves and (best := it.lowest(it.rivals)) is not None]
    if not pairs:
        return ""
    ratios = [best[0] / it.at("aapb", it.row.iterations) for it, best in pairs]
    below = sum(ratio > 1 for ratio in ratios)
    rivals = [best[1] for _, best in pairs]
    common = max(dict.fromkeys(rivals), key=rivals.count)
    text = (
        f"**With bregopt's settings.** At equal products, the objective of `aapb`, the paper's algorithm with W at the "
        f"extrapolated point, a predicted step and a guard, is below that of every rival that ran there, in "
        f"{of(below, len(pairs), 'cells')} (row × start). The best rival is most often `{common}`; its objective, or "
        f"that of whoever is best, is {min(ratios):.2f} to {max(ratios):.2f} times that of `aapb`."
    )
    ours = [(it, best) for it, _ in pairs if (best := it.lowest(OURS)) is not None]
    winners = [best[1] for _, best in ours]
    wins = [f"`{name}` in {winners.count(name)}" for name in OURS if name in winners]
    text += f" Of our own methods the lowest objective is that of {listed(wins)}."
    close = [it.at("auto", it.row.iterations) <= SLACK * best[0] for it, best in ours if "auto" in it.curves]
    if close:
        picked = dict.fromkeys(it.curves["auto"][0].picked for it, _ in ours if "auto" in it.curves)
        names = listed([f"`{name}`" for name in picked if name])
        text += f" `auto`{f', which picked {names},' if names else ''} comes within 3 % of it in "
        text += f"{of(sum(close), len(close), 'cells')}."
    if targets:
        reached = sum(target.reached for target in targets)
        text += (
            f" Of the targets set beforehand (with 3 % slack) {of(reached, len(targets), 'objectives')} are reached."
        )
    return text


def _floor_text(runs: Sequence[Runs]) -> list[str]:
    """On printed errors that no converged run comes close to."""
    lowest = [it for it in lowest_of_each_row(runs) if it.row.printed]
    below = [it for it in lowest if it.printed < it.record["error"]]
    if not below:
        return []
    named = [
        f"{it.row.called} r = {it.row.rank}: {short(it.printed)} against {it.record['error']:.2g}, and "
        f"{_least(runs, it.row):.2g} at the least in any iteration of any run"
        for it in below
    ]
    under = sum(it.printed < it.record["bound"] for it in below)
    rest = "; elsewhere the bound is lower, and excludes nothing" if under < len(below) else ""
    gap = max(abs(2 * it.record["inner"] / (it.record["on_U"] + it.record["on_V"]) - 1) for it in below)
    apart = max(it.record["residual"] / it.record["error"] - 1 for it in below)
    return [
        f"**Printed errors below the floor.** {_number(len(below))} of the errors printed for NMD-AAPB "
        f"{'lies' if len(below) == 1 else 'lie'} below the error at the lowest objective found here "
        f"({'; '.join(named)}). At a stationary point ⟨R, X⟩ = η₁|U|₁ = η₂|V|₁ with R = W − UV, X = UV, and R is zero "
        f"off the active entries A; hence √(2f)/|M| ≥ H/(2|M||X_A|). In {of(under, len(below), 'rows')} the printed "
        f"error is below that bound at the point found{rest}. (There ⟨R, X⟩ differs from H/2 by at most "
        f"{100 * gap:.1g} %, and √(2f)/|M| from the relative error by at most {100 * apart:.1g} %.) A smaller error "
        "than the bound needs a smaller H or a larger X on A than at these points: an objective that has not "
        "converged, or other weights. So objectives are compared here, and errors stand beside them."
    ]


def _least(runs: Sequence[Runs], row: Row) -> float:
    """The smallest error in any iteration of any run on a row."""
    curves = [curve for it in runs if it.row is row for them in it.curves.values() for curve in them]
    return min(float(np.nanmin(curve.record["columns"]["relative_error"])) for curve in curves)


def _number(count: int) -> str:
    return {1: "One", 2: "Two", 3: "Three", 4: "Four", 5: "Five", 6: "Six"}.get(count, str(count))


def _refused_text(found: Found) -> str:
    refused = {
        method: record["reason"]
        for made in found.values()
        for method, records in made.items()
        for record in records
        if record["status"] == REFUSED
    }
    return " ".join(f"`{method}` does not take this problem: {reason}" for method, reason in refused.items())


def _verdict(runs: Sequence[Runs], targets: Sequence[Target], printed: bool) -> str:
    cells = [{name: it.stopped(name)[0] for name in PAPER} for it in runs if all(name in it.curves for name in PAPER)]
    if not cells:
        return "**What was reproduced.** The runs that this section is made of are not all there yet."
    first = sum(min(cell, key=cell.__getitem__) == "aapb-paper" for cell in cells)
    faster = sum(cell["aapb-paper"] < cell["apb-paper"] for cell in cells)
    total = len(cells)
    ranking = "is reproduced" if first == total else "is not reproduced" if first == 0 else "is reproduced in part"
    inertia = "is reproduced" if faster == total else "is not" if faster == 0 else "is reproduced in part"
    claim = f"The paper's ranking {ranking}: run" if printed else "On small generated matrices, run"
    text = (
        f"**What was reproduced.** {claim} to the letter, NMD-AAPB has the smallest error "
        f"of its four methods in {of(first, total, 'cells')} (row × start). That extrapolation helps {inertia}: "
        f"NMD-AAPB is ahead of NMD-APB in {of(faster, total, 'cells')}."
    )
    pairs = [(it, best) for it in runs if "aapb" in it.curves and (best := it.lowest(it.rivals)) is not None]
    if pairs:
        below = sum(it.at("aapb", it.row.iterations) < best[0] for it, best in pairs)
        text += (
            " With the settings of `aapb` the same algorithm has a lower objective than every rival that ran there, in "
        )
        text += f"{of(below, len(pairs), 'cells')}."
    if targets:
        text += f" {sum(target.reached for target in targets)} of {len(targets)} targets are reached."
    return text
