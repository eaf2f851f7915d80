"""The closed-form block: W(Y) is the best W, and its norms are bounds."""

from collections.abc import Iterator
from typing import Literal

import numpy as np

from bregopt.blocks import Blocks
from bregopt.testing.code import number, snippet
from bregopt.testing.draw import Draw
from bregopt.testing.signals import fail, skip
from bregopt.testing.smooth_checks import HEAD, Pair, nearby

DISTANCES = (1e-4, 1e-2, 0.1, 1.0)
NORMS: dict[str, Literal["fro"] | float] = {"frobenius": "fro", "spectral": 2}
"""Names of norms whose meaning is known, as numpy calls them."""


def optimal(pair: Pair, draw: Draw) -> None:
    """``F(Y, W(Y')) + G(W(Y')) ≥ F(Y, W(Y)) + G(W(Y))``."""
    problem, start = pair
    F, G = problem.smooth, problem.block
    for Y in (start, nearby(start, draw, 1.0)):
        W = G.argmin(F, Y)
        best = F.value(Y, W) + G.value(W)
        for rival in _others(Y, draw):
            W_rival = G.argmin(F, rival)
            value = F.value(Y, W_rival) + G.value(W_rival)
            if not value >= best - 1e-11 * (abs(best) + abs(value)):
                show = "print([F.value(Y, W) + G.value(W) for W in (G.argmin(F, Y), G.argmin(F, Y_rival))])"
                told = f"F + G = {number(best)} at W(Y), but {number(value)} at W of another point"
                fail(told, snippet(HEAD, "G = problem.block", show, Y=Y, Y_rival=rival))


def _others(Y: Blocks, draw: Draw) -> Iterator[Blocks]:
    for t in (0.0, 0.5, 0.9, 0.99, 1.01, 1.1, 2.0, -1.0):
        yield Y * t
    for distance in DISTANCES:
        for _ in range(4):
            other = nearby(Y, draw, distance)
            yield from (other, Y * 2.0 - other)


def bounds(pair: Pair, draw: Draw) -> None:
    """``norms`` bound W where their names are known, and ``ahead`` bounds the norms at another point."""
    problem, Y = pair
    F, G = problem.smooth, problem.block
    now = G.norms(G.argmin(F, Y))
    if not now:
        skip("It knows no norms of W.")
    for distance in (*DISTANCES, 10.0):
        for _ in range(4):
            there = nearby(Y, draw, distance)
            W = G.argmin(F, there)
            norms, ahead = G.norms(W), G.bound_norms(now, there, Y)
            head = (HEAD, "G = problem.block", "W = G.argmin(F, there)")
            for name, norm in norms.items():
                if not ahead[name] >= norm * (1 - 1e-12):
                    show = "print(G.norms(W), G.bound_norms(G.norms(G.argmin(F, part[1])), there, part[1]))"
                    told = f"ahead promises {name} ≤ {number(ahead[name])}, but it is {number(norm)}"
                    fail(told, snippet(*head, show, there=there))
            dense = np.asarray(W)
            for name, order in NORMS.items() if dense.ndim == 2 and dense.dtype.kind == "f" else ():
                exact = float(np.linalg.norm(dense, order))
                if not norms.get(name, exact) >= exact * (1 - 1e-12):
                    show = f"print(G.norms(W)[{name!r}], np.linalg.norm(np.asarray(W), {order!r}))"
                    told = f"norms say {name} ≤ {number(norms[name])}, but it is {number(exact)}"
                    fail(told, snippet(*head, show, there=there))
