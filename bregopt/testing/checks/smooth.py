"""The smooth part of a problem: its value and gradient, what it claims of its form, and its constants."""

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any, final

import numpy as np
from attrs import frozen

from bregopt.blocks import Array, Blocks
from bregopt.errors import BregoptError
from bregopt.host.compose import examples
from bregopt.parts.kernel import Kernel, KernelPolicy, KernelSum
from bregopt.parts.smooth import Smad
from bregopt.problem import Problem, ResolvedProblem
from bregopt.testing.outcomes import NotApplicableError, fail, not_applicable, number, snippet
from bregopt.testing.search.bregman_ratio import BregmanDistance, DistanceRatio, RatioAt, starts
from bregopt.testing.search.kernel_domain import KernelDomain, shapes_of
from bregopt.testing.search.random_points import RandomPoints
from bregopt.testing.search.taylor import wrong_gradient

ProblemAt = tuple[Problem, Blocks]
"""A problem and the point where it is checked."""
Start = tuple[Blocks, Blocks]
"""(Z, D), where a search for the largest ratio at (Z + D, Z) begins."""
Bound = Callable[[Kernel, Smad], BregmanDistance | None]
TOLERANCE = 1e-9
"""Of the terms that are compared."""
ENOUGH = 1.0 + 1e-6
SLACK = 1e-6
"""The share of ``upper·D_ψ`` that may be missing where F is said to be convex."""
DOMAIN_SCALES, DISTANCES = (1e-2, 1.0, 1e2), (1.0, 0.3, 0.05)
"""Of points within a domain that has an end, and between two of them, relative to their size."""
HEAD = "problem, F, G = part[0], part[0].smooth, part[0].block"
W_OF_Y = "W = G.argmin(F, Y)"


def domain_of(problem: Problem | ResolvedProblem) -> Kernel:
    """A kernel whose domain is that of the problem: F, W and the oracle are asked there only."""
    return problem.kernel.pick(False).sample()


def at_point(part: ProblemAt, draw: RandomPoints) -> None:
    """The point lies in the domain of the kernel, and F and W fit its blocks."""
    problem, Y = part
    if not domain_of(problem).contains(Y):
        show = "print(problem.kernel.pick(False).sample().contains(Y))"
        fail("The point lies outside of the domain of the problem's kernel", snippet("problem, Y = part", show))
    problem.block.check(Y)


def inside(check: Callable[[ProblemAt, RandomPoints], None]) -> Callable[[ProblemAt, RandomPoints], None]:
    """The check, where the point lies in the domain of the problem's kernel."""

    def checked(part: ProblemAt, draw: RandomPoints) -> None:
        if not domain_of(part[0]).contains(part[1]):
            not_applicable("The point lies outside of the domain of the problem's kernel.")
        check(part, draw)

    return checked


BLOCK_STEPS = (0.01, 0.3, 3.0)
"""Lengths of the moves of one block, relative to its norm."""
POWER_STEPS = 8
"""Towards the direction in which F bends most."""


def nearby(problem: Problem, Y: Blocks, draw: RandomPoints, size: float) -> Blocks:
    """A point at this distance from Y, relative to its norm, or nearer where the domain ends."""
    flat = draw.gauss(Y.flat.shape)
    D = Y.like(flat * (size * (Y.norm() or 1.0) / (float(np.linalg.norm(flat)) or 1.0)))
    return Y + _within(problem, Y, D)


def _within(problem: Problem, Y: Blocks, D: Blocks) -> Blocks:
    """D, shorter where Y + D leaves the domain."""
    return D * min(1.0, 0.5 * domain_of(problem).longest(Y, D))


