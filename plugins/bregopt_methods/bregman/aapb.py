"""AAPB under its names: the fast variant, the certified one, the paper's to the letter, and BPG and BPGE."""

import math

from bregopt import AAPB, Extrapolation, KernelPolicy, StepRule, make
from bregopt.errors import parameter

Rule = float | str
MARGIN = 1.1
"""How many times the L of the problem BPG takes, after its authors."""


def aapb(
    beta: Rule | Extrapolation | None = None,
    step: Rule | StepRule | None = None,
    w: str | None = None,
    guard: bool | None = None,
    kernel: KernelPolicy | str | None = None,
) -> AAPB:
    """Accelerated alternating partial Bregman: W at the extrapolated point, Nesterov's β, a predicted step, a guard.

    ``beta`` and ``step`` are rules or numbers. Where one is a number this is the paper's family: then W is taken at
    Y^k, the guard is off, and the defaults are the guaranteed rules, Assumption 2 for β and 1/L for the step.
    """
    plain = _is_number(beta) or _is_number(step)
    return AAPB(
        make("extrapolation", beta if beta is not None else "assumption2" if plain else "nesterov"),
        make("step", step if step is not None else "constant" if plain else "predicted"),
        w if w is not None else "Y" if plain else "Ybar",
        guard if guard is not None else not plain,
        None if kernel is None else make("kernel", kernel),
    )


def apb(step: Rule | StepRule = "constant", kernel: KernelPolicy | str | None = None) -> AAPB:
    """Alternating partial Bregman: AAPB with β = 0."""
    own = None if kernel is None else make("kernel", kernel)
    return AAPB(make("extrapolation", "zero"), make("step", step), kernel=own)


def aapb_certified(step: Rule | StepRule = "predicted") -> AAPB:
    """AAPB with a proof at every step: Nesterov's β, shortened until the corrected Assumption 2 is seen to hold."""
    return AAPB(make("extrapolation", "exact-gap"), make("step", step), "Ybar")


def aapb_paper(beta: Rule | Extrapolation = 0.6) -> AAPB:
    """The paper's Algorithm 2 to the letter: β = 0.6, λ = 1, W at Y^k, the kernel 3ψ1 + ‖W‖_F ψ2."""
    return aapb(beta, 1.0, "Y", False, "paper")


def apb_paper() -> AAPB:
    """The paper's APB to the letter: β = 0, λ = 1, the kernel 3ψ1 + ‖W‖_F ψ2."""
    return apb(1.0, "paper")


def bpg(step: Rule | StepRule | None = None, L: float | None = None) -> AAPB:
    """Bregman proximal gradient (NoLips) on f(Y) = min_W F + G: ``Y⁺ = argmin H + ⟨∇f(Y), ·⟩ + D_ψ(·, Y)/λ``.

    As ∇f(Y) = ∇F(Y, W(Y)) it is AAPB with β = 0. The step is 1/L for the ``L`` given, else 1/(1.1·L) with the constant
    L of the problem, as its authors have it, or a rule's: ``step="backtrack"`` is BPG-WB, with L from 0.01 upward by
    the factor 1.1 until the upper test holds.
    """
    if L is not None and not 0 < L < math.inf:
        raise parameter("L", "bpg", "a finite number > 0", L)
    if step is None:
        step = make("step", "constant", scale=1.0 / MARGIN) if L is None else 1.0 / L
    return AAPB(make("extrapolation", "zero"), make("step", step))


def bpge(beta: float = 0.6, step: Rule | StepRule | None = None, L: float | None = None) -> AAPB:
    """BPG with extrapolation: the step of BPG from Ȳ, with ∇f(Ȳ), for β_k = beta·(k − 1)/(k + 2).

    k = 1 is the second step, the first with a move before it. There is a theorem where β_k meets Assumption 2, which
    the certificate tests; ``beta=0`` is BPG.
    """
    plain = bpg(step, L)
    if isinstance(beta, bool) or not isinstance(beta, (int, float)) or not 0 <= beta < 1:
        raise parameter("beta", "bpge", "a number >= 0 and < 1", beta)
    return AAPB(make("extrapolation", "growing", beta), plain.step, "Ybar") if beta else plain


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
