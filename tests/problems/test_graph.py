"""A graph on the rows of U: inside F with its share of the kernel, and inside H by its resolvent."""

import numpy as np
import pytest
import scipy.sparse

import bregopt as bo
from bregopt.errors import DataError, ParameterError


def ring(m):
    """The Laplacian of a cycle with one hub."""
    S = np.zeros((m, m))
    for i in range(m):
        S[i, (i + 1) % m] = S[(i + 1) % m, i] = 1.0
    S[0, 2:-1] = S[2:-1, 0] = 1.0
    return np.diag(S.sum(axis=1)) - S


def matrix():
    return np.maximum(0, np.random.default_rng(0).standard_normal((18, 12)))


def problem(mu=2.0, form=np.asarray, **options):
    graph = bo.make("regularizer", "graph", form(ring(18)), mu=mu)
    return bo.compose("relu-nmd", matrix(), rank=3, graph=graph, **options)


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize("kernel", ["paper", "tight", "fixed", "auto"])
@pytest.mark.parametrize("H", ["none", "l1(0.1)", "l21(0.1)"])
def test_the_graph_inside_F_keeps_every_guarantee(form, kernel, H):
    for method in ("apb", "aapb" if kernel != "fixed" else "aapb(w=Ybar)"):
        result = bo.solve(problem(form=form, kernel=kernel, U=H), method=method, max_iterations=60)
        assert result.certificate.guaranteed
        assert result.certificate.monotone
        assert result.certificate.subgradient > 0


def test_the_objective_counts_the_graph():
    result = bo.solve(problem(mu=2.0, U="l1(0.1)"), max_iterations=20)
    U, V = result.Y.U, result.Y.V
    fit = 0.5 * np.sum((result.W.toarray() - U @ V) ** 2)
    assert result.objective == pytest.approx(fit + np.trace(U.T @ ring(18) @ U) + 0.1 * np.abs(U).sum(), rel=1e-12)


def test_the_fused_evaluation_with_a_graph_equals_the_plain_one():
    it = problem()
    plain = bo.PlainOracle(it.smooth, it.block, it.metrics)
    rng = np.random.default_rng(1)
    Y, at = (bo.Blocks(U=rng.standard_normal((18, 3)), V=rng.standard_normal((3, 12))) for _ in range(2))
    for point in (Y, at):
        one, two = it.oracle.evaluate(Y, point, value_at=True), plain.evaluate(Y, point, value_at=True)
        assert one.value == pytest.approx(two.value, rel=1e-12)
        assert one.value_at == pytest.approx(two.value_at, rel=1e-12)
        np.testing.assert_allclose(one.gradient.flat, two.gradient.flat, rtol=1e-10, atol=1e-10)


def test_only_U_pays_for_the_graph_and_each_row_for_itself():
    kernel = problem(kernel="paper").kernel.sample()
    plain = bo.compose("relu-nmd", matrix(), rank=3, kernel="paper").kernel.sample()
    np.testing.assert_allclose(
        kernel.quadratic_share("U") - plain.quadratic_share("U"), 4.0 * np.diag(ring(18))[:, None]
    )
    assert kernel.quadratic_share("V") == plain.quadratic_share("V")
    whole = problem(kernel="paper", U="l21(0.1)").kernel.sample()
    assert whole.quadratic_share("U") - plain.quadratic_share("U") == pytest.approx(4.0 * np.diag(ring(18)).max())


def test_a_kernel_without_a_share_for_the_graph_has_no_guarantee():
    small = bo.Problem(**{name: getattr(problem(), name) for name in ("smooth", "block", "regularizer", "start")},
                       kernel=bo.compose("relu-nmd", matrix(), rank=3, kernel="tight").kernel)  # fmt: skip
    result = bo.solve(small, method="apb(step=1)", max_iterations=5)
    assert not result.certificate.assumptions["step"].held


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
def test_the_graph_inside_H_and_inside_F_reach_the_same_objective(form):
    graph = bo.make("regularizer", "graph", form(ring(18)), mu=0.5)
    inside_H = bo.compose("relu-nmd", matrix(), rank=3, U=graph, V="ridge(0.5)")
    inside_F = bo.compose("relu-nmd", matrix(), rank=3, graph=graph, V="ridge(0.5)")
    runs = [bo.solve(it, method="aapb(step=monotone)", max_iterations=1500) for it in (inside_H, inside_F)]
    assert runs[0].objective == pytest.approx(runs[1].objective, rel=1e-3)
    assert all(run.certificate.guaranteed and run.certificate.monotone for run in runs)


def test_a_graph_that_does_not_fit_is_refused():
    with pytest.raises(DataError, match="18 nodes"):
        bo.compose("relu-nmd", matrix().T, rank=3, graph=bo.make("regularizer", "graph", ring(18)))
    with pytest.raises(ParameterError, match="SmoothRegularizer"):
        bo.compose("relu-nmd", matrix(), rank=3, graph=bo.make("regularizer", "l1"))
