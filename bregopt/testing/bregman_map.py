"""One Bregman proximal map against rivals: none may have a smaller ``λH(Y) + ⟨P, Y⟩ + ψ(Y)``."""

import math
from collections.abc import Iterator
from typing import final

import numpy as np
from attrs import frozen

from bregopt.blocks import Blocks
from bregopt.errors import BregoptError
from bregopt.parts.prox import BregmanProx
from bregopt.parts.regularizer import Separable
from bregopt.testing.code import digits, number, snippet
from bregopt.testing.draw import Draw
from bregopt.testing.ground import Ground
from bregopt.testing.prox_variational import EDGE
from bregopt.testing.rivals import Rival, near, rivals
from bregopt.testing.signals import fail
from bregopt.testing.subject import TINY_STEP

CASES = ((0.05, 1.0), (1.0, 0.3), (1.0, 1.0), (30.0, 2.0))
"""The size of Ȳ and the step, one for each map in turn."""
MOVES = (1e-4, 0.1)
LOCAL_MOVES = (1e-5, 1e-3)
PHI = "phi = lambda Y: step * H.value(Y) + P.dot(Y) + psi.value(Y)"


@final
@frozen(eq=False)
class Map:
    """A kernel with a regularizer on some blocks, and the map that solves them."""

    label: str
    """of the other part of the pair"""
    ground: Ground
    H: Separable
    code: str
    """what makes ``psi`` and ``H`` from the part"""
    prox: BregmanProx

    @property
    def step_limit(self) -> float:
        return min(part.step_limit for part in self.H.distinct())

    def terms(self, P: Blocks, step: float, Y: Blocks) -> tuple[float, float, float]:
        """Of the objective; a rival outside of the domain of ψ has none."""
        H = step * self.H.value(Y)
        inside = math.isfinite(H) and self.ground.kernel.contains(Y)
        return H, P.dot(Y), self.ground.kernel.value(Y) if inside else math.inf

    def case(self, turn: int, draw: Draw) -> tuple[Blocks, float]:
        """Ȳ, and a step that keeps every Euclidean step within the range of H, where the kernel says how."""
        scale, step = CASES[(turn + turn // len(CASES)) % len(CASES)]
        q = min(float(np.min(self.ground.kernel.quadratic(name))) for name in self.ground.layout.names)
        return self.ground.point(draw, scale), min(step, 0.9 * q * self.step_limit) if q > 0 else step

    def rivals(self, Y_bar: Blocks, Y: Blocks, draw: Draw) -> Iterator[Rival]:
        """Rivals everywhere, or only near by where the map promises no more than a local minimiser."""
        if getattr(self.prox, "exact", True):
            return rivals(Y_bar.flat, Y.flat, draw.rng, MOVES)
        return near(np.zeros_like(Y.flat), Y.flat, draw.rng, LOCAL_MOVES)


def solved(one: Map, turn: int, draw: Draw) -> bool:
    """Whether the map took the case of this turn; fails where it is beaten."""
    psi, (Y_bar, step) = one.ground.kernel, one.case(turn, draw)
    P = Y_bar.like(digits(-psi.gradient(Y_bar).flat * draw.rng.uniform(0.5, 1.5, Y_bar.flat.size)))
    head, place = [one.code, "Y = bo.bregman_prox(psi, H)(P, step)"], f"with {one.label}, step {step:g}"
    try:
        Y = one.prox(P, step, psi)
    except BregoptError:  # the pair or the step is refused
        return False
    except Exception as error:
        fail(f"{place}: the map raised {type(error).__name__}: {error}", snippet(*head, P=P, step=step))
    terms = one.terms(P, step, Y)
    best, room = sum(terms), 1e-9 * sum(map(abs, terms))
    if not math.isfinite(best):
        fail(f"{place}: the objective is {best} at the map", snippet(*head, PHI, "print(phi(Y))", P=P, step=step))
    tiny = min(TINY_STEP, 0.5 * one.step_limit)
    for flat, made in one.rivals(Y_bar, Y, draw):
        rival, how = Y.like(flat), ""
        value = sum(one.terms(P, step, rival))
        if value == math.inf or best - EDGE * room < value < best - room:
            rival, how = one.H.prox(rival, tiny), f"rival = H.prox(rival, {tiny!r})"
            value = sum(one.terms(P, step, rival))
        if value < best - room:
            shown = [*head, "Z, X = Y.flat, Y_bar.flat", made(), "rival = Y.like(rival)", *([how] if how else []), PHI]
            show = f"print(phi(Y), phi(rival))  # {number(best)}, but the rival has {number(value)}"
            told = f"{place}: λH + ⟨P, Y⟩ + ψ = {number(best)} at the map, but {number(value)} at a rival"
            fail(told, snippet(*shown, show, P=P, Y_bar=Y_bar, step=step))
    return True
