"""A race as JSON values: everything its tables and its picture are made of."""

from collections.abc import Mapping, Sequence
from typing import Any

import bregopt
from bregopt.cli.race_cell import Cell
from bregopt.cli.race_heat import PRODUCTS, SECONDS, Heat
from bregopt.cli.race_standing import duels, profile, reaches, sides
from bregopt.cli.run import plain


def record(heats: Sequence[Heat], asked: Mapping[str, Any], facts: Mapping[str, Any], interrupted: bool) -> Any:
    """What is not finite is null: the objective of a method that diverged."""
    cells = [cell for heat in heats for cell in heat.cells]
    standing = {
        axis: {
            "profile": profile([cell for cell in cells if cell.axis == axis]),
            "ours_against_peers": duels([cell for cell in cells if cell.axis == axis], asked["ours"]),
        }
        for axis in (PRODUCTS, SECONDS)
    }
    return plain(
        {
            "version": bregopt.__version__,
            "machine": facts,
            "asked": asked,
            "interrupted": interrupted,
            "rows": [_row(heat, asked["ours"]) for heat in heats],
            "standing": standing,
        }
    )


def _row(heat: Heat, ours: Sequence[str]) -> dict[str, Any]:
    mine, _ = sides(heat.curves, ours)
    return {
        **heat.facts,
        "methods": {
            name: {
                "ours": name in mine,
                "products_per_iteration": heat.per_iteration(name),
                "seconds": heat.spent(name),
                "curves": [curve.as_json() for curve in curves],
            }
            for name, curves in heat.curves.items()
        },
        "cells": [_cell(heat, cell) for cell in heat.cells],
        "best_peer_reached": [reach.as_json() for reach in reaches(heat, ours)],
        "skipped": heat.skipped,
        "notes": heat.notes,
    }


def _cell(heat: Heat, cell: Cell) -> dict[str, Any]:
    at = (cell.axis, cell.budget)
    return {
        "axis": cell.axis,
        "budget": cell.budget,
        "best": cell.winners,
        "methods": {
            name: {
                "objective": objective,
                "relative_error": heat.middle(name, *at, "relative_error"),
                "diverged_runs": heat.lost(name, *at),
                "cut_short": heat.cut(name, *at),
            }
            for name, objective in cell.objective.items()
        },
    }
