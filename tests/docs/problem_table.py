"""Which method takes which problem: the table of docs/problems.md, made by asking. Running this file rewrites it."""

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np

import bregopt as bo
from bregopt.errors import IncompatibleError

PAGE = Path(__file__).parents[2] / "docs" / "problems.md"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
TAKEN, RISES = "✓", "·"
ROUNDING = 1e-9


class Reason(NamedTuple):
    """Why methods refuse a problem."""

    says: tuple[str, ...]
    """what is in such a refusal"""
    means: str
    of_H: bool = False
    """whether another H may help"""


REASONS = [
    Reason(("solves the unregularised model only",), "H has to be zero on every block.", of_H=True),
    Reason(("solves ½‖W − UV‖² for two factors",), "F has to be ½‖W − UV‖², for two factors U and V."),
    Reason(("is for the loss relu",), "The loss has to be `relu`: M = max(0, UV + noise)."),
    Reason(("solves a least-squares problem for each block",), "H has to be zero or a ridge on each block.", of_H=True),
    Reason(
        ("takes an F that is quadratic in each block",),
        "F has to be quadratic in each block, with one matrix for all rows or columns of the block (`gram`).",
    ),
    Reason(
        ("sets the entries of a block one by one", "goes coordinate by coordinate"),
        "H has to be separable, a sum over entries.",
        of_H=True,
    ),
    Reason(
        ("is for F = ½‖W − UV‖² without a graph term",),
        "The model has to be the product UV of two matrices, without a graph in F.",
    ),
    Reason(
        ("is for non-negative factors",),
        "Both factors have to be non-negative: `nonneg`, with a weight l1 or ridge or without.",
        of_H=True,
    ),
    Reason(("needs a graph in F",), "F has to have a graph on the rows of U, as in `graph-nmf`."),
    Reason(("needs two blocks",), "There have to be two blocks."),
    Reason(
        ("needs H = r₁ − r₂ with both convex",),
        "H has to be a difference of convex functions that knows its parts.",
        of_H=True,
    ),
    Reason(
        ("A PALM-type method needs",),
        "∇F has to be Lipschitz in each block, with a constant that is known (`block_lipschitz`).",
    ),
    Reason(
        ("No constant L is known", "needs the constant L of F"),
        "F has to know its constant L for the kernel (`smad`), as the method does not search for its step.",
    ),
    Reason(
        ("H limits their number on no block", "Beside a limit on the number of non-zeros"),
        "H has to limit the number of non-zeros of a block (`sparsity`).",
    ),
    Reason(("needs the frobenius norm of W",), "The kernel follows ‖W‖, which is not known here."),
]
LETTERS = {chr(ord("a") + place): reason for place, reason in enumerate(REASONS)}


def problems():
    """A small instance of every problem, with the H and the kernel that it has by default."""
    rng = np.random.default_rng(0)
    M, T, A = (rng.standard_normal(shape) for shape in ((6, 5), (5, 4, 3), (9, 3)))
    positive, signs, squares = np.abs(M), np.where(M > 0, 1.0, -1.0), np.square(A.sum(axis=1))
    known, known_of_T = rng.random(M.shape) < 0.7, rng.random(T.shape) < 0.7
    ring = np.roll(np.eye(6), 1, axis=0) + np.roll(np.eye(6), -1, axis=0)
    instances = {
        "relu-nmd": {"M": np.maximum(M, 0.0), "rank": 2},
        "low-rank": {"M": M, "rank": 2},
        "completion": {"M": M, "rank": 2, "mask": known},
        "robust-pca": {"M": M, "rank": 2},
        "one-bit": {"M": signs, "rank": 2},
        "logistic": {"M": signs, "rank": 2},
        "binary": {"M": M > 0, "rank": 2},
        "nmf": {"M": positive, "rank": 2},
        "semi-nmf": {"M": M, "rank": 2},
        "kl-nmf": {"M": positive, "rank": 2},
        "graph-nmf": {"M": positive, "rank": 2, "graph": ring},
        "graph-relu-nmd": {"M": np.maximum(M, 0.0), "rank": 2, "graph": ring},
        "symmetric": {"M": M @ M.T, "rank": 2},
        "dictionary": {"M": M, "rank": 2},
        "sparse-pca": {"M": M, "rank": 2},
        "cp": {"T": T, "rank": 2},
        "tensor-completion": {"T": T, "rank": 2, "mask": known_of_T},
        "deep-linear": {"M": M, "rank": 2},
        "blind-deconvolution": {"M": M, "size": (2, 3)},
        "poisson": {"A": positive[:, :4], "b": np.rint(3.0 * positive[:, 4])},
        "quadratic-inverse": {"A": A, "b": squares},
        "phase-retrieval": {"A": A, "b": squares},
    }
    return {name: bo.compose(name, **given) for name, given in instances.items()}


def own(kind):
    """The names of this kind that come with bregopt."""
    return [entry.name for entry in bo.catalog(kind) if "(bregopt " in entry.provider]


def cell(problem, method):
    """✓ where three iterations run and end no higher than they began, else the letter of the reason for a refusal."""
    begin = bo.solve(problem, method="aapb", max_iterations=0).objective
    try:
        end = bo.solve(problem, method=method, max_iterations=3).history["objective"][-1]
    except IncompatibleError as error:
        return letter(str(error))
    assert math.isfinite(end), f"{method} ended at {end} on the {problem.name}"
    return TAKEN if end <= begin * (1.0 + ROUNDING) else RISES


def letter(message):
    """That of the reason for a refusal."""
    for mark, reason in LETTERS.items():
        if any(fragment in message for fragment in reason.says):
            return mark
    raise LookupError(f"A refusal that REASONS in {Path(__file__).name} does not know: {message}")


def table():
    """The table and its legend; methods with the same row share it, and problems with the same column."""
    instances = problems()
    rows = grouped({method: [cell(it, method) for it in instances.values()] for method in own("method")})
    columns = grouped(dict(zip(instances, zip(*rows, strict=True), strict=True)))
    order = sorted(rows, key=lambda row: (-row.count(TAKEN), rows[row]))
    places = {column: list(instances).index(names[0]) for column, names in columns.items()}
    lines = [
        "| method | " + " | ".join(map(listed, columns.values())) + " |",
        "|---|" + ":-:|" * len(columns),
        *(f"| {listed(rows[row])} | " + " | ".join(row[places[column]] for column in columns) + " |" for row in order),
        "",
        *legend({mark for row in rows for mark in row}),
    ]
    return "\n".join(lines)


def grouped(marks):
    """The names that have the same marks, by the marks."""
    found = {}
    for name, row in marks.items():
        found.setdefault(tuple(row), []).append(name)
    return found


def listed(names):
    return ", ".join(f"`{name}`" for name in names)


def legend(used):
    """What the marks mean that were used."""
    yield f"- {TAKEN}: the method takes the problem."
    if RISES in used:
        yield f"- {RISES}: the method takes the problem, and Φ rose: it is no descent method."
    letters = {mark: reason for mark, reason in LETTERS.items() if mark in used}
    yield from (f"- {mark}: {reason.means}" for mark, reason in letters.items())
    *most, last = (mark for mark, reason in letters.items() if reason.of_H)
    yield ""
    yield f"The letters {', '.join(most)} and {last} are about H: another H may turn them into a {TAKEN}, and back."


def written():
    """What the page has."""
    return PAGE.read_text(encoding="utf-8").split(BEGIN)[1].split(END)[0].strip()


def rewrite():
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n\n{table()}\n\n{END}{rest.split(END)[1]}", encoding="utf-8")


if __name__ == "__main__":
    rewrite()
