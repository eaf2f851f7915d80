"""The method that picks one for the problem at hand."""

from collections.abc import Iterator
from typing import final

from attrs import frozen

from bregopt import Blocks, Method, ResolvedProblem, Selector, SmoothPart, Trait, make
from bregopt.errors import IncompatibleError


@final
@frozen
class Auto(Selector):
    """Picks by what F and H can do; of two methods that may be right the run tries both, and the result says so."""

    def select(self, problem: ResolvedProblem, Y: Blocks) -> tuple[Method, str]:
        for it in candidates(problem, Y):
            fit = [spec for spec in it.specs if _takes(spec, problem)]
            if fit:
                asked = " It uses the kernel that was asked for." if problem.kernel_named else ""
                spec = fit[0] if len(fit) == 1 else f"portfolio({', '.join(fit)}, after={it.after}, enough={it.enough})"
                trials = f", and {' and '.join(fit[1:])} will be tried as it goes" if len(fit) > 1 else ""
                return make("method", spec), f"auto picked {fit[0]}: {it.why}{trials}.{asked}"
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
    """H bounds the entries of every block, as nonneg does, and has no l1"""
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
            bounds=all(h is not None and h.l1 == 0 and h.bounded for h in scalars),
            weakly_convex=all(H.weak_convexity is not None for H in penalties),
            constants=all(F.block_lipschitz(Y, name) is not None for name in Y.names),
        )


@final
@frozen
class Candidate:
    """A method, with those to be tried beside it."""

    specs: tuple[str, ...]
    why: str
    after: int = 10
    """iterations before the first trial"""
    enough: float = 0.2
    """the share of the pace that a later method has to show"""


def candidates(problem: ResolvedProblem, Y: Blocks) -> Iterator[Candidate]:
    """The best first."""
    can = Abilities.of(problem, Y)
    if can.kernels:
        yield Candidate(("bpalm(inertia=true)",), "F brings a kernel for each block")
    if can.grams and can.separable:
        yield from _by_blocks(problem, Y, can)
    if can.grams:
        yield Candidate(("support-search",), "H limits how many entries are not zero")
    if can.weakly_convex:
        if can.constants and len(Y) > 2 and problem.regularizer.is_zero:
            yield Candidate(("ipalm",), f"a step for each of {len(Y)} blocks is longer than one for all of them")
        if len(Y) == 1 or (can.constants and len(Y) == 2):
            blocks = "the only block" if len(Y) == 1 else "both blocks"
            why = f"H is weakly convex and goes with one step for {blocks}{_fixed(can.density)}"
            yield Candidate(("aapb", "bella"), why)
        yield Candidate(("bella",), f"H is weakly convex{_fixed(can.density)}")
    elif can.constants:
        why = "H is not weakly convex, and steps on one block at a time see more of it"
        yield Candidate(("nipalm", "bella"), why, after=20, enough=0.5)
    yield Candidate(("aapb",), "all that is known of F and H is a kernel and a proximal map")


def _fixed(density: float | None) -> str:
    return "" if density is None else f", and data fix {density:.0%} of W"


def _by_blocks(problem: ResolvedProblem, Y: Blocks, can: Abilities) -> Iterator[Candidate]:
    """For an F that is quadratic in each block, and an H that is a sum over entries."""
    if can.density is not None and len(Y) == 1:
        yield Candidate(
            ("masked-newton",), "one factor is fixed, so each row of the other is a small problem of its own"
        )
    zero = problem.regularizer.is_zero
    model = "H is zero" if zero else "H is Tikhonov's" if can.quadratic else "H is a sum over entries"
    # a sweep over coordinates goes less far than least squares do: it takes longer until it is seen what it comes to
    first, after, enough = ("els", 15, 0.2) if can.quadratic else ("ecd", 20, 0.3)
    later = ("masked-newton",) if not can.bounds or can.density == 1 else ()
    yield Candidate((first, *later), f"{model}, which goes block by block", after, enough)


def _takes(spec: str, problem: ResolvedProblem) -> bool:
    method: Method = make("method", spec)
    try:
        method.check(problem)
    except IncompatibleError:
        return False
    return method.uses_kernel or not problem.kernel_named
