"""A picture of a part: what it does, drawn by asking it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import bregopt as bo
from bregopt.errors import BregoptError
from bregopt_site import recipes

INK, ACCENT, SECOND, SOFT = "#1b2a41", "#d1495b", "#00798c", "#9aa5b1"
STYLE = {
    "axes.edgecolor": SOFT,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 12,
    "figure.constrained_layout.use": True,
    "font.family": "DejaVu Sans",
    "font.size": 11,
    "legend.frameon": False,
    "svg.hashsalt": "bregopt",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}
WIDE = (6.0, 2.8)


def draw(entry: Any, file: Path) -> str | None:
    """Draw a part into a file, and say what is seen; None for a kind without a picture."""
    painter = PAINTERS.get(entry.kind)
    it = recipes.spec(entry)
    if painter is None:
        return None
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    with plt.rc_context(STYLE):
        try:
            seen = painter(plt, entry, it)
            if seen:
                file.parent.mkdir(parents=True, exist_ok=True)
                plt.savefig(file, metadata={"Date": None})
        finally:
            plt.close("all")
    return seen


def home(file: Path) -> None:
    """The picture of the first page, of the data of its example."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    angle = np.linspace(0, 2 * np.pi, 120, endpoint=False)
    M = np.maximum(0, np.cos(angle[:, None] - angle) - 0.5)
    usual = bo.solve(bo.compose("low-rank", M, rank=3), method="tsvd")
    ours = bo.solve(bo.compose("relu-nmd", M, rank=3), start="tsvd", tolerance=1e-6)
    shown = {"the data": M}
    for name, result in (("SVD", usual), ("bregopt", ours)):
        shown[f"3 patterns, {name}: error {bo.percent(result.metrics['relative_error'])}"] = np.asarray(
            result.reconstruct()
        )
    with plt.rc_context(STYLE):
        _, panes = plt.subplots(1, 3, figsize=(7.6, 3.1))
        for pane, (title, data) in zip(panes, shown.items(), strict=True):
            pane.pcolormesh(data, cmap="RdBu_r", vmin=-M.max(), vmax=M.max(), rasterized=True)
            pane.invert_yaxis()
            pane.set_aspect("equal")
            pane.set(xticks=[], yticks=[])
            pane.set_title(title.replace(": ", "\n"), fontsize=13)
        plt.savefig(file, metadata={"Date": None}, dpi=180)
        plt.close("all")


def _regularizer(plt: Any, entry: Any, it: str | None) -> str | None:
    H, label = (bo.make("regularizer", it), it) if it else (_graph(), "graph(L, mu=0.5)")
    if bo.Trait.SEPARABLE in H.traits:
        return _scalar(plt, H, label)
    return _matrix(plt, H, label)


def _graph() -> Any:
    path = 2.0 * np.eye(8) - np.eye(8, k=1) - np.eye(8, k=-1)
    path[0, 0] = path[-1, -1] = 1.0
    return bo.make("regularizer", "graph", path, mu=0.5)


def _scalar(plt: Any, H: Any, label: str) -> str:
    x = np.linspace(-3.0, 3.0, 601)
    values = np.array([H.value(np.array([[entry]])) for entry in x])
    moved = np.array([H.prox(np.array([[entry]]), 1.0)[0, 0] for entry in x])
    _, (left, right) = plt.subplots(1, 2, figsize=WIDE)
    finite = np.isfinite(values)
    left.plot(x[finite], values[finite], color=SECOND, lw=2.2)
    if not finite.all():
        left.axvspan(-3, x[finite].min(), color=SOFT, alpha=0.18, lw=0)
        left.axvspan(x[finite].max(), 3, color=SOFT, alpha=0.18, lw=0)
    left.set(title="h(x)", xlabel="x", xlim=(-3, 3))
    top = values[finite].max()
    left.set_ylim(min(0.0, values[finite].min()) - 0.05 * max(top, 1), max(1.1 * top, 0.5))
    right.axhline(0, color=SOFT, lw=0.8)
    right.plot(x, x, color=SOFT, lw=1, ls="--")
    jumps = np.abs(np.diff(moved)) > 0.2
    shown = np.insert(moved, np.flatnonzero(jumps) + 1, np.nan)
    right.plot(np.insert(x, np.flatnonzero(jumps) + 1, np.nan), shown, color=ACCENT, lw=2.2)
    right.set(title="prox(x) at step 1", xlabel="x", xlim=(-3, 3), ylim=(-3.2, 3.2))
    grey = " Grey is where h is infinite." if not finite.all() else ""
    return (
        f"Left: h(x), of which H is the sum, for {label}.{grey} Right: what its proximal map makes of x; dashed is x."
    )


