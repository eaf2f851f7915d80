"""Several runs side by side: a table of what came out."""

from collections.abc import Mapping, Sequence

from bregopt.engine.result import Result
from bregopt.parts.data_model import percent
from bregopt.reports.curves import errors_of

Row = dict[str, str | float | int | bool | None]


def compared(results: Mapping[str, Result]) -> list[Row]:
    """A row for each run, as plain values; what a run does not have is ``None``."""
    metrics = list(dict.fromkeys(name for result in results.values() for name in errors_of(result)))
    return [
        {
            "run": name,
            "problem": result.problem,
            "method": type(result.method).__name__,
            "objective": result.objective,
            **{metric: result.metrics.get(metric) for metric in metrics},
            "iterations": result.iterations,
            "seconds": result.seconds,
            "zeros": ", ".join(f"{block} {percent(share)}" for block, share in result.sparsity.items()),
            "stopped": result.status.value,
        }
        for name, result in results.items()
    ]


def differing(results: Mapping[str, Result]) -> str:
    """A sentence where the runs are not about the same thing, so that their objectives say nothing to each other."""
    problems = {(result.problem, result.data_model.shape if result.data_model else None) for result in results.values()}
    if len(problems) < 2:
        return ""
    return "The runs are of different problems or data, so their objectives cannot be compared."


def text_table(rows: Sequence[Row]) -> str:
    """The rows as lines of text, under the names of the columns; numbers stand at the right."""
    columns = list(rows[0])
    cells = [[_cell(row[column]) for column in columns] for row in rows]
    heads = [column.replace("_", " ") for column in columns]
    widths = [max(len(line[k]) for line in [heads, *cells]) for k in range(len(columns))]
    right = [not isinstance(rows[0][column], str) for column in columns]

    def line(texts: Sequence[str]) -> str:
        padded = (text.rjust(w) if r else text.ljust(w) for text, w, r in zip(texts, widths, right, strict=True))
        return "  ".join(padded).rstrip()

    return "\n".join(line(texts) for texts in [heads, *cells])


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.5g}" if isinstance(value, float) else str(value)