def gradient(part: ProblemAt, draw: RandomPoints) -> None:
    """``∇_Y F(Y, W)`` is the derivative of F in every block, with W fixed."""
    problem, Y = part
    W, psi = problem.block.argmin(problem.smooth, Y), domain_of(problem)
    points = (Y, nearby(problem, Y, draw, 1.0), nearby(problem, Y, draw, 0.1), Y.like(draw.gauss(Y.flat.shape)))
    for point in filter(psi.contains, points):
        _, slope = problem.smooth.value_and_gradient(point, W)
        wrong = wrong_gradient(lambda X: problem.smooth.value(X, W), slope, point, draw, psi.longest)
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
    for point in (Y, nearby(problem, Y, draw, 1.0), nearby(problem, Y, draw, 1e-3)):
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
    for Y in (start, nearby(problem, start, draw, 1.0)):
        W = problem.block.argmin(F, Y)
        value, slope = F.value_and_gradient(Y, W)
        for name in Y.names:
            G = F.gram(Y, name)
            if G is None:
                continue
            E = _within(problem, Y, _only(Y.like(draw.gauss(Y.flat.shape)), name))
            there, rise, columns = F.value(Y + E, W), slope.dot(E), F.by_columns(Y, name)
            show = f"print(F.gram(Y, {name!r}), F.by_columns(Y, {name!r}), F.value(Y + E, W) - F.value(Y, W))"
            code = snippet(HEAD, W_OF_Y, show, Y=Y, E=E)
            size = Y[name].shape[0 if columns else -1] if Y[name].ndim == 2 else None
            if np.shape(G) != (size, size):
                fail(f"block {name} has shape {Y[name].shape}, and its Gram matrix {np.shape(G)}", code)
            bend = 0.5 * float(np.vdot(G @ E[name] if columns else E[name] @ G, E[name]))
            if not abs(there - value - rise - bend) <= TOLERANCE * (abs(value) + abs(rise) + abs(bend)):
                told = f"F(Y + E) is {number(there)}, and {number(value + rise + bend)} by the Gram matrix"
                fail(f"block {name}: {told}", code)


def of_product(part: ProblemAt, draw: RandomPoints) -> None:
    """``F(UT, T⁻¹V, W) = F(U, V, W)``, and W is the same for both, where ``of_product`` says so."""
    problem, start = part
    F, block = problem.smooth, problem.block
    if not F.of_product:
        not_applicable("The smooth part does not claim to be a function of a product.")
    if len(start.names) != 2:
        fail(f"of_product is for two blocks, and the problem has {', '.join(start.names)}")
    for Y in (start, nearby(problem, start, draw, 1.0)):
        first, second = (Y[name] for name in Y.names)
        r = len(second)
        T = np.eye(r) + 0.3 * draw.gauss((r, r)) / r
        Z = Blocks(**dict(zip(Y.names, (first @ T, np.linalg.solve(T, second)), strict=True)))
        values = [F.value(point, block.argmin(F, at)) for point, at in ((Y, Y), (Z, Y), (Z, Z))]
        if not max(values) - min(values) <= TOLERANCE * max(map(abs, values)):
            show = "print([F.value(point, G.argmin(F, at)) for point, at in ((Y, Y), (Z, Y), (Z, Z))])"
            told = ", ".join(number(value) for value in values)
            fail(f"Y and Z have the same product, and F is {told}: of_product is not so", snippet(HEAD, show, Y=Y, Z=Z))


def block_bounds(part: ProblemAt, draw: RandomPoints) -> None:
    """In each block ``F(Y + E) ≤ F(Y) + ⟨∇F, E⟩ + (L/2)‖E‖²``, and with D_φ of ``block_kernel`` for the last term."""
    problem, start = part
    F = problem.smooth
    for Y in (start, nearby(problem, start, draw, 1.0)):
        W = problem.block.argmin(F, Y)
        value, slope = F.value_and_gradient(Y, W)
        for name in Y.names:
            alone = F.block_gradient(Y, W, name)
            if np.shape(alone) != Y[name].shape or not _close(alone, slope[name]):
                show = f"print(F.block_gradient(Y, W, {name!r}), F.value_and_gradient(Y, W)[1][{name!r}])"
                fail(f"block {name}: block_gradient is not the gradient of the block", snippet(HEAD, W_OF_Y, show, Y=Y))
            L, phi = F.block_lipschitz(Y, name), F.block_kernel(Y, name, slope[name])
            for size in BLOCK_STEPS if L is not None or phi is not None else ():
                D = _steepest(problem, Y, W, name, draw)
                E = _within(problem, Y, D * (size * (_norm(Y[name]) or 1.0) / _norm(D[name])))
                rise = F.value(Y + E, W) - value - slope.dot(E)
                X, Z = (Blocks(**{name: it[name]}) for it in (Y + E, Y))
                bounds = {
                    "(L/2)‖E‖²": math.inf if L is None else 0.5 * L * E.dot(E),
                    "D_φ": math.inf if phi is None else phi.divergence(X, Z),
                }
                for called, bound in bounds.items():
                    if rise > bound + TOLERANCE * (abs(value) + abs(slope.dot(E)) + abs(rise)):
                        show = f"print(F.value(Y + E, W) - F.value(Y, W), F.block_lipschitz(Y, {name!r}))"
                        told = f"block {name}: F rises by {number(rise)} over its tangent, {called} is {number(bound)}"
                        fail(told, snippet(HEAD, W_OF_Y, show, Y=Y, E=E))


