"""``bregopt bench models``: iterations on every model and every open domain, against loops written by hand in NumPy."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, final

import click
import numpy as np
from attrs import frozen

import bregopt
from bregopt import ResolvedProblem
from bregopt.errors import IncompatibleError
from bregopt_bench.display import (
    json_option,
    milliseconds,
    print_machine,
    print_table,
    ratio,
    repeats_option,
    status_line,
)
from bregopt_bench.measuring import best_seconds, machine
from bregopt_bench.speed import model_loops as by_hand
from bregopt_bench.speed.matrices import SEED

Loop = Callable[[Any, int], tuple[tuple[Any, ...], list[float]]]
"""``(the blocks of Y⁰, iterations) -> (the blocks then, the objectives)``."""
ETA = 0.01
H = f"l1({ETA})"
AGREES = 1e-8
"""How far the blocks may be apart, against the largest of their entries."""
NOTE = (
    "An iteration in ms, with the objective. plain: by a loop written by hand in NumPy. library/plain: below 1 the "
    "library is the faster one. apart: the largest difference of the blocks after {iterations} iterations, against "
    "their largest entry. Times are the best of {repeats} rounds of {iterations} iterations."
)


@final
@frozen(eq=False)
class Case:
    """A problem with data drawn at random, and the loops by hand for it, by method."""

    model: str
    shape: tuple[int, ...]
    rank: int | None
    problem: ResolvedProblem
    loops: Mapping[str, Loop]

    @property
    def size(self) -> str:
        return "×".join(map(str, self.shape))


@click.command(short_help="Iterations on every model, against loops written by hand in NumPy.")
@click.option("--model", "models", metavar="NAME", multiple=True, help="Repeat for more.  [default: all of them]")
@click.option("--scale", type=click.FloatRange(0, min_open=True), default=1.0, show_default=True, help="Of every size.")
@click.option("--iterations", metavar="N", type=click.IntRange(1), default=30, show_default=True, help="Of each loop.")
@repeats_option
@json_option
def models(models: Sequence[str], scale: float, iterations: int, repeats: int, as_json: bool) -> None:
    """Time iterations of apb and palm on every model but UV, and on Poisson data, against the same in plain NumPy.

    The loop is what a researcher would write for this model alone, with least squares and an l1 term. Both have to
    reach the same blocks, to eight digits. For the model UV and other losses there is 'bregopt bench loop'.

    \b
    Examples:
      bregopt bench models
      bregopt bench models --model cp --model chain
      bregopt bench models --scale 0.1
    """
    for name in models:
        if name not in MODELS:
            raise click.UsageError(f"There is no model '{name}' to be measured. There are: {', '.join(MODELS)}.")
    facts, rows = machine(), []
    with status_line(not as_json) as show:
        for name in models or MODELS:
            for case in MODELS[name](np.random.default_rng(SEED), scale):
                for method in case.loops:
                    show(f"measuring {method}, {case.model}, {case.size}")
                    rows.append(row(case, method, iterations, repeats))
    if as_json:
        record = {"machine": facts, "repeats": repeats, "iterations": iterations, "rows": rows}
        click.echo(json.dumps(record, indent=2, allow_nan=False))
        return
    print_machine(facts)
    print_models(rows, iterations, repeats)


def row(case: Case, method: str, iterations: int, repeats: int) -> dict[str, Any]:
    """Seconds of an iteration by both loops, which have to agree."""
    run = bregopt.iterate(case.problem, method=method)
    Y = next(run).Y
    begin, plain = run.moment(), case.loops[method]

    def library() -> Any:
        with run.working():  # as in a run
            run.go_on_from(begin)
            for _ in range(iterations):
                state = next(run)
            return state.Y

    def hand() -> Any:
        return plain(tuple(Y), iterations)[0]

    apart = difference(tuple(library()), hand())
    if not apart <= AGREES:
        raise IncompatibleError(f"The loops of {method} on {case.model} differ by {apart:.1e}: one of them is wrong.")
    seconds = best_seconds({"library": lambda: library}, {"plain": lambda: hand}, repeats=repeats)
    ours, theirs = (seconds[name] / iterations for name in ("library", "plain"))
    return {
        "model": case.model,
        "shape": case.shape,
        "rank": case.rank,
        "method": method,
        "library_seconds": ours,
        "plain_seconds": theirs,
        "library_over_plain": ours / theirs,
        "apart": apart,
    }


def difference(ours: Sequence[Any], theirs: Sequence[Any]) -> float:
    """The largest difference of two lists of blocks, against the largest entry."""
    largest = max(float(np.abs(X).max()) for X in ours)
    return max(float(np.abs(X - Z).max()) for X, Z in zip(ours, theirs, strict=True)) / largest


def print_models(rows: Sequence[dict[str, Any]], iterations: int, repeats: int) -> None:
    shown = [
        {
            "model": row["model"],
            "data": "×".join(map(str, row["shape"])),
            "r": str(row["rank"] or "–"),
            "method": row["method"],
            "plain": milliseconds(row["plain_seconds"]),
            "library": milliseconds(row["library_seconds"]),
            "library/plain": ratio(row["library_over_plain"]),
            "apart": f"{row['apart']:.0e}",
        }
        for row in rows
    ]
    print_table(shown, NOTE.format(iterations=iterations, repeats=repeats))


def _composed(M: Any, model: Any, **options: Any) -> ResolvedProblem:
    return bregopt.compose("low-rank", M, model=model, loss="least-squares", **options)


def _powers(problem: ResolvedProblem, *powers: float) -> dict[str, Any]:
    """The weights a, b, … of ``‖Y‖^p/p`` in the kernel that the library takes."""
    kernel: Any = problem.kernel.pick(reduced=True).sample()
    weights = {4.0: kernel.a, 2.0: kernel.b, **kernel.kappa}
    return dict(zip("ab", (weights[p] for p in powers), strict=False))


def _sizes(scale: float, *shapes: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for shape in shapes:
        yield tuple(max(4, round(scale * it)) for it in shape)


def _rank(rank: int, shape: tuple[int, ...]) -> int:
    return min(rank, *shape)


def _symmetric(rng: np.random.Generator, scale: float) -> Iterator[Case]:
    for shape in _sizes(scale, (400, 400), (1000, 1000)):
        r, B = _rank(20, shape), rng.random(shape)
        M = B + B.T
        problem = bregopt.compose("symmetric", M, rank=r, U=H)  # which sees that M is the same across the diagonal
        apb = partial(by_hand.symmetric_apb, M=M, eta=ETA, **_powers(problem, 4, 2))
        yield Case("symmetric", shape, r, problem, {"apb": apb})


def _cp(rng: np.random.Generator, scale: float) -> Iterator[Case]:
    for shape in _sizes(scale, (60, 50, 40), (120, 100, 80), (200, 150, 100)):
        r, T = _rank(10, shape), rng.random(shape)
        problem = _composed(T, "cp(3)", rank=r, U1=H, U2=H, U3=H)
        apb = partial(by_hand.cp_apb, T=T, eta=ETA, **_powers(problem, 6, 3))
        yield Case("cp", shape, r, problem, {"apb": apb, "palm": partial(by_hand.cp_palm, T=T, eta=ETA)})


def _chain(rng: np.random.Generator, scale: float) -> Iterator[Case]:
    for shape in _sizes(scale, (400, 300), (1500, 1000)):
        r, M = _rank(20, shape), rng.random(shape)
        problem = _composed(M, "chain(3)", rank=r, U1=H, U2=H, U3=H)
        apb = partial(by_hand.chain_apb, M=M, eta=ETA, **_powers(problem, 6, 3))
        yield Case("chain", shape, r, problem, {"apb": apb, "palm": partial(by_hand.chain_palm, M=M, eta=ETA)})


def _with_bias(rng: np.random.Generator, scale: float) -> Iterator[Case]:
    for shape in _sizes(scale, (400, 300), (1500, 1000)):
        r, M = _rank(20, shape), rng.random(shape)
        problem = _composed(M, "with-bias", rank=r, U=H, V=H, a=H, b=H)
        apb = partial(by_hand.biased_apb, M=M, eta=ETA, **_powers(problem, 4, 2))
        yield Case("with-bias", shape, r, problem, {"apb": apb})


def _linear(rng: np.random.Generator, scale: float) -> Iterator[Case]:
    for shape in _sizes(scale, (1000, 500), (3000, 1000), (6000, 3000)):
        A = rng.standard_normal(shape)
        b = A @ rng.standard_normal(shape[1]) + rng.standard_normal(shape[0])
        problem = _composed(b, bregopt.make("model", "linear", A), x=H)
        L = float(problem.kernel.pick(reduced=True).sample().strong_convexity)
        loops = {
            method: partial(by_hand.linear, A=A, b=b[:, None], L=more * L, eta=ETA)
            for method, more in (("apb", 1.0), ("palm", by_hand.GROWN))
        }
        yield Case("linear", shape, None, problem, loops)


def _convolution(rng: np.random.Generator, scale: float) -> Iterator[Case]:
    for shape in _sizes(scale, (256, 256), (512, 512)):
        size = tuple(min(15, it) for it in shape)
        M = rng.random(shape)
        problem = _composed(M, bregopt.make("model", "convolution", size), k=H, x=H)
        apb = partial(by_hand.convolution_apb, M=M, eta=ETA, **_powers(problem, 4, 2))
        palm = partial(by_hand.convolution_palm, M=M, eta=ETA)
        yield Case("convolution", shape, None, problem, {"apb": apb, "palm": palm})


def _poisson(rng: np.random.Generator, scale: float, reverse: bool) -> Iterator[Case]:
    loop, name = (by_hand.shannon, "shannon") if reverse else (by_hand.burg, "burg")
    for shape in _sizes(scale, (1000, 500), (2000, 1000), (4000, 2000)):
        A = rng.random(shape)
        b = rng.poisson(A @ rng.random(shape[1])) + 1.0
        problem = bregopt.compose("poisson", A, b, reverse=reverse)
        kernel: Any = problem.kernel.pick(reduced=True).sample()
        yield Case(name, shape, None, problem, {"apb": partial(loop, A=A, b=b, w=kernel.of_block("x"))})


MODELS: dict[str, Callable[[np.random.Generator, float], Iterator[Case]]] = {
    "symmetric": _symmetric,
    "cp": _cp,
    "chain": _chain,
    "with-bias": _with_bias,
    "linear": _linear,
    "convolution": _convolution,
    "burg": partial(_poisson, reverse=False),
    "shannon": partial(_poisson, reverse=True),
}
