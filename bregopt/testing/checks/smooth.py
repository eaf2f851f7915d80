"""The smooth part of a problem: its value and gradient, what it claims of its form, and its constants."""

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any, final

import numpy as np
from attrs import frozen

from bregopt.blocks import Array, Blocks
from bregopt.host.compose import examples
from bregopt.parts.kernel import Kernel, KernelPolicy
from bregopt.parts.smooth import Smad
from bregopt.problem import Problem
from bregopt.testing.outcomes import fail, not_applicable, number, snippet
from bregopt.testing.search.bregman_ratio import BregmanDistance, DistanceRatio, starts
from bregopt.testing.search.random_points import RandomPoints
from bregopt.testing.search.taylor import wrong_gradient

ProblemAt = tuple[Problem, Blocks]
"""A problem and the point where it is checked."""
Bound = Callable[[Kernel, Smad], BregmanDistance | None]
TOLERANCE = 1e-9
"""Of the terms that are compared."""
ENOUGH = 1.0 + 1e-6
HEAD = "problem, F, G = part[0], part[0].smooth, part[0].block"
W_OF_Y = "W = G.argmin(F, Y)"


def nearby(Y: Blocks, draw: RandomPoints, size: float) -> Blocks:
    """A point at this distance from Y, relative to its norm."""
    D = draw.gauss(Y.flat.shape)
    return Y.plus(size * (Y.norm() or 1.0) / float(np.linalg.norm(D)), Y.like(D))


def gradient(part: ProblemAt, draw: RandomPoints) -> None:
    """``∇_Y F(Y, W)`` is the derivative of F in every block, with W fixed."""
    problem, Y = part
    W = problem.block.argmin(problem.smooth, Y)
    for point in (Y, nearby(Y, draw, 1.0), nearby(Y, draw, 0.1)):
        _, slope = problem.smooth.value_and_gradient(point, W)
        wrong = wrong_gradient(lambda X: problem.smooth.value(X, W), slope, point, draw)
        if wrong:
            blocks = ", ".join(name for name in Y.names if wrong.D[name].any())
            W_of = "W = G.argmin(F, part[1])"
            ends = "ends = [F.value(Y.plus(t, D), W) for t in (h, -h)]"
            show = "print(F.value_and_gradient(Y, W)[1].dot(D), (ends[0] - ends[1]) / (2 * h))"
            fail(f"block {blocks}: {wrong.told}", snippet(HEAD, W_of, ends, show, Y=point, D=wrong.D, h=wrong.h))


def value_consistent(part: ProblemAt, draw: RandomPoints) -> None:
    """``value`` and ``value_and_gradient`` agree, as Python floats and blocks like Y, and again when asked again."""
    problem, Y = part
    F, G = problem.smooth, problem.block
    for point in (Y, nearby(Y, draw, 1.0), nearby(Y, draw, 1e-3)):
        W, kept = G.argmin(F, point), point.flat.copy()
        value, (other, slope), again = F.value(point, W), F.value_and_gradient(point, W), F.value(point, W)
        show = "print(F.value(Y, W), F.value_and_gradient(Y, W))"
        code = snippet(HEAD, W_OF_Y, show, Y=point)
        if type(value) is not float or type(other) is not float or type(G.value(W)) is not float:
            fail("A value is no Python float: wrap it in float(...)", code)
        if not abs(value - other) <= 1e-11 * abs(value) or value != again:
            fail(f"value is {number(value)}, then {number(again)}, but value_and_gradient says {number(other)}", code)
        if not isinstance(slope, Blocks) or slope.layout != point.layout:
            fail(f"The gradient is {slope!r}, not like {point!r}", code)
        if not np.array_equal(kept, point.flat):
            fail("The smooth part wrote into Y", code)


