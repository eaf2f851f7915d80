"""Midpoint convexity of ``H + (ρ/2)‖X‖²``, on pairs chosen to break it."""

import math
from collections.abc import Iterator

import numpy as np

from bregopt.blocks import Array
from bregopt.testing.code import number, snippet
from bregopt.testing.draw import Draw
from bregopt.testing.signals import fail
from bregopt.testing.subject import Subject, square


def pairs(subject: Subject, draw: Draw) -> Iterator[tuple[Array, Array]]:
    """Pairs that differ in one entry, near and far, and pairs of proximal points."""
    bases = [np.zeros(subject.shape), subject.feasible(draw.gauss(subject.shape))]
    for base in bases:
        index = tuple(int(draw.rng.integers(size)) for size in subject.shape)
        for size in np.logspace(-5, 3, 17):
            for low, high in ((1.0, 1.1), (1.0, 2.0), (-1.0, 0.5), (0.0, 1.0)):
                for sign in (-1.0, 1.0):
                    A, B = base.copy(), base.copy()
                    A[index], B[index] = float(f"{sign * size * low:.3e}"), float(f"{sign * size * high:.3e}")
                    yield A, B
    for X, step in subject.cases(draw):
        Z, P = subject.prox(X, step), subject.prox(-0.7 * X[::-1], step)
        yield from ((Z, P), (Z, 2.0 * Z), (Z, -Z), (Z, np.zeros_like(Z)), (Z, Z + 1e-3 * P), (X, draw.gauss(X.shape)))


def midpoint_convex(subject: Subject, draw: Draw, rho: float) -> None:
    """Fails with a pair whose midpoint lies above."""
    for A, B in pairs(subject, draw):
        at_A, at_B = subject.value(A), subject.value(B)
        if not (math.isfinite(at_A) and math.isfinite(at_B)):
            continue
        at_middle, bend = subject.value(0.5 * (A + B)), 0.125 * rho * square(A - B)
        line = 0.5 * (at_A + at_B) + bend
        room = 1e-12 * (abs(at_A) + abs(at_B) + 0.5 * rho * (square(A) + square(B))) + 1e-9 * bend
        if at_middle > line + room:
            show = (
                "print(part.value((A + B) / 2), (part.value(A) + part.value(B)) / 2 + rho / 8 * np.sum((A - B) ** 2))"
            )
            told = f"H is {number(at_middle)} between two points, above {number(line)}, what rho = {rho:g} allows"
            fail(told, snippet(f"{show}  # {number(at_middle)}, {number(line)}", A=A, B=B, rho=rho))
