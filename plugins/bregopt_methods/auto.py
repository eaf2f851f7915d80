"""The method that picks one for the problem at hand."""

from collections.abc import Iterator
from typing import final

from attrs import frozen

from bregopt import Blocks, Method, ResolvedProblem, Selector, Trait, make
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
    """Picks by H, by density × rank and by size; the result says which method it was, and why."""

    def select(self, problem: ResolvedProblem, Y: Blocks) -> tuple[Method, str]:
        for spec, why in candidates(problem, Y):
            method: Method = make("method", spec)
            if _takes(method, problem) and (method.uses_kernel or not problem.kernel_named):
                asked = " It uses the kernel that was asked for." if problem.kernel_named else ""
                return method, f"auto picked {spec}: {why}.{asked}"
        raise IncompatibleError(f"No method that auto knows takes the {problem.name}: name one with method=.")


def candidates(problem: ResolvedProblem, Y: Blocks) -> Iterator[tuple[str, str]]:
    """Specs of methods, the best first, each with the reason for it."""
    penalties = [problem.regularizer[name] for name in Y.names]
    density = problem.block.density()
    if density is None or any(problem.smooth.gram(Y, name) is None for name in Y.names):
        yield "aapb", "F is no plain factorisation of data"
    elif len(Y.names) != 2:
        yield "masked-newton", "one factor is fixed, so each row of the other is a small problem of its own"
        yield "aapb", "one factor is fixed"
    elif not all(Trait.SEPARABLE in H.traits for H in penalties):
        yield "aapb", "H is not a sum over entries, so all that is known of it is its proximal map"
    else:
        first, second = (Y[name] for name in Y.names)
        work, size = density * first.shape[1], first.shape[0] * second.shape[1]
        scalars = [H.scalar() for H in penalties]
        sparse, zero = density <= SPARSE, problem.regularizer.is_zero
        if all(h is not None and h.quadratic for h in scalars):
            model, newton, blocks = "H is zero" if zero else "H is Tikhonov's", "hybrid(els)", "els"
        else:
            model, newton, blocks = "H is a sum over entries", "hybrid", "ecd"
        if (sparse or zero) and work <= CHEAP and size >= LARGE:
            given = f"{model}, M is sparse" if sparse else model
            yield newton, f"{given}, and density × rank is {work:.2g}: the curvature of each row is cheap"
        if sparse or blocks == "els":
            yield blocks, f"{model}, which goes block by block"
        if problem.regularizer.weak_convexity is not None:
            yield "bella", f"{model}, weakly convex, and data fix {density:.0%} of W"
        yield "aapb", f"{model}, and data fix {density:.0%} of W"


def _takes(method: Method, problem: ResolvedProblem) -> bool:
    try:
        method.check(problem)
    except IncompatibleError:
        return False
    return True
