"""How the entrants of one case compare: at every budget, and in the time to the best peer's objective."""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from statistics import median
from typing import Any, final

import numpy as np
from attrs import asdict, frozen

from bregopt import Status
from bregopt_bench.race.curves import Curve
from bregopt_bench.race.entrants import ours_and_peers

PRODUCTS, SECONDS = "products", "seconds"
TIE = 1e-3
"""Objectives that differ by less, relative to the lower one, are level."""
ROUNDING = 1e-28
"""Of the objective at the start: what is below comes from the rounding of M and UV, entry by entry."""
WITHIN = (1.1, 1.5, 2.0, 10.0)
"""Of the performance profile: times the best objective."""


def headline(facts: Mapping[str, Any], size: str = "") -> str:
    """A case in words, with the size of its matrix where that is wanted."""
    rank = [] if facts["rank"] is None else [f"rank {facts['rank']}"]
    return ", ".join([facts["matrix"], *([size] if size else []), facts["problem"], *rank, f"{facts['start']} start"])


@final
@frozen
class AtBudget:
    """What every method had reached with so many ``products`` or ``seconds``; ∞ where it diverged."""

    axis: str
    budget: float
    objective: Mapping[str, float]
    floor: float
    """objectives that differ by no more differ by rounding"""

    @property
    def winners(self) -> list[str]:
        """The best method, and those level with it."""
        return [name for name in self.objective if self.ratio(name) <= 1 + TIE]

    def ratio(self, name: str) -> float:
        """The objective in units of the best one."""
        best, value = min(self.objective.values()), self.objective[name]
        if not math.isfinite(value):
            return math.inf
        return 1.0 + max(value - best - self.floor, 0.0) / max(abs(best), self.floor)

    def among(self, names: list[str]) -> "AtBudget":
        """The same without the other methods."""
        return AtBudget(self.axis, self.budget, {name: self.objective[name] for name in names}, self.floor)


@final
@frozen(eq=False, kw_only=True, slots=False)
class Comparison:
    """The curves of every method on one case, one for each seed."""

    facts: Mapping[str, Any]
    """matrix, shape, density, problem, rank and start"""
    curves: Mapping[str, Sequence[Curve]]
    skipped: Mapping[str, str]
    notes: Sequence[str]
    products: Sequence[float]
    """the budgets, in rising order"""
    given_seconds: Sequence[float]

    @property
    def most_products(self) -> float:
        """The largest budget of products."""
        return self.products[-1]

    @cached_property
    def has_error(self) -> bool:
        """Whether the problem has a relative error."""
        return any(np.isfinite(curve.relative_error).any() for curves in self.curves.values() for curve in curves)

    @cached_property
    def floor(self) -> float:
        """The objective that rounding leaves."""
        found = [curve.objective[0] for curves in self.curves.values() for curve in curves if curve.objective.size]
        return ROUNDING * abs(float(found[0])) if found else 0.0

    @cached_property
    def fastest(self) -> float:
        """Seconds of the method that was first through with its products, or of the shortest run where none was."""
        through = [self.seconds_of(name) for name in self.curves if self.finished(name, PRODUCTS, self.most_products)]
        ends = [float(curve.seconds[-1]) for it in self.curves.values() for curve in it if curve.seconds.size]
        return min(through or ends, default=1.0)

    @property
    def seconds(self) -> Sequence[float]:
        """The budgets given, or else the time of the fastest method."""
        return self.given_seconds or [self.fastest]

    @cached_property
    def at_budgets(self) -> list[AtBudget]:
        budgets = [(PRODUCTS, it) for it in self.products] + [(SECONDS, it) for it in self.seconds]
        return [
            AtBudget(axis, budget, {name: self.median_at(name, axis, budget) for name in self.curves}, self.floor)
            for axis, budget in budgets
        ]

    def median_at(self, name: str, axis: str, budget: float, column: str = "objective") -> float:
        """The median over seeds of what a method had reached; ∞ where it diverged."""
        return median(curve.at(axis, budget, column) for curve in self.curves[name])

    def seconds_of(self, name: str) -> float:
        """Seconds for the largest budget of products."""
        return self.median_at(name, PRODUCTS, self.most_products, SECONDS)

    def products_per_iteration(self, name: str) -> float | None:
        """Products of an iteration, the start left out."""
        shares = [
            (curve.products[-1] - curve.products[0]) / (curve.products.size - 1)
            for curve in self.curves[name]
            if curve.products.size > 1
        ]
        return float(median(shares)) if shares else None

    def finished(self, name: str, axis: str, budget: float) -> bool:
        """Whether every run of a method went on for the whole budget."""
        return all(curve.used(axis, budget) for curve in self.curves[name])

    def cut_short(self, name: str, axis: str, budget: float) -> bool:
        """Whether the limit on seconds ended a run of a method before it had used the budget."""
        curves = self.curves[name]
        return any(it.status is Status.MAX_SECONDS and not it.used(axis, budget) for it in curves)

    def diverged(self, name: str, axis: str, budget: float) -> int:
        """How many runs of a method diverged within the budget."""
        return sum(curve.diverged(axis, budget) for curve in self.curves[name])


