"""AAPB, APB and PALM for an entrywise loss as one would write them by hand in NumPy, with nothing of the library."""

import math
from collections.abc import Callable
from typing import Any, final

import numpy as np
from attrs import frozen

from bregopt import Blocks
from bregopt.errors import IncompatibleError
from bregopt_bench.speed.losses import TimedLoss

Code = Callable[[Any, Any], tuple[Any, Any]]
"""``(X, M) -> (Σ e, E'(X))``"""


@final
@frozen(eq=False)
class PlainLoop:
    """Methods for H = η|U|₁ + η|V|₁ from Y⁰, each with the objective at the start of every iteration."""

    code: Code
    M: Any
    c: float
    """the bound of e''"""
    beta: float
    eta: float
    start: Blocks
    b: float
    """of the kernel cψ1 + bψ2"""

    def run(self, method: str, iterations: int) -> tuple[Any, Any, list[float]]:
        """U and V after so many iterations, and the objectives."""
        return {"aapb": self.aapb, "apb": self.apb, "palm": self.palm}[method](iterations)

    def apb(self, iterations: int) -> tuple[Any, Any, list[float]]:
        """λ = 1, the kernel cψ1 + bψ2."""
        code, M, c, b, eta = self.code, self.M, self.c, self.b, self.eta
        U, V, objectives = self.start.U, self.start.V, []
        for _ in range(iterations):
            value, S = code(U @ V, M)
            objectives.append(value + eta * (np.abs(U).sum() + np.abs(V).sum()))
            slope = c * (np.vdot(U, U) + np.vdot(V, V)) + b
            A, B = soft(slope * U - S @ V.T, eta), soft(slope * V - U.T @ S, eta)
            t = cubic_root(c * (np.vdot(A, A) + np.vdot(B, B)), b)
            U, V = t * A, t * B
        return U, V, objectives

    def palm(self, iterations: int) -> tuple[Any, Any, list[float]]:
        """Steps 1/(1.001 L) on U and then on V, with one W for both."""
        code, M, c, eta = self.code, self.M, self.c, self.eta
        U, V, objectives = self.start.U, self.start.V, []
        for _ in range(iterations):
            X = U @ V
            value, S = code(X, M)
            objectives.append(value + eta * (np.abs(U).sum() + np.abs(V).sum()))
            W = X - S / c
            L = 1.001 * c * np.linalg.norm(V @ V.T, 2)
            U = soft(U - S @ V.T / L, eta / L)
            L = 1.001 * c * np.linalg.norm(U.T @ U, 2)
            V = soft(V - c * (U.T @ (U @ V - W)) / L, eta / L)
        return U, V, objectives

    def aapb(self, iterations: int) -> tuple[Any, Any, list[float]]:
        """With a constant β and λ = 1, the kernel c(3ψ1 + ‖W‖_F ψ2)."""
        code, M, c, beta, eta = self.code, self.M, self.c, self.beta, self.eta
        U, V = self.start.U, self.start.V
        U_prev, V_prev, objectives = U, V, []
        for _ in range(iterations):
            X = U @ V
            value, S = code(X, M)
            objectives.append(value + eta * (np.abs(U).sum() + np.abs(V).sum()))
            W = X - S / c
            U_bar, V_bar = U + beta * (U - U_prev), V + beta * (V - V_prev)
            R = U_bar @ V_bar - W
            w = float(np.linalg.norm(W))
            slope = 3 * (np.vdot(U_bar, U_bar) + np.vdot(V_bar, V_bar)) + w
            P = slope * U_bar - R @ V_bar.T, slope * V_bar - U_bar.T @ R
            A, B = (soft(it, eta / c) for it in P)
            t = cubic_root(3 * (np.vdot(A, A) + np.vdot(B, B)), w)
            U_prev, V_prev, U, V = U, V, t * A, t * B
        return U, V, objectives


def soft(Z: Any, t: Any) -> Any:
    return np.sign(Z) * np.maximum(np.abs(Z) - t, 0)


def cubic_root(a: float, b: float) -> float:
    """t > 0 with ``at³ + bt = 1``, for a ≥ 0 and b > 0."""
    if a == 0:
        return 1 / b
    p = math.sqrt(b / (3 * a))
    return 2 * p * math.sinh(math.asinh(0.5 / (a * p**3)) / 3)


def numpy_code(timed: TimedLoss) -> Code:
    """Value and slope of a loss in NumPy: written down below, or ``arrays``, or ``entry`` where it takes arrays."""
    loss, name, upper = timed.loss, timed.spec.partition("(")[0].strip(), timed.upper
    if name in WRITTEN:
        return lambda X, M: WRITTEN[name](X, M, *loss.parameters)
    if not loss.has_arrays:
        try:
            loss.entry(np.zeros(2), timed.matrix.M.ravel()[:2], *loss.parameters)
        except (TypeError, ValueError):
            raise IncompatibleError(
                f"There is no NumPy code for the loss {timed.spec!r}: its 'entry' takes numbers only. Give it 'arrays'."
            ) from None

    def code(X: Any, M: Any) -> tuple[Any, Any]:
        if not loss.has_arrays:
            value, slope, _ = loss.entry(X, M, *loss.parameters)
        else:
            value, slope, _, _ = loss.arrays(X, M) if upper is None else loss.arrays(X, M, upper)
        return np.sum(value), slope

    return code


def _half(S: Any) -> tuple[Any, Any]:
    return 0.5 * np.vdot(S, S), S


def _clipped(Z: Any, d: float, low: float, high: float) -> tuple[Any, Any]:
    S = np.clip(Z / d if d != 1 else Z, low, high)
    return np.vdot(S, Z - (0.5 * d) * S), S


def _bounded_relu(X: Any, M: Any, lo: float, hi: float) -> tuple[Any, Any]:
    S = X - M
    S = np.where(lo >= M, np.maximum(S, 0), S)
    return _half(np.where(hi <= M, np.minimum(S, 0), S))


def _epsilon_insensitive(X: Any, M: Any, eps: float) -> tuple[Any, Any]:
    Z = X - M
    return _half(Z - np.clip(Z, -eps, eps))


def _one_bit(X: Any, M: Any) -> tuple[Any, Any]:
    short = np.maximum(1 - M * X, 0)
    return 0.5 * np.vdot(short, short), -M * short


def _logistic(X: Any, M: Any) -> tuple[Any, Any]:
    E = np.exp(-M * X)
    return np.log1p(E).sum(), -M * (E / (1 + E))


WRITTEN: dict[str, Callable[..., tuple[Any, Any]]] = {
    "relu": lambda X, M: _half(np.where(M > 0, X - M, np.maximum(X, 0))),
    "bounded-relu": _bounded_relu,
    "leaky-relu": lambda X, M, alpha: _half(X - np.where(M > 0, M, M / alpha)),
    "least-squares": lambda X, M: _half(X - M),
    "huber": lambda X, M, d: _clipped(X - M, 1, -d, d),
    "quantile": lambda X, M, q, d: _clipped(X - M, d, -q, 1 - q),
    "epsilon-insensitive": _epsilon_insensitive,
    "one-bit": _one_bit,
    "logistic": _logistic,
    "modulus": lambda X, M: _half(X - np.where(X >= 0, M, -M)),
    "square": lambda X, M: _half(X - np.copysign(np.sqrt(M), X)),
    "quantised": lambda X, M, lo, hi: _half(X - np.where(X - lo <= hi - X, lo, hi)),
}
"""What one would write for each loss: value and slope, and nothing besides."""
