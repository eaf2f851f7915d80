"""Smooth adaptability, by ascent over pairs: ``−lower·D_ψ ≤ D_F ≤ upper·D_ψ`` and ``−D_F ≤ D_low``."""

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any, final

from attrs import frozen

from bregopt.blocks import Blocks
from bregopt.host.compose import examples
from bregopt.parts.kernel import Kernel, KernelPolicy
from bregopt.parts.smooth import Smad
from bregopt.problem import ProblemParts
from bregopt.testing.ascent import Contest, Side, function, highest
from bregopt.testing.code import number, snippet
from bregopt.testing.draw import Draw
from bregopt.testing.signals import fail, skip
from bregopt.testing.smooth_checks import Pair, nearby
from bregopt.testing.starts import starts

ENOUGH = 1.0 + 1e-6
Bound = Callable[[Kernel, Smad], Side | None]


@final
@frozen(eq=False)
class Statement:
    """F with W fixed, or the reduced function, against the kernel of a policy."""

    problem: ProblemParts
    policy: KernelPolicy
    reduced: bool
    W: Any
    W_of: Blocks
    """the point whose W it is"""
    code: str
    """what makes ψ"""
    every: int = 1
    """take every so many starts only"""

    def value_and_gradient(self, Y: Blocks) -> tuple[float, Blocks]:
        F, G = self.problem.smooth, self.problem.block
        W = G.argmin(F, Y) if self.reduced else self.W
        value, gradient = F.value_and_gradient(Y, W)
        return value + G.value(W), gradient

    def promise(self, Z: Blocks) -> tuple[Kernel, Smad | None]:
        """The kernel and the constants for a gradient at Z."""
        F, G = self.problem.smooth, self.problem.block
        norms = G.norms(G.argmin(F, Z) if self.reduced else self.W)
        kernel = self.policy.at(norms)
        return kernel, F.smad(kernel, norms, self.reduced)

    def worst(self, bound: Bound, sign: float, Y: Blocks, draw: Draw) -> tuple[float, Blocks, Blocks] | None:
        """The largest ratio found of ``sign·D_F`` to the bound, and where; ``None`` where nothing is promised."""
        kernel, smad = self.promise(Y)
        side = None if smad is None else bound(kernel, smad)
        if side is None:
            return None

        @functools.lru_cache(maxsize=2)
        def below(Z: Blocks) -> Side:
            if not self.reduced or isinstance(self.policy, Kernel):
                return side
            now, known = self.promise(Z)
            return (None if known is None else bound(now, known)) or side

        contest = Contest(function(self.value_and_gradient, sign), below, kernel.contains)
        peak = highest(contest, itertools.islice(starts(Y, draw), 0, None, self.every), ENOUGH)
        return None if peak is None else (peak.ratio, peak.Y, peak.Z)


def upper(pair: Pair, draw: Draw) -> None:
    """``D_F ≤ upper·D_ψ``."""

    def bound(kernel: Kernel, smad: Smad) -> Side:
        return Side.of_kernel(kernel, smad.upper)

    _holds(pair, draw, bound, 1.0, "smad.upper * psi.divergence(Y, Z)")


def lower(pair: Pair, draw: Draw) -> None:
    """``−D_F ≤ lower·D_ψ``."""

    def bound(kernel: Kernel, smad: Smad) -> Side | None:
        return None if smad.lower is None else Side.of_kernel(kernel, smad.lower)

    _holds(pair, draw, bound, -1.0, "smad.lower * psi.divergence(Y, Z)")


def low(pair: Pair, draw: Draw) -> None:
    """``−D_F ≤ D_low``."""

    def bound(kernel: Kernel, smad: Smad) -> Side | None:
        return None if smad.low is None else Side.of_kernel(smad.low)

    _holds(pair, draw, bound, -1.0, "smad.low.divergence(Y, Z)", others=False)


def _holds(pair: Pair, draw: Draw, bound: Bound, sign: float, code: str, others: bool = True) -> None:
    found = False
    for statement in _statements(pair, draw, others):
        psi = statement.code
        worst = statement.worst(bound, sign, pair[1], draw)
        found = found or worst is not None
        if worst is None or worst[0] <= ENOUGH:
            continue
        ratio, Y, Z = worst
        place = "Z" if statement.reduced else "W_of"
        of_W = "lambda X: G.argmin(F, X)" if statement.reduced else "lambda X: G.argmin(F, W_of)"
        lines = [
            f"problem, F, G, W = part[0], part[0].smooth, part[0].block, {of_W}",
            f"norms = G.norms(G.argmin(F, {place}))",
            f"psi = {psi}",
            f"smad = F.smad(psi, norms, {statement.reduced})",
            "(value, slope), there = F.value_and_gradient(Z, W(Z)), F.value(Y, W(Y)) + G.value(W(Y)) - G.value(W(Z))",
            f"print({sign} * (there - value - slope.dot(Y - Z)), {code})  # a ratio of {ratio:.6f}",
        ]
        told = "the reduced function" if statement.reduced else "F with W fixed"
        given = {"Y": Y, "Z": Z} if statement.reduced else {"Y": Y, "Z": Z, "W_of": statement.W_of}
        side = "D_F" if sign > 0 else "−D_F"
        fail(f"{told}, ψ = {psi}: {side} is {number(ratio)} times {code}", snippet(*lines, **given))
    if not found:
        skip("The smooth part promises nothing of this kind for its kernel.")


def _statements(pair: Pair, draw: Draw, others: bool) -> Iterator[Statement]:
    """F with W of two points and the reduced function against the problem's kernel, and F against others at hand."""
    problem, Y = pair
    F, G = problem.smooth, problem.block
    for point, every in ((Y, 1), (nearby(Y, draw, 3.0), 3)):
        own = "problem.kernel.pick(False).at(norms)"
        yield Statement(problem, problem.kernel.pick(False), False, G.argmin(F, point), point, own, every)
    yield Statement(problem, problem.kernel.pick(True), True, None, Y, "problem.kernel.pick(True).at(norms)")
    for label, kernel in examples("kernel") if others else ():
        if isinstance(kernel, Kernel):
            made = f"dict(bo.host.compose.examples('kernel'))[{label!r}]"
            yield Statement(problem, kernel, False, G.argmin(F, Y), Y, made, every=5)
