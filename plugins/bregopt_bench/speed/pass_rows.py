"""The rows of ``bregopt bench pass``: the pass against bare products, plain NumPy, ReLU and an iteration; residuals."""

from collections.abc import Callable, Mapping
from typing import Any, final

import numpy as np
from attrs import frozen

import bregopt
from bregopt import Blocks, ResolvedProblem
from bregopt_bench.measuring import Task, best_seconds, memory_growth
from bregopt_bench.speed.losses import TimedLoss, obvious_loss, obvious_sampled, relu_problem
from bregopt_bench.speed.matrices import BETA, METHOD, SEED, Size, TimedMatrix, drawn, evaluation, first_evaluation

WARM = 3
"""Iterations before one is timed: by then its vectors lie where those of the one before lay."""
LARGE = 2**30
"""Bytes of a float64 m×n matrix above which X goes by blocks of rows, and the obvious code is left out."""
BLOCK = 2**24
"""Entries of such a block."""
RESIDUAL_SIZE = Size(6000, 8000, 30, 0.004)
FEW, MANY = 0.01, 0.5
"""Shares of non-zeros in the residual."""


@final
@frozen(kw_only=True)
class Row:
    """Seconds, the best of several; what would take too long or too much memory is left out for large matrices."""

    facts: Mapping[str, Any]
    """of the matrix, and of the loss where one was named"""
    bare: float | None
    seconds: float
    """of the pass"""
    obvious: float | None
    lagged: float
    """of the pass inside of an iteration, with the gradient at Ȳ"""
    iteration: float
    memory: int | None
    """bytes, at the peak of the pass"""
    relu: float | None = None
    """of the ReLU pass that the pass of a loss is held against"""
    on_device: float | None = None
    """of the pass on the device that was asked for"""

    @property
    def against_bare(self) -> float | None:
        return None if self.bare is None else self.seconds / self.bare

    @property
    def obvious_over_bare(self) -> float | None:
        return None if self.bare is None or self.obvious is None else self.obvious / self.bare

    @property
    def against_relu(self) -> float | None:
        return None if self.relu is None else self.seconds / self.relu

    @property
    def device_over_pass(self) -> float | None:
        return None if self.on_device is None else self.on_device / self.seconds

    @property
    def gain(self) -> float | None:
        return None if self.obvious is None else self.obvious / self.seconds

    @property
    def overhead(self) -> float:
        return self.iteration / self.lagged

    def as_json(self) -> dict[str, Any]:
        return {
            **self.facts,
            "bare_seconds": self.bare,
            "pass_seconds": self.seconds,
            "obvious_seconds": self.obvious,
            "lagged_pass_seconds": self.lagged,
            "iteration_seconds": self.iteration,
            "pass_over_bare": self.against_bare,
            "obvious_over_pass": self.gain,
            "iteration_over_pass": self.overhead,
            "memory_bytes": self.memory,
            **({"relu_pass_seconds": self.relu, "pass_over_relu": self.against_relu} if "loss" in self.facts else {}),
            **(
                {}
                if self.on_device is None
                else {"device_pass_seconds": self.on_device, "device_over_pass": self.device_over_pass}
            ),
        }


def measure(matrix: TimedMatrix, repeats: int, device: str | None = None) -> Row:
    """The ReLU pass on a matrix, and on a device too."""
    problem = matrix.problem()
    there = None if device is None else matrix.on(device).problem()
    return _measure(problem, matrix.facts, lambda Y: baselines(matrix.M, Y, matrix.dtype), {}, repeats, there)


def measure_loss(timed: TimedLoss, repeats: int, device: str | None = None) -> Row:
    """The pass of a loss, and beside it the ReLU pass over a dense M of its shape, or over all entries of a sparse M.

    Where the pass visits known entries alone, a large M is not held against what would visit all of them.
    """
    problem, matrix = timed.problem(), timed.matrix
    facts = timed.facts(problem)
    m, n = matrix.M.shape
    beyond = facts["pass"] == "sampled" and 8 * m * n > LARGE
    relu = {} if beyond else {"relu": first_evaluation(relu_problem(matrix, facts["pass"]))}
    there = None if device is None else timed.on(device).problem()
    return _measure(problem, facts, lambda Y: loss_baselines(timed, facts["pass"], Y), relu, repeats, there)


