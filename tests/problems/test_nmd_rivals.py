"""A-NMD and eBCD-NMD against dense references with stored matrices, full SVDs and QRs."""

import itertools
import tracemalloc

import numpy as np
import pytest
import scipy.sparse
from small_parts import HalfSquares
from test_other_problems import completion, quartic_problem

import bregopt as bo
from bregopt.errors import IncompatibleError, ParameterError

RANK = 4


@pytest.fixture(scope="module")
def M():
    rng = np.random.default_rng(7)
    return np.maximum(0, rng.standard_normal((31, RANK)) @ rng.standard_normal((RANK, 23)))


@pytest.fixture(scope="module")
def noise():
    return np.maximum(0, np.random.default_rng(5).standard_normal((30, 25)))


def closest(M, T):
    return np.where(M > 0, M, np.minimum(0, T))


def f(M, T):
    return 0.5 * np.sum((closest(M, T) - T) ** 2)


def first(problem, seed=0):
    return next(bo.iterate(problem, method="ebcd-nmd", seed=seed)).Y


def ebcd(M, U, V, iterations):
    """As printed: W_α and T stored, a QR, one residual after the other."""
    T, alpha, mu = U @ V, 1.0, 0.3
    Z, rows = closest(M, T), []
    S = np.linalg.norm(Z - T)
    for _ in range(iterations):
        Z_alpha = alpha * Z + (1 - alpha) * T
        Q, _ = np.linalg.qr(Z_alpha @ V.T)
        H = Q.T @ Z_alpha
        T_new = Q @ H
        Z_new = closest(M, T_new)
        S_new = np.linalg.norm(Z_new - T_new)
        if S_new < S:
            ratio = S_new / S
            V, T, Z, S = H, T_new, Z_new, S_new
            if ratio > 0.8:
                mu = max(mu, 0.25 * (alpha - 1))
                alpha = min(alpha + mu, 4)
                alpha = 1.0 if alpha == 4 else alpha
        else:
            alpha = 1.0
        rows.append((0.5 * S**2, alpha, mu))
    return T, np.array(rows)


def balanced(Z, rank):
    U, s, Vt = np.linalg.svd(Z, full_matrices=False)
    root = np.sqrt(s[:rank])
    return U[:, :rank] * root, root[:, None] * Vt[:rank]


def a_nmd(M, U, V, iterations, beta=0.7, eta=0.4, gamma=1.1, gamma_bar=1.05):
    """Momentum on W and on the factors, with full SVDs."""
    Ub, Vb, W_prev, value = U, V, closest(M, U @ V), f(M, U @ V)
    good, bound, rows = beta, 1.0, []
    for k in range(1, iterations + 1):
        W = closest(M, Ub @ Vb)
        U_new, V_new = balanced(W + beta * (W - W_prev), len(V))
        new = f(M, U_new @ V_new)
        rows.append(beta)
        if k <= 2 or new < value:
            A, _, B = np.linalg.svd(U.T @ U_new + V @ V_new.T)
            Ub, Vb = U_new + beta * (U_new - U @ A @ B), V_new + beta * (V_new - (A @ B).T @ V)
            U, V, W_prev, value, good = U_new, V_new, W, new, beta
            if k > 2:
                beta = min(bound, gamma * beta)
                bound = min(1.0, gamma_bar * beta)
        else:
            Ub, Vb, beta, bound = U, V, eta * beta, good
        rows[-1] = value, rows[-1]
    return U @ V, np.array(rows)


