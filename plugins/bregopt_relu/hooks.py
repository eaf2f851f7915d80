"""What this plugin registers."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bregopt import Blocks, KernelPolicy, Problem, Registrar, hookimpl
from bregopt_relu.policies import fixed, paper, s4, tight
from bregopt_relu.problem import relu_nmd


@hookimpl
def bregopt_register(registry: Registrar) -> None:
    registry.add(Problem, "relu-nmd", relu_nmd)
    for kernel in (paper, tight, s4, fixed):
        registry.add(KernelPolicy, kernel.__name__, kernel)


@hookimpl
def bregopt_examples(kind: str) -> Sequence[tuple[str, Any]]:
    if kind != "problem":
        return []
    rng = np.random.default_rng(0)
    M = np.maximum(0.0, rng.standard_normal((6, 5)))
    Y = Blocks(U=rng.standard_normal((6, 2)), V=rng.standard_normal((2, 5)))
    kernels = ("paper", "tight", "fixed", "s4")
    return [(f"relu-nmd, {kernel} kernel", (relu_nmd(M, 2, kernel=kernel), Y)) for kernel in kernels]
