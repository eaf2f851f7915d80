"""Quadratic inverse problems: a signal from the squares of linear measurements."""

import math
from typing import Any, final

import numpy as np
from attrs import frozen

from bregopt import Array, Kernel, KernelPolicy, Norms, Problem, Regularizer, Smad, make
from bregopt.errors import DataError
from bregopt_problems.measured import LAST_PLACES, LeadingEigenvector, Measured, Misfit
from bregopt_problems.measurements import Measurements, Numbers, largest_eigenvalue, read_data, read_measurements
from bregopt_problems.no_w import NoW

OWNER = "quadratic-inverse"
ROWS, FLOPS = 4096, 2e10
"""Up to so many measurements, and products of that cost, the sharp constant is worth its price."""


def quadratic_inverse(A: Any, b: Any, H: Regularizer | str = "none", kernel: KernelPolicy | str = "auto") -> Problem:
    """``min ¼ Σ (⟨a_i, x⟩² − b_i)² + H(x)``: x from the squares b_i of its products with the rows a_i of A.

    The literature has ``xᵀA_i x`` in place of ⟨a_i, x⟩²: here A_i = a_i a_iᵀ, of rank one. The data do not tell x from
    −x. ``bregopt_problems.signal`` returns x.

    Parameters
    ----------
    A : array, sparse matrix or LinearOperator
        m×d and real, a measurement a_i in each row. Of an operator with more than 2²⁴ entries only a rough bound of the
        constants is known, 3/2·‖A‖₂⁴: methods that test their steps, such as aapb, do not mind.
    b : array
        m numbers. Noise may make some of them negative.
    H : Regularizer or str
        Such as ``l1(0.1)`` for a sparse x.
    kernel : str or Kernel
        ``auto``: αψ1 + σψ2 with the least α known for which the step 1 is safe.
    """
    measurements = read_measurements(A, OWNER, complex_too=False)
    data = read_data(b, measurements)
    alpha, above, below = _constants(measurements, data)
    psi1, psi2 = make("kernel", "psi1"), make("kernel", "psi2")
    sigma = max(above, below) or alpha  # σ ≥ above is enough; with σ ≥ below F + σψ2 is convex too
    return Problem(
        smooth=QuadraticInverse(measurements, data, alpha * psi1 + above * psi2, below * psi2),
        block=NoW(),
        regularizer=make("regularizer", H),
        kernel=alpha * psi1 + sigma * psi2 if kernel == "auto" else make("kernel", kernel),
        start=LeadingEigenvector(),
        name="quadratic inverse problem",
        kernel_named=kernel != "auto",
    )


@final
@frozen(eq=False)
class QuadraticInverse(Measured):
    """``F(x) = ¼ Σ (⟨a_i, x⟩² − b_i)²``, with ``D_F ≤ D_high`` and ``−D_F ≤ D_low``."""

    high: Kernel
    """``αψ1 + σ₁ψ2``"""
    low: Kernel
    """``σ₂ψ2``"""

    def misfit(self, z: Numbers, W: None) -> Misfit:
        r = np.square(z)
        squares = float(r.sum())
        r -= self.b
        length, data, peak = math.sqrt(float(r @ r)), math.sqrt(float(self.b @ self.b)), float(np.abs(z).max())
        unit = LAST_PLACES * (peak * math.sqrt(squares) + data)  # the rounding of r
        r *= z
        error = length / (data or math.sqrt(r.size))
        return Misfit(0.25 * length * length, r, error, noise=unit * (length + unit), slope_noise=unit * peak)

    def best_length(self, z: Numbers) -> float:
        """t with the least Σ (t²z² − b)²."""
        squares = np.square(z)
        fourth = float(squares @ squares)
        return math.sqrt(max(float(squares @ self.b), 0.0) / fourth) if fourth > 0 else 0.0

    def smad(self, kernel: Kernel, norms: Norms, reduced: bool) -> Smad | None:
        share, below = kernel.share(self.high), kernel.share(self.low)
        return Smad(1.0 / share, 1.0 / below if below > 0 else None, self.low) if share > 0 else None


def _constants(A: Measurements, b: Array) -> tuple[float, float, float]:
    """α, σ₁ and σ₂, from ``d²F(x)[h, h] = Σ (3⟨a, x⟩² − b)⟨a, h⟩²``.

    The part with b lies between −σ₂|h|² and σ₁|h|². For the other put X = (xhᵀ + hxᵀ)/2. With the c of ``_curvature``,
    3Σ⟨a, x⟩²⟨a, h⟩² = 3Σ⟨a, Xa⟩² ≤ (3c/2)(|x|²|h|² + 2⟨x, h⟩²), which is (3c/2)·d²ψ1(x)[h, h]: α = 3c/2.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        alpha = 1.5 * _curvature(A)
        above, below = A.largest_eigenvalue(np.maximum(-b, 0.0)), A.largest_eigenvalue(np.maximum(b, 0.0))
    if not (0 < alpha < math.inf and max(above, below) < math.inf):
        raise DataError(
            f"The constants of {OWNER} leave the range of float64: α = {alpha:g}, σ = {max(above, below):g}. "
            "Scale A and b, to entries of about 1."
        )
    return alpha, above, below


def _curvature(A: Measurements) -> float:
    """c with ``Σ⟨a_i, Xa_i⟩² ≤ c(‖X‖² + ½(tr X)²)`` for every symmetric X.

    Let T X = (⟨a_i, Xa_i⟩)_i. The form on the right is Id + ½II*, with the inverse Id − II*/(d + 2), so the least c is
    the largest eigenvalue of T(Id − II*/(d + 2))T* = (AAᵀ)∘(AAᵀ) − nnᵀ/(d + 2), n_i = |a_i|². Where this m×m matrix is
    too large: as ⟨a, Xa⟩² ≤ |a|²|Xa|², the norm of Σ |a_i|² a_i a_iᵀ will do, and so will ‖A‖₂⁴.
    """
    m, d = A.shape
    rows = A.squared_rows()
    if rows is None:
        return A.norm**4
    if m > ROWS or m * m * d > FLOPS:
        return A.largest_eigenvalue(rows)
    M = A.matrix()
    K = M @ M.T
    K = np.square(K.toarray() if hasattr(K, "toarray") else K)
    K -= np.outer(rows / (d + 2), rows)
    return largest_eigenvalue(K)
