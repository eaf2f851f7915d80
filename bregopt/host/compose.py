"""From names to objects: parts, problems, and what pairs of parts resolve to."""

import functools
import inspect
import operator
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, cast

from attrs import evolve, fields
from pluggy import HookCaller, HookImpl

from bregopt.blocks import Blocks
from bregopt.engine.first_results import check_claims
from bregopt.errors import BregoptError, IncompatibleError, ParameterError, SpecError, brief
from bregopt.host import defaults
from bregopt.host.data import arguments
from bregopt.host.loading import Host, Plugin
from bregopt.host.refusals import as_number, no_spec, no_sum, number_alone
from bregopt.host.registry import Entry, Kind
from bregopt.host.spec import Spec, parse, parse_sum
from bregopt.host.wrong_arguments import meant
from bregopt.matrices.given import is_data
from bregopt.part_errors import author_of, part_errors, wrong_result
from bregopt.part_results import instance, pair
from bregopt.parts.kernel import Kernel, KernelPolicy
from bregopt.parts.named import NamedKernel, NamedRegularizer
from bregopt.parts.oracle import Oracle, PlainOracle
from bregopt.parts.prox import BregmanProx
from bregopt.parts.regularizer import Regularizer, Separable, Zero
from bregopt.problem import Problem, ProblemParts, ResolvedKernel, ResolvedProblem
from bregopt.rules.stopping import StopRule

KERNEL = "kernel"
"""The kind whose parts add and scale."""
REGULARIZER = "regularizer"
"""The kind of which ``None`` is one."""
_ONE_HOST = threading.Lock()


@functools.cache
def host() -> Host:
    """The one host of this process."""
    return Host()


def _loaded() -> Host:
    with _ONE_HOST:  # the cache alone would let two threads make one each
        it = host()
    it.load()
    return it


def plugins() -> list[Plugin]:
    """Every plugin that was found, and whether it is active, blocked or failed."""
    return list(_loaded().plugins)


def load_plugin(source: str | Path | object) -> Plugin:
    """Load a plugin with no packaging: a Python file by its path, or a module or object that holds hooks.

    Loading a file again replaces what it registered before.
    """
    return host().load_file(source) if isinstance(source, (str, Path)) else host().load_object(source)


def catalog(kind: str | None = None) -> list[Entry]:
    """Every registered part, or those of one kind; entries have .name .kind .summary .provider."""
    return _loaded().registry.entries(kind)


def kinds() -> list[Kind]:
    """Every kind of part: those of the core, then those that plugins declare."""
    return list(_loaded().registry.kinds.values())


@part_errors
def make(kind: str, spec: Any, *args: Any, **kwargs: Any) -> Any:
    """A part from a spec.

    Parameters
    ----------
    kind : str
        kernel, regularizer, smooth, block, method, extrapolation, step, stop, start, problem, or one that a plugin
        declares.
    spec : str, number or object
        ``"l1(0.01)"``; a bare number is the kind's ``constant``, if it has one; ``None`` is the regularizer H = 0; an
        object of the kind is returned as it is.
    *args, **kwargs
        Further parameters that a spec cannot spell, such as arrays: ``make("regularizer", "graph", L, mu=100)``.
    """
    registry = _loaded().registry
    if isinstance(spec, registry.kind(kind).types) and not (args or kwargs):
        check_claims(spec)
        return spec
    if spec is None and kind == REGULARIZER:
        return Zero()
    if (number := as_number(spec)) is not None:
        known = [entry.name for entry in registry.entries(kind)]
        if defaults.NUMBER not in known:
            raise number_alone(kind, number, known)
        spec = Spec(defaults.NUMBER, (number,))
    if isinstance(spec, str) and kind == KERNEL and ("*" in spec or "+" in spec):
        return _kernel_sum(spec)
    if isinstance(spec, str) and kind == defaults.JOINED and ("|" in spec or "&" in spec):
        return _joined(spec)
    if isinstance(spec, str) and ") +" in spec:
        raise no_sum(kind, spec)
    if isinstance(spec, str):
        spec = parse(spec)
    if not isinstance(spec, Spec):
        raise no_spec(kind, spec)
    return build(registry.get(kind, spec.name), spec.args + args, spec.kwargs | kwargs)


