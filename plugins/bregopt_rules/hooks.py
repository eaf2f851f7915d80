"""What this plugin registers."""

from collections.abc import Sequence
from typing import Any

from bregopt import Extrapolation, Registrar, StepRule, StopRule, hookimpl, make
from bregopt_rules import composed, extrapolation, step, stopping
from bregopt_rules.assumption2 import Assumption2
from bregopt_rules.backtrack import Backtrack


@hookimpl
def bregopt_register(registry: Registrar) -> None:
    registry.add(Extrapolation, "zero", extrapolation.NoExtrapolation)
    registry.add(Extrapolation, "constant", extrapolation.Constant)
    registry.add(Extrapolation, "nesterov", extrapolation.Nesterov)
    registry.add(Extrapolation, "growing", extrapolation.Growing)
    registry.add(Extrapolation, "assumption2", Assumption2)
    registry.add(Extrapolation, "exact-gap", composed.ExactGap)
    registry.add(Extrapolation, "least", composed.Least)
    registry.add(Extrapolation, "restart", composed.Restart)

    registry.add(StepRule, "constant", step.ConstantStep)
    registry.add(StepRule, "monotone", step.Monotone)
    registry.add(StepRule, "predicted", step.Predicted)
    registry.add(StepRule, "backtrack", Backtrack)

    registry.add(StopRule, "max-iterations", stopping.MaxIterations)
    registry.add(StopRule, "max-seconds", stopping.MaxSeconds)
    registry.add(StopRule, "max-products", stopping.MaxProducts)
    registry.add(StopRule, "relative-error", stopping.RelativeError)
    registry.add(StopRule, "stationarity", stopping.Stationarity)
    registry.add(StopRule, "tolerance", stopping.Tolerance)
    registry.add(StopRule, "plateau", stopping.Plateau)
    registry.add(StopRule, "target", stopping.Target)
    registry.add(StopRule, "not-finite", stopping.NotFinite)


EXAMPLES = {
    "extrapolation": [
        "zero",
        "constant(0.6)",
        "growing",
        "nesterov",
        "assumption2",
        "assumption2(bound=low)",
        "exact-gap",
        "least",
        "restart",
        "restart(when=gradient)",
        "restart(when=bregman)",
        "restart(growing, when=periodic, every=4)",
    ],
    "step": [
        "constant(0.5)",
        "constant",
        "monotone",
        "monotone(1000, shrink=0.3)",
        "predicted",
        "predicted(0.9)",
        "backtrack",
    ],
}


@hookimpl
def bregopt_examples(kind: str) -> Sequence[tuple[str, Any]]:
    return [(spec, make(kind, spec)) for spec in EXAMPLES.get(kind, [])]