def _steepest(problem: Problem, Y: Blocks, W: Any, name: str, draw: RandomPoints) -> Blocks:
    """A direction in one block in which F bends much, by a few power steps with its Hessian."""
    F, D = problem.smooth, _only(Y.like(draw.gauss(Y.flat.shape)), name)
    here = F.block_gradient(Y, W, name)
    for _ in range(POWER_STEPS):
        near = _within(problem, Y, D * (1e-3 * (_norm(Y[name]) or 1.0) / _norm(D[name])))
        bent = F.block_gradient(Y + near, W, name) - here
        if not _norm(bent) > 0:
            return D
        D = D.replaced(**{name: bent})
    return D


def _close(X: Array, Y: Array) -> bool:
    return bool(np.abs(X - Y).max() <= TOLERANCE * (np.abs(Y).max() or 1.0))


def _norm(X: Array) -> float:
    return float(np.linalg.norm(X))


def upper(part: ProblemAt, draw: RandomPoints) -> None:
    """``D_F ≤ upper·D_ψ``."""

    def bound(kernel: Kernel, smad: Smad) -> BregmanDistance:
        return BregmanDistance.of_kernel(kernel, smad.upper)

    _holds(part, draw, bound, 1.0, "smad.upper * psi.divergence(Y, Z)")


def lower(part: ProblemAt, draw: RandomPoints) -> None:
    """``−D_F ≤ lower·D_ψ``; with lower = 0 F is convex, but for rounding."""

    def bound(kernel: Kernel, smad: Smad) -> BregmanDistance | None:
        return None if smad.lower is None else BregmanDistance.of_kernel(kernel, max(smad.lower, SLACK * smad.upper))

    _holds(part, draw, bound, -1.0, "smad.lower * psi.divergence(Y, Z)")


def low(part: ProblemAt, draw: RandomPoints) -> None:
    """``−D_F ≤ D_low``, where ``low`` may be zero for an F that is convex."""

    def bound(kernel: Kernel, smad: Smad) -> BregmanDistance | None:
        return None if smad.low is None else BregmanDistance.of_kernel(smad.low + SLACK * smad.upper * kernel)

    _holds(part, draw, bound, -1.0, "smad.low.divergence(Y, Z)", others=False)


