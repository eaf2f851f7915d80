"""The paper's synthetic experiment: M = max(0, U*V*) with sparse Gaussian factors of rank 10, with l1 and without H."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from statistics import median
from typing import Any, final

import numpy as np
from attrs import frozen

import bregopt
from bregopt import Blocks, StopRule
from bregopt_paper.experiments.curves import (
    GAP,
    PER_ITERATION,
    REFUSED,
    Curve,
    draw,
    legend,
    lines,
    listed,
    matrix,
    of,
    run,
)
from bregopt_paper.experiments.experiment import Experiment, Figure, Record, Section, Table, Task

ETA = (0.01, 0.015)
MOST_ITERATIONS, MOST_SECONDS, TOLERANCE = 1000, 20.0, 1e-4
"""The paper's stop rules (b), (a) and (c)."""
PAPER = {"ppalm": "PPALM", "ippalm": "iPPALM", "apb-paper": "NMD-APB", "aapb-paper": "NMD-AAPB"}
OURS = ("aapb", "bella", "ecd", "masked-newton", "auto")
RIVALS = ("ippalm(growing)", "cocain")
MORE = ("palm", "ipalm", "gipalm", "nipalm", "bpg", "bpge", "bpdca", "bpdcae", "dcae", "bmme")
"""Methods of others that run at the last rank only."""
S4 = "aapb, kernel s4"
OURS_WITHOUT_H = ("aapb", S4, "bella", "els", "aals", "masked-newton", "auto")
RIVALS_WITHOUT_H = (
    *("naive-nmd", "a-nmd", "em-nmd", "bcd-nmd", "3b-nmd", "nmd-tm", "ebcd-nmd"),
    *("ppalm", "ippalm(growing)", "aapb-paper"),
)
RANDOM, UNSCALED = "random", "unscaled"
L1, WITHOUT = "l1", "without-h"
EARLY = 250
"""Iterations after which the paper's claim was looked at before."""
BEFORE = {
    RANDOM: {"ppalm": 1.3e-3, "ippalm": 1.7e-3, "apb-paper": 0.438, "aapb-paper": 0.161, "aapb": 1.0e-4},
    UNSCALED: {"ppalm": 7.8e-4, "aapb-paper": 0.83},
}
"""Relative errors measured then, at rank 12."""
BEFORE_WITHOUT_H = {
    "a-nmd": (1.1e-3, 6.8e-5),
    "3b-nmd": (3.5e-3, 1.0e-3),
    "nmd-tm": (3.0e-3, 1.1e-3),
    "ebcd-nmd": (2.3e-4, 4.0e-5),
    "aapb": (4.3e-4, 3.9e-5),
    "bella": (2.0e-4, 1.6e-5),
    S4: (9.0e-4, 8.7e-5),
    "els": (2.1e-4, 2.9e-5),
    "aals": (1.4e-5, 1.4e-6),
    "masked-newton": (7.4e-6, 2.5e-12),
}
"""The same without H, at 100 and at 300 iterations of three products."""
LOOK = lines(PAPER, OURS, (*RIVALS, *MORE))
LOOK_WITHOUT_H = lines({}, OURS_WITHOUT_H, RIVALS_WITHOUT_H)
TIE = 1.02
"""Errors that differ by less than 2 % are level."""


@final
@frozen
class Case:
    """A matrix, a rank, H and a start."""

    model: str
    rank: int
    start: str
    dataset: str
    budgets: tuple[int, ...]
    """iterations of three products at which errors are looked at; runs last for the largest"""

    def methods(self, every: bool) -> list[str]:
        if self.start == UNSCALED:
            return [*PAPER, "aapb"]
        if self.model == WITHOUT:
            return [*RIVALS_WITHOUT_H, *OURS_WITHOUT_H]
        return [*PAPER, *RIVALS, *(MORE if every else ()), *OURS]

    def name(self, seed: int, method: str) -> str:
        return f"synthetic/{self.model}-r{self.rank}/{self.start}-{seed}/{method}"


FULL, SMALL = "synthetic(1500, 500, 10)", "synthetic(150, 60, 5)"
CASES = (
    Case(L1, 9, RANDOM, FULL, (100, EARLY, MOST_ITERATIONS)),
    Case(L1, 12, RANDOM, FULL, (100, EARLY, MOST_ITERATIONS)),
    Case(L1, 12, UNSCALED, FULL, (EARLY,)),
    Case(WITHOUT, 12, RANDOM, FULL, (100, 300)),
)
QUICK = (
    Case(L1, 6, RANDOM, SMALL, (30, 60)),
    Case(WITHOUT, 6, RANDOM, SMALL, (30, 60)),
)


