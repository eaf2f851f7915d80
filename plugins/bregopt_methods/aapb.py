"""The paper's method under its names."""

from bregopt import AAPB, Extrapolation, StepRule, make

Rule = float | str


def aapb(beta: Rule | Extrapolation = "assumption2", step: Rule | StepRule = "constant", w: str = "Y") -> AAPB:
    """Accelerated alternating partial Bregman: W in closed form, Y by a Bregman proximal step with extrapolation.

    ``beta`` and ``step`` are rules or numbers; ``w="Ybar"`` takes W at the extrapolated point.
    """
    return AAPB(make("extrapolation", beta), make("step", step), w)


def apb(step: Rule | StepRule = "constant") -> AAPB:
    """Alternating partial Bregman: AAPB with β = 0."""
    return AAPB(make("extrapolation", "zero"), make("step", step))
