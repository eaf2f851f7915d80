"""The Bregman proximal maps of a regularizer and of a kernel: against rivals, and in a short run of the engine."""

import itertools
import math
from collections.abc import Iterator
from typing import final

import numpy as np
from attrs import frozen

from bregopt.blocks import Blocks
from bregopt.errors import BregoptError
from bregopt.host import defaults
from bregopt.host.api import iterate
from bregopt.host.compose import compose, examples, resolve_prox
from bregopt.parts.kernel import Kernel, KernelPolicy
from bregopt.parts.prox import BregmanProx
from bregopt.parts.regularizer import Regularizer, Separable, Zero
from bregopt.testing.checks.regularizer_prox import EDGE
from bregopt.testing.outcomes import NotApplicableError, fail, not_applicable, number, snippet
from bregopt.testing.search.kernel_domain import KernelDomain
from bregopt.testing.search.random_points import RandomPoints, rounded
from bregopt.testing.search.regularizer_case import TINY_STEP, RegularizerCase, fits
from bregopt.testing.search.rivals import Rival, nearby_rivals, rivals

CASES = ((0.05, 1.0), (1.0, 0.3), (1.0, 1.0), (30.0, 2.0))
"""The size of Ȳ and the step, one for each map in turn."""
MOVES = (1e-4, 0.1)
LOCAL_MOVES = (1e-5, 1e-3)
PHI = "phi = lambda Y: step * H.value(Y) + P.dot(Y) + psi.value(Y)"
ITERATIONS = 25
ROUNDING = 1e-12


