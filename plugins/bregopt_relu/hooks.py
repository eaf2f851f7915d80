"""What this plugin registers."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from bregopt_lowrank import EntrywiseLoss, short_runs

from bregopt import Blocks, Method, Problem, Registrar, hookimpl, make
from bregopt_relu.bounded_relu import BoundedRelu
from bregopt_relu.em_nmd import EMNMD
from bregopt_relu.leaky_relu import LeakyRelu
from bregopt_relu.problem import relu_nmd
from bregopt_relu.relu import Relu
from bregopt_relu.tobit import Tobit

LOSSES: dict[str, type[EntrywiseLoss]] = {
    "relu": Relu,
    "bounded-relu": BoundedRelu,
    "leaky-relu": LeakyRelu,
    "tobit": Tobit,
}


@hookimpl
def bregopt_register(registry: Registrar) -> None:
    registry.add(Problem, "relu-nmd", relu_nmd, aliases=("nmd", "relu"))
    registry.add(Method, "em-nmd", EMNMD)
    for name, loss in LOSSES.items():
        registry.add(EntrywiseLoss, name, loss)


@hookimpl
def bregopt_examples(kind: str) -> Sequence[tuple[str, Any]]:
    if kind == "loss":
        specs = "relu", "bounded-relu", "bounded-relu(-0.5, 2)", "leaky-relu(0.3)", "tobit(0.5)"
        return [(spec, make(kind, spec)) for spec in specs]
    if kind != "problem":
        return []
    rng = np.random.default_rng(0)
    M = np.maximum(0.0, rng.standard_normal((6, 5)))
    Y = Blocks(U=rng.standard_normal((6, 2)), V=rng.standard_normal((2, 5)))
    kernels = ("paper", "tight", "fixed", "s4")
    return [(f"relu-nmd, {kernel} kernel", (relu_nmd(M, 2, kernel=kernel), Y)) for kernel in kernels]


@hookimpl
def bregopt_warm_up() -> Sequence[tuple[str, Callable[[], object]]]:
    return short_runs("relu-nmd")