def gram(part: ProblemAt, draw: RandomPoints) -> None:
    """``F(Y + E) = F(Y) + ⟨∇F, E⟩ + ½⟨EG, E⟩`` with ``G = gram(Y, name)`` for an E in one block."""
    problem, start = part
    F = problem.smooth
    if all(F.gram(start, name) is None for name in start.names):
        not_applicable("The smooth part claims no Gram matrix.")
    for Y in (start, nearby(start, draw, 1.0)):
        W = problem.block.argmin(F, Y)
        value, slope = F.value_and_gradient(Y, W)
        for name in Y.names:
            G = F.gram(Y, name)
            if G is None:
                continue
            E = _in_block(Y, name, draw)
            curved = 0.5 * float(np.vdot(_times(E[name], G, first=not F.by_columns(Y, name)), E[name]))
            there, told = F.value(Y + E, W), value + slope.dot(E) + curved
            if not abs(there - told) <= TOLERANCE * (abs(value) + abs(slope.dot(E)) + abs(curved)):
                show = f"print(F.gram(Y, {name!r}), F.value(Y + E, W) - F.value(Y, W))"
                fail(
                    f"block {name}: F(Y + E) is {number(there)}, and {number(told)} by the Gram matrix",
                    snippet(HEAD, W_OF_Y, show, Y=Y, E=E),
                )


def of_product(part: ProblemAt, draw: RandomPoints) -> None:
    """``F(UT, T⁻¹V, W) = F(U, V, W)``, and W is the same for both, where ``of_product`` says so."""
    problem, start = part
    F, block = problem.smooth, problem.block
    if not F.of_product:
        not_applicable("The smooth part does not claim to be a function of a product.")
    if len(start.names) != 2:
        fail(f"of_product is for two blocks, and the problem has {', '.join(start.names)}")
    for Y in (start, nearby(start, draw, 1.0)):
        first, second = (Y[name] for name in Y.names)
        r = len(second)
        T = np.eye(r) + 0.3 * draw.gauss((r, r)) / r
        Z = Blocks(**dict(zip(Y.names, (first @ T, np.linalg.solve(T, second)), strict=True)))
        values = [F.value(point, block.argmin(F, at)) for point, at in ((Y, Y), (Z, Y), (Z, Z))]
        if not max(values) - min(values) <= TOLERANCE * max(map(abs, values)):
            show = "print([F.value(point, G.argmin(F, at)) for point, at in ((Y, Y), (Z, Y), (Z, Z))])"
            told = ", ".join(number(value) for value in values)
            fail(f"Y and Z have the same product, and F is {told}: of_product is not so", snippet(HEAD, show, Y=Y, Z=Z))


def _in_block(Y: Blocks, name: str, draw: RandomPoints) -> Blocks:
    D = Y.like(draw.gauss(Y.flat.shape))
    return D.map(lambda block, X: X if block == name else 0.0 * X)


def _times(E: Array, G: Array, *, first: bool) -> Array:
    return E @ G if first else G @ E


def upper(part: ProblemAt, draw: RandomPoints) -> None:
    """``D_F ≤ upper·D_ψ``."""

    def bound(kernel: Kernel, smad: Smad) -> BregmanDistance:
        return BregmanDistance.of_kernel(kernel, smad.upper)

    _holds(part, draw, bound, 1.0, "smad.upper * psi.divergence(Y, Z)")


def lower(part: ProblemAt, draw: RandomPoints) -> None:
    """``−D_F ≤ lower·D_ψ``."""

    def bound(kernel: Kernel, smad: Smad) -> BregmanDistance | None:
        return None if smad.lower is None else BregmanDistance.of_kernel(kernel, smad.lower)

    _holds(part, draw, bound, -1.0, "smad.lower * psi.divergence(Y, Z)")


def low(part: ProblemAt, draw: RandomPoints) -> None:
    """``−D_F ≤ D_low``."""

    def bound(kernel: Kernel, smad: Smad) -> BregmanDistance | None:
        return None if smad.low is None else BregmanDistance.of_kernel(smad.low)

    _holds(part, draw, bound, -1.0, "smad.low.divergence(Y, Z)", others=False)


