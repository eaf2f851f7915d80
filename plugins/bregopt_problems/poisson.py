"""Counts of what a non-negative linear map makes of x: Kullback and Leibler's distance, in either direction."""

import math
from pathlib import Path
from typing import Any, final

import numpy as np
from attrs import field, frozen
from scipy.sparse import csr_array

from bregopt import (
    Array,
    Blocks,
    DataModel,
    Evaluation,
    Fixed,
    Kernel,
    KernelPolicy,
    Norms,
    Oracle,
    Problem,
    Regularizer,
    Separable,
    Smad,
    SmoothPart,
    make,
)
from bregopt.errors import DataError, parameter
from bregopt.matrices import read_matrix
from bregopt_problems.no_w import NoW
from bregopt_problems.nonnegative import on_orthant

LAST_DIGITS = 1e-15
"""To that part z and b/z are known."""
LEAST_SHARE = 0.01
"""Of the counts, at least, is what the start accounts for, however high the background is."""


def poisson(
    A: Any,
    b: Any,
    H: Regularizer | str = "none",
    reverse: bool = False,
    background: Any = 0.0,
    kernel: KernelPolicy | str = "auto",
) -> Problem:
    """``min KL(b, z) + H(x)  s.t.  x ≥ 0``, where z = Ax + background and ``KL(b, z) = Σ b log(b/z) − b + z``.

    It is the negative logarithm of the likelihood of counts b ~ Poisson(z), less its least value: 0 is a perfect fit.
    The methods of Richardson and Lucy and of Shepp and Vardi minimise it too, where H = 0.

    Parameters
    ----------
    A : array, sparse matrix, LinearOperator or path
        m×n without negative entries, such as a blur or a tomograph's system matrix. Of a LinearOperator it is taken on
        trust that no entry of its matrix is negative.
    b : array
        The m counts, or other non-negative numbers; with ``reverse`` positive ones.
    H : Regularizer or str
        H, which always holds on the non-negative orthant: ``l1(0.1)`` means ``with-nonneg(l1(0.1))``.
    reverse : bool
        Whether it is ``KL(z, b)`` that is to be small.
    background : float or array
        What is counted where x = 0: a number, or m of them.
    kernel : Kernel, str
        ``auto`` is Burg's kernel with the weights ``w_j = Σ {b_i : a_ij > 0}``, and for ``reverse`` that of Boltzmann
        and Shannon with ``w_j = Σ_i a_ij``: L = 1 for both. With another weight of the same kernel L is known too.
    """
    if not isinstance(reverse, (bool, np.bool_)):
        raise parameter("reverse", "poisson", "True or False", reverse)
    regularizer = on_orthant(H, "x", "poisson")
    if isinstance(regularizer, Fixed):
        raise parameter("H", "poisson", "a Regularizer", H)
    A = _matrix(A)
    smooth = Poisson(A, _adjoint(A), _data(b, "b", A.shape[0]), _background(background, A.shape[0]), bool(reverse))
    smooth.check_rows()
    return Problem(
        smooth=smooth,
        block=NoW(),
        regularizer=Separable(x=regularizer),
        kernel=smooth.reference if kernel == "auto" else make("kernel", kernel),
        kernel_named=kernel != "auto",
        start=smooth.start(),
        metrics={"relative_error": smooth.error_at},
        name="Poisson problem",
    )


