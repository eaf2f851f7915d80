"""The Bregman proximal map under every kernel at hand: no rival has a smaller ``λH(Y) + ⟨P, Y⟩ + ψ(Y)``."""

import math
from collections.abc import Iterator
from typing import final

import numpy as np
from attrs import frozen

from bregopt.blocks import Blocks
from bregopt.errors import BregoptError
from bregopt.host.compose import examples, resolve_prox
from bregopt.parts.kernel import Kernel, KernelPolicy
from bregopt.parts.prox import BregmanProx
from bregopt.parts.regularizer import Regularizer, Separable
from bregopt.testing.code import number, snippet
from bregopt.testing.draw import Draw
from bregopt.testing.ground import Ground
from bregopt.testing.prox_variational import EDGE
from bregopt.testing.rivals import Rival, near, rivals
from bregopt.testing.signals import NotApplicableError, fail, skip
from bregopt.testing.subject import TINY_STEP, Subject, fits

CASES = ((0.05, 1.0), (1.0, 0.3), (1.0, 1.0), (30.0, 2.0))
"""The size of Ȳ and the step, one for each pair in turn."""
MOVES = (1e-4, 0.1)
LOCAL_MOVES = (1e-5, 1e-3)


@final
@frozen(eq=False)
class Pair:
    """A kernel with a regularizer on some blocks, and the map that solves them."""

    label: str
    ground: Ground
    H: Separable
    where: str
    """the code that makes ``H`` from the part"""
    prox: BregmanProx

    def terms(self, P: Blocks, step: float, Y: Blocks) -> tuple[float, float, float]:
        """Of the objective; a rival outside of the domain of ψ has none."""
        H = step * self.H.value(Y)
        inside = math.isfinite(H) and self.ground.kernel.contains(Y)
        return H, P.dot(Y), self.ground.kernel.value(Y) if inside else math.inf


def minimal(H: Regularizer, draw: Draw) -> None:
    """With H on both blocks and on U only."""
    asked = 0
    for turn, pair in enumerate(_pairs(H, draw)):
        scale, longest = CASES[(turn + turn // len(CASES)) % len(CASES)]
        asked += _solved(pair, H, _step(pair, H, longest), scale, draw)
    if not asked:
        skip("No plugin resolves the Bregman proximal map of it with a kernel at hand.")


def kernels() -> Iterator[tuple[str, Kernel, str]]:
    """Every kernel at hand with its label and its code; a policy is stood for by its sample."""
    for label, part in examples("kernel"):
        made = f"dict(bo.host.compose.examples('kernel'))[{label!r}]"
        if isinstance(part, KernelPolicy):
            yield label, part.sample(), made if isinstance(part, Kernel) else f"{made}.sample()"


def _pairs(H: Regularizer, draw: Draw) -> Iterator[Pair]:
    shape = (3, 2) if fits(H, (3, 2)) else Subject.of(H).shape
    back = shape[::-1]
    forms = [(Separable(U=H), "bo.Separable(U=part)")]
    if fits(H, back):
        forms.append((Separable(H), "bo.Separable(part)"))
    for label, kernel, made in kernels():
        try:
            ground = Ground.of(kernel, draw, ({"U": shape, "V": back},))
        except NotApplicableError:
            continue
        for form, code in forms:
            try:
                yield Pair(label, ground, form, f"psi, H = {made}, {code}", resolve_prox(kernel, form))
            except BregoptError:
                continue


def _step(pair: Pair, H: Regularizer, step: float) -> float:
    """A step that keeps every Euclidean step within the range of H, where the kernel says how."""
    q = min(float(np.min(pair.ground.kernel.quadratic(name))) for name in pair.ground.layout.names)
    return min(step, 0.9 * q * H.step_limit) if q > 0 else step


def _solved(pair: Pair, H: Regularizer, step: float, scale: float, draw: Draw) -> bool:
    """Whether the map took the case; fails where it is beaten."""
    psi = pair.ground.kernel
    Y_bar = pair.ground.point(draw, scale)
    P = Y_bar.like(-psi.gradient(Y_bar).flat * draw.rng.uniform(0.5, 1.5, Y_bar.flat.size))
    head = [pair.where, "Y = bo.bregman_prox(psi, H)(P, step)"]
    try:
        Y = pair.prox(P, step, psi)
    except BregoptError:  # the pair or the step is refused
        return False
    except Exception as error:
        told = f"under {pair.label}, step {step:g}: the map raised {type(error).__name__}: {error}"
        fail(told, snippet(*head, P=P, step=step))
    phi = "phi = lambda Y: step * H.value(Y) + P.dot(Y) + psi.value(Y)"
    terms = pair.terms(P, step, Y)
    best, room = sum(terms), 1e-9 * sum(map(abs, terms))
    if not math.isfinite(best):
        code = snippet(*head, phi, "print(phi(Y))", P=P, step=step)
        fail(f"under {pair.label}, step {step:g}: the objective is {best} at the map", code)
    tiny = min(TINY_STEP, 0.5 * H.step_limit)
    for flat, made in _rivals(Y_bar, Y, getattr(pair.prox, "exact", True), draw):
        rival, how = Y.like(flat), ""
        value = sum(pair.terms(P, step, rival))
        if value == math.inf or best - EDGE * room < value < best - room:
            rival, how = pair.H.prox(rival, tiny), f"rival = H.prox(rival, {tiny!r})"
            value = sum(pair.terms(P, step, rival))
        if value < best - room:
            shown = [*head, "Z, X = Y.flat, Y_bar.flat", made(), "rival = Y.like(rival)", *([how] if how else []), phi]
            show = f"print(phi(Y), phi(rival))  # {number(best)}, but the rival has {number(value)}"
            told = f"under {pair.label}, step {step:g}: {number(best)} at the map, but {number(value)} at a rival"
            fail(told, snippet(*shown, show, P=P, Y_bar=Y_bar, step=step))
    return True


def _rivals(Y_bar: Blocks, Y: Blocks, exact: bool, draw: Draw) -> Iterator[Rival]:
    """Rivals everywhere, or only near by where the map promises no more than a local minimiser."""
    if exact:
        return rivals(Y_bar.flat, Y.flat, draw.rng, MOVES)
    return near(np.zeros_like(Y.flat), Y.flat, draw.rng, LOCAL_MOVES)
