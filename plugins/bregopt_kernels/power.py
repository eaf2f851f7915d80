"""Powers of the norm, as terms of a radial kernel."""

import math

from bregopt.errors import parameter


def power(s: float, p: float) -> float:
    """``‖Y‖^p/p`` from s = ‖Y‖²."""
    return float(s ** (0.5 * p)) / p


def slope(s: float, p: float) -> float:
    """``‖Y‖^{p−2}``, the factor of Y in the gradient of ``‖Y‖^p/p``."""
    return float(s ** (0.5 * p - 1.0)) if s > 0 else float(p == 2)


def divergence(n: float, rise: float, ee: float, p: float) -> float:
    """``D(Y, Z)`` of ‖·‖^p/p from n = ‖Z‖², rise = ‖Y‖² − ‖Z‖² and ee = ‖Y − Z‖², without cancellation."""
    if n == 0:
        return power(ee, p)
    q = 0.5 * p
    return float(n**q) * _bernoulli(rise / n, q) / p + 0.5 * float(n ** (q - 1.0)) * ee


def _bernoulli(x: float, q: float) -> float:
    """``(1 + x)^q − 1 − q x`` for x ≥ −1, q ≥ 1: by its series where the terms would cancel."""
    if abs(x) > 0.05:
        return float(max(1.0 + x, 0.0) ** q - 1.0 - q * x)
    term, total, k = 0.5 * q * (q - 1.0) * x * x, 0.0, 2
    while abs(term) > 1e-18 * abs(total) and k < 60:
        total += term
        term *= (q - k) / (k + 1) * x
        k += 1
    return total


def check(p: float) -> float:
    """p, or an error where it is no finite number >= 2."""
    if not (isinstance(p, (int, float)) and math.isfinite(p) and p >= 2):
        raise parameter("p", "power", "a finite number >= 2", p)
    return float(p)