@final
@frozen
class Synthetic(Experiment):
    """The paper's synthetic matrix at both ranks with l1, and at the larger rank without H."""

    seeds: int = 1
    name = "synthetic"

    def tasks(self, quick: bool) -> Sequence[Task]:
        known = {entry.name for entry in bregopt.catalog("method")}
        return [
            _task(case, seed, method)
            for case in _cases(quick)
            for method in case.methods(_every(case))
            if _spec(method).partition("(")[0] in known
            for seed in range(self.seeds)
        ]

    def section(self, records: Mapping[str, Record], quick: bool) -> Section:
        found: dict[Case, dict[str, list[Curve]]] = {}
        refused: dict[str, str] = {}
        for case in _cases(quick):
            for method in case.methods(_every(case)):
                names = [case.name(seed, method) for seed in range(self.seeds)]
                made = [records[name] for name in names if name in records]
                refused |= dict([(method, record["reason"]) for record in made if record["status"] == REFUSED][:1])
                if made and method not in refused:
                    found.setdefault(case, {})[method] = [Curve.of(record) for record in made]
        return _section(found, refused)


def _cases(quick: bool) -> tuple[Case, ...]:
    return QUICK if quick else CASES


def _every(case: Case) -> bool:
    return case.rank in (12, 6)


def _spec(method: str) -> str:
    return "aapb" if method == S4 else method


def _task(case: Case, seed: int, method: str) -> Task:
    return Task(
        name=case.name(seed, method),
        run=partial(_solve, case, seed, method),
        datasets=(case.dataset,),
        seconds=(8e-3 if case.dataset == FULL else 1e-3) * case.budgets[-1] + 0.2,
        settings={
            "dataset": case.dataset,
            "rank": case.rank,
            "U": f"l1({ETA[0]})" if case.model == L1 else "none",
            "V": f"l1({ETA[1]})" if case.model == L1 else "none",
            "method": method,
            "start": case.start,
            "seed": seed,
            "stop": f"{PER_ITERATION * case.budgets[-1]} products"
            + (
                f", and {case.budgets[-1]} iterations, or {MOST_SECONDS:g} s"
                if method in PAPER
                else f", or {MOST_SECONDS:g} s"
            ),
        },
    )


def _solve(case: Case, seed: int, method: str) -> Record:
    M = matrix(case.dataset)
    H = {"U": f"l1({ETA[0]})", "V": f"l1({ETA[1]})"} if case.model == L1 else {}
    problem = bregopt.compose("relu-nmd", M, rank=case.rank, kernel="s4" if method == S4 else "auto", **H)
    start: Blocks | str = "scaled-random"
    if case.start == UNSCALED:
        rng = np.random.default_rng(seed)
        start = Blocks(U=rng.standard_normal((M.shape[0], case.rank)), V=rng.standard_normal((case.rank, M.shape[1])))
    stop: StopRule = bregopt.make("stop", "max-products", float(PER_ITERATION * case.budgets[-1]))
    if method in PAPER:
        stop &= bregopt.make("stop", "max-iterations", case.budgets[-1])
    return run(problem, _spec(method), start, seed, stop | bregopt.make("stop", "max-seconds", MOST_SECONDS))


# ---- the section

Curves = Mapping[str, Sequence[Curve]]
Found = Mapping[Case, Curves]


def _error(curves: Sequence[Curve], iterations: float) -> float:
    """The median over seeds of the relative error after three products for each of so many iterations."""
    return median(it.at("products", PER_ITERATION * iterations, "relative_error") for it in curves)


def _section(found: Found, refused: Mapping[str, str]) -> Section:
    with_l1 = {case: curves for case, curves in found.items() if case.model == L1 and case.start == RANDOM}
    without = next((item for item in found.items() if item[0].model == WITHOUT), None)
    text = [
        "**What the paper showed.** A figure for M = max(0, U*V*), 1500×500 with sparse factors of rank 10, at r = 9 "
        "and r = 12, with the sentence that NMD-APB and NMD-AAPB converge faster than PPALM and iPPALM. The text "
        "gives no numbers, no start and no steps of PPALM. The rules are 20 s, 1000 iterations, or a relative error "
        "of 1e-4.",
        *(_settings_text(case, curves) for case, curves in with_l1.items()),
        *(_ours_text(case, curves) for case, curves in list(with_l1.items())[-1:]),
        *([_without_text(*without)] if without else []),
        " ".join(f"`{method}` does not take the problem: {reason}" for method, reason in refused.items()),
        _verdict(with_l1),
    ]
    tables = [*(_table(case, curves) for case, curves in found.items())]
    figures = [_figure(case, curves) for case, curves in found.items() if case.start == RANDOM]
    return Section("The synthetic matrix", tuple(filter(None, text)), tuple(tables), tuple(figures))