@final
@frozen
class TimeToTarget:
    """When a method of ours came down to the last objective of the best peer, and when that one did; ∞ for never."""

    method: str
    peer: str
    objective: float
    products: float
    peer_products: float
    seconds: float
    peer_seconds: float

    def gain(self, axis: str) -> float | None:
        """How many times as much the peer needed."""
        mine, theirs = getattr(self, axis), getattr(self, f"peer_{axis}")
        return theirs / mine if 0 < mine < math.inf else None

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), **{f"{axis}_gain": self.gain(axis) for axis in (PRODUCTS, SECONDS)}}


def times_to_target(comparison: Comparison, ours: Sequence[str]) -> list[TimeToTarget]:
    """Seed by seed, as the starts differ; medians over seeds."""
    most = comparison.most_products
    mine, peers = ours_and_peers(comparison.curves, ours)
    last = {name: comparison.median_at(name, PRODUCTS, most) for name in peers}
    if not last or min(last.values()) == math.inf:
        return []
    peer = min(last, key=last.__getitem__)
    targets = {curve.seed: max(curve.at(PRODUCTS, most), comparison.floor) for curve in comparison.curves[peer]}

    def took(name: str, axis: str) -> float:
        return median(curve.reached(targets[curve.seed], axis) for curve in comparison.curves[name])

    return [
        TimeToTarget(name, peer, last[peer], *(took(who, axis) for axis in (PRODUCTS, SECONDS) for who in (name, peer)))
        for name in mine
    ]


def performance_profile(found: Sequence[AtBudget]) -> dict[str, dict[str, int]]:
    """By method: at how many budgets it took part, was best, and came within so many times the best objective."""
    names = dict.fromkeys(name for it in found for name in it.objective)
    profile = {}
    for name in names:
        ratios = [it.ratio(name) for it in found if name in it.objective]
        within = {f"within_{limit:g}": sum(ratio <= limit for ratio in ratios) for limit in WITHIN}
        profile[name] = {"cells": len(ratios), "best": sum(ratio <= 1 + TIE for ratio in ratios), **within}
    return profile


def against_peers(found: Sequence[AtBudget], ours: Sequence[str]) -> dict[str, dict[str, int]]:
    """By method of ours: at how many budgets it is ahead of every peer, level with the best, or behind."""
    counts: dict[str, dict[str, int]] = {}
    for it in found:
        mine, peers = ours_and_peers(it.objective, ours)
        for name in mine if peers else ():
            winners = it.among([name, *peers]).winners
            level = name in winners or not winners
            verdict = "ahead" if winners == [name] else "level" if level else "behind"
            counts.setdefault(name, {"ahead": 0, "level": 0, "behind": 0})[verdict] += 1
    return counts