def as_published(M, T, rank, iterations, beta=0.7, eta=0.4, gamma=1.1, gamma_bar=1.05):
    """The authors' A-NMD: Z and T carried on extrapolated, the test on |Z − T|; the objectives of its TSVDs."""
    Z_old, T_old, bound, good, last, values = M, T, 1.0, beta, np.inf, []
    for k in range(1, iterations + 1):
        Z = closest(M, T)
        Z = Z + beta * (Z - Z_old)
        U, V = balanced(Z, rank)
        values.append(f(M, U @ V))
        T = U @ V + beta * (U @ V - T_old)
        test = np.linalg.norm(Z - T)
        if k > 2 and test < last:
            good, beta = beta, min(bound, gamma * beta)
            bound, Z_old, T_old = min(1.0, gamma_bar * beta), Z, T
        elif k > 2:
            beta, bound, T = eta * beta, good, T_old
        last = test
    return values


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize("data", ["M", "noise"])
def test_ebcd_agrees_with_the_dense_reference(data, form, request):
    M = request.getfixturevalue(data)
    problem = bo.compose("relu-nmd", form(M), rank=RANK)
    start = first(problem)
    T, rows = ebcd(M, start.U, start.V, 60)
    run = bo.iterate(problem, method="ebcd-nmd", start=start)
    states = [next(run) for _ in range(61)]
    seen = np.array([(s.objective, s.inner.alpha, s.inner.mu) for s in states[1:]])
    np.testing.assert_allclose(seen, rows, rtol=1e-8)
    Y = states[-1].Y
    np.testing.assert_allclose(Y.U @ Y.V, T, rtol=0, atol=1e-9 * np.abs(T).max())
    c = np.sqrt((Y.U.T @ Y.U)[0, 0])  # a power of two
    assert round(np.log2(c)) == pytest.approx(np.log2(c), abs=1e-12)
    np.testing.assert_allclose(Y.U.T @ Y.U, c**2 * np.eye(RANK), atol=1e-13 * c**2)
    assert 0.5 <= np.linalg.norm(Y.U) / np.linalg.norm(Y.V) <= 2
    if data == "noise":  # some turns were refused, α has come to its end, and it has begun again
        assert (np.diff(rows[:, 0]) == 0).any()
        assert rows[:, 1].max() > 3


def test_ebcd_costs_three_products_and_three_more_where_another_alpha_follows(noise):
    run = bo.iterate(bo.compose("relu-nmd", noise, rank=RANK), method="ebcd-nmd")
    states = [next(run) for _ in range(60)]
    assert states[0].counts.products == 3
    for before, after in itertools.pairwise(states):
        refused = after.Y is before.Y
        fast = not refused and np.sqrt(after.objective / before.objective) <= 0.8
        again = fast or (refused and before.inner.alpha != 1)
        assert after.counts.products - before.counts.products == 3 + 3 * again


@pytest.mark.parametrize("method", ["ebcd-nmd", "a-nmd"])
@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_the_objective_never_rises_at_any_scale(M, method, form, scale):
    result = bo.solve(bo.compose("relu-nmd", form(M) * scale, rank=RANK), method=method, max_iterations=100)
    settled = 0 if method == "ebcd-nmd" else 2
    assert all(k <= settled for k in result.certificate.rises)
    assert result.metrics["relative_error"] < 1e-2
    assert not result.certificate.guaranteed
    assert ("observed" in result.certificate.summary()) == (method == "ebcd-nmd")


@pytest.mark.parametrize(("eta", "gamma"), [(0.4, 1.1), (0.9, 1.4)])
def test_a_nmd_with_many_steps_agrees_with_full_svds(M, eta, gamma):
    problem = bo.compose("relu-nmd", M[:12, :10], rank=2)
    start = first(problem)
    T, rows = a_nmd(M[:12, :10], start.U, start.V, 20, eta=eta, gamma=gamma)
    method = f"a-nmd(eta={eta}, gamma={gamma}, steps=60)"
    result = bo.solve(problem, method=method, start=start, max_iterations=20)
    np.testing.assert_allclose(result.history["objective"][1:], rows[:, 0], rtol=1e-8)
    np.testing.assert_allclose(result.history["beta"][1:], rows[:, 1], rtol=1e-12)
    np.testing.assert_allclose(result.Y.U @ result.Y.V, T, rtol=0, atol=1e-8 * np.abs(T).max())
    assert (np.diff(rows[:, 1]) < 0).any()  # a step was refused


@pytest.mark.parametrize("data", ["M", "noise"])
def test_a_nmd_with_two_steps_does_as_well_as_full_svds_within_a_few_percent(data, request):
    M = request.getfixturevalue(data)
    problem = bo.compose("relu-nmd", M, rank=RANK - 1)
    start = first(problem)
    _, full = a_nmd(M, start.U, start.V, 100)
    published = as_published(M, start.U @ start.V, RANK - 1, 100)
    result = bo.solve(problem, method="a-nmd", start=start, max_iterations=100)
    assert result.objective <= 1.05 * min(full[-1, 0], published[-1])


@pytest.mark.parametrize("steps", [1, 2])
def test_a_nmd_evaluates_two_matrices_W_for_each_step_and_the_value_once(M, steps):
    result = bo.solve(bo.compose("relu-nmd", M, rank=RANK), method=f"a-nmd(steps={steps})", max_iterations=20)
    products = np.diff(result.history["products"])
    np.testing.assert_array_equal(products, [3 * steps + 1] + 19 * [6 * steps + 1])