def _holds(part: ProblemAt, draw: RandomPoints, bound: Bound, sign: float, code: str, others: bool = True) -> None:
    """Fails with a pair where ``sign·D_F`` is above the bound; ``code`` is the bound as Python."""
    found = False
    for claim in _claims(part, draw, others):
        psi = claim.code
        worst = claim.worst(bound, sign, part[1], draw)
        found = found or worst is not None
        if worst is None or worst[0] <= ENOUGH:
            continue
        ratio, Y, Z = worst
        place = "Z" if claim.reduced else "W_of"
        of_W = "lambda X: G.argmin(F, X)" if claim.reduced else "lambda X: G.argmin(F, W_of)"
        lines = [
            HEAD,
            f"W = {of_W}",
            f"norms = G.norms(G.argmin(F, {place}))",
            f"psi = {psi}",
            f"smad = F.smad(psi, norms, {claim.reduced})",
            "(value, slope), there = F.value_and_gradient(Z, W(Z)), F.value(Y, W(Y)) + G.value(W(Y)) - G.value(W(Z))",
            f"print({sign} * (there - value - slope.dot(Y - Z)), {code})  # a ratio of {ratio:.6f}",
        ]
        told = "the reduced function" if claim.reduced else "F with W fixed"
        given = {"Y": Y, "Z": Z} if claim.reduced else {"Y": Y, "Z": Z, "W_of": claim.W_of}
        side = "D_F" if sign > 0 else "−D_F"
        fail(f"{told}, ψ = {psi}: {side} is {number(ratio)} times {code}", snippet(*lines, **given))
    if not found:
        not_applicable("The smooth part promises nothing of this kind for its kernel.")


@final
@frozen(eq=False)
class SmadClaim:
    """F with W fixed, or the reduced function, against the kernel of a policy."""

    problem: Problem
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
        """Of F + G with this W, or with that of Y."""
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

    def worst(self, bound: Bound, sign: float, Y: Blocks, draw: RandomPoints) -> tuple[float, Blocks, Blocks] | None:
        """The largest ratio found of ``sign·D_F`` to the bound, and where; ``None`` where nothing is promised."""
        kernel, smad = self.promise(Y)
        promised = None if smad is None else bound(kernel, smad)
        if promised is None:
            return None

        @functools.lru_cache(maxsize=2)
        def below(Z: Blocks) -> BregmanDistance:
            if not self.reduced or isinstance(self.policy, Kernel):
                return promised
            now, known = self.promise(Z)
            return (None if known is None else bound(now, known)) or promised

        ratio = DistanceRatio(BregmanDistance.of_function(self.value_and_gradient, sign), below, kernel.contains)
        largest = ratio.largest(itertools.islice(starts(Y, draw), 0, None, self.every), ENOUGH)
        return None if largest is None else (largest.ratio, largest.Y, largest.Z)


def _claims(part: ProblemAt, draw: RandomPoints, others: bool) -> Iterator[SmadClaim]:
    """F with W of two points and the reduced function against the problem's kernel, and F against others at hand."""
    problem, Y = part
    F, G = problem.smooth, problem.block
    for point, every in ((Y, 1), (nearby(Y, draw, 3.0), 3)):
        own = "problem.kernel.pick(False).at(norms)"
        yield SmadClaim(problem, problem.kernel.pick(False), False, G.argmin(F, point), point, own, every)
    yield SmadClaim(problem, problem.kernel.pick(True), True, None, Y, "problem.kernel.pick(True).at(norms)")
    for label, kernel in examples("kernel") if others else ():
        if isinstance(kernel, Kernel):
            made = f"dict(bo.host.compose.examples('kernel'))[{label!r}]"
            yield SmadClaim(problem, kernel, False, G.argmin(F, Y), Y, made, every=5)
