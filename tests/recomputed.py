"""ReLU-NMD from its formulas alone, in dense extended precision: what a certificate says is held against it.

f(U, V) = ½ Σ_{M>0} (X − M)² + ½ Σ_{M=0} max(0, X)² with X = UV, and Φ = f + H₁(U) + H₂(V). Nothing of the library is
used: a run is known by its points, its steps and what it claims.
"""

import math

import numpy as np

Real = np.longdouble
SINGULAR = 1e-9
"""Singular values, and norms of rows, below that share of the largest are zero."""


def interval(low, high, G):
    """The least |g + ξ| with low ≤ ξ ≤ high."""
    return np.maximum(np.maximum(G + low, -(G + high)), 0)


def entrywise(slope, at_zero):
    """dist(0, G + ∂H(X)) for ``H = Σ h(|x|)`` with h' the slope off zero, and ``[−at_zero, at_zero]`` there."""

    def distance(X, G):
        size = np.where(X == 0, 1, np.abs(X))
        off = np.abs(G + np.sign(X) * slope(size))
        return norm(np.where(X == 0, interval(-at_zero, at_zero, G), off))

    return distance


def norm(X):
    return np.sqrt(np.sum(np.square(X)))


def on_box(low, high):
    """∂H is ℝ₋ at the lower end and ℝ₊ at the upper."""

    def distance(X, G):
        A = np.where(low >= X, np.minimum(G, 0), G)
        return norm(np.where(high <= X, np.maximum(A, 0), A))

    return distance


def nonneg(h):
    """On the orthant: at zero every ξ ≤ h'(0) will do."""

    def distance(X, G):
        return norm(np.where(X == 0, np.minimum(G + h, 0), G + h))

    return distance


def on_columns_norm(eta):
    """Rows: η x/‖x‖ off zero, the ball of radius η at zero."""

    def distance(X, G):
        size = np.sqrt(np.sum(X**2, axis=1, keepdims=True))
        off = np.sqrt(np.sum((G + eta * X / np.where(size > 0, size, 1)) ** 2, axis=1))
        at_zero = np.maximum(np.sqrt(np.sum(G**2, axis=1)) - eta, 0)
        return norm(np.where(size[:, 0] > 0, off, at_zero))

    return distance


def nuclear(eta):
    """∂‖X‖_* = {PQᵀ + N: PᵀN = 0, NQ = 0, ‖N‖₂ ≤ 1} for the thin SVD X = PΣQᵀ."""

    def distance(X, G):
        X, G = np.asarray(X, float), np.asarray(G, float)
        P, sigma, Qt = np.linalg.svd(X)
        rank = int(np.sum(sigma > SINGULAR * max(sigma[0], 1e-300)))
        inside = P.T @ G @ Qt.T
        inside[:rank, :rank] += eta * np.eye(rank)
        rest = np.linalg.svd(inside[rank:, rank:], compute_uv=False) if rank < min(X.shape) else np.zeros(0)
        seen = norm(inside) ** 2 - norm(inside[rank:, rank:]) ** 2
        return math.sqrt(max(seen, 0.0) + np.sum(np.maximum(rest - eta, 0) ** 2))

    return distance


def l0_ball(s):
    """The limiting normal cone: ξ is zero on a set of s places that holds the support; the rest is free."""

    def distance(X, G):
        free = s - np.count_nonzero(X)
        off = np.sort(np.square(G[X == 0]))[: max(free, 0)]
        return np.sqrt(np.sum(G[X != 0] ** 2) + np.sum(off))

    return distance


def ball(radius):
    """Normals of a ball at its edge are t·x, t ≥ 0."""

    def distance(X, G):
        if norm(X) < radius * (1 - 1e-12):
            return norm(G)
        t = max(-np.sum(G * X) / np.sum(X * X), 0)
        return norm(G + t * X)

    return distance


