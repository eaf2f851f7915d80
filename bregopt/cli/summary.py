"""A run in a few lines, for people."""

import shutil
import textwrap

import click

from bregopt.cli.run import Run

LABEL = 16
WIDEST = 100


def summary(run: Run) -> str:
    """What was solved, how well, why it ended, and what can be said of it."""
    problem, result = run.problem, run.result
    m, n = problem.shape
    error = result.metrics.get("relative_error")
    rows = {
        "Matrix": f"{problem.matrix}, {m}×{n}, {100 * problem.nonzeros / (m * n):.3g} % non-zeros",
        "Model": f"rank {problem.rank}, H on U: {problem.U}, H on V: {problem.V}",
        "Method": f"{run.method}, {problem.kernel} kernel, {run.start or 'default'} start, seed {run.seed}",
        "Objective": f"{result.objective:.8g}",
        "Relative error": "unknown" if error is None else f"{error:.4g}",
        "Stopped": result.reason,
        "Work": f"{result.iterations} iterations, {result.counts.products:g} products, {result.seconds:.2f} s",
        "Certificate": result.certificate.summary(),
    }
    return "\n".join(row(label, text) for label, text in rows.items())


def row(label: str, text: str) -> str:
    """A label and a text beside it, wrapped to the terminal."""
    width = min(shutil.get_terminal_size((WIDEST, 24)).columns, WIDEST) - LABEL
    lines = [
        wrapped
        for line in text.splitlines()
        for wrapped in textwrap.wrap(
            line, max(width, 20), subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
        )
    ]
    return click.style(label.ljust(LABEL), bold=True) + f"\n{' ' * LABEL}".join(lines)