@final
@frozen(eq=False)
class Poisson(SmoothPart):
    """``F(x) = KL(b, z)``, or ``KL(z, b)`` with ``reverse``, for ``z = Ax + background``; convex.

    With t_j = h_j/x_j and Cauchy-Schwarz, ``⟨a_i, h⟩² = (Σ_j a_ij x_j t_j)² ≤ z_i Σ_j a_ij x_j t_j²``. So

        ∇²KL(b, z)[h, h] = Σ_i b_i ⟨a_i, h⟩²/z_i² ≤ Σ_j t_j² Σ_i b_i a_ij x_j/z_i ≤ Σ_j w_j h_j²/x_j²,
        ∇²KL(z, b)[h, h] = Σ_i ⟨a_i, h⟩²/z_i ≤ Σ_j w_j h_j²/x_j,

    with w_j = Σ {b_i : a_ij > 0} in the first line, as a_ij x_j ≤ z_i, and w_j = Σ_i a_ij in the second. These are the
    Hessians of Burg's kernel and of Boltzmann and Shannon's, with the weights w.
    """

    A: Any = field(repr=False)
    adjoint: Any = field(repr=False)
    """Aᵀ"""
    b: Array = field(repr=False)
    background: Array | float = field(repr=False)
    reverse: bool = False
    sums: Array = field(init=False, repr=False)
    """Σ_i a_ij"""
    counted: Any = field(init=False, repr=False)
    """where b > 0"""
    reference: Kernel = field(init=False)
    """the kernel that F is 1-smad to"""
    _entropy: Kernel = field(init=False, repr=False)
    _counts: Blocks = field(init=False, repr=False)
    _norm_of_b: float = field(init=False, repr=False)
    _norm_of_sums: float = field(init=False, repr=False)

    @sums.default
    def _column_sums(self) -> Array:
        return _applied(self.adjoint, np.ones(self.A.shape[0]))

    @counted.default
    def _where_counted(self) -> Any:
        return slice(None) if (self.b > 0).all() else self.b > 0

    @reference.default
    def _one_smad(self) -> Kernel:
        weights = self.sums if self.reverse else self._counts_seen()
        weights = np.where(weights > 0, weights, weights.max(initial=0.0) or 1.0)  # an x_j that F is linear in
        alike = weights.size and (weights == weights[0]).all()
        name = "boltzmann-shannon" if self.reverse else "burg"
        kernel: Kernel = make("kernel", name, float(weights[0]) if alike else {"x": weights})
        return kernel

    @_entropy.default
    def _shannon(self) -> Kernel:
        kernel: Kernel = make("kernel", "boltzmann-shannon")
        return kernel

    @_counts.default
    def _positive_counts(self) -> Blocks:
        return Blocks(z=self.b[self.counted])

    @_norm_of_b.default
    def _length_of_b(self) -> float:
        return float(np.linalg.norm(self.b))

    @_norm_of_sums.default
    def _length_of_sums(self) -> float:
        return float(np.linalg.norm(self.sums))

    def _counts_seen(self) -> Array:
        """``Σ {b_i : a_ij > 0}``, or all counts where the entries of A are not at hand."""
        if isinstance(self.A, csr_array):
            seen = csr_array((np.ones_like(self.A.data), self.A.indices, self.A.indptr), shape=self.A.shape)
            return _applied(seen.T, self.b)
        if isinstance(self.A, np.ndarray) and not (self.A > 0).all():
            return self.b @ (self.A > 0)
        return np.full(self.A.shape[1], self.b.sum())

    def check_rows(self) -> None:
        """Refuse data for which F is infinite wherever x is."""
        if self.reverse and not (self.b > 0).all():
            raise DataError(
                "b must be positive for the reverse form, as KL(z, b) is infinite where b is 0 and z is not. "
                f"Got {np.count_nonzero(self.b == 0)} zeros in it: leave these rows out."
            )
        dark = _applied(self.A, np.ones(self.A.shape[1])) + self.background <= 0
        if (dark & (self.b > 0)).any():
            row = int(np.argmax(dark & (self.b > 0)))
            raise DataError(
                f"Row {row} of A is zero, but b is {self.b[row]:g} there, which no x explains: leave such rows out, or "
                "give a background > 0."
            )

    def start(self) -> Blocks:
        """The constant vector whose z has the total of b, or most of what a high background leaves of it."""
        total = float(self.b.sum())
        left = max(total - float(np.sum(np.broadcast_to(self.background, self.b.shape))), LEAST_SHARE * total)
        mass = float(self.sums.sum())
        return Blocks(x=np.full(self.A.shape[1], left / mass if left > 0 and mass > 0 else 1.0))

    def image(self, Y: Blocks) -> Array:
        """z = Ax + background."""
        if Y["x"].shape != (self.A.shape[1],):
            raise DataError(f"The block x must have the shape {(self.A.shape[1],)}. Got {Y['x'].shape} instead.")
        return _applied(self.A, Y["x"]) + self.background

    def data_model(self, block: Any) -> "Counts":
        return Counts(self)

    def of_image(self, z: Array) -> float:
        """F from z, infinite outside of its domain."""
        z, rest = (z, 0.0) if isinstance(self.counted, slice) else (z[self.counted], float(z[~self.counted].sum()))
        if z.size and not z.min() > 0:
            return math.inf
        seen = self._counts.like(z[:])
        one, other = (seen, self._counts) if self.reverse else (self._counts, seen)
        return self._entropy.divergence(one, other) + rest

    def slope(self, z: Array) -> Array:
        """``1 − b/z``, or ``log(z/b)``: the derivative in z."""
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.reverse:
                return np.log(z / self.b)
            ratio: Array = self.b / z
        return 1.0 - (ratio if isinstance(self.counted, slice) else np.where(self.counted, ratio, 0.0))

    def relative_error(self, z: Array) -> float:
        """``‖z − b‖/‖b‖``."""
        return float(np.linalg.norm(z - self.b)) / (self._norm_of_b or 1.0)

    def error_at(self, Y: Blocks, W: Any) -> float:
        """The relative error of Y, as a metric."""
        return self.relative_error(self.image(Y))

    def value(self, Y: Blocks, W: Any) -> float:
        return self.of_image(self.image(Y))

    def value_and_gradient(self, Y: Blocks, W: Any) -> tuple[float, Blocks]:
        z = self.image(Y)
        return self.of_image(z), self.pull(Y, self.slope(z))

    def pull(self, Y: Blocks, slope: Array) -> Blocks:
        """``Aᵀ slope``, the gradient at Y for the slope at its z."""
        return Y.like(_applied(self.adjoint, slope))

    def gradient_rounding(self, slope: Array) -> float:
        """What the last digits of b/z leave of the gradient's norm."""
        size = 1.0 if self.reverse else 2.0 - float(slope.min())
        return LAST_DIGITS * size * self._norm_of_sums

    def smad(self, kernel: Kernel, norms: Norms, reduced: bool) -> Smad | None:
        share = kernel.share(self.reference)
        return Smad(upper=1.0 / share, lower=0.0) if share > 0 else None


