"""F(x, W) = φ(Ax, W): a smooth part that sees x through measurements, its oracle, and starts for it."""

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, final

import numpy as np
from attrs import field, frozen, validators

from bregopt import Array, Blocks, DataModel, Evaluation, Oracle, ProblemParts, SmoothPart, Start, validate
from bregopt.errors import IncompatibleError
from bregopt_problems.measurements import Measurements, Numbers

ROUNDING = 1e-12
"""The part of its scale below which a difference of two values of F says nothing."""
LAST_PLACES = 16.0 * 2.0**-52
"""To that part of the largest measurement each one is known."""
LARGE = 2**18
"""Entries of A from which on a product is worth several threads."""
LOOSE = 1e-4
"""The tolerance of the eigenvector of a start."""
FLOOR = 0.1
"""Keeps the weight of a measurement near zero finite, and noise in it harmless."""


@final
@frozen(eq=False)
class Misfit:
    """φ at some measurements."""

    value: float
    slope: Numbers
    """∇φ"""
    error: float
    """the distance from the data, relative to them"""
    noise: float
    """what the rounding of z brings into the value"""
    slope_noise: float
    """… and into the norm of the slope"""


@frozen(eq=False)
class Measured(SmoothPart):
    """``F(x, W) = φ(Ax, W)`` for data b, one for each measurement."""

    A: Measurements
    b: Array = field(repr=False)
    """the intensities |⟨a_i, x⟩|² that were measured"""

    @abstractmethod
    def misfit(self, z: Numbers, W: Any) -> Misfit:
        """``φ(z, W)`` and its slope."""

    @abstractmethod
    def best_length(self, z: Numbers) -> float:
        """The t ≥ 0 with the least min_W φ(tz, W): how long x should be on a ray with the measurements z."""

    def data_model(self, block: Any) -> "Intensities":
        return Intensities(self.A)

    def value(self, Y: Blocks, W: Any) -> float:
        return self.misfit(self.A.times(Y["x"]), W).value

    def value_and_gradient(self, Y: Blocks, W: Any) -> tuple[float, Blocks]:
        found = self.misfit(self.A.times(Y["x"]), W)
        return found.value, Blocks(x=self.A.adjoint_times(found.slope))


@final
@frozen(eq=False)
class Intensities(DataModel):
    """b as x has it."""

    A: Measurements
    amplitudes: bool = False
    """whether the relative error is that of the roots"""
    formula = "|Ax|²"

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.A.shape[0],)

    def rows(self, Y: Blocks, rows: slice) -> Array:
        return np.square(np.abs(self.A.times(Y["x"])[rows]))

    def answer(self, metrics: Mapping[str, float]) -> str:
        if not self.amplitudes:
            return super().answer(metrics)
        error = metrics.get("relative_error", math.nan)
        return self.reproduces("√b", error).replace(self.formula, "|Ax|") if math.isfinite(error) else ""


@final
@frozen(eq=False)
class MeasuredOracle(Oracle):
    """A value for 1 product with A, the gradient there for 1 more, and that at another point for 2 more.

    G is zero, and W depends on the measurements alone.
    """

    smooth: Measured
    W_of: Callable[[Numbers], Any]
    """W(Y) from Ax"""

    def working(self) -> AbstractContextManager[Any]:
        """BLAS on one thread where A is not large: on a busy machine threads that wait for each other cost more."""
        if math.prod(self.smooth.A.shape) > LARGE:
            return nullcontext()
        from threadpoolctl import threadpool_limits

        one: AbstractContextManager[Any] = threadpool_limits(1, user_api="blas")
        return one

    def evaluate(self, Y: Blocks, at: Blocks | None = None, *, value_at: bool = False) -> Evaluation:
        F, A = self.smooth, self.smooth.A
        z = A.times(Y["x"])
        W = self.W_of(z)
        here = F.misfit(z, W)
        there = here if at is None or at is Y else F.misfit(A.times(at["x"]), W)
        gradient = None if at is None else at.like(A.adjoint_times(there.slope).ravel())
        return Evaluation(
            Y=Y,
            W=W,
            value=here.value,
            at=at,
            gradient=gradient,
            value_at=None if at is None else there.value,
            metrics={"relative_error": here.error},
            products=1.0 + (at is not None) + (there is not here),
            rounding=ROUNDING,
            scale=here.value + (here.noise + there.noise) / ROUNDING,
            residual_rounding=0.0 if at is None else A.size * there.slope_noise,
        )


