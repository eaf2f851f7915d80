"""Which checks a part has to stand."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bregopt.blocks import Blocks
from bregopt.errors import IncompatibleError
from bregopt.host.compose import kinds
from bregopt.parts.kernel import Kernel, KernelPolicy
from bregopt.parts.regularizer import Regularizer, Separable
from bregopt.problem import Problem, ResolvedProblem
from bregopt.rules.extrapolation import Extrapolation
from bregopt.rules.step import StepRule
from bregopt.testing.draw import Draw
from bregopt.testing.extrapolation_checks import EXTRAPOLATION
from bregopt.testing.kernel_checks import KERNEL
from bregopt.testing.policy_checks import POLICY
from bregopt.testing.problem_checks import PROBLEM
from bregopt.testing.regularizer_checks import REGULARIZER
from bregopt.testing.step_checks import STEP

Check = Callable[[Draw], None]

TABLES: Mapping[type, Mapping[str, Callable[[Any, Draw], None]]] = {
    Regularizer: REGULARIZER,
    Kernel: KERNEL,
    KernelPolicy: POLICY,
    Extrapolation: EXTRAPOLATION,
    StepRule: STEP,
}


def checkable(part: Any) -> bool:
    """Whether there are checks for this part."""
    return isinstance(part, (*_tables(), Separable, Problem, ResolvedProblem)) or _is_pair(part)


def _tables() -> dict[type, Mapping[str, Callable[[Any, Draw], None]]]:
    """The checks by interface: those that plugins declare with a kind of their own, then those of the kit."""
    return {kind.interface: kind.checks for kind in kinds() if kind.checks} | dict(TABLES)


def checks_of(part: Any) -> dict[str, Check]:
    """The checks of a part by name."""
    if isinstance(part, Separable):
        named = [(f"{block}: {name}", one) for block, H in part.named.items() for name, one in checks_of(H).items()]
        return dict(named) or checks_of(part["every block"])
    if isinstance(part, (Problem, ResolvedProblem)) or _is_pair(part):
        pair = (
            (part, part.first_point(None, np.random.default_rng(0)))
            if isinstance(part, (Problem, ResolvedProblem))
            else part
        )
        return {name: functools.partial(one, pair) for name, one in PROBLEM.items()}
    for kind, table in _tables().items():
        if isinstance(part, kind):
            return {name: functools.partial(one, part) for name, one in table.items()}
    raise IncompatibleError(
        "There are checks for a Regularizer, Separable, Kernel, KernelPolicy, Extrapolation, StepRule, Problem or pair "
        f"(Problem, Blocks). Got {part!r} instead."
    )


def title(part: Any) -> str:
    """How a report names a part."""
    if _is_pair(part):
        return f"{part[0].name} at {part[1]!r}"
    shown = part.name if isinstance(part, (Problem, ResolvedProblem)) else repr(part)
    return f"{type(part).__name__}()" if " object at 0x" in shown else shown


def _is_pair(part: Any) -> bool:
    return (
        isinstance(part, tuple)
        and len(part) == 2
        and isinstance(part[0], (Problem, ResolvedProblem))
        and isinstance(part[1], Blocks)
    )
