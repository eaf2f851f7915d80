"""Which checks a part has to stand, by the kind of part: those of the kit, and those of kinds that plugins declare."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bregopt.blocks import Blocks
from bregopt.engine.method import Method
from bregopt.errors import IncompatibleError
from bregopt.host.compose import kinds, with_parts
from bregopt.host.registry import CORE, Kind
from bregopt.parts.kernel import Kernel, KernelPolicy
from bregopt.parts.regularizer import Regularizer, Separable
from bregopt.problem import Problem, ResolvedProblem, Start
from bregopt.rules.extrapolation import Extrapolation
from bregopt.rules.step import StepRule
from bregopt.rules.stopping import StopRule
from bregopt.testing.checks import (
    bregman_prox,
    kernel,
    method,
    oracle,
    regularizer_forms,
    regularizer_prox,
    regularizer_traits,
    rules,
    smooth,
    start,
    stopping,
)
from bregopt.testing.outcomes import CheckFailedError, fail
from bregopt.testing.search.random_points import RandomPoints

PROBLEMS = (Problem, ResolvedProblem)
Check = Callable[[RandomPoints], None]
"""A check of one part."""
Table = Mapping[str, Callable[[Any, RandomPoints], None]]
"""The checks of a kind, by name."""

REGULARIZER: Table = {
    "results/usable": regularizer_prox.usable,
    "prox/variational": regularizer_prox.variational,
    "prox/fresh": regularizer_prox.fresh,
    "prox/deterministic": regularizer_prox.deterministic,
    "prox/shape-dtype": regularizer_prox.shape_and_dtype,
    "value/finite-at-prox": regularizer_prox.finite_at_prox,
    "value/python-float": regularizer_prox.python_float,
    "value/not-negative-infinite": regularizer_prox.not_negative_infinite,
    "traits/convex": regularizer_traits.convex,
    "traits/separable": regularizer_traits.separable,
    "traits/homogeneous": regularizer_traits.homogeneous,
    "traits/row-wise": regularizer_traits.row_wise,
    "traits/constant-norm": regularizer_traits.constant_norm,
    "weak-convexity/holds": regularizer_traits.weak_convexity,
    "split/adds-up": regularizer_forms.split,
    "scalar/adds-up": regularizer_forms.scalar,
    "entry/adds-up": regularizer_forms.entry,
    "piece/holds": regularizer_forms.piece,
    "sparsity/holds": regularizer_forms.sparsity,
    "convex-parts/hold": regularizer_forms.convex_parts,
    "smooth/gradient": regularizer_forms.gradient,
    "smooth/curvature": regularizer_forms.curvature,
    "step-limit/respected": regularizer_prox.step_limit,
    "bregman-prox/minimal": bregman_prox.of_regularizer,
    "engine/descent": bregman_prox.descends,
}
KERNEL: Table = {
    "results/usable": kernel.usable,
    "gradient/taylor-slope": kernel.taylor_slope,
    "divergence/non-negative": kernel.non_negative,
    "divergence/definition": kernel.definition,
    "divergence/stable": kernel.stable,
    "strong-convexity/holds": kernel.strong_convexity,
    "smoothness/holds": kernel.smoothness,
    "share/holds": kernel.share,
    "along/polynomial": kernel.along,
    "domain/contains-and-longest": kernel.contains_and_longest,
    "arithmetic/sum-and-scale": kernel.arithmetic,
    "kernel/no-write": kernel.no_write,
    "bregman-prox/minimal": bregman_prox.of_kernel,
}
POLICY: Table = {
    "policy/monotone": kernel.monotone,
    "policy/sample-family": kernel.sample_family,
    **{name: kernel.of_sample(check) for name, check in KERNEL.items()},
}
EXTRAPOLATION: Table = {
    "beta/range": rules.in_range,
    "beta/stateless": rules.stateless,
    "beta/inequality": rules.inequality,
}
STEP: Table = {
    "step/positive": rules.step_positive,
    "step/accepts": rules.step_accepts,
    "step/refuses": rules.step_refuses,
    "step/ends": rules.step_ends,
    "step/stateless": rules.step_stateless,
}
STOP: Table = {
    "stop/verdicts": stopping.verdicts,
    "stop/stateless": stopping.stateless,
    "stop/ends": stopping.ends,
}
START: Table = {
    "start/points": start.points,
    "start/seeded": start.seeded,
    "start/runs": start.runs,
}
METHOD: Table = {
    "states/told": method.told,
    "states/saved": method.saved,
    "states/same-after-loading": method.same_after_loading,
}
PROBLEM: Table = {
    "smooth/at-point": smooth.at_point,
    "smooth/gradient": smooth.inside(smooth.gradient),
    "smooth/value-consistent": smooth.inside(smooth.value_consistent),
    "smooth/gram": smooth.inside(smooth.gram),
    "smooth/block-bounds": smooth.inside(smooth.block_bounds),
    "smooth/of-product": smooth.inside(smooth.of_product),
    "block/optimal": smooth.inside(oracle.optimal),
    "block/bounds": smooth.inside(oracle.bounds),
    "block/affine": smooth.inside(oracle.affine),
    "oracle/equals-plain": smooth.inside(oracle.equals_plain),
    "oracle/sweep": smooth.inside(oracle.sweep_equals_plain),
    "smad/upper": smooth.inside(smooth.upper),
    "smad/lower": smooth.inside(smooth.lower),
    "smad/low": smooth.inside(smooth.low),
}
OF_THE_KIT: Mapping[type, Table] = {
    Regularizer: REGULARIZER,
    Kernel: KERNEL,
    KernelPolicy: POLICY,
    Extrapolation: EXTRAPOLATION,
    StepRule: STEP,
    StopRule: STOP,
    Start: START,
    Method: METHOD,
}
"""The first interface that a part has tells its checks: a kernel is a policy too, but has those of kernels."""
AT_START = "import numpy as np\npart = part, part.first_point(None, np.random.default_rng(0))"


def checkable(part: Any) -> bool:
    """Whether there are checks for this part."""
    return isinstance(part, (Separable, *PROBLEMS)) or _is_problem_at(part) or bool(_table(part))


def checks_of(part: Any) -> dict[str, Check]:
    """The checks of a part by name; a part of several kinds has the checks of all of them."""
    if isinstance(part, Separable):
        blocks = {f"{block}: ": block for block in part.named} or {"": "every block"}
        found = {
            prefix: _made_by(f"part = part[{block!r}]", checks_of(part[block])) for prefix, block in blocks.items()
        }
        return {prefix + name: one for prefix, checks in found.items() for name, one in checks.items()}
    if isinstance(part, Problem):
        part = with_parts(part)
    if isinstance(part, PROBLEMS):
        return _made_by(AT_START, checks_of((part, part.first_point(None, np.random.default_rng(0)))))
    if _is_problem_at(part) and isinstance(part[0], Problem):
        part = with_parts(part[0]), part[1]
    table = PROBLEM if _is_problem_at(part) else _table(part)
    if not table:
        raise IncompatibleError(_no_checks(part))
    return {name: _of_part(one, part) for name, one in table.items()}


def why_unchecked(kind: Kind) -> str:
    """Why the parts of a kind have no checks."""
    if kind.name in ("smooth", "block"):
        return "smooth parts and blocks are checked within a problem, which the hook bregopt_examples can give"
    if kind.checks or kind.interface in (*OF_THE_KIT, Problem):
        return f"an example of a {kind.name} must be a {kind.interface.__name__}"
    if kind.provider == CORE:
        return "selectors have none"
    declared = f"registry.kind({kind.name!r}, {kind.interface.__name__}, checks={{...}})"
    return f"the kind '{kind.name}' is declared by {kind.provider} without checks, which {declared} adds"


def title(part: Any) -> str:
    """How a report names a part."""
    if _is_problem_at(part):
        return f"{part[0].name} at {part[1]!r}"
    shown = part.name if isinstance(part, PROBLEMS) else repr(part)
    return f"{type(part).__name__}()" if " object at 0x" in shown else shown


def _table(part: Any) -> Table:
    """The checks of the kit, and those of every kind that a plugin declares and that the part is of."""
    of_the_kit = next((table for interface, table in OF_THE_KIT.items() if isinstance(part, interface)), {})
    declared = [kind.checks for kind in kinds() if isinstance(part, kind.interface)]
    return {name: one for table in (of_the_kit, *declared) for name, one in table.items()}


def _of_part(one: Callable[[Any, RandomPoints], None], part: Any) -> Check:
    return lambda draw: one(part, draw)


def _made_by(code: str, checks: Mapping[str, Check]) -> dict[str, Check]:
    """The checks of a part that ``code`` makes from the part at hand: counterexamples begin with it."""

    def shown(one: Check, draw: RandomPoints) -> None:
        try:
            one(draw)
        except CheckFailedError as failure:
            fail(failure.message, f"{code}\n{failure.code}")

    return {name: functools.partial(shown, one) for name, one in checks.items()}


def _no_checks(part: Any) -> str:
    """The sentence about a part that cannot be checked."""
    if isinstance(part, str):
        return (
            f"A part is checked as an object: make it by bregopt.make(kind, {part!r}), or run 'bregopt check {part}'."
        )
    declared = "".join(f"{kind.interface.__name__}, " for kind in kinds() if kind.checks)
    known = "Regularizer, Separable, Kernel, KernelPolicy, Extrapolation, StepRule, StopRule, Start, Method"
    own = [kind for kind in kinds() if isinstance(part, kind.interface)]
    names = {base.__qualname__ for base in type(part).__mro__}
    if own:
        why = f": {why_unchecked(own[-1])}"
    elif any(kind.interface.__qualname__ in names for kind in kinds()):
        why = ": its plugin was loaded again since, so make it again"
    else:
        why = ""
    return f"There are checks for a {known}, {declared}Problem or pair (Problem, Blocks). Got {part!r} instead{why}."


def _is_problem_at(part: Any) -> bool:
    return isinstance(part, tuple) and len(part) == 2 and isinstance(part[0], PROBLEMS) and isinstance(part[1], Blocks)