def test_a_nmd_keeps_balanced_factors_and_exact_values(M):
    run = bo.iterate(bo.compose("relu-nmd", M, rank=RANK), method="a-nmd")
    for state in [next(run) for _ in range(10)][1:]:
        U, V = state.Y.U, state.Y.V
        assert state.objective == pytest.approx(f(M, U @ V), rel=1e-10)
        np.testing.assert_allclose(U.T @ U, V @ V.T, atol=1e-12 * np.linalg.norm(V) ** 2)


@pytest.mark.parametrize("method", ["ebcd-nmd", "a-nmd"])
def test_what_is_not_the_bare_factorisation_is_refused(M, method):
    with pytest.raises(IncompatibleError, match=f"{method} solves the unregularised model only.*aapb"):
        bo.solve(bo.compose("relu-nmd", M, rank=RANK, U="ridge(1)"), method=method)
    graph = bo.make("regularizer", "graph", np.eye(len(M)))
    with pytest.raises(IncompatibleError, match=r"WithSmooth.*SmoothPart.gram"):
        bo.solve(bo.compose("relu-nmd", M, rank=RANK, graph=graph), method=method)
    with pytest.raises(IncompatibleError, match=r"two factors U and V.*y: 3"):
        bo.solve(quartic_problem(), method=method, start=bo.Blocks(y=[1.0, 2.0, 3.0]))
    problem, start, *_ = completion()
    with pytest.raises(IncompatibleError, match="unregularised"):
        bo.solve(problem, method=method, start=start)


@pytest.mark.parametrize("method", ["ebcd-nmd", "a-nmd"])
def test_another_factorisation_is_solved_under_its_own_names(M, method):
    class Observed(bo.ClosedFormBlock):
        """W = M where M > 0, AB elsewhere: matrix completion."""

        def argmin(self, smooth, Y):
            return np.where(M > 0, M, Y.A @ Y.B)

        def value(self, W):
            return 0.0

    rng = np.random.default_rng(0)
    start = bo.Blocks(A=rng.standard_normal((31, RANK)), B=rng.standard_normal((RANK, 23)))
    kernel = bo.make("kernel", "psi1") + 100 * bo.make("kernel", "psi2")
    problem = bo.Problem(smooth=HalfSquares(("A", "B")), block=Observed(), kernel=kernel)
    result = bo.solve(problem, method=method, start=start, max_iterations=100)
    assert result.objective < 1e-2 * result.history["objective"][0]
    assert result.Y.names == ("A", "B")


@pytest.mark.parametrize("method", ["ebcd-nmd", "a-nmd"])
def test_a_rank_beyond_that_of_the_data_does_no_harm(method):
    M = np.outer(np.arange(1.0, 9), np.arange(1.0, 7))
    result = bo.solve(bo.compose("relu-nmd", M, rank=3), method=method, max_iterations=100)
    assert result.metrics["relative_error"] < 1e-10
    assert np.isfinite(result.Y.flat).all()


@pytest.mark.parametrize("method", ["ebcd-nmd", "a-nmd", "cocain", "bpg"])
def test_a_sparse_matrix_is_never_made_dense(method):
    def solve(m, n, density):
        M = scipy.sparse.random_array((m, n), density=density, random_state=np.random.default_rng(0), format="csr")
        return bo.solve(bo.compose("relu-nmd", M, rank=5), method=method, max_iterations=3)

    solve(500, 500, 0.1)  # large enough to load the compiled loops, which are not what is measured
    tracemalloc.start()
    solve(3000, 4000, 0.005)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.3 * 3000 * 4000 * 8


@pytest.mark.parametrize("method", ["ebcd-nmd", "a-nmd"])
def test_the_gradient_at_the_end_is_the_subgradient(M, method):
    problem = bo.compose("relu-nmd", M, rank=RANK)
    result = bo.solve(problem, method=method, max_iterations=5)
    gradient = problem.oracle.evaluate(result.Y, at=result.Y).gradient
    assert result.certificate.subgradient == pytest.approx(gradient.norm(), rel=1e-12)
    assert result.counts.products == result.history["products"][-1] + 3 + 3  # that at the start, to compare it with


@pytest.mark.parametrize(
    "spec", ["ebcd-nmd(0.5)", "ebcd-nmd(mu=0)", "ebcd-nmd(ratio=2)", "a-nmd(1.5)", "a-nmd(eta=1)", "a-nmd(steps=0)"]
)
def test_constants_that_cannot_be_are_refused(spec):
    with pytest.raises(ParameterError, match="must be"):
        bo.make("method", spec)
