"""The method that picks one for the problem at hand."""

from collections.abc import Iterator
from typing import final

from attrs import frozen

from bregopt import Blocks, Method, ResolvedProblem, Selector, SmoothPart, Trait, make
from bregopt.errors import IncompatibleError

SPARSE = 0.25
"""Share of non-zeros of M up to which the curvature of f differs enough from that of F."""
CHEAP = 10.0
"""Density × rank up to which the curvature of every row is worth its price."""
LARGE = 2**18
"""Entries of UV from which on loading the compiled steps of masked-newton is worth it."""


@final
@frozen
class Auto(Selector):
    """Picks by what F and H can do, by density × rank and by size; the result says which method it was, and why."""

    def select(self, problem: ResolvedProblem, Y: Blocks) -> tuple[Method, str]:
        for spec, why in candidates(problem, Y):
            method: Method = make("method", spec)
            if _takes(method, problem) and (method.uses_kernel or not problem.kernel_named):
                asked = " It uses the kernel that was asked for." if problem.kernel_named else ""
                return method, f"auto picked {spec}: {why}.{asked}"
        raise IncompatibleError(f"No method that auto knows takes the {problem.name}: name one with method=.")


@final
@frozen(eq=False)
class Abilities:
    """What a problem lets a method do."""

    kernels: bool
    """F brings a kernel for each block"""
    grams: bool
    """F is quadratic in each block, with one matrix for all lines of it"""
    density: float | None
    """the share of W that data fix"""
    separable: bool
    """H is a sum over entries"""
    quadratic: bool
    """H is zero, or Tikhonov's"""
    bounds: bool
    """H bounds entries, as nonneg does, and has no l1"""
    weakly_convex: bool
    """H is, so that every step that is short enough has one minimiser"""
    constants: bool
    """a Lipschitz constant of ∇F is known in each block"""

    @classmethod
    def of(cls, problem: ResolvedProblem, Y: Blocks) -> "Abilities":
        F, penalties = problem.smooth, [problem.regularizer[name] for name in Y.names]
        scalars = [H.scalar() for H in penalties]
        return cls(
            kernels=type(F).block_kernel is not SmoothPart.block_kernel,
            grams=all(F.gram(Y, name) is not None for name in Y.names),
            density=problem.block.density(),
            separable=all(Trait.SEPARABLE in H.traits for H in penalties),
            quadratic=all(h is not None and h.quadratic for h in scalars),
            bounds=all(h is not None and h.l1 == 0 for h in scalars)
            and any(h is not None and h.bounded for h in scalars),
            weakly_convex=all(H.weak_convexity is not None for H in penalties),
            constants=all(F.block_lipschitz(Y, name) is not None for name in Y.names),
        )


def candidates(problem: ResolvedProblem, Y: Blocks) -> Iterator[tuple[str, str]]:
    """Specs of methods, the best first, each with the reason for it."""
    can = Abilities.of(problem, Y)
    if can.kernels:
        yield "bpalm(inertia=true)", "F brings a kernel for each block"
    if can.grams and can.separable:
        yield from _by_blocks(problem, Y, can)
    if can.weakly_convex:
        if can.constants and len(Y) > 2 and problem.regularizer.is_zero:
            yield "ipalm", f"a step for each of {len(Y)} blocks is longer than one for all of them"
        yield "bella", f"H is weakly convex{_fixed(can.density)}"
    elif can.constants:
        yield "bpalm(inertia=true)", "H is not weakly convex, and steps on one block at a time see more of it"
    yield "aapb", "all that is known of F and H is a kernel and a proximal map"


def _fixed(density: float | None) -> str:
    return "" if density is None else f", and data fix {density:.0%} of W"


def _by_blocks(problem: ResolvedProblem, Y: Blocks, can: Abilities) -> Iterator[tuple[str, str]]:
    """For an F that is quadratic in each block, and an H that is a sum over entries."""
    zero = problem.regularizer.is_zero
    model = "H is zero" if zero else "H is Tikhonov's" if can.quadratic else "H is a sum over entries"
    newton, blocks = ("hybrid(els)", "els") if can.quadratic else ("hybrid", "ecd")
    sparse = can.density is not None and can.density <= SPARSE
    if can.density is not None and len(Y) == 1:
        yield "masked-newton", "one factor is fixed, so each row of the other is a small problem of its own"
    elif can.density is not None and len(Y) == 2:
        first, second = Y
        work, size = can.density * first.shape[1], first.shape[0] * second.shape[1]
        if (sparse or zero) and work <= CHEAP and size >= LARGE:
            given = f"{model}, M is sparse" if sparse else model
            yield newton, f"{given}, and density × rank is {work:.2g}: the curvature of each row is cheap"
    if sparse or can.quadratic or can.bounds or len(Y) > 2:
        yield blocks, f"{model}, which goes block by block"


def _takes(method: Method, problem: ResolvedProblem) -> bool:
    try:
        method.check(problem)
    except IncompatibleError:
        return False
    return True