def unit_rows(X, G):
    """Normals of a sphere are t·x."""
    t = -np.sum(G * X, axis=1, keepdims=True) / np.sum(X * X, axis=1, keepdims=True)
    return norm(G + t * X)


def simplex(X, G):
    """Normals of the simplex of a column are ν·1 − μ with μ ≥ 0 off the support, zero on it."""
    return math.hypot(*(_simplex(x, g) for x, g in zip(np.float64(X).T, np.float64(G).T, strict=True)))


def _simplex(x, g):
    """By the ν that is best: off the support only a negative g + ν counts."""
    best = math.inf
    for least in [-math.inf, *g[x == 0]]:  # which of them count
        counted = (x > 0) | (g <= least)
        nu = -np.mean(g[counted])
        best = min(best, norm(np.where(x > 0, g + nu, np.minimum(g + nu, 0.0))))
    return float(best)


def penalties(c):
    """name -> (spec, H, dist(0, G + ∂H(X))) for data of the scale c: U and V are √c as large, and Φ is c²."""
    root = math.sqrt(c)
    l1, eta0, gamma = 0.1 * c**1.5, 0.02 * c**2, 3.0 / c
    eps, theta, cap, delta, rim = 0.7 * root, 1.5 / root, 0.8 * root, 0.4 * root, 0.8 * root
    ridge, half, third = 0.3 * c, 0.05 * c**1.75, 0.05 * c ** (2 - 1 / 3)
    scad, a = 0.2 * root, 3.7
    knee = gamma * l1

    def sizes(h):
        return lambda X: np.sum(h(np.abs(X)))

    def mcp(r):
        r = np.minimum(r, knee)
        return r * (l1 - r / (2 * gamma))

    def scad_value(r):
        middle = (2 * a * scad * r - r**2 - scad**2) / (2 * (a - 1))
        return np.where(r <= scad, scad * r, np.where(r <= a * scad, middle, scad**2 * (a + 1) / 2))

    def scad_slope(r):
        return np.where(r <= scad, scad, np.where(r <= a * scad, (a * scad - r) / (a - 1), 0))

    zero = sizes(np.zeros_like)
    return {
        "none": ("none", zero, lambda X, G: norm(G)),
        "ridge": (f"ridge({ridge})", sizes(lambda r: ridge / 2 * r**2), lambda X, G: norm(G + ridge * X)),
        "l1": (f"l1({l1})", sizes(lambda r: l1 * r), entrywise(lambda r: l1, l1)),
        "nonneg": ("nonneg", zero, nonneg(0)),
        "l1-nonneg": (f"l1-nonneg({l1})", sizes(lambda r: l1 * r), nonneg(l1)),
        "elastic-net": (
            f"elastic-net({l1}, {ridge})",
            sizes(lambda r: l1 * r + ridge / 2 * r**2),
            entrywise(lambda r: l1 + ridge * r, l1),
        ),
        "box": (f"box({-delta}, {rim})", zero, on_box(-delta, rim)),
        "mcp": (f"mcp({l1}, {gamma})", sizes(mcp), entrywise(lambda r: np.maximum(l1 - r / gamma, 0), l1)),
        "scad": (f"scad({scad}, {a})", sizes(scad_value), entrywise(scad_slope, scad)),
        "l0": (f"l0({eta0})", lambda X: eta0 * np.count_nonzero(X), entrywise(lambda r: 0, math.inf)),
        "capped-l1": (
            f"capped-l1({l1}, {cap})",
            sizes(lambda r: l1 * np.minimum(r, cap)),
            entrywise(lambda r: np.where(r < cap, l1, 0), l1),
        ),
        "log": (
            f"log({eta0}, {eps})",
            sizes(lambda r: eta0 * np.log1p(r / eps)),
            entrywise(lambda r: eta0 / (eps + r), eta0 / eps),
        ),
        "exp": (
            f"exp({eta0}, {theta})",
            sizes(lambda r: eta0 * (1 - np.exp(-theta * r))),
            entrywise(lambda r: eta0 * theta * np.exp(-theta * r), eta0 * theta),
        ),
        "lp": (
            f"lp({half})",
            sizes(lambda r: half * np.sqrt(r)),
            entrywise(lambda r: half / 2 / np.sqrt(r), math.inf),
        ),
        "lp-2/3": (
            f"lp({third}, p='2/3')",
            sizes(lambda r: third * r ** (Real(2) / 3)),
            entrywise(lambda r: third * 2 / 3 * r ** (-Real(1) / 3), math.inf),
        ),
        "huber": (
            f"huber({ridge}, {delta})",
            sizes(lambda r: ridge * np.where(r <= delta, r**2 / 2, delta * (r - delta / 2))),
            entrywise(lambda r: ridge * np.minimum(r, delta), 0),
        ),
        "l21": (
            f"l21({l1})",
            lambda X: l1 * np.sum(np.sqrt(np.sum(X**2, axis=1))),
            on_columns_norm(l1),
        ),
        "nuclear": (
            f"nuclear({l1})",
            lambda X: l1 * np.sum(np.linalg.svd(np.asarray(X, float), compute_uv=False)),
            nuclear(l1),
        ),
        "l0-ball": ("l0-ball(5)", zero, l0_ball(5)),
        "ball": (f"ball({2 * root})", zero, ball(2 * root)),
        "unit-rows": ("unit-rows", zero, unit_rows),
        "simplex": (f"simplex({3 * root})", zero, simplex),
    }