@final
@frozen(eq=False)
class Counts(DataModel):
    """b as x has it."""

    smooth: Poisson = field(repr=False)

    @property
    def formula(self) -> str:
        return "Ax + background" if np.any(self.smooth.background) else "Ax"

    @property
    def shape(self) -> tuple[int, ...]:
        return self.smooth.b.shape

    def rows(self, Y: Blocks, rows: slice) -> Array:
        return self.smooth.image(Y)[rows]


@final
@frozen(eq=False)
class PoissonOracle(Oracle):
    """Evaluations of 1 product for the value, 2 with the gradient, and 1 more for a gradient at another point."""

    smooth: Poisson

    def evaluate(self, Y: Blocks, at: Blocks | None = None, *, value_at: bool = False) -> Evaluation:
        F, z = self.smooth, self.smooth.image(Y)
        value, gradient, value_there, rounding = F.of_image(z), None, None, 0.0
        if at is not None:
            there = z if at is Y else F.image(at)
            slope = F.slope(there)
            gradient, rounding = F.pull(at, slope), F.gradient_rounding(slope)
            value_there = value if at is Y else F.of_image(there) if value_at else None
        return Evaluation(
            Y=Y,
            W=None,
            value=value,
            at=at,
            gradient=gradient,
            value_at=value_there,
            metrics={"relative_error": F.relative_error(z)},
            products=1.0 if at is None else 2.0 if at is Y else 3.0,
            scale=abs(value) + float(np.abs(z - F.b).sum()),  # which a relative error of z costs
            residual_rounding=rounding,
        )


def _applied(A: Any, x: Array) -> Array:
    product: Array = A @ x
    return product


def _matrix(A: Any) -> Any:
    """A as an array, a CSR array or an operator, once it is seen to be non-negative."""
    A = read_matrix(A) if isinstance(A, (str, Path)) else A
    if hasattr(A, "matvec") and hasattr(A, "rmatvec"):
        return _operator(A)
    try:
        A = csr_array(A) if hasattr(A, "tocsr") else np.asarray(A)
    except ValueError:
        raise DataError("A must be a matrix. Got rows of different lengths.") from None
    if A.ndim != 2 or 0 in A.shape or A.dtype.kind not in "fiub":
        raise DataError(f"A must be a real matrix. Got shape {A.shape} and dtype {A.dtype} instead.")
    A = A.astype(np.float64)
    if isinstance(A, csr_array):
        A.sum_duplicates()
        A.eliminate_zeros()
    _check(A.data if isinstance(A, csr_array) else A, "A")
    return A


def _operator(A: Any) -> Any:
    """A LinearOperator whose products with vectors of ones are those of a non-negative matrix."""
    if A.ndim != 2 or 0 in A.shape:
        raise DataError(f"A must be a real matrix. Got shape {A.shape} instead.")
    try:
        products = {"A": A.matvec(np.ones(A.shape[1])), "Aᵀ": A.rmatvec(np.ones(A.shape[0]))}
    except NotImplementedError as error:
        raise DataError("A must have its products with A and Aᵀ: give the LinearOperator a rmatvec too.") from error
    for name, product in products.items():
        if product.dtype.kind not in "fiub":
            raise DataError(f"A must be a real matrix. Got products of dtype {product.dtype} instead.")
        _check(product, f"A, and so the product of {name} with ones,")
    return A


def _adjoint(A: Any) -> Any:
    return A.H if hasattr(A, "rmatvec") else A.T


def _data(b: Any, name: str, m: int) -> Array:
    """A vector of m finite numbers >= 0."""
    try:
        array = np.asarray(b)
    except ValueError:
        array = np.empty(0, dtype=object)
    if array.shape != (m,) or array.dtype.kind not in "fiub":
        raise DataError(
            f"{name} must be a vector of {m} real numbers, one for each row of A. "
            f"Got shape {array.shape} and dtype {array.dtype} instead."
        )
    _check(array, name)
    return array.astype(np.float64)


def _background(background: Any, m: int) -> Array | float:
    if np.ndim(background) > 0:
        return _data(background, "background", m)
    return float(_data([background], "background", 1)[0])


def _check(array: Array, name: str) -> None:
    array = np.asarray(array, dtype=np.float64)
    lowest, highest = float(np.min(array, initial=math.inf)), float(np.max(array, initial=0.0))
    if not highest < math.inf:
        raise DataError(f"{name} must be finite. Got {'nan' if math.isnan(highest) else 'inf'} in it.")
    if lowest < 0:
        raise DataError(f"{name} must be non-negative for poisson. Got {lowest:g} in it.")