def _joined(text: str) -> StopRule:
    """``plateau & max-iterations(9) | target(1)``: & binds first, as in Python."""
    rules = ([make(defaults.JOINED, spec.strip()) for spec in part.split("&")] for part in text.split("|"))
    found: StopRule = functools.reduce(operator.or_, (functools.reduce(operator.and_, them) for them in rules))
    return found


def _kernel_sum(text: str) -> Kernel:
    """``3*psi1 + 2*psi2``."""
    terms = []
    for weight, spec in parse_sum(text):
        kernel = make(KERNEL, spec)
        if not isinstance(kernel, Kernel):
            raise SpecError(
                f"The kernel '{spec.name}' in {text!r} depends on W, and only kernels that do not can be added and "
                "scaled. Write a policy of your own, or name it alone."
            )
        if not weight > 0:
            raise SpecError(f"A kernel is scaled by a number > 0. Got {weight:g} in {text!r}.")
        terms.append(kernel if weight == 1 else weight * kernel)
    return functools.reduce(operator.add, terms)


@part_errors
def build(entry: Entry, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a factory; what it refuses becomes one error that names it."""
    try:
        inspect.signature(entry.factory).bind(*args, **kwargs)
    except ValueError:  # a class of Python itself, which has no signature
        pass
    except TypeError as error:
        raise ParameterError(
            f"The {entry.kind} '{entry.name}' was given the wrong parameters: {error}. "
            f"{meant(kwargs, inspect.signature(entry.factory).parameters)}It takes {_takes(entry.factory)}."
        ) from None
    try:
        part = entry.factory(*args, **kwargs)
    except BregoptError:
        raise
    except (TypeError, ValueError) as error:
        refusal = f"The {entry.kind} '{entry.name}' refused its parameters: {error}"
        raise ParameterError(f"{refusal}{author_of(error)}") from error
    kind = _loaded().registry.kind(entry.kind)
    if not isinstance(part, kind.types):
        raise wrong_result(entry.factory, "", f"a {kind.interface.__name__}, as '{entry.name}' is registered", part)
    check_claims(part)
    return part


def _takes(factory: Callable[..., Any]) -> str:
    shown = [
        str(p).split(":")[0] if p.default is p.empty else f"{p.name}={p.default!r}"
        for p in inspect.signature(factory).parameters.values()
    ]
    return ", ".join(shown) or "none"


@part_errors
def compose(name: Any, *args: Any, **kwargs: Any) -> ResolvedProblem:
    """A registered problem, ready to solve: ``compose("relu-nmd", M, rank=20, U="l1(0.01)")``.

    Parameters
    ----------
    name : str
        The problem; ``bo.catalog("problem")`` lists them, and ``bregopt plugins`` does with their parameters. Where the
        data stand in its place, as in ``compose("counts.csv", rank=20)``, it is relu-nmd, by default of rank 10.
    *args, **kwargs
        What the problem takes, its data first. Wherever it takes a matrix it takes a file's path too, a data frame of
        pandas or polars, or an AnnData. ``problem.labels`` are those of the data. Most problems take:

        rank : int
            Columns of U and rows of V: how many components the data are made of.
        U, V : str or Regularizer
            H on each factor, such as ``"l1(0.01)"`` for a sparse one or ``"nonneg"``. ``bo.Fixed(V0)`` keeps it.
        kernel : str or Kernel
            What measures a step; leave it out.
        mask, weights : array, optional
            Which entries are known, and how much each counts.

    Returns
    -------
    ResolvedProblem
        ``print(problem)`` tells what it is; ``bo.solve(problem)`` solves it.

    Examples
    --------
    >>> import numpy as np, bregopt as bo
    >>> M = np.maximum(0, np.random.default_rng(0).standard_normal((60, 40)))
    >>> problem = bo.compose("relu-nmd", M, rank=5, V="l1(0.01)")
    >>> result = bo.solve(problem, max_iterations=50)
    >>> result.Y.U.shape
    (60, 5)
    """
    if isinstance(name, (Problem, ResolvedProblem)):
        raise IncompatibleError("This is a problem already: give it to bregopt.solve.")
    nameless = is_data(name)
    if nameless and args and isinstance(args[0], str):
        raise IncompatibleError(f"The name of a problem comes before its data, as in compose({args[0]!r}, M).")
    if nameless:
        args, name = (name, *args), defaults.PROBLEM
    spec = parse(name)
    entry = _loaded().registry.get("problem", spec.name)
    given = arguments(entry.factory, spec.args + args, spec.kwargs | kwargs, known=_is_known)
    if nameless:
        given = given.with_rank()
    problem = cast(Problem, build(entry, given.args, given.kwargs))
    return resolve(problem if given.labels is None else evolve(problem, labels=given.labels))


@part_errors
def resolve(problem: Problem | ResolvedProblem, kernel: KernelPolicy | None = None) -> ResolvedProblem:
    """The problem with its oracle and the proximal map of its kernel, or of the one that a method puts in its place."""
    if isinstance(problem, ResolvedProblem):
        return problem
    if not isinstance(problem, Problem):
        raise IncompatibleError(f"Expected a bregopt.Problem, as compose(...) makes it. Got {brief(problem)} instead.")
    problem = with_parts(problem)
    if kernel is not None:
        problem = evolve(problem, kernel=kernel, prox=None)
    for part in (*problem.regularizer.distinct(), problem.kernel):
        check_claims(part)
    found = ResolvedKernel.of(
        problem.kernel, problem.prox or resolve_prox(problem.kernel.sample(), problem.regularizer)
    )
    return ResolvedProblem(
        **{it.name: getattr(problem, it.name) for it in fields(ProblemParts)},
        oracle=problem.oracle or resolve_oracle(problem),
        prox=found.prox,
        exact_prox=found.exact,
    )


def with_parts(problem: Problem) -> Problem:
    """The problem with the parts that it has by name."""
    H, kernel, start = problem.regularizer, problem.kernel, problem.start
    if isinstance(kernel, NamedKernel):
        kernel = make(KERNEL, kernel.spec)
    if any(isinstance(part, NamedRegularizer) for part in H.distinct()):
        H = Separable(_part(H[""]), **{name: _part(part) for name, part in H.named.items()})
    if start is None and problem.shapes is not None:
        start = make("start", defaults.START)
    if kernel is problem.kernel and H is problem.regularizer and start is problem.start:
        return problem
    return evolve(problem, kernel=kernel, regularizer=H, start=start)


def _part(H: Regularizer) -> Regularizer:
    found: Regularizer = make("regularizer", H.spec) if isinstance(H, NamedRegularizer) else H
    return found


def with_kernels(problem: ResolvedProblem, kernels: Iterable[KernelPolicy]) -> ResolvedProblem:
    """The problem with the proximal maps of further kernels at hand."""
    for kernel in kernels:
        if all(kernel is not known.policy for known in (problem.resolved_kernel, *problem.others)):
            prox = resolve_prox(kernel.sample(), problem.regularizer)
            problem = evolve(problem, others=(*problem.others, ResolvedKernel.of(kernel, prox)))
    return problem


def resolve_prox(kernel: Kernel, H: Separable) -> BregmanProx:
    """The first plugin's answer, or an error that names both and says what to implement."""
    prox = _answer("bregopt_resolve_prox", Callable, "a function (P, step, kernel)", kernel=kernel, regularizer=H)
    if prox is None:
        raise IncompatibleError(
            f"No plugin solves the Bregman proximal map of {H!r} with the kernel {kernel!r}. "
            "Implement the hook bregopt_resolve_prox(kernel, regularizer) for this pair, or choose another kernel."
        )
    return cast(BregmanProx, prox)


def resolve_oracle(problem: ProblemParts) -> Oracle:
    """The first plugin's answer, or the plain oracle."""
    smooth, block = problem.smooth, problem.block
    oracle = _answer("bregopt_resolve_oracle", Oracle, "an Oracle", smooth=smooth, block=block)
    return PlainOracle(smooth, block, problem.metrics) if oracle is None else cast(Oracle, oracle)


def resolve_data(data: Any) -> Any:
    """The data of a problem, or what the first plugin that knows them puts in their place."""
    found = _answer("bregopt_resolve_data", object, "data", data=data)
    return data if found is None else found


def _is_known(data: Any) -> bool:
    """Whether a plugin puts something in the place of data."""
    return _answer("bregopt_resolve_data", object, "data", data=data) is not None


@part_errors
def _answer(hook: str, kind: Any, rule: str, **arguments: Any) -> Any:
    """What the first plugin answers, if it is of that kind."""
    caller = getattr(_loaded().manager.hook, hook)
    found = caller(**arguments)
    if found is None or isinstance(found, kind):
        return found
    raise wrong_result(_who_answers(caller, arguments), "", f"{rule}, or None", found)


def _who_answers(caller: HookCaller, arguments: dict[str, Any]) -> Callable[..., object]:
    """The function of the plugin whose answer is taken, found by asking again."""
    asked = [hook for hook in reversed(caller.get_hookimpls()) if not (hook.wrapper or hook.hookwrapper)]
    return next(hook.function for hook in asked if _ask(hook, arguments) is not None)


def _ask(hook: HookImpl, arguments: dict[str, Any]) -> Any:
    """One plugin's answer; a hook may leave arguments out."""
    return hook.function(*(arguments[name] for name in hook.argnames))


@part_errors
def examples(kind: str, provider: str | None = None) -> list[tuple[str, Any]]:
    """Every plugin's small instances of a kind, or those of the plugin of that label, with their own labels."""
    _loaded().registry.kind(kind)
    hooks = _loaded().manager.hook.bregopt_examples.get_hookimpls()
    return [pair for hook in hooks if provider in (None, hook.plugin_name) for pair in _examples_of(hook, kind)]


def _examples_of(hook: HookImpl, kind: str) -> list[tuple[str, Any]]:
    answer = _ask(hook, {"kind": kind})
    try:
        found = [(str(label), part) for label, part in answer or ()]
    except (TypeError, ValueError):
        raise wrong_result(hook.function, "", "pairs (label, part), or None", answer) from None
    for _, part in found if kind == "problem" else ():
        problem, Y = pair(hook.function, "", part, "Problem, Blocks")
        instance(hook.function, "", problem, (Problem, ResolvedProblem), "a Problem with each Y")
        instance(hook.function, "", Y, Blocks, "Blocks with each Problem")
    return found


@part_errors
def warm_ups() -> list[tuple[str, Callable[[], object]]]:
    """Every plugin's short runs for ``bregopt warm-up``, with their labels."""
    hooks = _loaded().manager.hook.bregopt_warm_up.get_hookimpls()
    return [(label, part_errors(work)) for hook in hooks for label, work in _warm_ups_of(hook)]


def _warm_ups_of(hook: HookImpl) -> list[tuple[str, Callable[[], object]]]:
    answer = _ask(hook, {})
    try:
        found = [(str(label), work) for label, work in answer or ()]
    except (TypeError, ValueError):
        found = [("", None)]
    if not all(callable(work) for _, work in found):
        raise wrong_result(hook.function, "", "pairs (label, function), or None", answer)
    return found


def bregman_prox(kernel: Kernel | str, H: Separable | Regularizer | str) -> Callable[[Blocks, float], Blocks]:
    """``(P, step) -> argmin_Y  step·H(Y) + ⟨P, Y⟩ + ψ(Y)``, for one kernel.

    Raises IncompatibleError where no plugin covers the pair.
    """
    psi = make("kernel", kernel)
    if not isinstance(psi, Kernel):
        raise IncompatibleError(f"bregman_prox needs a kernel, not one that depends on W. Got {psi!r} instead.")
    separable = H if isinstance(H, Separable) else Separable(make("regularizer", H))
    prox = resolve_prox(psi, separable)
    return lambda P, step: prox(P, step, psi)


def command_hooks() -> dict[str, Callable[..., object]]:
    """``bregopt_commands`` of every plugin that has one, by the plugin's label and in the order of loading."""
    hooks = _loaded().manager.hook.bregopt_commands.get_hookimpls()
    return {hook.plugin_name: hook.function for hook in hooks}
