"""Memory and products: nothing of the size of a dense matrix, three products an iteration, everything counted."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse

import bregopt as bo

PAPER = "aapb(beta=0.6, step=1)"


@pytest.mark.parametrize("method", [PAPER, "aapb", "apb"])
def test_a_sparse_matrix_is_never_made_dense(method):
    def solve(m, n, density):
        M = scipy.sparse.random_array((m, n), density=density, random_state=np.random.default_rng(0), format="csr")
        problem = bo.compose("relu-nmd", M, rank=10, U="l1(0.01)", V="l1(0.01)", kernel="paper")
        return bo.solve(problem, method=method, max_iterations=5)

    solve(500, 500, 0.1)  # large enough to load the compiled loops, which are not what is measured
    tracemalloc.start()
    result = solve(4000, 6000, 0.005)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert result.iterations == 5
    assert peak < 0.15 * 4000 * 6000 * 8


def problem(kernel="paper", **H):
    M = np.maximum(0, np.random.default_rng(0).standard_normal((30, 20)))
    return bo.compose("relu-nmd", M, rank=4, kernel=kernel, **H)


@pytest.mark.parametrize("method", [PAPER, "aapb(step=1)", "aapb(nesterov, step=1)", "apb"])
@pytest.mark.parametrize("kernel", ["paper", "tight"])
def test_k_iterations_cost_three_times_k_plus_one_products(method, kernel):
    result = bo.solve(problem(kernel, U="l1(0.1)"), method=method, max_iterations=17)
    np.testing.assert_array_equal(result.history["products"], 3 * np.arange(1, 19))
    for column in ("objective", "relative_error", "model_residual", "lyapunov"):
        assert np.isfinite(result.history[column]).all()
    assert result.counts.proxes == 17


def test_the_subgradient_at_the_end_is_counted_where_it_needs_a_pass():
    lagging = bo.solve(problem(), method=PAPER, max_iterations=5)
    assert lagging.counts.products == lagging.history["products"][-1] + 3
    at_hand = bo.solve(problem(), method="apb", max_iterations=5)
    assert at_hand.counts.products == at_hand.history["products"][-1]


def test_W_at_the_extrapolated_point_costs_four_products():
    result = bo.solve(problem(), method="aapb(0.6, step=1, w=Ybar)", max_iterations=10)
    # the start and the first step need no evaluation of their own: the first extrapolation is zero
    assert result.history["products"][-1] == 3 + 4 * 10


def test_the_stationarity_rule_pays_for_its_evaluations():
    plain = bo.solve(problem(), method=PAPER, max_iterations=60)
    residual = plain.history["stationarity"]
    start = problem().first_point(None, np.random.default_rng(0))
    size = max(residual[1], problem().oracle.evaluate(start, at=start).gradient.norm())
    tolerance = 1.0001 * float(residual[30] / size)
    checked = bo.solve(problem(), method=PAPER, stop=f"stationarity({tolerance})", max_iterations=60)
    first = int(np.argmax(residual <= tolerance * size))
    evaluations = len(range(first, checked.iterations + 1, 20)) - (checked.status is bo.Status.STATIONARY)
    assert checked.history["products"][-1] == 3 * (checked.iterations + 1) + 3 * evaluations


def test_every_evaluation_is_counted_by_kind():
    counts = bo.solve(problem(), method="aapb(step=monotone(1))", max_iterations=10).counts
    assert counts.evaluations == 1 + 2 * 10 + 1
    assert counts.gradients == 1 + 10 + 1


class Counted:
    """A matrix whose products are counted."""

    made = 0

    def __init__(self, X):
        self.X = X

    def __matmul__(self, other):
        Counted.made += 1
        return self.X @ getattr(other, "X", other)


def test_the_plain_oracle_charges_the_products_that_are_made():
    """As a person writes the parts: each method computes UV for itself."""
    M = np.ones((5, 4))

    class F(bo.SmoothPart):
        def value(self, Y, W):
            return 0.5 * float(np.sum((Counted(Y.U) @ Y.V - W) ** 2))

        def value_and_gradient(self, Y, W):
            S = Counted(Y.U) @ Y.V - W
            return 0.5 * float(np.sum(S**2)), bo.Blocks(U=Counted(S) @ Y.V.T, V=Counted(Y.U.T) @ S)

    class Block(bo.ClosedFormBlock):
        def argmin(self, smooth, Y):
            return np.where(M > 2, M, np.minimum(0, Counted(Y.U) @ Y.V))

        def value(self, W):
            return 0.0

    rng = np.random.default_rng(0)
    Y, Z = (bo.Blocks(U=rng.standard_normal((5, 2)), V=rng.standard_normal((2, 4))) for _ in range(2))
    oracle = bo.PlainOracle(F(), Block())

    def charged_and_made(ask):
        Counted.made = 0
        return ask(), Counted.made

    for at in (None, Y, Z):
        evaluation, made = charged_and_made(lambda at=at: oracle.evaluate(Y, at=at))
        assert evaluation.products == made
    for at in (Y, Z):
        sweep, made = charged_and_made(
            lambda at=at: oracle.sweep(Y, at, lambda name, rows, gradient: Y.U[rows] - 0.1 * gradient, row_wise=True)
        )
        assert sweep.evaluation.products == made