def _measured(problem: ProblemParts, wanted: str) -> Measured:
    if not isinstance(problem.smooth, Measured):
        raise IncompatibleError(
            f"{wanted} needs measurements of a signal, and the {problem.name} has none: it is for the problems "
            "quadratic-inverse and phase-retrieval."
        )
    return problem.smooth


def _along(F: Measured, X: Array) -> Blocks:
    """The best point on the ray of X, with the sign that makes its largest entry positive."""
    peak = X.ravel()[np.argmax(np.abs(X))]
    return Blocks(x=math.copysign(F.best_length(F.A.times(X)), peak) * X)


@final
@frozen
class LeadingEigenvector(Start):
    """The leading eigenvector of ``Σ t_i a_i a_i*``, made as long as fits the data best.

    ``weights="bounded"``: t = 1 − 1/(b/mean(b) + 0.1), nearly the best choice for a Gaussian A, where a small b counts
    against a direction (Mondelli and Montanari 2019; Luo, Alghamdi and Lu 2019). ``weights="plain"``: t = b, which
    needs several times as many measurements. For a sparse x ``support=s`` keeps the s entries with the largest
    Σ_i b_i |a_ij|², where x is likely to be, and zero elsewhere. The sign or phase of x is arbitrary: the number of its
    block that is largest in absolute value is positive.
    """

    support: int | None = field(default=None, validator=validators.optional(validate.whole(at_least=1)))
    weights: str = field(default="bounded", validator=validate.one_of("bounded", "plain"))

    def point(self, problem: ProblemParts, rng: np.random.Generator) -> Blocks:
        F = _measured(problem, "The start 'leading-eigenvector'")
        y = F.b / (float(np.abs(F.b).mean()) or 1.0)
        if self.weights == "bounded":
            Y = self._leading(F, 1.0 - 1.0 / (np.maximum(y, 0.0) + FLOOR), y, rng)
            if Y.flat.any():
                return Y  # else b < 0 speaks against this direction
        return self._leading(F, y, y, rng)

    def _leading(self, F: Measured, t: Array, y: Array, rng: np.random.Generator) -> Blocks:
        A = F.A
        columns = slice(None) if self.support is None else A.largest_columns(y, self.support)
        G = A.gram(t, columns)
        if G is None:
            return _along(F, _leading_by_products(A, t, rng))
        x = np.zeros(A.shape[1], dtype=G.dtype)
        x[columns] = np.linalg.eigh(G)[1][:, -1]
        return _along(F, A.block(x))


def _leading_by_products(A: Measurements, t: Array, rng: np.random.Generator) -> Array:
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    n, shape = math.prod(A.block_shape), A.block_shape
    B = LinearOperator((n, n), matvec=lambda v: A.gram_times(t, v.reshape(shape)).ravel(), dtype=np.float64)
    v = rng.standard_normal(n)
    try:
        v = eigsh(B, k=1, which="LA", v0=v, tol=LOOSE)[1][:, 0]
    except ArpackNoConvergence:
        v = B @ (B @ v)
    return np.asarray(v.reshape(shape))


@final
@frozen
class RandomRay(Start):
    """A Gaussian vector, made as long as fits the data best."""

    def point(self, problem: ProblemParts, rng: np.random.Generator) -> Blocks:
        F = _measured(problem, "The start 'random-ray'")
        return _along(F, rng.standard_normal(F.A.block_shape))


def signal(problem: ProblemParts, Y: Blocks) -> Numbers:
    """The vector x of a ``phase-retrieval`` or ``quadratic-inverse`` problem at Y: ``signal(problem, result.Y)``.

    It is complex where A is. Its sign, or its phase, is arbitrary: the data do not tell it.
    """
    return _measured(problem, "signal").A.vector(Y["x"]).copy()
