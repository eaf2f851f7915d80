"""The curves of one run, or of several: how the objective and the errors fell."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bregopt.blocks import Array
from bregopt.engine.history import COLUMNS
from bregopt.engine.result import Result
from bregopt.errors import IncompatibleError
from bregopt.reports.drawing import COLOURS, Figure, figure, tidy, write_figure

DECADES = 20.0
"""The ratio of the largest value to the smallest from which on an axis goes by powers of ten."""
DETAIL = "model_residual"
"""A metric that no curve shows: it hides behind the error."""
DASHES = ("-", "--", ":", "-.")


def plot(results: Result | Mapping[str, Result] | Iterable[Result], path: str | Path | None = None) -> Figure:
    """Draw how a run went, or several runs beside each other.

    Parameters
    ----------
    results : Result, mapping or iterable of Results
        One run is drawn by its iterations, several by their seconds. A mapping names them, ``{"els": result, …}``.
    path : str or Path, optional
        A file to write the picture to: .png, .svg or .pdf.

    Returns
    -------
    matplotlib.figure.Figure
        A notebook shows it.
    """
    made = curves(named(results))
    if path is not None:
        write_figure(made, Path(path))
    return made


def named(results: Result | Mapping[str, Result] | Iterable[Result]) -> dict[str, Result]:
    """The results by their names; those without one are called after their methods."""
    if isinstance(results, Mapping):
        found = {str(name): result for name, result in results.items()}
    else:
        listed = [results] if isinstance(results, Result) else _listed(results)
        names = [type(it.method).__name__ if isinstance(it, Result) else "" for it in listed]
        unique = [name if names.count(name) == 1 else f"{name} {k}" for k, name in enumerate(names, 1)]
        found = dict(zip(unique, listed, strict=True))
    wrong = [it for it in found.values() if not isinstance(it, Result)]
    if wrong or not found:
        got = f"a {type(wrong[0]).__name__}" if wrong else "none"
        raise IncompatibleError(f"Results are drawn, as bregopt.solve or bregopt.load returns them. Got {got} instead.")
    return found


def _listed(results: Any) -> list[Any]:
    return list(results) if isinstance(results, Iterable) and not isinstance(results, str) else [results]


def curves(results: Mapping[str, Result]) -> Figure:
    """The objective, and beside it the errors where the problems measure any."""
    metrics = list(dict.fromkeys(name for result in results.values() for name in errors_of(result)))
    by = "iteration" if len(results) == 1 else "seconds"
    made = figure(8.6 if metrics else 4.6, 3.1)
    panels = made.subplots(1, 2 if metrics else 1, squeeze=False)[0]
    _panel(panels[0], results, ["objective"], by)
    panels[0].set_title("Objective", fontsize=10, loc="left")
    if metrics:
        _panel(panels[1], results, metrics, by)
        panels[1].set_title(_title(metrics), fontsize=10, loc="left")
    if len(results) > 1 or len(metrics) > 1:
        panels[-1].legend(fontsize=8, frameon=False)
    return made


def errors_of(result: Result) -> list[str]:
    """The metrics of a history that are worth a curve."""
    return [name for name in result.history if name not in (*COLUMNS, DETAIL)]


def _title(metrics: list[str]) -> str:
    words = [name.replace("_", " ") for name in metrics]
    return (words[0] if len(words) == 1 else "errors").capitalize()


def _panel(axes: Any, results: Mapping[str, Result], names: list[str], by: str) -> None:
    """One line a run and figure; a colour for each run, a dash for each figure."""
    seen: list[Array] = []
    for k, (run, result) in enumerate(results.items()):
        for name, dash in zip(names, DASHES * len(names), strict=False):
            if name not in result.history:
                continue
            words = [run] if len(results) > 1 else []
            label = ", ".join([*words, *([name.replace("_", " ")] if len(names) > 1 else [])])
            colour = COLOURS[k % len(COLOURS)] if len(results) > 1 or dash == DASHES[0] else COLOURS[1]
            x, y = result.history[by], result.history[name]
            marker = "o" if len(y) < 2 else None
            axes.plot(x, y, dash, color=colour, label=label or None, linewidth=1.6, marker=marker)
            seen.append(y[np.isfinite(y)])
    values = np.concatenate(seen) if seen else np.empty(0)
    if values.size and values.min() > 0 and values.max() > DECADES * values.min():
        axes.set_yscale("log")
    axes.set_xlabel(by if by == "seconds" else "iterations", fontsize=9)
    tidy(axes)
