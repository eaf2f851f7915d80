"""Small matrices and parts of problems that several test files build on."""

import math

import numpy as np
from attrs import frozen

import bregopt as bo


def relu_matrix(seed=0, shape=(20, 15)):
    """``max(0, X)`` of a Gaussian X: the ReLU of no low rank."""
    return np.maximum(0, np.random.default_rng(seed).standard_normal(shape))


L1_WEIGHTS = (0.1, 0.3)


def l1_problem(M, kernel="auto", scale=1.0, *, rank):
    """ReLU-NMD with an l1 norm on both factors.

    At the scale c of M, U and V are √c as large, and the weights that leave them so c^1.5.
    """
    on_U, on_V = (f"l1({weight * scale**1.5})" for weight in L1_WEIGHTS)
    return bo.compose("relu-nmd", M * scale, rank=rank, U=on_U, V=on_V, kernel=kernel)


def drawn_matrix(draw, rng):
    """A random M of at most 12×12 (low-rank, sparse or dense), and a rank for it."""
    from hypothesis import strategies as st

    m, n = draw(st.integers(2, 12)), draw(st.integers(2, 12))
    r = draw(st.integers(1, min(m, n)))
    kind = draw(st.sampled_from(["low-rank", "sparse", "dense"]))
    if kind == "low-rank":
        M = np.maximum(0, rng.standard_normal((m, r)) @ rng.standard_normal((r, n)))
    else:
        M = rng.random((m, n)) * (rng.random((m, n)) < (0.3 if kind == "sparse" else 1.0))
    M[0, 0] = 1.0
    return M, r


def soft(Z, tau):
    """Soft thresholding."""
    return np.sign(Z) * np.maximum(np.abs(Z) - tau, 0)


def hard(Z, s):
    """The s largest entries, the others zero."""
    kept = np.zeros(Z.size)
    order = np.argsort(np.abs(Z).ravel())[-s:]
    kept[order] = Z.ravel()[order]
    return kept.reshape(Z.shape)


@frozen
class Huber(bo.Regularizer):
    """``H(X) = Σ huber(x_ij)``: convex and separable, not homogeneous."""

    traits = bo.Trait.CONVEX | bo.Trait.SEPARABLE

    def value(self, X):
        return float(np.where(np.abs(X) <= 1, X**2 / 2, np.abs(X) - 0.5).sum())

    def prox(self, X, step):
        return np.where(np.abs(X) <= 1 + step, X / (1 + step), X - step * np.sign(X))


@frozen
class HalfSquares(bo.SmoothPart):
    """``F = ½‖W − UV‖²``, under the names that the two blocks have."""

    names: tuple[str, str] = ("U", "V")

    def value(self, Y, W):
        U, V = (Y[name] for name in self.names)
        return 0.5 * float(np.sum((W - U @ V) ** 2))

    def value_and_gradient(self, Y, W):
        U, V = (Y[name] for name in self.names)
        S = U @ V - W
        return 0.5 * float(np.sum(S**2)), bo.Blocks(**dict(zip(self.names, (S @ V.T, U.T @ S), strict=True)))

    def gram(self, Y, name):
        U, V = (Y[name] for name in self.names)
        return V @ V.T if name == self.names[0] else U.T @ U

    def smad(self, kernel, norms, reduced):
        if "frobenius" not in norms:
            return None
        bound = 1 / kernel.share(bo.make("kernel", "psi1") + norms["frobenius"] * bo.make("kernel", "psi2"))
        return bo.Smad(upper=bound, lower=bound)


@frozen
class NoBlock(bo.ClosedFormBlock):
    """``G = 0``, for an F that does not depend on W."""

    def argmin(self, smooth, Y):
        return None

    def value(self, W):
        return 0.0


@frozen(eq=False)
class Poisson(bo.SmoothPart):
    """``F(y) = Σ (Ay)_i − b_i log (Ay)_i``: no Lipschitz gradient at 0, smooth adaptable to Burg with L = Σ b."""

    A: np.ndarray
    b: np.ndarray
    lower: float | None = 0.0
    """the lower constant it states: 0, as F is convex, or none"""

    def value(self, Y, W):
        z = self.A @ Y.y
        return float(np.sum(z - self.b * np.log(z))) if (z > 0).all() else math.inf

    def value_and_gradient(self, Y, W):
        return self.value(Y, W), bo.Blocks(y=self.A.T @ (1 - self.b / (self.A @ Y.y)))

    def smad(self, kernel, norms, reduced):
        return bo.Smad(upper=float(self.b.sum()), lower=self.lower)


@frozen(eq=False)
class Given(bo.ClosedFormBlock):
    """``W = M``."""

    M: np.ndarray

    def argmin(self, smooth, Y):
        return self.M

    def value(self, W):
        return 0.0
