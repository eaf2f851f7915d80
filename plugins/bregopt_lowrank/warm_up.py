"""Short runs that meet the compiled loops, for ``bregopt warm-up``."""

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.sparse import csr_array

from bregopt import Blocks, ResolvedProblem, compose, iterate
from bregopt_lowrank.newton.masked_newton import MaskedNewton

ROWS, COLUMNS, RANK = 500, 420, 2
"""Just large enough for compiled loops."""
SHARE = 0.1
"""Of a sparse M that is not zero."""

Runs = list[tuple[str, Callable[[], object]]]


def short_runs(problem: str) -> Runs:
    """Labelled runs of a problem on a dense matrix and on a sparse one."""
    found: Runs = []
    for sparse in (False, True):
        composed = partial(_composed, problem, sparse)
        label = f"{problem}, {'sparse' if sparse else 'dense'} M"
        found += [(f"{label}: the pass", partial(_pass, composed)), (f"{label}: Newton", partial(_newton, composed))]
    return found


def _composed(problem: str, sparse: bool) -> tuple[ResolvedProblem, Blocks]:
    """The problem, and a point."""
    rng = np.random.default_rng(0)
    Y = Blocks(U=rng.random((ROWS, RANK)), V=rng.random((RANK, COLUMNS)))
    M = Y.U @ Y.V
    return compose(problem, csr_array(M * (rng.random(M.shape) < SHARE)) if sparse else M, rank=RANK), Y


def _pass(composed: Callable[[], tuple[ResolvedProblem, Blocks]]) -> None:
    """Of methods that move all blocks at once, and of those that go block by block."""
    problem, Y = composed()
    problem.oracle.evaluate(Y, Y * 0.5, value_at=True)
    problem.oracle.sweep(Y, Y, lambda name, rows, gradient: Y[name][rows], row_wise=True)


def _newton(composed: Callable[[], tuple[ResolvedProblem, Blocks]]) -> None:
    problem, Y = composed()
    states = iterate(problem, method=MaskedNewton(), start=Y)
    next(states)
    next(states)