def _matrix(plt: Any, H: Any, label: str) -> str | None:
    rng = np.random.default_rng(4)
    shape = (8, 6)
    if "group([" in label:
        H, label, shape = bo.make("regularizer", "group([0, 0, 0, 1, 1, 2, 2, 2], 2)"), "group(…, 2)", (8, 6)
    X = rng.standard_normal((shape[0], 1)) @ rng.standard_normal((1, shape[1])) + 0.5 * rng.standard_normal(shape)
    try:
        after = H.prox(X, 1.0)
    except BregoptError:
        return None
    _, panes = plt.subplots(1, 2, figsize=WIDE)
    size = float(np.abs(X).max())
    for pane, data, title in zip(panes, (X, after), ("X", "prox(X) at step 1"), strict=True):
        drawn = pane.pcolormesh(data, cmap="RdBu_r", vmin=-size, vmax=size, edgecolors="white", linewidth=0.6)
        pane.invert_yaxis()
        pane.set(title=title, xticks=[], yticks=[])
        pane.set_aspect("equal")
        for side in pane.spines.values():
            side.set_visible(False)
        for row, column in np.argwhere(np.abs(data) < 1e-12):
            pane.plot(column + 0.5, row + 0.5, ".", color=SOFT, ms=3)
    plt.colorbar(drawn, ax=panes, shrink=0.8)
    return f"A matrix, and what the proximal map of {label} makes of it. A dot is an entry that is exactly zero."


def _kernel(plt: Any, entry: Any, it: str | None) -> str | None:
    made = bo.make("kernel", it) if it else _needing_parameters(entry)
    psi = made if isinstance(made, bo.Kernel) else made.sample()
    positive = not psi.contains(_pair(-0.5, -0.5))
    bounded = positive and not psi.contains(_pair(1.5, 1.5))
    low, high = (0.02, 0.98) if bounded else (0.05, 3.0) if positive else (-2.0, 2.0)
    at = (0.35, 0.6) if bounded else (1.0, 1.6) if positive else (0.8, 0.5)
    line = np.linspace(low, high, 241)
    _, (left, right) = plt.subplots(1, 2, figsize=WIDE)
    values = np.array([psi.value(_pair(t, at[1])) for t in line])
    point = _pair(*at)
    slope = float(psi.gradient(point).U[0, 0])
    left.plot(line, values, color=SECOND, lw=2.2, label="ψ")
    left.plot(line, psi.value(point) + slope * (line - at[0]), color=SOFT, lw=1.2, ls="--", label="tangent")
    left.plot(at[0], psi.value(point), "o", color=ACCENT, ms=6)
    left.set(title=f"ψ at v = {at[1]:g}", xlabel="u")
    left.legend()
    grid = np.linspace(low, high, 81)
    D = np.array([[psi.divergence(_pair(u, v), point) for u in grid] for v in grid])
    levels = np.quantile(D, (0.02, 0.08, 0.18, 0.32, 0.5, 0.7))
    right.contour(grid, grid, D, levels=np.unique(levels), colors=SECOND, linewidths=1.4)
    right.plot(*at, "o", color=ACCENT, ms=6)
    right.set(title="level sets of D(·, z)", xlabel="u", ylabel="v")
    right.set_aspect("equal")
    named = f"{entry.name}, for a W of norm 1" if psi is not made else (it or entry.name)
    return (
        f"The kernel {named}, for blocks of one number each, u and v. Left: ψ and its tangent at the red point z; the "
        "gap between them is the divergence. Right: where the divergence from z is the same."
    )


def _needing_parameters(entry: Any) -> Any:
    return bo.make("kernel", "fixed(1)") if entry.name == "fixed" else bo.make("kernel", "block-quadratic(U=3, V=0.5)")


def _pair(u: float, v: float) -> bo.Blocks:
    return bo.Blocks(U=np.array([[float(u)]]), V=np.array([[float(v)]]))