def _rule(curve: Curve, error: float) -> str:
    """Which rule ends a run, and when."""
    if curve.diverged:
        return "diverged"
    if math.isfinite(took := curve.reached(error, "iteration")):
        return f"(c) after {took:.0f} iterations, {curve.reached(error, 'seconds'):.2g} s"
    if curve.record["status"] == "max-seconds":
        return f"(a) after {curve.last['iteration']:.0f} iterations"
    return "(b)" if curve.last["iteration"] >= MOST_ITERATIONS else "the products"


def _after(curves: Sequence[Curve], iterations: float) -> float:
    """The median over seeds of the relative error after so many iterations of the method's own."""
    return median(it.at("iteration", iterations, "relative_error") for it in curves)


def _settings_text(case: Case, curves: Curves) -> str:
    """The paper's four methods early and late."""
    if any(name not in curves for name in PAPER):
        return ""
    early, late = ({name: _after(curves[name], k) for name in PAPER} for k in (case.budgets[0], case.budgets[-1]))
    shown = [f"{called} {early[name]:.3g} and {late[name]:.3g}" for name, called in PAPER.items()]
    mine, theirs = ("apb-paper", "aapb-paper"), ("ppalm", "ippalm")
    if all(end[one] < end[other] for end in (early, late) for one in mine for other in theirs):
        verdict = "As the paper says, NMD-APB and NMD-AAPB are ahead of PPALM and iPPALM"
    elif all(end[one] > end[other] for end in (early, late) for one in mine for other in theirs):
        verdict = "NMD-APB and NMD-AAPB are behind PPALM and iPPALM, against the paper's sentence"
    else:
        verdict = "The paper's order holds in part"
    return (
        f"**With its settings, r = {case.rank}.** Relative errors after {case.budgets[0]} and {case.budgets[-1]} "
        f"iterations: {'; '.join(shown)}. {verdict}."
    )


def _ours_text(case: Case, curves: Curves) -> str:
    ours = {name: _error(curves[name], case.budgets[-1]) for name in OURS if name in curves}
    theirs = {name: _error(curves[name], case.budgets[-1]) for name in curves if name not in OURS}
    if not (ours and theirs):
        return ""
    best, rival = min(ours, key=ours.__getitem__), min(theirs, key=theirs.__getitem__)
    level = max(ours[best] / theirs[rival], theirs[rival] / ours[best]) <= TIE
    verdict = "level with" if level else "below" if ours[best] < theirs[rival] else "above"
    aapb = f" `aapb` itself reaches {ours['aapb']:.2g}." if "aapb" in ours else ""
    return (
        f"**With bregopt's methods, r = {case.rank}.** The smallest error of ours is {ours[best]:.2g} (`{best}`), "
        f"{verdict} the smallest of others, {theirs[rival]:.2g} (`{rival}`), at equal products.{aapb} Φ, which is "
        "what is minimised, is in the table beside the errors: with l1 on the factors the smallest error is not the "
        "goal."
    )


def _without_text(case: Case, curves: Curves) -> str:
    ends = {name: _error(them, case.budgets[-1]) for name, them in curves.items()}
    order = sorted(ends, key=ends.__getitem__)
    shown = [f"`{name}` {ends[name]:.1e}" for name in order[:3]]
    scalar, newton = ends.get("aapb"), [ends[name] for name in ("a-nmd", "ebcd-nmd") if name in ends]
    more = ""
    if scalar is not None and newton:
        beside = "below" if scalar < min(newton) else "above"
        more = (
            f" `aapb`, whose kernel knows only the norms of U and V, has {scalar:.1e}, {beside} the best of A-NMD and "
            f"eBCD-NMD, {min(newton):.1e}."
        )
    return (
        f"**Without H, r = {case.rank}.** The smallest errors after {case.budgets[-1]} iterations of three products "
        f"are those of {listed(shown)}.{more}"
    )


