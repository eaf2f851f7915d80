"""Who won: cells of all rows counted, and what ours needed for the best peer's objective."""

import math
from collections.abc import Sequence
from statistics import median
from typing import Any, final

from attrs import asdict, frozen

from bregopt.cli.race_cell import TIE, Cell
from bregopt.cli.race_entrants import is_ours
from bregopt.cli.race_heat import PRODUCTS, SECONDS, Heat

WITHIN = (1.1, 1.5, 2.0, 10.0)


@final
@frozen
class Reach:
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


def reaches(heat: Heat, ours: Sequence[str]) -> list[Reach]:
    """Seed by seed, as the starts differ; medians over seeds."""
    mine, peers = sides(heat.curves, ours)
    final = {name: heat.middle(name, PRODUCTS, heat.last) for name in peers}
    if not final or min(final.values()) == math.inf:
        return []
    peer = min(final, key=final.__getitem__)
    goals = {curve.seed: max(curve.at(PRODUCTS, heat.last), heat.floor) for curve in heat.curves[peer]}

    def took(name: str, axis: str) -> float:
        return median(curve.reached(goals[curve.seed], axis) for curve in heat.curves[name])

    return [
        Reach(name, peer, final[peer], *(took(who, axis) for axis in (PRODUCTS, SECONDS) for who in (name, peer)))
        for name in mine
    ]


def sides(names: Any, ours: Sequence[str]) -> tuple[list[str], list[str]]:
    """The methods that are ours, and their peers."""
    mine = [name for name in names if is_ours(name, ours)]
    return mine, [name for name in names if name not in mine]


def profile(cells: Sequence[Cell]) -> dict[str, dict[str, int]]:
    """By method: in how many cells it took part, was best, and came within so many times the best objective."""
    names = dict.fromkeys(name for cell in cells for name in cell.objective)
    found = {}
    for name in names:
        ratios = [cell.ratio(name) for cell in cells if name in cell.objective]
        within = {f"within_{limit:g}": sum(it <= limit for it in ratios) for limit in WITHIN}
        found[name] = {"cells": len(ratios), "best": sum(it <= 1 + TIE for it in ratios), **within}
    return found


def duels(cells: Sequence[Cell], ours: Sequence[str]) -> dict[str, dict[str, int]]:
    """By method of ours: in how many cells it is ahead of every peer, level with the best, or behind."""
    found: dict[str, dict[str, int]] = {}
    for cell in cells:
        mine, peers = sides(cell.objective, ours)
        for name in mine if peers else ():
            winners = cell.among([name, *peers]).winners
            level = name in winners or not winners
            verdict = "ahead" if winners == [name] else "level" if level else "behind"
            found.setdefault(name, {"ahead": 0, "level": 0, "behind": 0})[verdict] += 1
    return found