def _loss(plt: Any, entry: Any, it: str | None) -> str | None:
    loss = bo.make("loss", it)
    wanted = [m for m in (0.0, 1.0, -1.0, 2.0, 3.0) if loss.fits(np.array([m])).all()][:2]
    x = np.linspace(-3.0, 4.0, 351)
    upper = (1.5,) if entry.name == "interval" else ()
    _, panes = plt.subplots(1, 2, figsize=WIDE, sharex=True)
    for m, color in zip(wanted, (SECOND, ACCENT), strict=False):
        rows = np.array([loss.entry(float(t), m, *(m + u for u in upper), *loss.parameters)[:2] for t in x])
        for pane, column in zip(panes, rows.T, strict=True):
            jumps = np.flatnonzero(np.abs(np.diff(column)) > 0.3) + 1
            pane.plot(
                np.insert(x, jumps, np.nan), np.insert(column, jumps, np.nan), color=color, lw=2, label=f"m = {m:g}"
            )
    panes[0].set(title="e(x; m)", xlabel="x", ylim=(-0.1, 4.5))
    panes[1].set(title="slope", xlabel="x")
    panes[1].axhline(0, color=SOFT, lw=0.8)
    panes[0].legend()
    ends = " The upper end of the interval is m + 1.5." if upper else ""
    return f"What an entry x of the model costs where the data say m, for {it}, and the slope of that.{ends}"


def _method(plt: Any, entry: Any, it: str | None) -> str | None:
    for line, name in recipes.taken(it or entry.name):
        rng = np.random.default_rng(0)
        names: dict[str, Any] = {"np": np, "bo": bo}
        names["X"] = rng.standard_normal((30, 3)) @ rng.standard_normal((3, 20)) + 0.1 * rng.standard_normal((30, 20))
        exec(line, names)
        return _race(plt, names["problem"], it or entry.name, name)
    return None


def _race(plt: Any, problem: Any, method: str, name: str) -> str:
    reference = "apb" if method == "aapb" else "aapb"
    _, pane = plt.subplots(figsize=(5.8, 3.1))
    for label, color, width in ((reference, SOFT, 1.6), (method, ACCENT, 2.4)):
        try:
            result = bo.solve(problem, method=label, seed=0, stop="max-products(250) | max-iterations(80)")
        except BregoptError:  # what aapb does not take
            continue
        history = result.history
        pane.plot(history["products"], history["objective"], color=color, lw=width, label=label)
    pane.set(xlabel="products of 2·m·n·r flops", ylabel="objective", xlim=(0, 250))
    pane.set_yscale("log")
    pane.legend()
    return (
        f"The objective by the products spent, for {method} on a small {name} problem: 30×20, rank 3. "
        f"{reference} is shown for comparison. One small problem says little about which is better on yours."
    )


def _rule(argument: str, column: str, letter: str) -> Callable[[Any, Any, str | None], str | None]:
    def paint(plt: Any, entry: Any, it: str | None) -> str | None:
        rng = np.random.default_rng(0)
        X = rng.standard_normal((30, 3)) @ rng.standard_normal((3, 20))
        problem = bo.compose("relu-nmd", np.maximum(0, X), rank=3)
        result = bo.solve(problem, method=f"aapb({argument}={it})", seed=0, stop="max-iterations(60)")
        _, pane = plt.subplots(figsize=(5.8, 2.7))
        pane.plot(result.history[column], color=ACCENT, lw=2)
        pane.set(xlabel="iteration k", ylabel=letter)
        return f"{letter} of the first 60 iterations of aapb({argument}={it}) on a small ReLU-NMD problem."

    return paint


def _dataset(plt: Any, entry: Any, it: str | None) -> str | None:
    if it is None:
        return None
    M = bo.make("dataset", it).M
    dense = np.asarray(M.todense() if hasattr(M, "todense") else M, dtype=float)
    _, pane = plt.subplots(figsize=(4.6, 3.2))
    pane.imshow(
        dense[:200, :200], cmap="Blues", aspect="auto", interpolation="nearest", vmax=np.quantile(dense, 0.995) or 1
    )
    pane.set(xticks=[], yticks=[], title=f"{it}: {dense.shape[0]}×{dense.shape[1]}")
    return "The first rows and columns of the matrix; darker is larger."


PAINTERS: dict[str, Callable[[Any, Any, str | None], str | None]] = {
    "regularizer": _regularizer,
    "kernel": _kernel,
    "loss": _loss,
    "method": _method,
    "extrapolation": _rule("beta", "beta", "β"),
    "step": _rule("step", "step", "λ"),
    "dataset": _dataset,
}
