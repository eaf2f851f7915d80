"""A short program for each registered part, by its kind. A part that is new gets one without further work."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import bregopt as bo
from bregopt.errors import BregoptError
from bregopt.host.compose import examples

HEAD = "import numpy as np\nimport bregopt as bo\n\n"
RANDOM = """\
rng = np.random.default_rng(0)
X = rng.standard_normal((30, 3)) @ rng.standard_normal((3, 20))
"""
MATRICES = {
    "M = rng.standard_normal((30, 2)) @ rng.standard_normal((2, 20))": "a matrix of rank 2",
    "M = np.abs(rng.standard_normal((30, 2)) @ rng.standard_normal((2, 20)))": "its absolute values",
    "M = np.sign(rng.standard_normal((30, 2)) @ rng.standard_normal((2, 20)))": "its signs",
    "M = np.clip(np.rint(3 + rng.standard_normal((30, 2)) @ rng.standard_normal((2, 20))), 1, 5)": "marks from 1 to 5",
    "M = np.clip(np.rint(2 + rng.standard_normal((30, 2)) @ rng.standard_normal((2, 20))), 1, 2)": "marks 1 and 2",
}
"""Data that a loss may be for, in the order in which they are tried."""
PROBLEMS = {
    'problem = bo.compose("relu-nmd", np.maximum(0, X), rank=3)': "relu-nmd",
    'problem = bo.compose("nmf", np.abs(X), rank=3)': "nmf",
    'problem = bo.compose("low-rank", X, rank=3, U="ridge(0.1)", V="l1(0.1)")': "low-rank",
    'problem = bo.compose("low-rank", X, rank=3)': "low-rank",
    "graph = np.roll(np.eye(30), 1, axis=0) + np.roll(np.eye(30), -1, axis=0)\n"
    'problem = bo.compose("graph-nmf", np.abs(X), rank=3, graph=graph)': "graph-nmf",
    'problem = bo.compose("low-rank", X, rank=3, U="l1-minus-ridge(0.5, 0.01)", V="ridge(0.1)")': "low-rank",
}
"""Problems that a method may be for, in the order in which they are tried."""


def spec(entry: Any) -> str | None:
    """A spec with parameters, if its provider gives an example of one, or the name if it needs none."""
    for label, _ in examples(entry.kind):
        if label.partition("(")[0] == entry.name and _makes(entry.kind, label):
            return str(label)
    return entry.name if _makes(entry.kind, entry.name) else None


def _makes(kind: str, spec: str) -> bool:
    try:
        bo.make(kind, spec)
    except BregoptError:
        return False
    return True


def recipe(entry: Any) -> str | None:
    """The program, or None for a part of a kind without one."""
    maker = RECIPES.get(entry.kind)
    it = spec(entry)
    return maker(entry, it) if maker and it is not None else None


def _regularizer(entry: Any, it: str) -> str:
    return (
        HEAD + f'H = bo.make("regularizer", "{it}")\n'
        "X = np.array([[1.5, -0.2, 0.9], [-0.7, 0.1, -2.0]])\n"
        'print(f"H(X) = {H.value(X):.3g}")\n'
        "print(H.prox(X, 1.0).round(3))\n\n"
        "rng = np.random.default_rng(0)\n"
        "M = rng.standard_normal((30, 2)) @ rng.standard_normal((2, 20))\n"
        f'problem = bo.compose("low-rank", M, rank=2, V="{it}")\n'
        "result = bo.solve(problem, max_iterations=50)\n"
        "print(result.answer)\n"
    )


def _kernel(entry: Any, it: str) -> str:
    if not isinstance(bo.make("kernel", it), bo.Kernel):
        return (
            HEAD + RANDOM + f'problem = bo.compose("relu-nmd", np.maximum(0, X), rank=3, kernel="{it}")\n'
            'result = bo.solve(problem, method="aapb", seed=0, max_iterations=50)\n'
            "print(problem.kernel)\n"
            'print(f"objective {result.objective:.3g} after {result.counts.products:.0f} products")\n'
        )
    return (
        HEAD + f'psi = bo.make("kernel", "{it}")\n'
        "Y = bo.Blocks(U=np.array([[0.5], [0.2]]), V=np.array([[0.3, 0.6]]))\n"
        "Z = bo.Blocks(U=np.array([[0.4], [0.4]]), V=np.array([[0.2, 0.8]]))\n"
        'print(f"ψ(Y) = {psi.value(Y):.4f}")\n'
        'print("∇ψ(Y) =", psi.gradient(Y).flat.round(4))\n'
        'print(f"D_ψ(Y, Z) = {psi.divergence(Y, Z):.4f}")\n'
    )


def _loss(entry: Any, it: str) -> str | None:
    loss = bo.make("loss", it)
    for line in MATRICES:
        names: dict[str, Any] = {"np": np, "rng": np.random.default_rng(0)}
        exec(line, names)
        if not np.all(loss.fits(names["M"])):
            continue
        try:
            bo.compose("low-rank", names["M"], rank=2, loss=it)
        except BregoptError:
            continue
        return (
            HEAD + f'loss = bo.make("loss", "{it}")\n'
            'print("   x      e  slope  curvature")\n'
            "for x in (-1.0, 0.0, 0.5, 2.0):\n"
            "    e, slope, curvature = loss.entry(x, 1.0, *loss.parameters)\n"
            '    print(f"{x:4} {e:6.3f} {slope:6.3f} {curvature:10.3f}")\n\n'
            f"rng = np.random.default_rng(0)\n{line}\n"
            f'problem = bo.compose("low-rank", M, rank=2, loss="{it}")\n'
            "result = bo.solve(problem, max_iterations=50)\n"
            "print(result.answer)\n"
        )
    return None


def taken(method: str) -> Iterator[tuple[str, str]]:
    """The problems of the list that a method takes: their lines, and their names."""
    for line, name in PROBLEMS.items():
        names: dict[str, Any] = {"np": np, "bo": bo, "X": np.random.default_rng(0).standard_normal((30, 20))}
        exec(line, names)
        try:
            bo.solve(names["problem"], method=method, max_iterations=1)
        except BregoptError:
            continue
        yield line, name


def _method(entry: Any, it: str) -> str | None:
    for line, _ in taken(it):
        return (
            HEAD + RANDOM + f"{line}\n"
            f'result = bo.solve(problem, method="{it}", seed=0, max_iterations=50)\n'
            "print(result.answer)\n"
            'print(f"{result.iterations} iterations, {result.counts.products:.0f} products")\n'
            "print(result.certificate.plain())\n"
        )
    return None


def _rule(argument: str, column: str) -> Callable[[Any, str], str]:
    def recipe(entry: Any, it: str) -> str:
        return (
            HEAD + RANDOM + 'problem = bo.compose("relu-nmd", np.maximum(0, X), rank=3)\n'
            f'result = bo.solve(problem, method="aapb({argument}={it})", seed=0, max_iterations=40)\n'
            f'print(np.round(result.history["{column}"][1:9], 3))\n'
            'print(f"objective {result.objective:.3g} after {result.counts.products:.0f} products")\n'
            'print("guaranteed:", result.certificate.guaranteed)\n'
        )

    return recipe


def _stop(entry: Any, it: str) -> str:
    return (
        HEAD + RANDOM + 'problem = bo.compose("relu-nmd", np.maximum(0, X), rank=3)\n'
        f'result = bo.solve(problem, method="aapb", seed=0, stop="{it} | max-iterations(500)")\n'
        "print(result.status.value, result.converged)\n"
        "print(result.reason)\n"
    )


def _start(entry: Any, it: str) -> str:
    return (
        HEAD + "rng = np.random.default_rng(0)\n"
        "M = np.abs(rng.standard_normal((30, 3)) @ rng.standard_normal((3, 20)))\n"
        'problem = bo.compose("low-rank", M, rank=3)\n'
        f'first = next(bo.iterate(problem, start="{it}", seed=0))\n'
        'print(first.Y, f"objective {first.objective:.4g}")\n'
        f'result = bo.solve(problem, start="{it}", seed=0, max_iterations=50)\n'
        "print(result.answer)\n"
    )


def _dataset(entry: Any, it: str) -> str:
    return (
        f'import bregopt as bo\n\ndata = bo.make("dataset", "{it}")\n'
        "print(type(data.M).__name__, data.M.shape)\n"
        "result = bo.solve(data.M, max_iterations=20, seed=0)\n"
        "print(result.answer)\n"
    )


def _model(entry: Any, it: str) -> str:
    return (
        HEAD + "rng = np.random.default_rng(0)\n"
        "M = rng.standard_normal((30, 3)) @ rng.standard_normal((3, 20))\n"
        f'problem = bo.compose("low-rank", M, rank=3, model="{it}")\n'
        "result = bo.solve(problem, max_iterations=50)\n"
        "print(result.Y)\nprint(result.answer)\n"
    )


RECIPES: dict[str, Callable[[Any, str], str | None]] = {
    "regularizer": _regularizer,
    "kernel": _kernel,
    "loss": _loss,
    "method": _method,
    "extrapolation": _rule("beta", "beta"),
    "step": _rule("step", "step"),
    "stop": _stop,
    "start": _start,
    "dataset": _dataset,
    "model": _model,
}


def parameters(entry: Any) -> list[tuple[str, str]]:
    """The parameters of a part, with their defaults as they are written."""
    shown = []
    for it in inspect.signature(entry.factory).parameters.values():
        if it.kind is it.VAR_KEYWORD:
            shown.append((f"{it.name}…", ""))
        else:
            shown.append((it.name, "" if it.default is it.empty else repr(it.default)))
    return shown
