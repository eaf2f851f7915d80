"""What this plugin registers."""

from collections.abc import Callable, Sequence
from typing import Any

from bregopt import Extrapolation, Registrar, StepRule, StopRule, hookimpl, make
from bregopt_rules import composed, extrapolation, step, stopping
from bregopt_rules.assumption2 import Assumption2

PARTS: dict[type, dict[str, Callable[..., Any]]] = {
    Extrapolation: {
        "zero": extrapolation.NoExtrapolation,
        "constant": extrapolation.Constant,
        "nesterov": extrapolation.Nesterov,
        "growing": extrapolation.Growing,
        "assumption2": Assumption2,
        "exact-gap": composed.ExactGap,
        "least": composed.Least,
        "restart": composed.Restart,
    },
    StepRule: {
        "constant": step.ConstantStep,
        "monotone": step.Monotone,
        "predicted": step.Predicted,
        "backtrack": step.Backtrack,
    },
    StopRule: {
        "max-iterations": stopping.MaxIterations,
        "max-seconds": stopping.MaxSeconds,
        "max-products": stopping.MaxProducts,
        "relative-error": stopping.RelativeError,
        "stationarity": stopping.Stationarity,
        "tolerance": stopping.Tolerance,
        "plateau": stopping.Plateau,
        "held-out": stopping.HeldOut,
        "target": stopping.Target,
        "not-finite": stopping.NotFinite,
    },
}

ALIASES: dict[str, tuple[str, ...]] = {
    "nesterov": ("fista",),
    "backtrack": ("backtracking", "line-search"),
    "max-iterations": ("max-iter", "iterations"),
    "max-seconds": ("max-time", "seconds", "time"),
    "tolerance": ("tol",),
    "stationarity": ("gradient",),
    "held-out": ("early-stopping",),
}
"""Other names that people know them by."""

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
    "stop": [
        "max-iterations(5)",
        "max-seconds(1)",
        "max-products(20)",
        "relative-error(0.5)",
        "stationarity(0.5)",
        "tolerance(0.5)",
        "plateau(0.01, 3)",
        "held-out",
        "target(1)",
        "not-finite",
    ],
}


@hookimpl
def bregopt_register(registry: Registrar) -> None:
    for interface, parts in PARTS.items():
        for name, part in parts.items():
            registry.add(interface, name, part, ALIASES.get(name, ()))


@hookimpl
def bregopt_examples(kind: str) -> Sequence[tuple[str, Any]]:
    return [(spec, make(kind, spec)) for spec in EXAMPLES.get(kind, [])]