class ReluProblem:
    """Φ, ∇f and the distance to stationarity, for a dense M."""

    def __init__(self, M, on_U, on_V):
        self.M = np.asarray(M, Real)
        self.positive = self.M > 0
        self.parts = {"U": on_U, "V": on_V}

    def residual(self, U, V):
        """S = X − W(X)."""
        X = np.asarray(U, Real) @ np.asarray(V, Real)
        return np.where(self.positive, X - self.M, np.maximum(X, 0))

    def terms(self, U, V):
        """f and H, which are Φ together."""
        H = self.parts["U"][1](np.asarray(U, Real)) + self.parts["V"][1](np.asarray(V, Real))
        return np.sum(self.residual(U, V) ** 2) / 2, H

    def gradient(self, U, V):
        S = self.residual(U, V)
        return S @ np.asarray(V, Real).T, np.asarray(U, Real).T @ S

    def distance(self, U, V):
        """dist(0, ∂Φ(U, V))."""
        on_U, on_V = self.gradient(U, V)
        return float(
            np.hypot(
                self.parts["U"][2](np.asarray(U, Real), on_U),
                self.parts["V"][2](np.asarray(V, Real), on_V),
            )
        )

    def kernel(self, name, U, V):
        """(a, b) of ψ = (a/4)‖·‖⁴ + (b/2)‖·‖², where W is taken at (U, V)."""
        S, X = self.residual(U, V), np.float64(U) @ np.float64(V)
        frobenius = float(norm(X - S))
        if name == "paper":
            return 3.0, frobenius
        return 1.0, min(frobenius, float(np.linalg.norm(X, 2) + norm(S)))


def rounding(terms, U, V, eps):
    """What ``eps`` in each entry of UV, relative to |u_i||v_j|, and in each sum brings into the terms of Φ."""
    f, H = map(float, terms)
    size = math.sqrt(np.vdot(U, U) * np.vdot(V, V))
    return 64 * eps * (size * math.sqrt(2 * f) + f + abs(H)) + (16 * eps * size) ** 2


def divergence(Y, Z, a, b):
    """D(Y, Z) of ψ = (a/4)‖·‖⁴ + (b/2)‖·‖²."""
    e = Y - Z
    return a * ((e @ (Y + Z)) ** 2 / 4 + (Z @ Z) * (e @ e) / 2) + b * (e @ e) / 2
