"""Scalar equations behind the proximal maps, each solved to full accuracy without overflow."""

import math
from collections.abc import Callable

import numpy as np

from bregopt import Array
from bregopt.errors import ParameterError


def cubic(a: float, c: float) -> float:
    """The positive root t of ``a t³ + c t = 1`` for a, c ≥ 0, not both zero."""
    if not (a >= 0 and c >= 0 and 0 < a + c < math.inf):
        raise ParameterError(f"a t³ + c t = 1 needs finite a, c >= 0, not both zero. Got a={a!r}, c={c!r} instead.")
    q = cube_root(a)
    if q == 0 or q < c * 1e-103:  # the cubic term is below rounding, and c/q may overflow
        return 1.0 / c
    omega = c / q
    if omega < 1:
        return _fall(lambda w: (w * (w * w + omega) - 1.0) / (3.0 * w * w + omega)) / q
    k = omega**-3
    return _fall(lambda x: (x * (k * x * x + 1.0) - 1.0) / (3.0 * k * x * x + 1.0)) / c


def cube_root(a: float) -> float:
    """``∛a``, and exactly twice that for 8a: the one of some C libraries rounds otherwise below 1."""
    _, exponent = math.frexp(a)
    third = exponent // 3
    return math.ldexp(math.cbrt(math.ldexp(a, -3 * third)), third)


def _fall(newton: Callable[[float], float]) -> float:
    """Newton from 1 on a convex increasing function that is ≥ 0 there: it falls to the root, then stops falling."""
    x = 1.0
    while (lower := x - newton(x)) < x:
        x = lower
    return x


def radius(a: float, c: float, n: float) -> float:
    """The root w ≥ 0 of ``a w³ + c w = n``: the norm of a point with ``(a‖y‖² + c) y = z``, ‖z‖ = n."""
    return cubic(a / n, c / n) if n > 0 else 0.0


def coupled(a: float, c: Array, n: Array) -> float:
    """The root w ≥ 0 of ``w = ‖(n_i / (a w² + c_i))_i‖``: the norm of y with ``(a‖y‖² + c_i)|y_i| = n_i``."""
    n, c = n[n > 0], c[n > 0]
    if n.size == 0:
        return 0.0
    total, smallest, largest = _norm(n), float(c.min()), float(c.max())
    if a == 0:
        return _norm(n / c)
    if smallest == largest:
        return radius(a, smallest, total)
    low, high = radius(a, largest, total), radius(a, smallest, total)
    w, width = low, math.inf
    for _ in range(200):
        rho = a * w * w + c
        v = n / rho
        right = _norm(v)
        low, high = (w, high) if w <= right else (low, w)
        near = 0.5 < w / right < 2
        gap = math.log1p((w - right) / right) if near else math.log(w) - math.log(right)
        share = v / right
        moved = w * math.exp(-gap / (1.0 + 2.0 * a * w * w * float(share @ (share / rho))))
        narrowed, width = math.log(high) - math.log(low) <= 0.5 * width, math.log(high) - math.log(low)
        if not (near or narrowed) or not low <= moved <= high:  # Newton in log w may cycle far from the root
            moved = math.sqrt(low) * math.sqrt(high)
        if abs(moved - w) <= 2e-16 * w:
            return moved
        w = moved
    return w


def falling_root(g: Callable[[float], float], guess: float, floor: float) -> float:
    """The root of a strictly falling ``g`` on θ ≥ 0, to full accuracy in ``floor + θ``; 0 where g(0) ≤ 0."""
    from scipy.optimize import brentq

    low = high = max(guess, floor * 1e-8, 1e-300)
    while g(low) < 0:
        if low <= floor * 1e-17 or low < 1e-290:
            return 0.0
        high, low = low, low / 16.0
    while g(high) > 0:
        low, high = high, high * 16.0
    if low == high:
        return low
    return float(brentq(g, low, high, xtol=max(1e-16 * floor, 1e-305), rtol=1e-15, maxiter=200))


def _norm(v: Array) -> float:
    """The Euclidean norm without overflow."""
    top = float(np.abs(v).max())
    return top * float(np.sqrt(np.square(v / top).sum())) if top > 0 else 0.0
