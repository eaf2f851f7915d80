"""Phase retrieval: a signal from the absolute values of linear measurements."""

import math
from typing import Any, final

import numpy as np
from attrs import field, frozen

from bregopt import Array, Blocks, ClosedFormBlock, Kernel, Norms, Problem, Regularizer, Smad, SmoothPart, make
from bregopt.errors import DataError, parameter
from bregopt_problems.measured import LAST_PLACES, Intensities, LeadingEigenvector, Measured, Misfit
from bregopt_problems.measurements import Measurements, Numbers, read_data, read_measurements

OWNER = "phase-retrieval"


def phase_retrieval(A: Any, b: Any, H: Regularizer | str = "none", magnitudes: bool = False) -> Problem:
    """``min ½‖Ax − w‖² + H(x)  s.t.  |w_i| = √b_i``: x from the intensities b_i = |⟨a_i, x⟩|².

    W is √b with the signs of Ax, or its phases where A is complex: what is left is ½ Σ (|⟨a_i, x⟩| − √b_i)² + H(x). The
    data do not tell x from tx, |t| = 1.

    Parameters
    ----------
    A : array, sparse matrix or LinearOperator
        m×d, real or complex, a measurement in each row: Ax = (⟨a_i, x⟩)_i. Where A is complex so is x. Its block has
        the shape d×2, a row (Re x_j, Im x_j) for each entry, and ``bregopt_problems.signal(problem, result.Y)`` is the
        complex vector.
    b : array
        m numbers ≥ 0.
    H : Regularizer or str
        On the block of x: for a sparse complex x it is ``l21``, the sum of the |x_j|.
    magnitudes : bool
        Whether b holds the magnitudes |⟨a_i, x⟩| instead of their squares.
    """
    if not isinstance(magnitudes, (bool, np.bool_)):
        raise parameter("magnitudes", OWNER, "True or False", magnitudes)
    measurements = read_measurements(A, OWNER, complex_too=True)
    data = read_data(b, measurements)
    if data.min() < 0:
        raise DataError(f"b must be non-negative for {OWNER}. Got {data.min():g} in it: quadratic-inverse takes it.")
    with np.errstate(over="ignore", under="ignore"):
        root, square = (data, np.square(data)) if magnitudes else (np.sqrt(data), data)
        bound = measurements.norm**2
    if not (0 < bound < math.inf and np.isfinite(square).all()):
        raise DataError(f"‖A‖² = {bound:g} or b leaves the range of float64. Scale A and b, to entries of about 1.")
    kernel = bound * make("kernel", "psi2")
    return Problem(
        smooth=Amplitudes(measurements, square, kernel),
        block=Phases(measurements, root),
        regularizer=make("regularizer", H),
        kernel=kernel,
        start=LeadingEigenvector(),
        name="phase retrieval problem",
    )


@final
@frozen(eq=False)
class Amplitudes(Measured):
    """``F(x, W) = ½‖Ax − W‖²``, convex in x, with the Lipschitz constant L = ‖A‖₂²."""

    high: Kernel
    """``Lψ2``"""

    def data_model(self, block: Any) -> Intensities:
        return Intensities(self.A, amplitudes=True)

    def misfit(self, z: Numbers, W: Numbers) -> Misfit:
        r = z - W
        length, size = float(np.linalg.norm(r)), float(np.linalg.norm(W))
        unit = LAST_PLACES * (float(np.linalg.norm(z)) + size)
        error = length / (size or math.sqrt(len(r)))
        return Misfit(0.5 * length * length, r, error, noise=unit * (length + unit), slope_noise=unit)

    def best_length(self, z: Numbers) -> float:
        """t with the least Σ (t|z| − √b)²."""
        square = float(np.vdot(z, z).real)
        return float(np.abs(z) @ np.sqrt(self.b)) / square if square > 0 else 0.0

    def smad(self, kernel: Kernel, norms: Norms, reduced: bool) -> Smad | None:
        """``0 ≤ D_F ≤ L·D_ψ2``.

        min_W F lies below F(·, W) and touches it where W was taken, so it has the same bound from above. There is none
        from below: −√b|⟨a, x⟩| bends without limit where ⟨a, x⟩ = 0.
        """
        share = kernel.share(self.high)
        return Smad(1.0 / share, None if reduced else 0.0) if share > 0 else None

    def block_lipschitz(self, Y: Blocks, name: str) -> float:
        return self.high.smoothness


@final
@frozen(eq=False)
class Phases(ClosedFormBlock):
    """``W = √b·z/|z|`` for z = Ax, a minimiser of |z − w| over |w| = √b; where z = 0 every w is, and √b is taken."""

    A: Measurements
    root: Array = field(repr=False)
    """√b"""

    def check(self, Y: Blocks) -> None:
        self.A.vector(Y["x"])

    def argmin(self, smooth: SmoothPart, Y: Blocks) -> Numbers:
        return self.of(self.A.times(Y["x"]))

    def of(self, z: Numbers) -> Numbers:
        """W(Y) from the measurements."""
        if not self.A.is_complex:
            return np.where(z < 0, -self.root, self.root)
        size = np.abs(z)
        return self.root * np.divide(z, size, out=np.ones_like(z), where=size > 0)

    def value(self, W: Numbers) -> float:
        return 0.0
