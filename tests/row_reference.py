"""masked-newton again, by loops over rows and entries: what its tests compare with."""

import math

import numpy as np
from balance_reference import balanced


def line_value(u, V, m):
    total = error = 0.0
    for j in range(V.shape[1]):
        x = sum(u[p] * V[p, j] for p in range(len(u)))
        s = x - m[j] if m[j] > 0 else max(x, 0.0)
        total, error = total + s * s / 2, error + (max(x, 0.0) - m[j]) ** 2
    return total, error


def penalty_value(h, u):
    return sum(h.l1 * abs(x) + h.ridge * x * x / 2 for x in u)


def line_step(u, V, m, delta, h):
    """(new u, new δ, f, error) of one row, by the definition; where δ is zero, the better of two."""
    if delta == 0:
        tried = [line_step(u, V, m, at, h) for at in (0.1, 1.0)]
        return min(reversed(tried), key=lambda it: it[2] + penalty_value(h, it[0]))
    r, n = V.shape
    g, B = np.zeros(r), np.zeros((r, r))
    for j in range(n):
        x = sum(u[p] * V[p, j] for p in range(r))
        if m[j] > 0 or x > 0:
            g += (x - m[j]) * V[:, j]
            B += np.outer(V[:, j], V[:, j])
    B += delta * sum(x * x for x in V.ravel()) / r * np.eye(r)
    if h.l1 == 0 and math.isinf(h.low) and math.isinf(h.high):
        z = u + np.linalg.lstsq(B + h.ridge * np.eye(r), -(g + h.ridge * u), rcond=None)[0]
    else:
        z = u.copy()
        for _ in range(3000):  # until the minimiser is reached, to rounding
            before = z.copy()
            for p in range(r):
                slope = g[p] + B[p] @ (z - u)
                x = B[p, p] * z[p] - slope
                x = math.copysign(max(abs(x) - h.l1, 0.0), x) / (B[p, p] + h.ridge)
                z[p] = min(max(x, h.low), h.high)
            if np.abs(z - before).max() <= 1e-15 * np.abs(z).max():
                break
    d = z - u
    drop = penalty_value(h, u) - penalty_value(h, z)
    promised = -g @ d - d @ B @ d / 2 + drop
    (before, error), (after, new_error) = line_value(u, V, m), line_value(z, V, m)
    gain = before - after + drop
    if gain < 0.25 * promised:
        delta = 4 * delta
    elif gain > 0.75 * promised:
        delta = 0.3 * delta
    delta = min(max(delta, 1e-9), 4.0)
    return (z, delta, after, new_error) if gain > 0 else (u, delta, before, error)


def reference_row_newton(M, U, V, delta, h):
    lines = [line_step(U[i], V, M[i], delta[i], h) for i in range(len(U))]
    Z, next_delta, values, errors = zip(*lines, strict=True)
    return np.array(Z), np.array(next_delta), sum(values), sum(errors)


def reference_run(M, U, V, h, iterations, balance):
    """Φ and the factors after each iteration, and β; the same h on both."""

    def H(U, V):
        return penalty_value(h["U"], U.ravel()) + penalty_value(h["V"], V.ravel())

    def step(U, V):
        Z, a, _, _ = reference_row_newton(M, U, V, delta[0], h["U"])
        ZT, b, value, _ = reference_row_newton(M.T, V.T, Z.T, delta[1], h["V"])
        return Z, ZT.T, (a, b), value + H(Z, ZT.T)

    phi = sum(line_value(U[i], V, M[i])[0] for i in range(len(U))) + H(U, V)
    before, delta, theta = (U, V), (np.zeros(len(U)), np.zeros(V.shape[1])), 1.0
    for _ in range(iterations):
        theta, beta = (1 + math.sqrt(1 + 4 * theta**2)) / 2, (theta - 1) / ((1 + math.sqrt(1 + 4 * theta**2)) / 2)
        ahead = [X + beta * (X - old) for X, old in zip((U, V), before, strict=True)]
        ahead = [np.clip(X, part.low, part.high) for X, part in zip(ahead, h.values(), strict=True)]
        new = step(*ahead)
        if beta > 0 and new[3] > phi:
            theta, beta = (1 + math.sqrt(5)) / 2, 0.0
            new = step(U, V)
        before, (U, V, delta, phi) = (U, V), new
        if balance:
            phi -= H(U, V)
            U, V, *before = balanced(U, V, *before, (h["U"].l1, h["U"].ridge))
            phi += H(U, V)
        yield U, V, phi, beta
