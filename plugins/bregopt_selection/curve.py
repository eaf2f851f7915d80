"""The error on entries that the fits did not see, along ranks or weights, and what it says to choose."""

import math
from collections.abc import Mapping
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any, final

import numpy as np
from attrs import asdict, frozen

from bregopt import Array
from bregopt.errors import DataError

BENT = 0.05
"""The part of its fall by which a curve lies below the straight line where it has a knee."""


@final
@frozen(kw_only=True)
class Fit:
    """One fit: at one rank or weight, with the entries of one seed held out."""

    seed: int
    value: float
    """the rank or the weight"""
    held_out_error: float
    fit_error: float
    """of the entries that the fit saw"""
    zeros: Mapping[str, float]
    """the share of zeros of each block"""
    iterations: int
    seconds: float
    converged: bool

    def as_json(self) -> dict[str, Any]:
        """As JSON values; an error that is not finite is null."""
        return {name: _finite(it) for name, it in asdict(self).items()}

    @classmethod
    def of_json(cls, record: Mapping[str, Any]) -> "Fit":
        """From what ``as_json`` returned."""
        errors = {name: math.inf if record[name] is None else record[name] for name in ("held_out_error", "fit_error")}
        return cls(**{**record, **errors})


@final
@frozen(kw_only=True, slots=False, eq=False, repr=False)
class Curve:
    """The held-out error along ranks, smallest first, or along weights, largest first.

    Attributes
    ----------
    chosen : int or float
        The one-standard-error choice.
    minimum, one_standard_error, knee : int or float
        The three choices that the curve offers.
    mean, standard_error, fit_error : arrays
        Over the seeds, at each of ``values``; nan where there is nothing.
    fits : tuple of Fit
        All of them.
    """

    variable: str
    """``rank`` or ``weight``"""
    values: tuple[float, ...]
    fits: tuple[Fit, ...]
    problem: str
    share: float
    """of the known entries, held out"""
    interrupted: bool = False
    """whether Ctrl-C ended it before all fits were made"""

    def __attrs_post_init__(self) -> None:
        if not self.fits:
            raise DataError("There is no fit: a curve needs one at least.")

    @cached_property
    def seeds(self) -> tuple[int, ...]:
        return tuple(sorted({fit.seed for fit in self.fits}))

    @cached_property
    def errors(self) -> Array:
        """The held-out error, a row a value and a column a seed; nan where there is no fit.

        A fit that predicts worse than zeros counts as zeros, an error of 1: how much worse it is says nothing.
        """
        return np.minimum(self._by_seed(lambda fit: fit.held_out_error), 1.0)

    @property
    def worse_than_zeros(self) -> int:
        """The number of fits whose held-out error is above 1."""
        return sum(fit.held_out_error > 1.0 for fit in self.fits)

    @property
    def mean(self) -> Array:
        return _mean(self.errors)

    @property
    def standard_error(self) -> Array:
        """Of the mean; nan where there is one seed only."""
        return np.array([_standard_error(row[~np.isnan(row)]) for row in self.errors])

    @property
    def fit_error(self) -> Array:
        return _mean(self._by_seed(lambda fit: fit.fit_error))

    def zeros(self, block: str) -> Array:
        """The mean share of zeros in a block at each value."""
        return _mean(self._by_seed(lambda fit: fit.zeros[block]))

    @property
    def blocks(self) -> tuple[str, ...]:
        return tuple(self.fits[0].zeros)

    @cached_property
    def minimum(self) -> float:
        """The value of least mean error, among those that most seeds have reached."""
        return self.values[self._least]

    @cached_property
    def one_standard_error(self) -> float:
        """The simplest value whose error is above the least one by no more than a standard error.

        That is of the difference, seed by seed: entries that are hard to predict are so at every value.
        """
        for k in range(self._least):
            gap = self.errors[k] - self.errors[self._least]
            gap = gap[~np.isnan(gap)]
            if len(gap) > 1 and np.isfinite(gap).all() and gap.mean() <= _standard_error(gap):
                return self.values[k]
        return self.minimum

    @cached_property
    def knee(self) -> float:
        """Where the curve lies farthest below the straight line to its minimum, if well below it; else the minimum."""
        e = self.mean[: self._least + 1]
        if len(e) < 3 or not np.isfinite(e).all():
            return self.minimum
        at = np.asarray(self.values[: len(e)], dtype=float)
        at = np.log(at) if self.variable == "weight" else at
        below = e[0] + (e[-1] - e[0]) * (at - at[0]) / (at[-1] - at[0]) - e
        return self.values[int(np.argmax(below))] if below.max() > BENT * (e[0] - e[-1]) else self.minimum

    @property
    def chosen(self) -> float:
        return self.one_standard_error

    @property
    def reached(self) -> Array:
        """How many seeds have a fit at each value."""
        return np.asarray(np.count_nonzero(~np.isnan(self.errors), axis=1), dtype=float)

    @property
    def simplest(self) -> str:
        """What the simplest model has: the values begin with it."""
        return "smallest rank" if self.variable == "rank" else "largest weight"

    @cached_property
    def _least(self) -> int:
        reached = self.reached
        e = np.where(reached == reached.max(), self.mean, np.inf)
        return int(np.argmin(e))

    def _by_seed(self, figure: Any) -> Array:
        found = np.full((len(self.values), len(self.seeds)), np.nan)
        rows = {value: k for k, value in enumerate(self.values)}
        columns = {seed: k for k, seed in enumerate(self.seeds)}
        for fit in self.fits:
            found[rows[fit.value], columns[fit.seed]] = figure(fit)
        return found

    def answer(self) -> str:
        """What to choose and why, in sentences."""
        from bregopt_selection.words import answer

        return answer(self)

    def table(self) -> str:
        """The curve as text: a row a value, with a bar and the three choices beside."""
        from bregopt_selection.words import table

        return table(self)

    def as_json(self) -> dict[str, Any]:
        """The curve as JSON values; what is not known is null."""
        columns = {"mean": self.mean, "standard_error": self.standard_error, "fit_error": self.fit_error}
        return {
            "problem": self.problem,
            "variable": self.variable,
            "chosen": self.chosen,
            "one_standard_error": self.one_standard_error,
            "minimum": self.minimum,
            "knee": self.knee,
            "held_out_share": self.share,
            "seeds": list(self.seeds),
            "worse_than_zeros": self.worse_than_zeros,
            "interrupted": self.interrupted,
            "values": list(self.values),
            **{name: [_finite(it) for it in column.tolist()] for name, column in columns.items()},
            "zeros": {block: [_finite(it) for it in self.zeros(block).tolist()] for block in self.blocks},
            "fits": [fit.as_json() for fit in self.fits],
        }

    def plot(self, path: str | Path) -> Path:
        """Draw the curve into a .png, .svg or .pdf file; needs matplotlib."""
        from bregopt_selection.picture import draw

        return draw(self, Path(path))

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.answer())}</p><pre>{escape(self.table())}</pre>"

    def __repr__(self) -> str:
        seeds = f"{len(self.seeds)} seed{'s' if len(self.seeds) > 1 else ''}"
        reach = f"{self.values[0]:g} to {self.values[-1]:g}"
        return f"Curve({self.variable} {reach}, {seeds}, chosen={self.chosen:g})"


def _mean(rows: Array) -> Array:
    """Of what there is in each row."""
    return np.array([row[~np.isnan(row)].mean() if not np.isnan(row).all() else math.nan for row in rows])


def _standard_error(values: Array) -> float:
    if len(values) < 2 or not np.isfinite(values).all():
        return math.nan
    return float(values.std(ddof=1) / math.sqrt(len(values)))


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
