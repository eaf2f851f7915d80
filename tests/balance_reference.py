"""The factors of the same product with the least H, from other formulas: what balanced methods are compared with."""

import numpy as np
import scipy.linalg
import scipy.optimize


def best_change(U, V, on_U, on_V):
    """T with the least H(UT) + H(T⁻¹V), ``h = (l1, ridge)`` on each block; I where there is no least one."""
    (l1_U, ridge_U), (l1_V, ridge_V) = on_U, on_V
    r = U.shape[1]
    if l1_U + ridge_U == 0 or l1_V + ridge_V == 0:
        return np.eye(r)
    if l1_U == l1_V == 0:
        A, B = ridge_U * U.T @ U, ridge_V * V @ V.T
        A, B = (G + 1e-8 * np.trace(G) / r * np.eye(r) for G in (A, B))
        return np.real(scipy.linalg.sqrtm(np.linalg.solve(A, scipy.linalg.sqrtm(A @ B))))
    return np.diag([best_scale(U[:, p], V[p], on_U, on_V) for p in range(r)])


def best_scale(u, v, on_U, on_V):
    """d with the least h(du) + h(v/d), by the sign of its derivative."""
    (a, b), (c, d) = ((w[0] * np.abs(x).sum(), w[1] * np.square(x).sum()) for x, w in ((u, on_U), (v, on_V)))
    if a + b == 0 or c + d == 0:
        return 1.0
    slope = lambda t: a * np.exp(t) + b * np.exp(2 * t) - c * np.exp(-t) - d * np.exp(-2 * t)  # noqa: E731
    return float(np.exp(scipy.optimize.brentq(slope, -50, 50, xtol=1e-15, rtol=1e-15)))


def balanced(U, V, U_prev, V_prev, h):
    """Both points after the change that is best for the first, with the same ``h = (l1, ridge)`` on U and V."""
    T = best_change(U, V, h, h)
    inverse = np.linalg.inv(T)
    return U @ T, inverse @ V, U_prev @ T, inverse @ V_prev
