"""A problem: matrix completion, W being M where M is known and UV elsewhere."""

SUMMARY = "min ½‖W − UV‖² + H(U) + H(V) with W = M where M is known, matrix completion."

USAGE = """\
```python
import numpy as np
import bregopt as bo

rng = np.random.default_rng(0)
M = rng.standard_normal((60, 3)) @ rng.standard_normal((3, 50))
seen = np.where(rng.random(M.shape) < 0.4, M, np.nan)
result = bo.solve(bo.compose("$name", seen, rank=3), method="aapb(w=Ybar)", max_iterations=300)
print(np.linalg.norm(result.W - M) / np.linalg.norm(M))
print(result.certificate.summary())
```
"""

TRY = "bregopt solve --problem $name -r 5 --max-iterations 100"

CODE = '''\
"""The problem '$name' for bregopt."""

import math
from typing import final

import attrs
import bregopt as bo
import numpy as np


@final
@attrs.frozen
class Misfit(bo.SmoothPart):
    """``F(U, V, W) = ½‖W − UV‖²``."""

    def value(self, Y: bo.Blocks, W: bo.Array) -> float:
        residual = Y.U @ Y.V - W
        return 0.5 * float(np.vdot(residual, residual))

    def value_and_gradient(self, Y: bo.Blocks, W: bo.Array) -> tuple[float, bo.Blocks]:
        residual = Y.U @ Y.V - W
        return 0.5 * float(np.vdot(residual, residual)), bo.Blocks(U=residual @ Y.V.T, V=Y.U.T @ residual)

    def smad(self, kernel: bo.Kernel, norms: bo.Norms, reduced: bool) -> bo.Smad | None:
        """``D_F ≤ D_{ψ1 + wψ2}`` and ``−D_F ≤ D_{½ψ1 + wψ2}``.

        w is ‖W‖₂ for F(·, W), and ‖M‖₂ over the known entries for the reduced function min_W F + G.
        """
        w = norms["known" if reduced else "spectral"]
        above, below = kernel.share(quartic(1.0, w)), kernel.share(quartic(0.5, w))
        if above <= 0:
            return None
        return bo.Smad(upper=1.0 / above, lower=1.0 / below, low=quartic(0.5, w))


@final
@attrs.frozen(eq=False)
class Known(bo.ClosedFormBlock):
    """``G(W) = 0 if W = M where M is known, else ∞``; ``W(Y) = M`` there and ``UV`` elsewhere."""

    M: bo.Array
    """nan where it is not known"""
    norm: float
    """‖M‖₂ over the known entries"""

    def argmin(self, smooth: bo.SmoothPart, Y: bo.Blocks) -> bo.Array:
        return np.where(np.isnan(self.M), Y.U @ Y.V, self.M)

    def value(self, W: bo.Array) -> float:
        return 0.0 if np.array_equal(np.where(np.isnan(self.M), np.nan, W), self.M, equal_nan=True) else math.inf

    def norms(self, W: bo.Array) -> bo.Norms:
        return {"spectral": float(np.linalg.norm(W)), "known": self.norm}

    def bound_norms(self, norms: bo.Norms, Y: bo.Blocks, Y_prev: bo.Blocks) -> bo.Norms:
        """‖W(Y)‖ is at most ‖W(Y_prev)‖ and the change of UV where M is not known."""
        change = np.where(np.isnan(self.M), Y.U @ Y.V - Y_prev.U @ Y_prev.V, 0.0)
        return {**norms, "spectral": norms["spectral"] + float(np.linalg.norm(change))}


def quartic(a: float, b: float) -> bo.Kernel:
    """``a·ψ1 + b·ψ2``."""
    psi1: bo.Kernel = bo.make("kernel", "psi1")
    psi2: bo.Kernel = bo.make("kernel", "psi2")
    return a * psi1 + b * psi2


def build(M: bo.Array, rank: int, H: bo.Regularizer | str = "ridge(0.1)") -> bo.Problem:
    """``min ½‖W − UV‖² + H(U) + H(V)`` with W = M where M is not nan: matrix completion."""
    M = np.array(M.toarray() if hasattr(M, "toarray") else M, dtype=float)  # a sparse M is known everywhere
    known = ~np.isnan(M)
    if M.ndim != 2 or not np.isfinite(M[known]).all() or not M[known].any():
        raise bo.errors.DataError("M must be a matrix, nan where it is unknown, with a known entry that is not zero.")
    if isinstance(rank, bool) or not isinstance(rank, (int, np.integer)) or not 1 <= rank <= min(M.shape):
        raise bo.errors.parameter("rank", "$name", f"a whole number from 1 to {min(M.shape)}", rank)
    U, s, Vt = np.linalg.svd(np.where(known, M, 0.0), full_matrices=False)
    norm, root = float(s[0]), np.sqrt(s[:rank])
    return bo.Problem(
        smooth=Misfit(),
        block=Known(M, norm),
        regularizer=bo.make("regularizer", H),
        kernel=quartic(1.0, norm),
        start=bo.Blocks(U=U[:, :rank] * root, V=root[:, None] * Vt[:rank]),
        metrics={
            "relative_error": lambda Y, W: float(np.linalg.norm((Y.U @ Y.V - M)[known]) / np.linalg.norm(M[known]))
        },
        name="matrix completion problem",
    )


@bo.hookimpl
def bregopt_register(registry: bo.Registrar) -> None:
    registry.add(bo.Problem, "$name", build)


@bo.hookimpl
def bregopt_examples(kind: str) -> list[tuple[str, object]]:
    if kind != "problem":
        return []
    rng = np.random.default_rng(0)
    M = np.where(rng.random((5, 4)) < 0.7, rng.standard_normal((5, 4)), np.nan)
    Y = bo.Blocks(U=rng.standard_normal((5, 2)), V=rng.standard_normal((2, 4)))
    return [("$name, rank 2", (build(M, 2), Y))]
'''
