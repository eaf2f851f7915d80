"""Sweeps over ReLU-NMD: one pass for both blocks where the update goes row by row, two where it does not."""

import threading

import numpy as np
import pytest
import scipy.sparse
from bregopt_lowrank.passes.run import tiling
from lowrank_cases import stored

import bregopt as bo
from bregopt.testing import Status
from bregopt.testing.check import run
from bregopt.testing.kinds import checks_of

STEP = 1e-3


@pytest.fixture(autouse=True)
def tiles_of_73_rows(small_tiles):
    """And two blocks of columns."""
    small_tiles(work=4 * 2**14)


FORMS = {
    "dense": lambda M, folder: M,
    "csr": lambda M, folder: scipy.sparse.csr_array(M),
    "single precision": lambda M, folder: M.astype(np.float32),
    "stored": stored,
}


def matrix(m=700, n=300, few=False):
    """Half of it zero; or nearly all, for a residual of few non-zeros."""
    rng = np.random.default_rng(0)
    return np.maximum(0, rng.standard_normal((m, n))) * (rng.random((m, n)) < (0.02 if few else 1.0))


def points(m, n, few=False, r=4):
    """Y and another point; UV < 0 where the residual is to have few non-zeros."""
    rng = np.random.default_rng(1)
    U, V, dU, dV = (rng.standard_normal(shape) for shape in ((m, r), (r, n), (m, r), (r, n)))
    Y = bo.Blocks(U=np.abs(U), V=-np.abs(V)) if few else bo.Blocks(U=U, V=V)
    return Y, Y.plus(0.3, bo.Blocks(U=dU, V=dV))


class Update:
    """A step of soft thresholding, which goes row by row unless the mean row is taken off; it notes its calls."""

    def __init__(self, U, row_wise):
        self.U, self.row_wise, self.rows, self.threads = U, row_wise, [], set()

    def __call__(self, name, rows, G):
        self.rows.append(rows)
        self.threads.add(threading.get_ident())
        moved = self.U[rows] - STEP * (G if self.row_wise else G - G.mean(axis=0))
        return moved - np.clip(moved, -STEP, STEP)


def by_hand(M, Y, at, update):
    """W, the new U and the gradient for V, from dense matrices."""
    W = np.where(M > 0, M, np.minimum(0, Y.U @ Y.V))
    U = update("U", slice(0, len(M)), (at.U @ Y.V - W) @ Y.V.T)
    return W, U, U.T @ (U @ at.V - W)


def assert_right(problem, M, Y, at, row_wise, rtol=1e-10):
    """The sweep is the one by hand; returns the update that it called."""
    update = Update(at.U, row_wise)
    swept = problem.oracle.sweep(Y, at, update, row_wise=row_wise)
    W, U, gradient = by_hand(M, Y, at, Update(at.U, row_wise))
    np.testing.assert_allclose(swept.Y.U, U, rtol=0, atol=rtol * np.abs(U).max())
    np.testing.assert_allclose(swept.gradient, gradient, rtol=0, atol=rtol * np.abs(gradient).max())
    assert swept.evaluation.value == pytest.approx(0.5 * np.sum((W - Y.U @ Y.V) ** 2), rel=rtol)
    assert swept.evaluation.norms["frobenius"] == pytest.approx(np.linalg.norm(W), rel=rtol)
    assert swept.evaluation.metrics == pytest.approx(problem.oracle.evaluate(Y).metrics, rel=rtol)
    assert swept.evaluation.Y is Y
    assert not swept.evaluation.has_gradient
    assert swept.evaluation.products == (3 if row_wise else 4)
    return update


@pytest.mark.parametrize("row_wise", [True, False])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("few", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_a_sweep_agrees_with_dense_formulas_and_costs_three_products_or_four(form, few, threads, row_wise, tmp_path):
    M = matrix(few=few)
    Y, at = points(700, 300, few)
    problem = bo.compose("relu-nmd", FORMS[form](M, tmp_path), rank=4, threads=threads)
    for point in (Y, at):
        update = assert_right(problem, M, Y, point, row_wise, 1e-5 if form == "single precision" else 1e-10)
        rows = sorted(update.rows, key=lambda part: part.start)
        assert len(rows) == (10 if row_wise else 1)
        assert [0, *(part.stop for part in rows)] == [*(part.start for part in rows), 700]
        assert len(update.threads) == (threads if row_wise else 1)


@pytest.mark.parametrize("row_wise", [True, False])
@pytest.mark.parametrize("form", ["dense", "csr"])
def test_rows_that_an_evaluation_cuts_into_blocks_are_whole_in_a_sweep(form, row_wise, tmp_path):
    M = matrix(150, 3000)
    Y, at = points(150, 3000)
    problem = bo.compose("relu-nmd", FORMS[form](M, tmp_path), rank=4, threads=1)
    assert tiling(3000, 4, np.float64, kept=True).width < 3000
    assert_right(problem, M, Y, at, row_wise)


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_a_sweep_with_a_graph_equals_that_of_the_plain_oracle(form, tmp_path):
    L = 300.0 * np.eye(300) - np.ones((300, 300))
    M, graph = matrix(300, 300), bo.make("regularizer", "graph", L, mu=0.1)
    problem = bo.compose("relu-nmd", FORMS[form](M, tmp_path), rank=4, graph=graph)
    outcome = run("oracle/sweep", checks_of((problem, points(300, 300)[0]))["oracle/sweep"])
    assert outcome.status is Status.PASSED, outcome.message


class Alternating(bo.Method):
    """A gradient step on U and one on V, by sweeps."""

    def __init__(self, row_wise):
        self.row_wise = row_wise

    def start(self, problem, Y):
        return self.state(0, Y, problem.oracle.evaluate(Y))

    def advance(self, problem, state):
        Y = state.Y
        swept = problem.oracle.sweep(Y, Y, lambda name, rows, G: Y.U[rows] - STEP * G, row_wise=self.row_wise)
        return self.state(state.iteration + 1, bo.Blocks(U=swept.Y.U, V=Y.V - STEP * swept.gradient), swept.evaluation)

    def state(self, iteration, Y, evaluation):
        figures = {
            "objective": evaluation.value,
            "lyapunov": evaluation.value,
            "scale": evaluation.value,
            "metrics": evaluation.metrics,
        }
        return bo.State(iteration=iteration, Y=Y, **figures)


@pytest.mark.parametrize(("row_wise", "products"), [(True, 3), (False, 4)])
def test_a_run_counts_its_sweeps(row_wise, products):
    Y, _ = points(30, 20)
    states = bo.iterate(bo.compose("relu-nmd", matrix(30, 20), rank=4), method=Alternating(row_wise), start=Y)
    seen = [next(states) for _ in range(4)]
    assert [state.counts.products for state in seen] == [1 + products * k for k in range(4)]
    assert [state.counts.evaluations for state in seen] == [1, 2, 3, 4]
    assert [state.counts.gradients for state in seen] == [0, 1, 2, 3]
    assert states.counts == seen[-1].counts
    assert seen[-1].objective < seen[0].objective