def _verdict(with_l1: Found) -> str:
    cells = [
        {name: _after(curves[name], case.budgets[-1]) for name in PAPER}
        for case, curves in with_l1.items()
        if all(name in curves for name in PAPER)
    ]
    if not cells:
        return "**What was reproduced.** The runs that this section is made of are not all there yet."
    total = len(cells)
    ahead = sum(cell["aapb-paper"] < min(cell["ppalm"], cell["ippalm"]) for cell in cells)
    inertia = sum(cell["aapb-paper"] < cell["apb-paper"] for cell in cells)
    told = "is reproduced" if ahead == total else "is not reproduced" if ahead == 0 else "is reproduced in part"
    helps = "does help" if inertia == total else "helps in part" if inertia else "does not help"
    claim = f"That NMD-AAPB converges faster than PPALM and iPPALM {told}: it is ahead of both"
    if any(case.dataset != FULL for case in with_l1):
        claim = "On a small generated matrix NMD-AAPB is ahead of PPALM and iPPALM both"
    ours = sum(
        min(_error(curves[name], case.budgets[-1]) for name in OURS if name in curves)
        <= TIE * min(_error(curves[name], case.budgets[-1]) for name in curves if name not in OURS)
        for case, curves in with_l1.items()
        if any(name in curves for name in OURS) and any(name not in OURS for name in curves)
    )
    return (
        f"**What was reproduced.** {claim} at {of(ahead, total, 'ranks')}. Extrapolation {helps}: NMD-AAPB is ahead of "
        f"NMD-APB at {of(inertia, total, 'ranks')}. The best of bregopt's methods has the smallest error, up to 2 %, "
        f"at {of(ours, len(with_l1), 'ranks')}."
    )


def _table(case: Case, curves: Curves) -> Table:
    """Every method at every budget, the smallest error first, beside what was measured before."""
    last = case.budgets[-1]
    before = {EARLY: BEFORE.get(case.start, {})} if case.model == L1 and case.rank == 12 else {}
    if case.model == WITHOUT and case.dataset == FULL:
        before = {k: {name: pair[n] for name, pair in BEFORE_WITHOUT_H.items()} for n, k in enumerate(case.budgets)}
    rows = []
    for name in sorted(curves, key=lambda name: _error(curves[name], last)):
        cells: list[Any] = [PAPER.get(name, name)]
        for k in case.budgets:
            cells.append(_error(curves[name], k))
            cells += [before[k].get(name)] if k in before else []
        objective = median(it.at("products", PER_ITERATION * last) for it in curves[name])
        work = [
            median(it.at("products", PER_ITERATION * last, key) for it in curves[name])
            for key in ("iteration", "seconds")
        ]
        rows.append((*cells, objective, round(work[0]), work[1], _rule(curves[name][0], TOLERANCE)))
    heads = [head for k in case.budgets for head in (f"error @{k}", *([f"before @{k}"] if k in before else []))]
    beside = ", beside those of first trials, which may have charged less for an SVD" if before else ""
    start = "unscaled Gaussian start" if case.start == UNSCALED else "scaled random start"
    return Table(
        f"synthetic-{case.model}-r{case.rank}-{case.start}",
        f"**{'l1 on both factors' if case.model == L1 else 'Without H'}, r = {case.rank}, {start}.** Relative errors "
        f"after three products for each of so many iterations{beside}; the iterations and seconds of the method's "
        f"own; and what ends the run: (a) {MOST_SECONDS:g} s, (b) {MOST_ITERATIONS} iterations, (c) an error of "
        f"{TOLERANCE:g}, or the products.",
        ("method", *heads, f"Φ @{last}", "iterations", "seconds", "ended by"),
        tuple(rows),
    )


def _figure(case: Case, curves: Curves) -> Figure:
    look = LOOK if case.model == L1 else LOOK_WITHOUT_H
    first = {name: them[0] for name, them in curves.items()}

    def paint(figure: Any) -> None:
        columns = ("relative_error", "objective") if case.model == L1 else ("relative_error",)
        axes = ("iteration", "seconds") if case.model == L1 else ("iteration", "products", "seconds")
        panels = figure.subplots(len(columns), len(axes), sharex="col", sharey="row", squeeze=False)
        for line, column in zip(panels, columns, strict=True):
            for panel, axis in zip(line, axes, strict=True):
                draw(panel, first, axis, column, look)
            line[0].set_ylabel("relative error" if column == "relative_error" else GAP)
        legend(figure, look, [first])

    what = "with l1 on both factors" if case.model == L1 else "without H"
    lower = f", and below it {GAP}" if case.model == L1 else ""
    return Figure(
        f"synthetic-{case.model}-r{case.rank}",
        f"**Synthetic matrix {what}, r = {case.rank}**: relative error{lower}, over "
        f"{'iterations and seconds' if case.model == L1 else 'iterations, products and seconds'}.",
        paint,
        (10.0, 6.0 if case.model == L1 else 3.6),
    )
