"""The first results of every part: a wrong one is told with the part and its line, before a number rests on it.

What is cheap is asked once more than the run needs it. What costs products is looked at as it passes by.
"""

import math
from contextlib import AbstractContextManager
from numbers import Real

import numpy as np

from bregopt.blocks import Array, Blocks
from bregopt.engine.method import Method
from bregopt.engine.state import Assumption, State
from bregopt.part_errors import is_ours, mistake, part_errors, wrong_result
from bregopt.part_results import array, blocks, instance, number, numbers, pair, real
from bregopt.parts.kernel import Kernel, KernelPolicy
from bregopt.parts.oracle import Evaluation, Oracle, PlainOracle, Sweep
from bregopt.parts.penalty import ScalarPenalty
from bregopt.parts.prox import BregmanProx
from bregopt.parts.regularizer import Regularizer
from bregopt.parts.smooth import SmoothPart
from bregopt.parts.traits import Trait
from bregopt.problem import ProblemParts
from bregopt.rules.stopping import StopRule

TAME = 1e60
"""Powers of a point beyond that norm may overflow, and no part is to blame for it: the run then ends as not finite."""
ROUNDING = 1e-9
"""Of |Y|²: how far below zero a divergence may come out by rounding."""
LONGEST_STEP = 1.0
"""The step that a proximal map is tried with, or half of the longest that it is made for."""


def check_claims(part: object) -> None:
    """What a part says of itself, which is read while a problem is composed."""
    with part_errors:
        if isinstance(part, Method):
            _check_claims_of_method(part)
        elif isinstance(part, StopRule):
            instance(part, "certain", part.certain, (bool, np.bool_), "True or False")
        elif isinstance(part, Regularizer):
            _check_claims_of_regularizer(part)
        elif isinstance(part, KernelPolicy):
            for reduced in (False, True):
                picked = instance(part, "pick", part.pick(reduced), KernelPolicy, "a Kernel or a KernelPolicy")
                instance(picked, "sample", picked.sample(), Kernel, "a Kernel")


def _check_claims_of_method(method: Method) -> None:
    for name in ("lyapunov", "safeguard"):
        instance(method, name, getattr(method, name), str, "a text")
    if method.kernel is not None:
        instance(method, "kernel", method.kernel, KernelPolicy, "a Kernel, a KernelPolicy or None")
    instance(method, "uses_kernel", method.uses_kernel, (bool, np.bool_), "True or False")
    for name, kind in (("members", Method), ("assumptions", Assumption)):
        for one in instance(method, name, getattr(method, name), tuple, f"a tuple of {kind.__name__}s"):
            instance(method, name, one, kind, f"a tuple of {kind.__name__}s")


def _check_claims_of_regularizer(H: Regularizer) -> None:
    instance(H, "traits", H.traits, Trait, "a Trait, such as Trait.CONVEX | Trait.SEPARABLE")
    if H.weak_convexity is not None:
        number(H, "weak_convexity", H.weak_convexity, 0.0, finite=True)
    number(H, "step_limit", H.step_limit, above=0.0)
    instance(H, "scalar", H.scalar(), (ScalarPenalty, type(None)), "a ScalarPenalty or None")
    split = H.split()
    if split is not None:
        rest, eta = pair(H, "split", split, "Regularizer, number")
        instance(H, "split", rest, Regularizer, "a Regularizer and a number")
        number(H, "split", eta, finite=True)


def check_parts(problem: ProblemParts, Y: Blocks) -> None:
    """H on every block of Y⁰, and what F says of its blocks."""
    finite = Y.norm() < TAME
    with part_errors, _quiet():
        for name in Y.names:
            H = problem.regularizer[name]
            _check_claims_of_regularizer(H)
            check_regularizer(H, Y[name], finite=finite)
            _check_gram(problem.smooth, Y, name, finite=finite)


def check_regularizer(H: Regularizer, X: Array, *, finite: bool = True) -> None:
    """``value`` and ``prox`` at X, which neither may change; and the prox of what H splits into."""
    given = X.copy()
    number(H, "value", H.value(given), above=-math.inf)
    if not np.array_equal(given, X):
        raise mistake(H, "value", "must leave its argument as it is. It wrote into it")
    split = H.split()
    for part in (H,) if split is None or split[0] is H else (H, split[0]):
        given = X.copy()
        Z = part.prox(given, min(LONGEST_STEP, 0.5 * part.step_limit))
        if not np.array_equal(given, X):
            raise mistake(part, "prox", "must leave its argument as it is, and return a fresh array. It wrote into it")
        array(part, "prox", Z, X.shape, finite=finite)
        if np.may_share_memory(Z, given):
            raise mistake(part, "prox", "must return a fresh array. It returned its argument, or a view of it")