def _holds(part: ProblemAt, draw: RandomPoints, bound: Bound, sign: float, code: str, others: bool = True) -> None:
    """Fails with a pair where ``sign·D_F`` is above the bound; ``code`` is the bound as Python."""
    found = False
    for claim in _claims(part, draw, others):
        worst = claim.worst(bound, sign, part[1], draw)
        found = found or worst is not None
        if worst is None or worst.ratio <= ENOUGH:
            continue
        Y, Z = worst.Y, worst.Z
        lines = [
            HEAD,
            f"W = lambda X: G.argmin(F, {'X' if claim.reduced else 'W_of'})",
            "norms = G.norms(W(Z))",
            f"psi = {claim.code}",
            f"smad = F.smad(psi, norms, {claim.reduced})",
            "(value, slope), there = F.value_and_gradient(Z, W(Z)), F.value(Y, W(Y)) + G.value(W(Y)) - G.value(W(Z))",
            f"print({sign} * (there - value - slope.dot(Y - Z)), {code})",
        ]
        told = "the reduced function" if claim.reduced else "F with W fixed"
        given = {"Y": Y, "Z": Z} if claim.reduced else {"Y": Y, "Z": Z, "W_of": claim.W_of}
        side = "D_F" if sign > 0 else "−D_F"
        seen = f"{side} = {number(worst.above)} > {number(worst.below)}, what {code} allows"
        fail(f"{told}, ψ = {claim.code}: {seen}", snippet(*lines, **given))
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
    foreign: bool = False
    """whether ψ is a kernel at hand, not one of the problem"""

    def value_and_gradient(self, Y: Blocks) -> tuple[float, Blocks]:
        """Of F + G with this W, or with that of Y."""
        F, G = self.problem.smooth, self.problem.block
        W = G.argmin(F, Y) if self.reduced else self.W
        value, gradient = F.value_and_gradient(Y, W)
        return value + G.value(W), gradient

    def promise(self, Z: Blocks) -> tuple[Kernel, Smad | None]:
        """The kernel and the constants for a gradient at Z.

        An F that divides by a share of a foreign kernel, or by its strong convexity, which are 0, promises nothing.
        """
        F, G = self.problem.smooth, self.problem.block
        norms = G.norms(G.argmin(F, Z) if self.reduced else self.W)
        kernel = self.policy.at(norms)
        try:
            return kernel, F.smad(kernel, norms, self.reduced)
        except (ArithmeticError, BregoptError):
            if self.foreign:
                return kernel, None
            raise

    def worst(self, bound: Bound, sign: float, Y: Blocks, draw: RandomPoints) -> RatioAt | None:
        """The largest ratio found of ``sign·D_F`` to the bound; ``None`` where nothing is promised."""
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

        both = KernelSum(((1.0, domain_of(self.problem)), (1.0, kernel))) if self.foreign else kernel
        domain = _domain(both, Y, draw)
        if domain is None and self.foreign:  # it takes other blocks, or its domain is another one
            return None
        begins = starts(Y, draw) if domain is not None and domain.everywhere else _starts(both, domain, Y, draw)
        ratio = DistanceRatio(BregmanDistance.of_function(self.value_and_gradient, sign), below, both.contains)
        return ratio.largest(itertools.islice(begins, 0, None, self.every), ENOUGH)


def _domain(kernel: Kernel, Y: Blocks, draw: RandomPoints) -> KernelDomain | None:
    """The domain of a kernel in blocks like Y, where points of it are found."""
    try:
        return KernelDomain.of(kernel, draw, (shapes_of(Y),))
    except NotApplicableError:
        return None


def _starts(kernel: Kernel, domain: KernelDomain | None, Y: Blocks, draw: RandomPoints) -> Iterator[Start]:
    """(Z, D) with Z and Z + D in a domain that has an end: from Y, and of every scale where points of it are found."""
    unit = (Y.norm() or 1.0) / math.sqrt(Y.flat.size)
    for distance in DISTANCES if kernel.contains(Y) else ():
        D = Y.like(distance * unit * draw.rng.standard_normal(Y.flat.size))
        yield Y, D * min(1.0, 0.5 * kernel.longest(Y, D))
    if domain is None:
        return
    for scale in DOMAIN_SCALES:
        for there, Z in domain.pairs(draw, (scale * unit,), DISTANCES):
            yield Z, there - Z
        for name in Y.names:
            there, Z = domain.pair(draw, scale * unit, 1.0)
            yield Z, _only(there - Z, name)


def _only(D: Blocks, name: str) -> Blocks:
    return D.map(lambda block, X: X if block == name else 0.0 * X)


def _claims(part: ProblemAt, draw: RandomPoints, others: bool) -> Iterator[SmadClaim]:
    """F with W of two points and the reduced function against the problem's kernel, and F against others at hand."""
    problem, Y = part
    F, G = problem.smooth, problem.block
    for point, every in ((Y, 1), (nearby(problem, Y, draw, 3.0), 3)):
        own = "problem.kernel.pick(False).at(norms)"
        yield SmadClaim(problem, problem.kernel.pick(False), False, G.argmin(F, point), point, own, every)
    yield SmadClaim(problem, problem.kernel.pick(True), True, None, Y, "problem.kernel.pick(True).at(norms)")
    for label, kernel in examples("kernel") if others else ():
        if isinstance(kernel, Kernel):
            made = f"dict(bo.host.compose.examples('kernel'))[{label!r}]"
            yield SmadClaim(problem, kernel, False, G.argmin(F, Y), Y, made, every=5, foreign=True)