def _measure(
    problem: ResolvedProblem,
    facts: Mapping[str, Any],
    baselines_at: Callable[[Blocks], dict[str, Task]],
    others: Mapping[str, Task],
    repeats: int,
    on_device: ResolvedProblem | None,
) -> Row:
    """Everything at the first iterates of the paper's method, in one run."""
    run = bregopt.iterate(problem, method=METHOD)
    Y_prev, Y = next(run).Y, next(run).Y

    def iteration() -> Any:
        run = bregopt.iterate(problem, method=METHOD, start=Y_prev)  # anew: the residual thins out as a run goes on
        for _ in range(WARM):
            next(run)
        return run.__next__

    one_pass = evaluation(problem, Y)
    lagged = evaluation(problem, Y, Y.plus(BETA, Y - Y_prev))
    tasks = {"pass": one_pass, **others, "lagged": lagged, "iteration": iteration}
    if on_device is not None:
        tasks["device"] = evaluation(on_device, Y)
    seconds = best_seconds(tasks, baselines_at(Y), repeats=repeats)
    _, memory = memory_growth(one_pass(), lasting=0.1)
    return Row(
        facts=facts,
        bare=seconds.get("bare"),
        seconds=seconds["pass"],
        obvious=seconds.get("obvious"),
        lagged=seconds["lagged"],
        iteration=seconds["iteration"],
        memory=memory,
        relu=seconds.get("relu"),
        on_device=seconds.get("device"),
    )


def baselines(M: Any, Y: Blocks, dtype: str) -> dict[str, Task]:
    """What the pass is held against: the three products it cannot do without, and the obvious NumPy code.

    The obvious code comes first, so that it wakes up the threads of BLAS, and takes a dense M.
    """
    U, V = (Y[name].astype(dtype) for name in ("U", "V"))
    m, n = M.shape
    if 8 * m * n > LARGE:
        blocks = bare_products(U, V, max(1, BLOCK // n))
        return {"bare": lambda: blocks}
    products = bare_products(U, V, m)
    code = obvious_code(np.asarray(M if isinstance(M, np.ndarray) else M.toarray(), dtype), U, V)
    return {"obvious": lambda: code, "bare": lambda: products}


def loss_baselines(timed: TimedLoss, kind: str, Y: Blocks) -> dict[str, Task]:
    """The same for a loss; obvious code takes one that has a NumPy form, and only known entries for a sampled pass."""
    U, V = (Y[name].astype(timed.matrix.dtype) for name in ("U", "V"))
    (m, r), n = U.shape, V.shape[1]
    large, found = 8 * m * n > LARGE, {}
    if timed.loss.has_arrays:
        if kind == "sampled" and hasattr(timed.matrix.M, "nnz"):
            code = None if 8 * timed.matrix.M.nnz * r > LARGE else obvious_sampled(timed, U, V)
        else:
            code = None if large else obvious_loss(timed, U, V)
        if code is not None:
            found["obvious"] = lambda: code
    if not (large and kind == "sampled"):
        products = bare_products(U, V, max(1, BLOCK // n) if large else m)
        found["bare"] = lambda: products
    return found


def bare_products(U: Any, V: Any, height: int) -> Callable[[], Any]:
    """``X = UV``, ``XVᵀ`` and ``UᵀX`` into arrays made beforehand, by blocks of so many rows."""
    m, (r, n) = U.shape[0], V.shape
    X, left, right = (np.empty(shape, U.dtype) for shape in ((min(height, m), n), (m, r), (r, n)))
    part = right if height >= m else np.empty_like(right)

    def products() -> Any:
        if part is not right:
            right[...] = 0
        for start in range(0, m, height):
            rows = slice(start, min(start + height, m))
            tile = np.matmul(U[rows], V, out=X[: rows.stop - start])
            np.matmul(tile, V.T, out=left[rows])
            np.matmul(U[rows].T, tile, out=part)
            if part is not right:
                np.add(right, part, out=right)
        return left, right

    return products


def obvious_code(M: Any, U: Any, V: Any) -> Callable[[], Any]:
    """Value, both gradients and relative error, as one would write them down for a dense M."""

    def code() -> Any:
        X = U @ V
        W = np.where(M > 0, M, np.minimum(0, X))
        value = 0.5 * np.linalg.norm(W - X) ** 2
        error = np.linalg.norm(M - np.maximum(0, X)) / np.linalg.norm(M)
        return value, (X - W) @ V.T, U.T @ (X - W), error

    return code


def residual_row(size: Size, dtype: str, repeats: int) -> dict[str, Any]:
    """Seconds of a pass whose residual is zero nearly everywhere, and of one with a dense residual."""
    matrix = drawn(size, dtype)
    problem = matrix.problem()
    tasks = {str(share): evaluation(problem, point_with_residual(size, share)) for share in (FEW, MANY)}
    few, many = best_seconds(tasks, repeats=repeats).values()
    shares = {"few_share": FEW, "many_share": MANY}
    return {**matrix.facts, **shares, "few_seconds": few, "many_seconds": many, "many_over_few": many / few}


def point_with_residual(size: Size, share: float) -> Blocks:
    """U ≥ 0 and V ≤ 0, whose residual is zero off the support of M, but for columns of V that are made positive."""
    rng = np.random.default_rng(SEED)
    U, V = (np.abs(rng.standard_normal(shape)) for shape in ((size.m, size.rank), (size.rank, size.n)))
    support = size.density or 0.0
    positive = round(size.n * max(0.0, share - support) / (1 - support)) if support < 1 else 0
    V[:, rng.permutation(size.n)[positive:]] *= -1
    return Blocks(U=U, V=V)