@final
@frozen(eq=False)
class BregmanMap:
    """A kernel with a regularizer on some blocks, and the map that solves them."""

    label: str
    """of the other part of the pair"""
    domain: KernelDomain
    H: Separable
    code: str
    """what makes ``psi`` and ``H`` from the part"""
    prox: BregmanProx

    @property
    def step_limit(self) -> float:
        """The least of those of the parts of H."""
        return min(part.step_limit for part in self.H.distinct())

    def terms(self, P: Blocks, step: float, Y: Blocks) -> tuple[float, float, float]:
        """Of the objective; a rival outside of the domain of ψ has none."""
        H = step * self.H.value(Y)
        inside = math.isfinite(H) and self.domain.kernel.contains(Y)
        return H, P.dot(Y), self.domain.kernel.value(Y) if inside else math.inf

    def case(self, turn: int, draw: RandomPoints) -> tuple[Blocks, float]:
        """Ȳ, and a step that keeps every Euclidean step within the range of H, where the kernel says how."""
        scale, step = CASES[(turn + turn // len(CASES)) % len(CASES)]
        q = self.domain.kernel.strong_convexity
        return self.domain.point(draw, scale), min(step, 0.9 * q * self.step_limit) if q > 0 else step

    def rivals(self, Y_bar: Blocks, Y: Blocks, draw: RandomPoints) -> Iterator[Rival]:
        """Rivals everywhere, or only near by where the map promises no more than a local minimiser."""
        if getattr(self.prox, "exact", True):
            return rivals(Y_bar.flat, Y.flat, draw.rng, MOVES)
        return nearby_rivals(np.zeros_like(Y.flat), Y.flat, draw.rng, LOCAL_MOVES)


def of_regularizer(H: Regularizer, draw: RandomPoints) -> None:
    """With H on U only and on both blocks."""
    _solve_all(_with_kernels(H, draw), draw)


def of_kernel(kernel: Kernel, draw: RandomPoints) -> None:
    """With H = 0 and every example of a regularizer, on U only and on both blocks by turns."""
    _solve_all(_with_regularizers(kernel, draw), draw)


def _solve_all(maps: Iterator[BregmanMap], draw: RandomPoints) -> None:
    if not sum(_solves(one, turn, draw) for turn, one in enumerate(maps)):
        not_applicable("No plugin resolves a Bregman proximal map of it.")


def _solves(one: BregmanMap, turn: int, draw: RandomPoints) -> bool:
    """Whether the map took the case of this turn; fails where it is beaten."""
    psi, (Y_bar, step) = one.domain.kernel, one.case(turn, draw)
    P = Y_bar.like(rounded(-psi.gradient(Y_bar).flat * draw.rng.uniform(0.5, 1.5, Y_bar.flat.size)))
    head, place = [one.code, "Y = bo.bregman_prox(psi, H)(P, step)"], f"with {one.label}, step {step:g}"
    try:
        Y = one.prox(P, step, psi)
    except BregoptError:  # the pair or the step is refused
        return False
    except Exception as error:
        fail(f"{place}: the map raised {type(error).__name__}: {error}", snippet(*head, P=P, step=step))
    terms = one.terms(P, step, Y)
    best, slack = sum(terms), 1e-9 * sum(map(abs, terms))
    if not math.isfinite(best):
        fail(f"{place}: the objective is {best} at the map", snippet(*head, PHI, "print(phi(Y))", P=P, step=step))
    tiny = min(TINY_STEP, 0.5 * one.step_limit)
    for flat, made in one.rivals(Y_bar, Y, draw):
        rival, how = Y.like(flat), ""
        value = sum(one.terms(P, step, rival))
        if value == math.inf or best - EDGE * slack < value < best - slack:
            rival, how = one.H.prox(rival, tiny), f"rival = H.prox(rival, {tiny!r})"
            value = sum(one.terms(P, step, rival))
        if value < best - slack:
            shown = [*head, "Z, X = Y.flat, Y_bar.flat", made(), "rival = Y.like(rival)", *([how] if how else []), PHI]
            show = f"print(phi(Y), phi(rival))  # {number(best)}, but the rival has {number(value)}"
            told = f"{place}: λH + ⟨P, Y⟩ + ψ = {number(best)} at the map, but {number(value)} at a rival"
            fail(told, snippet(*shown, show, P=P, Y_bar=Y_bar, step=step))
    return True


def _with_kernels(H: Regularizer, draw: RandomPoints) -> Iterator[BregmanMap]:
    for label, policy in examples("kernel"):
        if isinstance(policy, KernelPolicy):
            made = f"psi = dict(bo.host.compose.examples('kernel'))[{label!r}].sample()"
            for form, code in _forms(H, "part"):
                yield from _maps(label, policy.sample(), form, f"{made}\n{code}", H, draw)


def _with_regularizers(kernel: Kernel, draw: RandomPoints) -> Iterator[BregmanMap]:
    yield from _maps("H = 0", kernel, Separable(), "psi, H = part, bo.Separable()", Zero(), draw)
    for turn, (label, H) in enumerate(examples("regularizer")):
        made = f"dict(bo.host.compose.examples('regularizer'))[{label!r}]"
        forms = _forms(H, made)
        form, code = forms[turn % len(forms)]
        yield from _maps(label, kernel, form, f"psi = part\n{code}", H, draw)


def _forms(H: Regularizer, made: str) -> list[tuple[Separable, str]]:
    """H on U, and on both blocks where it takes their shapes."""
    forms = [(Separable(U=H), f"H = bo.Separable(U={made})")]
    return [*forms, (Separable(H), f"H = bo.Separable({made})")] if fits(H, _shape(H)[::-1]) else forms


def _shape(H: Regularizer) -> tuple[int, ...]:
    return (3, 2) if fits(H, (3, 2)) else RegularizerCase.of(H).shape


def _maps(
    label: str, kernel: Kernel, form: Separable, code: str, H: Regularizer, draw: RandomPoints
) -> Iterator[BregmanMap]:
    """The map, where a plugin resolves the pair."""
    shape = _shape(H)
    try:
        prox = resolve_prox(kernel, form)
        domain = KernelDomain.of(kernel, draw, ({"U": shape, "V": shape[::-1]},))
    except (BregoptError, NotApplicableError):
        return
    yield BregmanMap(label, domain, form, code, prox)


def descends(H: Regularizer, draw: RandomPoints) -> None:
    """Plain Bregman steps on a small problem."""
    shape = RegularizerCase.of(H).shape
    if len(shape) != 2 or shape[1] > shape[0]:
        not_applicable("It takes no matrix with as many rows as columns, as the problem needs.")
    m, r = shape
    V: Regularizer = H if fits(H, (r, m + 1)) else Zero()
    M = np.maximum(0.0, draw.gauss((m, m + 1), max(1.0, 1.0 / H.step_limit, H.weak_convexity or 0.0)))
    Y = Blocks(U=draw.gauss((m, r)), V=draw.gauss((r, m + 1)))
    try:
        problem = compose(defaults.PROBLEM, M, rank=r, U=H, V=V)
        if not getattr(problem.prox, "exact", True):
            not_applicable("The Bregman proximal map of it is a local minimiser only.")
        states = list(itertools.islice(iterate(problem, method=defaults.PLAIN_METHOD, start=Y), ITERATIONS + 1))
    except BregoptError as error:
        not_applicable(f"There is no run with it: {error}")
    for before, after in itertools.pairwise(states):
        rise = after.objective - before.objective
        if not rise <= ROUNDING * max(before.scale, after.scale):
            parts = f"U=part, V={'bo.Zero()' if isinstance(V, Zero) else 'part'}"
            made = f"problem = bo.compose({defaults.PROBLEM!r}, M, rank={r}, {parts})"
            run = f"run = bo.iterate(problem, method={defaults.PLAIN_METHOD!r}, start=Y)"
            show = f"print([next(run).objective for _ in range({after.iteration + 1})])"
            told = f"Φ rose from {number(before.objective)} to {number(after.objective)} at iteration {after.iteration}"
            fail(f"{told} of {defaults.PLAIN_METHOD}", snippet(made, run, show, M=M, Y=Y))