def _check_gram(F: SmoothPart, Y: Blocks, name: str, *, finite: bool) -> None:
    G = F.gram(Y, name)
    if G is None:
        return
    if Y[name].ndim != 2:
        raise mistake(F, "gram", f"must be None for a block that is no matrix. Block '{name}' is {Y[name].shape}")
    size = Y[name].shape[0 if F.by_columns(Y, name) else 1]
    array(F, "gram", G, (size, size), finite=finite)


def check_kernel(kernel: Kernel, Y: Blocks) -> bool:
    """Whether ψ is defined at Y⁰; its formulas, where it is."""
    finite = Y.norm() < TAME
    with part_errors, _quiet():
        instance(kernel, "contains", inside := kernel.contains(Y), (bool, np.bool_), "True or False")
        if not inside:
            return False
        (number if finite else real)(kernel, "value", kernel.value(Y))
        blocks(kernel, "gradient", kernel.gradient(Y), Y.layout, finite=finite)
        half = Y * 0.5
        other = half if kernel.contains(half) else Y
        if finite:
            number(kernel, "divergence", kernel.divergence(Y, other), -ROUNDING * max(1.0, Y.dot(Y)))
        number(kernel, "strong_convexity", kernel.strong_convexity, 0.0, finite=True)
        number(kernel, "smoothness", kernel.smoothness, 0.0)
        line = kernel.along(Y, Y)
        if line is not None:
            array(kernel, "along", line, (max(np.size(line), 1),), finite=finite)
    return True


def check_evaluation(oracle: Oracle, seen: Evaluation, Y: Blocks, at: Blocks | None, *, name: str = "evaluate") -> None:
    """What one pass saw."""
    instance(oracle, name, seen, Evaluation, "an Evaluation")
    blocks(oracle, name, seen.Y, Y.layout)
    number(oracle, name, seen.products, 0.0, finite=True)
    if isinstance(oracle, PlainOracle):
        numbers(oracle.block, "norms", seen.norms, 0.0)
    else:
        numbers(oracle, name, seen.norms, 0.0)
    numbers(oracle, name, seen.metrics)
    finite = max(Y.norm(), 0.0 if at is None else at.norm()) < TAME
    part, method = _evaluated_by(oracle, name, seen, at)
    (number if finite else real)(part, method, seen.value)
    if at is not None:
        if not seen.has_gradient:
            raise mistake(oracle, name, "was asked for the gradient at a point, and returned an Evaluation without one")
        blocks(part, method, seen.gradient, Y.layout, finite=finite and seen.value < math.inf)


def _evaluated_by(oracle: Oracle, name: str, seen: Evaluation, at: Blocks | None) -> tuple[object, str]:
    """Who an evaluation comes from: behind the plain oracle it is G or F."""
    if not isinstance(oracle, PlainOracle):
        return oracle, name
    if not math.isfinite(oracle.block.value(seen.W)):
        return oracle.block, "value"
    return oracle.smooth, "value" if at is None else "value_and_gradient"


def check_sweep(oracle: Oracle, sweep: Sweep, Y: Blocks) -> None:
    """What a sweep over the blocks saw and made."""
    instance(oracle, "sweep", sweep, Sweep, "a Sweep")
    check_evaluation(oracle, sweep.evaluation, Y, None, name="sweep")
    blocks(oracle, "sweep", sweep.Y, Y.layout)
    array(oracle, "sweep", sweep.gradient, Y[Y.names[-1]].shape)


def check_prox(prox: BregmanProx, Y: Blocks, P: Blocks) -> None:
    """The first step that a Bregman proximal map made; one of ours is finite where what it asks H is."""
    blocks(prox, "", Y, P.layout)
    if not math.isfinite(Y.norm()) and P.norm() < TAME and not is_ours(prox):
        raise wrong_result(prox, "", "finite numbers", Y)


def check_state(method: Method, name: str, state: State, Y: Blocks) -> None:
    """The states that a method starts and goes on with."""
    instance(method, name, state, State, "a State")
    blocks(method, name, state.Y, Y.layout)
    if not isinstance(state.objective, Real):
        raise wrong_result(method, name, "a State whose objective is a number", state.objective)


def _quiet() -> AbstractContextManager[None]:
    return np.errstate(over="ignore", invalid="ignore")  # what is not finite is told, not warned of
