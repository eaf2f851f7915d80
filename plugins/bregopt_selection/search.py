"""The fits of one seed along ranks or weights, each started from the one before and at random."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, final

import numpy as np
from attrs import field, frozen

import bregopt as bo
from bregopt.errors import DataError, IncompatibleError, ParameterError
from bregopt_selection.curve import Fit
from bregopt_selection.records import Records

RANK, WEIGHT = "rank", "weight"
HELD_OUT = "held_out_error"


@final
@frozen(eq=False, kw_only=True)
class Search:
    """What is fitted, and how: a problem with its data, along values from the simplest to the most complex model."""

    problem: str
    M: Any = field(repr=False)
    parameters: Mapping[str, Any] = field(factory=dict, repr=False)
    """of the problem"""
    variable: str = RANK
    values: tuple[float, ...]
    H: str = ""
    """the regularizer whose weight varies"""
    blocks: tuple[str, ...] = ()
    """those that it is on"""
    share: float = 0.1
    method: Any = "auto"
    max_iterations: int = 1000
    max_seconds: float | None = None
    warm: bool = True

    def compose(self, value: float, seed: int) -> bo.ResolvedProblem:
        """The problem at one value, without the entries that the seed holds out."""
        more: dict[str, Any] = {RANK: value}
        if self.variable == WEIGHT:
            more = dict.fromkeys(self.blocks, self._regularizer(value))
        try:
            return bo.compose(
                self.problem, self.M, **{**self.parameters, **more}, held_out=self.share, held_out_seed=seed
            )
        except ParameterError as error:
            if "'held_out" not in str(error) and "no 'held_out" not in str(error):
                raise
            raise IncompatibleError(
                f"Entries of M cannot be held out of the problem '{self.problem}': {error}"
            ) from None

    def _regularizer(self, weight: float) -> bo.Regularizer:
        """H with the weight as its first argument."""
        spec = bo.parse_spec(self.H)
        found: bo.Regularizer = bo.make("regularizer", spec.name, weight, *spec.args, **spec.kwargs)
        return found

    def fits(self, seed: int, records: Records | None = None) -> Iterator[Fit]:
        """Each value in turn; what the records hold already is not fitted again."""
        done = [] if records is None else records.finished(seed, self.values, self.warm)
        yield from done
        Y, error = (None, 1.0) if records is None or not done else (records.factors(done[-1]), done[-1].fit_error)
        for k in range(len(done), len(self.values)):
            problem = self.compose(self.values[k], seed)
            starts = [None] if Y is None or not self.warm else [_warm_start(problem, Y, error, seed), None]
            fit, Y = self._fit(problem, self.values[k], seed, starts)
            error = fit.fit_error
            if records is not None:
                records.keep(fit, Y if self.warm else None, self.values[k - 1] if self.warm and k else None)
            yield fit

    def _fit(
        self, problem: bo.ResolvedProblem, value: float, seed: int, starts: Sequence[bo.Blocks | None]
    ) -> tuple[Fit, bo.Blocks]:
        """From each start; the lowest objective counts, which knows nothing of what was held out."""
        results = []
        limits: dict[str, Any] = {"max_iterations": self.max_iterations, "max_seconds": self.max_seconds}
        limits["on_interrupt"] = "raise"  # Ctrl-C ends the whole search, not one of its runs
        for start in starts:
            try:
                results.append(bo.solve(problem, method=self.method, start=start, seed=seed, stop="plateau", **limits))
            except DataError:
                if start is None:
                    raise  # else the factors before have grown too far apart to start from, as a free scale lets them
        result = min(results, key=lambda it: np.nan_to_num(it.objective, nan=np.inf))
        fit_error = next(value for name, value in result.metrics.items() if name != HELD_OUT)
        fit = Fit(
            seed=seed,
            value=value,
            held_out_error=float(np.nan_to_num(result.metrics[HELD_OUT], nan=np.inf)),
            fit_error=float(fit_error),
            zeros={block: float(np.mean(result.Y[block] == 0)) for block in result.Y.names},
            iterations=sum(it.iterations for it in results),
            seconds=sum(it.seconds for it in results),
            converged=result.converged,
        )
        return fit, result.Y


def _warm_start(problem: bo.ResolvedProblem, Y: bo.Blocks, error: float, seed: int) -> bo.Blocks:
    """The factors of the fit before, in those of a random start.

    New components keep √error times their random size: their product is then about as large as what is still to fit.
    Components that H made zero are random again, as a product of zeros would stay zero.
    """
    fresh = problem.first_point(None, np.random.default_rng(seed))
    size = float(np.sqrt(np.clip(error, 1e-4, 1.0)))
    blocks: dict[str, Any] = {}
    for name in fresh.names:
        blocks[name] = size * fresh[name]
        blocks[name][tuple(slice(0, length) for length in Y[name].shape)] = Y[name]
    if {"U", "V"} <= blocks.keys() and blocks["U"].shape[-1] == blocks["V"].shape[0]:
        dead = ~(blocks["U"].any(axis=0) & blocks["V"].any(axis=1))
        blocks["U"][:, dead], blocks["V"][dead] = fresh["U"][:, dead], fresh["V"][dead]
    return fresh if not all(X.any() for X in blocks.values()) else bo.Blocks(**blocks)
