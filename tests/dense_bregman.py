"""A dense NumPy reference for Bregman methods: f(x) = min_W ½‖W − UV‖² with W stored, l1 on both factors."""

import numpy as np
from scipy.optimize import brentq


def lbfgs_matrix(pairs):
    """The matrix B of L-BFGS, update by update."""
    s, y = pairs[-1]
    B = (s @ y) / (y @ y) * np.eye(s.size)
    for s, y in pairs:
        E = np.eye(s.size) - np.outer(y, s) / (s @ y)
        B = E.T @ B @ E + np.outer(s, s) / (s @ y)
    return B


class Dense:
    """x = (U, V) in one vector, ψ = (a/4)|x|⁴ + (b/2)|x|²; b is a number or a function of W."""

    def __init__(self, M, rank, eta, a, b):
        self.M, self.rank, self.eta, self.a, self.b = M, rank, eta, a, b

    def factors(self, x):
        m, n = self.M.shape
        return x[: m * self.rank].reshape(m, self.rank), x[m * self.rank :].reshape(self.rank, n)

    def evaluate(self, x):
        """f(x), ∇f(x) and b(W(x))."""
        U, V = self.factors(x)
        W = np.where(self.M > 0, self.M, np.minimum(0, U @ V))
        S = U @ V - W
        slope = np.concatenate([(S @ V.T).ravel(), (U.T @ S).ravel()])
        return 0.5 * np.sum(S**2), slope, self.b(W) if callable(self.b) else self.b

    def f(self, x):
        return self.evaluate(x)[0]

    def phi(self, x):
        U, V = self.factors(x)
        return self.f(x) + self.eta[0] * np.abs(U).sum() + self.eta[1] * np.abs(V).sum()

    def D(self, x, y, b):
        e = x - y
        return self.a * ((e @ (x + y)) ** 2 / 4 + (y @ y) * (e @ e) / 2) + b * (e @ e) / 2

    def step(self, y, slope, b, lam):
        """argmin H + ⟨slope, ·⟩ + D(·, y)/λ."""
        weights = np.repeat(self.eta, [self.M.shape[0] * self.rank, self.M.shape[1] * self.rank])
        P = (self.a * (y @ y) + b) * y - lam * slope
        S = np.sign(P) * np.maximum(np.abs(P) - lam * weights, 0)
        s = S @ S
        t = brentq(lambda t: self.a * s * t**3 + b * t - 1, 0, 1 / b, xtol=1e-300, rtol=1e-15)
        return t * S

    def excess(self, x, y, seen, L, b):
        """f(x) − f(y) − ⟨∇f(y), x − y⟩ − L·D(x, y)."""
        value, slope, _ = seen
        return self.f(x) - value - slope @ (x - y) - L * self.D(x, y, b)
