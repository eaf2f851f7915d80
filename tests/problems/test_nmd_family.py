"""The NMD algorithms of the paper against dense references with a stored Z, full SVDs and least squares; and tobit."""

import itertools
import math
import tracemalloc

import mpmath
import numpy as np
import pytest
import scipy.sparse
import scipy.special
import scipy.stats
from bregopt_lowrank import LowRankBlock
from bregopt_lowrank.passes import compiled_walks, run
from bregopt_relu.em_nmd import KeptVariance
from bregopt_relu.tobit import Tobit
from small_parts import HalfSquares
from test_other_problems import completion, quartic_problem

import bregopt as bo
from bregopt.compiled import jit
from bregopt.errors import IncompatibleError, ParameterError

RANK = 3
BARE = ["naive-nmd", "bcd-nmd", "3b-nmd", "em-nmd", "tsvd"]
FORMS = [np.asarray, scipy.sparse.csr_array]
forms = pytest.mark.parametrize("form", FORMS, ids=["dense", "sparse"])


def exact(shape=(31, 23), rank=RANK, seed=7):
    rng = np.random.default_rng(seed)
    return np.maximum(0, rng.standard_normal((shape[0], rank)) @ rng.standard_normal((rank, shape[1])))


def noise(shape=(20, 16), seed=5):
    return np.maximum(0, np.random.default_rng(seed).standard_normal(shape))


def closest(M, T):
    return np.where(M > 0, M, np.minimum(0, T))


def f(M, T):
    return 0.5 * np.sum((closest(M, T) - T) ** 2)


def truncated(Z, rank):
    U, s, Vt = np.linalg.svd(Z, full_matrices=False)
    return (U[:, :rank] * s[:rank]) @ Vt[:rank]


def start_of(problem, seed=0):
    return problem.first_point(None, np.random.default_rng(seed))


def states(problem, method, start, number):
    return list(itertools.islice(bo.iterate(problem, method=method, start=start), number + 1))


# ---- references: one matrix Z after the other, stored


def naive(M, T, rank, iterations):
    products = []
    for _ in range(iterations):
        T = truncated(closest(M, T), rank)
        products.append(T)
    return products


def em(M, T, rank, iterations, known=None):
    """As in the paper of its author, with erfcx; an entry that is not known is expected at T, with the variance σ²."""
    known = np.ones(M.shape, dtype=bool) if known is None else known
    data = M[known]
    variance, rows, zero = np.mean(data**2) - np.mean(data) ** 2, [], (M == 0) & known
    for _ in range(iterations):
        sigma = math.sqrt(variance)
        g = T[zero] / sigma
        ratio = math.sqrt(2 / math.pi) / scipy.special.erfcx(g / math.sqrt(2))
        Z = np.where(known, M, T)
        Z[zero] = T[zero] - sigma * ratio
        v = variance * (np.sum(np.clip(1 - (ratio - g) * ratio, 0, 1)) + np.sum(~known))
        T = truncated(Z, rank)
        variance = (v + np.sum((T - Z) ** 2)) / M.size
        rows.append((T, math.sqrt(variance)))
    return rows


def likelihood(M, T, sigma, known=None):
    """−log of it."""
    known = np.ones(M.shape, dtype=bool) if known is None else known
    seen, zero = (M > 0) & known, (M == 0) & known
    square = np.sum((T - M)[seen] ** 2) / (2 * sigma**2)
    return square + np.sum(seen) * math.log(sigma) - np.sum(scipy.special.log_ndtr(-T[zero] / sigma))


def solved(Z, V, eta):
    """argmin_U ½‖Z − UV‖² + (η/2)‖U‖², by least squares on a taller matrix."""
    tall = np.vstack([V.T, math.sqrt(eta) * np.eye(len(V))])
    return np.linalg.lstsq(tall, np.vstack([Z.T, np.zeros((len(V), len(Z)))]), rcond=None)[0].T


def three_blocks(M, U, V, iterations, beta, average=0.0, eta=(0.0, 0.0)):
    """Z from two W, T̄ by its factors."""
    here = there = U, V
    omega, pairs = beta / (1 + beta), []
    for _ in range(iterations):
        Z = (1 + omega) * closest(M, here[0] @ here[1]) - omega * closest(M, there[0] @ there[1])
        U_new = solved(Z, V, eta[0])
        U_new = (1 + average) * U_new - average * U
        V_new = solved(Z.T, U_new.T, eta[1]).T
        V_new = (1 + average) * V_new - average * V
        here, there = ((1 + beta) * U_new - beta * here[0], (1 + beta) * V_new - beta * here[1]), here
        U, V = U_new, V_new
        pairs.append((U, V))
    return pairs


def published(M, U, V, iterations, beta, average=0.0, eta=0.0):
    """The authors' 3B-NMD, and NMD-TM: Z and T are stored, and carried on extrapolated; the objectives of its UV."""
    T, Z, values = U @ V, M, []
    for _ in range(iterations):
        Z = (1 + beta) * closest(M, T) - beta * Z
        U = (1 + average) * solved(Z, V, eta) - average * U
        V = (1 + average) * solved(Z.T, U.T, eta).T - average * V
        T = (1 + beta) * U @ V - beta * T
        values.append(f(M, U @ V))
    return values


def products_of(found):
    return [state.Y.U @ state.Y.V for state in found[1:]]


def assert_same(found, wanted, tolerance=1e-8):
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=tolerance * np.abs(other).max())


# ---- the same iterates


@forms
@pytest.mark.parametrize("M", [exact((12, 10)), noise((12, 10))], ids=["exact", "noise"])
def test_naive_nmd_with_many_steps_agrees_with_full_svds(M, form):
    problem = bo.compose("relu-nmd", form(M), rank=RANK)
    start = start_of(problem)
    found = states(problem, "naive-nmd(steps=60)", start, 15)
    assert_same(products_of(found), naive(M, start.U @ start.V, RANK, 15))


@pytest.mark.parametrize("M", [exact(), noise()], ids=["exact", "noise"])
def test_one_step_of_naive_nmd_does_as_well_as_full_svds_within_ten_percent(M):
    problem = bo.compose("relu-nmd", M, rank=RANK)
    start = start_of(problem)
    full = f(M, naive(M, start.U @ start.V, RANK, 100)[-1])
    assert bo.solve(problem, method="naive-nmd", start=start, max_iterations=100).objective <= 1.1 * full


def test_a_step_towards_the_svd_never_leads_farther_from_W():
    """Where the best matrix of the tangent space does: Z = [[1, 1], [1, −b]] from e₁e₁ᵀ with b > 1.81."""
    Z = np.array([[1.0, 1.0], [1.0, -2.0]])
    rng = np.random.default_rng(0)
    cases = [(Z, np.eye(2, 1), np.eye(1, 2)), *((rng.standard_normal((8, 7)), None, None) for _ in range(40))]
    for Z, U, V in cases:
        U, V = (rng.standard_normal((8, 2)), rng.standard_normal((2, 7))) if U is None else (U, V)
        problem = bo.compose("low-rank", Z, rank=U.shape[1], loss="least-squares")
        found = states(problem, "naive-nmd", bo.Blocks(U=U, V=V), 4)
        least = 0.5 * np.sum(np.linalg.svd(Z, compute_uv=False)[U.shape[1] :] ** 2)
        for before, after in itertools.pairwise(found):
            assert after.objective <= before.objective
            assert after.Y is not before.Y or before.objective - least <= 1e-9 * np.sum(Z**2)


@forms
@pytest.mark.parametrize("M", [exact((12, 10)), noise((12, 10))], ids=["exact", "noise"])
def test_em_nmd_with_many_steps_agrees_with_full_svds_and_erfcx(M, form):
    problem = bo.compose("relu-nmd", form(M), rank=RANK)
    start = start_of(problem)
    found = states(problem, "em-nmd(steps=60)", start, 15)
    rows = em(M, start.U @ start.V, RANK, 15)
    assert_same(products_of(found), [T for T, _ in rows])
    np.testing.assert_allclose([it.inner.sigma for it in found[1:]], [sigma for _, sigma in rows], rtol=1e-8)
    for state in found:
        assert state.objective == pytest.approx(f(M, state.Y.U @ state.Y.V), rel=1e-9)


def test_em_nmd_expects_missing_entries_at_T():
    M, known = noise((14, 11)), np.random.default_rng(0).random((14, 11)) < 0.8
    problem = bo.compose("relu-nmd", M, rank=RANK, mask=known)
    start = start_of(problem)
    found = states(problem, "em-nmd(steps=60)", start, 12)
    rows = em(M, start.U @ start.V, RANK, 12, known)
    assert_same(products_of(found), [T for T, _ in rows])
    np.testing.assert_allclose([it.inner.sigma for it in found[1:]], [sigma for _, sigma in rows], rtol=1e-8)


@pytest.mark.parametrize("steps", [1, 8])
def test_em_nmd_reports_the_likelihood_which_never_falls(steps):
    for M, known in ((noise(), None), (exact(), None), (noise(), np.random.default_rng(1).random((20, 16)) < 0.7)):
        problem = bo.compose("relu-nmd", M, rank=RANK, mask=known)
        found = states(problem, f"em-nmd(steps={steps})", start_of(problem), 25)
        values = [likelihood(M, it.Y.U @ it.Y.V, it.inner.sigma, known) for it in found]
        assert (np.diff(values) <= 1e-10 * np.abs(values[:-1])).all()
        told = np.array([it.lyapunov for it in found]) / found[0].inner.first ** 2
        np.testing.assert_allclose(np.diff(told), np.diff(values), rtol=1e-6, atol=1e-9 * np.abs(values).max())


def test_em_nmd_may_raise_the_objective_of_the_problem():
    problem = bo.compose("relu-nmd", noise(), rank=RANK)
    best = bo.solve(problem, method="els", max_iterations=500)
    result = bo.solve(problem, method="em-nmd", start=best.Y, max_iterations=5)
    assert result.objective > best.objective
    assert result.certificate.monotone
    assert "log likelihood" in result.certificate.summary()


@forms
@pytest.mark.parametrize("M", [exact(), noise()], ids=["exact", "noise"])
def test_bcd_nmd_agrees_with_least_squares(M, form):
    problem = bo.compose("relu-nmd", form(M), rank=RANK)
    start = start_of(problem)
    wanted = three_blocks(M, start.U, start.V, 30, 0.0)
    found = states(problem, "bcd-nmd", start, 30)
    assert_same(products_of(found), [U @ V for U, V in wanted])
    np.testing.assert_allclose([it.objective for it in found[1:]], [f(M, U @ V) for U, V in wanted], rtol=1e-7)


@forms
def test_3b_nmd_agrees_with_least_squares_for_a_stored_Z(form):
    M = noise()
    problem = bo.compose("relu-nmd", form(M), rank=RANK)
    start = start_of(problem)
    wanted = three_blocks(M, start.U, start.V, 25, 0.7)
    assert_same(products_of(states(problem, "3b-nmd", start, 25)), [U @ V for U, V in wanted], 1e-7)


@pytest.mark.parametrize(("on_U", "on_V"), [(0.0, 0.0), (0.3, 0.3), (0.1, 0.5), (0.0, 0.2)])
def test_nmd_tm_without_its_guard_agrees_with_least_squares_for_a_stored_Z(on_U, on_V):
    M = noise()
    problem = bo.compose("relu-nmd", M, rank=RANK, U=f"ridge({on_U})", V=f"ridge({on_V})")
    start = start_of(problem)
    wanted = three_blocks(M, start.U, start.V, 25, 0.7, -0.05, (on_U, on_V))
    found = states(problem, "nmd-tm(guard=false)", start, 25)
    assert_same(products_of(found), [U @ V for U, V in wanted], 1e-7)
    for state, (U, V) in zip(found[1:], wanted, strict=True):
        phi = f(M, U @ V) + 0.5 * on_U * np.sum(U**2) + 0.5 * on_V * np.sum(V**2)
        assert state.objective == pytest.approx(phi, rel=1e-7)


def test_momentum_by_two_matrices_W_does_as_well_as_the_published_one():
    """On the whole: from the same starts they may come to different stationary points."""
    theirs, ours = [], []
    for seed in range(4):
        M = noise((30, 24), seed)
        problem = bo.compose("relu-nmd", M, rank=RANK)
        start = start_of(problem)
        theirs.append(published(M, start.U, start.V, 150, 0.7)[-1])
        ours.append(bo.solve(problem, method="3b-nmd", start=start, max_iterations=150).objective)
    np.testing.assert_allclose(ours, theirs, rtol=0.06)
    assert sum(ours) <= 1.01 * sum(theirs)


def test_the_published_nmd_tm_diverges_with_its_own_beta_and_the_guarded_one_does_not():
    M = exact((60, 40), 4, 2)
    problem = bo.compose("relu-nmd", M, rank=4, U="ridge(1e-4)", V="ridge(1e-4)")
    start = start_of(problem)
    assert max(published(M, start.U, start.V, 250, 0.95, -0.05, 1e-4)) > 1e6 * f(M, start.U @ start.V)
    result = bo.solve(problem, method="nmd-tm(0.95)", start=start, max_iterations=200)
    assert result.certificate.monotone
    assert result.metrics["relative_error"] < 1e-3
    for guard in ("true", "false"):
        said = bo.solve(problem, method=f"nmd-tm(0.95, guard={guard})", start=start, max_iterations=2).certificate
        assert "diverged on random data with β = 0.95" in said.summary()
        usual = bo.solve(problem, method=f"nmd-tm(guard={guard})", start=start, max_iterations=2).certificate
        assert "diverged" not in usual.summary()


# ---- special cases and costs


@pytest.mark.parametrize("method", ["3b-nmd(0)", "3b-nmd(0, guard=true)", "nmd-tm(0, average=0)"])
def test_without_momentum_they_are_bcd_nmd(method):
    problem = bo.compose("relu-nmd", noise(), rank=RANK)
    start = start_of(problem)
    pairs = zip(states(problem, method, start, 20), states(problem, "bcd-nmd", start, 20), strict=True)
    for one, other in pairs:
        np.testing.assert_allclose(one.Y.flat, other.Y.flat, rtol=0, atol=1e-8 * np.abs(other.Y.flat).max())


@pytest.mark.parametrize(
    ("method", "first", "second", "later"),
    [
        ("naive-nmd", 1, 7, 7),
        ("naive-nmd(steps=3)", 1, 19, 19),
        ("bcd-nmd", 3, 3, 3),
        ("3b-nmd", 1, 7, 13),
        ("nmd-tm(guard=false)", 1, 7, 13),
        ("em-nmd", 2 + 2 / RANK, 13, 13),
        ("em-nmd(steps=2)", 2 + 2 / RANK, 19, 19),
        ("tsvd", 1, 0, 0),
    ],
)
def test_every_product_is_counted(method, first, second, later):
    problem = bo.compose("relu-nmd", noise(), rank=RANK)
    found = states(problem, method, start_of(problem), 6)
    counts = [it.counts.products for it in found]
    np.testing.assert_allclose(np.diff([0, *counts]), [first, second, *(5 * [later])], rtol=1e-12)


@forms
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("method", ["naive-nmd", "bcd-nmd", "3b-nmd(guard=true)", "nmd-tm", "nmd-tm(0.95)"])
def test_the_objective_never_rises_at_any_scale(method, form, scale):
    for M in (exact(), noise()):
        result = bo.solve(bo.compose("relu-nmd", form(scale * M), rank=RANK), method=method, max_iterations=60)
        assert (np.diff(result.history["objective"]) <= 0).all()
        assert result.certificate.monotone
        assert result.certificate.safeguard


@pytest.mark.parametrize("loss", [entry.name for entry in bo.catalog("loss")])
@pytest.mark.parametrize("method", ["naive-nmd", "bcd-nmd", "3b-nmd(guard=true)", "nmd-tm"])
def test_every_loss_is_taken_and_its_objective_falls(method, loss):
    rng, part = np.random.default_rng(0), bo.make("loss", loss)
    M = part.sample_data(rng, 120).reshape(12, 10)
    upper = {"upper": np.maximum(M, rng.standard_normal(M.shape))} if part.bounds else {}
    weights = rng.uniform(0.5, 3, M.shape)
    problem = bo.compose("low-rank", M, rank=2, loss=loss, weights=weights, missing="nan", **upper)
    objective = bo.solve(problem, method=method, max_iterations=25).history["objective"]
    assert (np.diff(objective) <= 0).all()
    assert objective[-1] < objective[0]


@pytest.mark.parametrize("method", ["naive-nmd", "em-nmd"])
def test_data_of_exact_rank_are_met(method):
    result = bo.solve(bo.compose("relu-nmd", exact((60, 40), 4, 0), rank=4), method=method, max_iterations=400)
    assert result.metrics["relative_error"] < 1e-3


def curved(method):
    """A problem that every method settles on fast: noisy data of low rank with a few entries missing, or a ridge."""
    if method == "nmd-tm":
        return bo.compose("relu-nmd", noise(), rank=RANK, U="ridge(0.5)", V="ridge(0.5)")
    rng = np.random.default_rng(3)
    M = rng.standard_normal((16, RANK)) @ rng.standard_normal((RANK, 12)) + 0.3 * rng.standard_normal((16, 12))
    return bo.compose("low-rank", M, rank=RANK, loss="least-squares", mask=rng.random(M.shape) < 0.9)


@pytest.mark.parametrize("method", ["naive-nmd", "bcd-nmd", "3b-nmd", "nmd-tm"])
def test_the_stationary_points_are_those_of_els_and_aapb(method):
    problem = curved(method)
    rest = bo.solve(problem, method=method, stop="stationarity(1e-8)", max_iterations=2000)
    best = bo.solve(problem, method="els", stop="stationarity(1e-8)", max_iterations=2000)
    assert rest.status is best.status is bo.Status.STATIONARY
    assert rest.objective == pytest.approx(best.objective, rel=1e-10)
    for one, other in ((method, best), ("els", rest), ("aapb", rest)):
        result = bo.solve(problem, method=one, start=other.Y, max_iterations=5)
        wanted = other.Y.U @ other.Y.V
        np.testing.assert_allclose(result.Y.U @ result.Y.V, wanted, rtol=0, atol=1e-6 * np.abs(wanted).max())


@pytest.mark.parametrize("method", ["naive-nmd", "bcd-nmd", "3b-nmd", "nmd-tm", "em-nmd"])
def test_a_rank_beyond_that_of_the_data_does_no_harm(method):
    M = np.outer(np.arange(1.0, 9), np.arange(1.0, 7))
    result = bo.solve(bo.compose("relu-nmd", M, rank=5), method=method, max_iterations=100)
    assert result.metrics["relative_error"] < 1e-8
    assert np.isfinite(result.Y.flat).all()


# ---- tsvd


@forms
def test_tsvd_is_the_best_matrix_of_its_rank_wherever_it_starts(form):
    M = noise((30, 25))
    problem = bo.compose("relu-nmd", form(M), rank=RANK)
    T = truncated(M, RANK)
    for seed in (0, 1):
        result = bo.solve(problem, method="tsvd", start=start_of(problem, seed), max_iterations=3)
        np.testing.assert_allclose(result.Y.U @ result.Y.V, T, atol=1e-9)
        np.testing.assert_array_equal(result.history["objective"], result.objective)
        assert result.objective == pytest.approx(f(M, T), rel=1e-10)
        assert result.metrics["relative_error"] <= np.linalg.norm(M - T) / np.linalg.norm(M)


def test_tsvd_ends_at_once_and_says_so():
    result = bo.solve(bo.compose("relu-nmd", noise(), rank=RANK), method="tsvd", tolerance=1e-9)
    assert (result.status, result.iterations, result.converged) == (bo.Status.STOPPED, 0, False)
    assert result.reason == "The truncated SVD of M is the answer: there are no iterations."


def test_tsvd_is_stationary_for_least_squares_and_not_for_relu():
    M = noise((30, 25))
    for loss, stationary in (("least-squares", True), ("relu", False)):
        problem = bo.compose("low-rank", M, rank=RANK, loss=loss)
        A = bo.solve(problem, method="tsvd", max_iterations=1).certificate.relative_subgradient
        assert (A < 1e-10) == stationary


# ---- what is refused


@pytest.mark.parametrize("method", BARE)
def test_what_is_not_the_bare_factorisation_is_refused(method):
    M = exact()
    with pytest.raises(IncompatibleError, match=r"solves the unregularised model only.*aapb"):
        bo.solve(bo.compose("relu-nmd", M, rank=RANK, U="ridge(1)"), method=method)
    graph = bo.make("regularizer", "graph", np.eye(len(M)))
    with pytest.raises(IncompatibleError, match=r"WithSmooth.*SmoothPart.gram"):
        bo.solve(bo.compose("relu-nmd", M, rank=RANK, graph=graph), method=method)
    with pytest.raises(IncompatibleError, match=r"two factors U and V.*y: 3|for the loss relu"):
        bo.solve(quartic_problem(), method=method, start=bo.Blocks(y=[1.0, 2.0, 3.0]))
    problem, start, *_ = completion()
    with pytest.raises(IncompatibleError, match="unregularised"):
        bo.solve(problem, method=method, start=start)


def test_nmd_tm_takes_tikhonov_only():
    for H in ("l1(0.1)", "nonneg"):
        with pytest.raises(IncompatibleError, match=r"nmd-tm solves a least-squares problem.*H = 0 or Tikhonov"):
            bo.solve(bo.compose("relu-nmd", exact(), rank=RANK, U=H), method="nmd-tm")
    graph = bo.make("regularizer", "graph", np.eye(31))
    with pytest.raises(IncompatibleError, match=r"nmd-tm.*SmoothPart.gram"):
        bo.solve(bo.compose("relu-nmd", exact(), rank=RANK, graph=graph), method="nmd-tm")


@pytest.mark.parametrize("loss", ["least-squares", "bounded-relu(0, 9)", "tobit"])
def test_em_nmd_takes_relu_only(loss):
    with pytest.raises(IncompatibleError, match=r"em-nmd is for the loss relu.* has \w+\(.*naive-nmd"):
        bo.solve(bo.compose("low-rank", exact() / 2, rank=RANK, loss=loss), method="em-nmd")


def test_em_nmd_takes_no_weights():
    for weights in (np.full((31, 23), 2.0), np.random.default_rng(0).uniform(0.1, 1, (31, 23)) ** 0):
        with pytest.raises(IncompatibleError, match="noise of one size: no weights"):
            bo.solve(bo.compose("relu-nmd", exact(), rank=RANK, weights=weights), method="em-nmd")


@pytest.mark.parametrize("method", ["naive-nmd", "bcd-nmd", "3b-nmd", "nmd-tm"])
def test_another_factorisation_is_solved_under_its_own_names(method):
    M = exact()

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


@pytest.mark.parametrize(
    "spec",
    ["naive-nmd(0)", "3b-nmd(1)", "3b-nmd(-0.1)", "nmd-tm(average=0.1)", "nmd-tm(guard=1)", "em-nmd(0)"],
)
def test_constants_that_cannot_be_are_refused(spec):
    with pytest.raises(ParameterError, match="must be"):
        bo.make("method", spec)


@pytest.mark.parametrize("method", ["naive-nmd", "bcd-nmd", "3b-nmd", "nmd-tm", "em-nmd", "tsvd"])
def test_a_sparse_matrix_is_never_made_dense(method):
    def solve(m, n, density):
        M = scipy.sparse.random_array((m, n), density=density, random_state=np.random.default_rng(0), format="csr")
        return bo.solve(bo.compose("relu-nmd", M, rank=5), method=method, max_iterations=1)

    solve(500, 500, 0.1)  # large enough to load the compiled loops, which are not what is measured
    tracemalloc.start()
    solve(2000, 3000, 0.005)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.5 * 2000 * 3000 * 8


@pytest.mark.parametrize("method", [*BARE, "nmd-tm"])
def test_the_subgradient_at_the_end_is_the_gradient(method):
    H = "ridge(0.4)" if method == "nmd-tm" else "none"
    problem = bo.compose("relu-nmd", noise(), rank=RANK, U=H, V=H)
    result = bo.solve(problem, method=method, max_iterations=5)
    gradient = problem.oracle.evaluate(result.Y, at=result.Y).gradient + (0.4 if method == "nmd-tm" else 0.0) * result.Y
    assert result.certificate.subgradient == pytest.approx(gradient.norm(), rel=1e-10)


# ---- tobit


def hidden(g):
    """(−log Φ(−g), h, h(h − g)) for g = x/σ, with many digits."""
    g = mpmath.mpf(g)
    if g < 25:
        tail = mpmath.erfc(g / mpmath.sqrt(2)) / 2
        h = mpmath.npdf(g) / tail
        value = -mpmath.log1p(-mpmath.erfc(-g / mpmath.sqrt(2)) / 2) if g < 0 else -mpmath.log(tail)
        return value, h, h * (h - g)
    rest = mpmath.mpf(0)
    for k in range(300, 1, -1):
        rest = k / (g + rest)
    excess = 1 / (g + rest)
    return g**2 / 2 + mpmath.log(mpmath.sqrt(2 * mpmath.pi) * (g + excess)), g + excess, (g + excess) * excess


def points():
    rng = np.random.default_rng(0)
    spread = np.concatenate([10 ** rng.uniform(-8, 8, 80), -(10 ** rng.uniform(-8, 1.56, 80))])
    return np.concatenate([np.linspace(-37, 45, 160), spread, [0.0, -0.0, 1e8]])


@pytest.mark.parametrize("sigma", [1.0, 2.0**-20, 2.0**30])
def test_the_tobit_loss_of_a_zero_is_right_to_thirteen_digits(sigma):
    compiled = jit(Tobit.entry, kept=False)
    with mpmath.workdps(50):
        for g in points().tolist():
            value, h, bend = hidden(g)
            for entry in (Tobit.entry, compiled):
                e, slope, curvature = entry(g * sigma, 0.0, sigma)
                for found, wanted in ((e, sigma**2 * value), (slope, sigma * h), (curvature, bend)):
                    assert abs(found - wanted) <= max(1e-13 * wanted, 1e-305)
                assert 0 <= curvature <= 1


def test_the_tobit_loss_of_a_zero_ends_where_numbers_do():
    assert Tobit.entry(-40.0, 0.0, 1.0) == (0.0, 0.0, 0.0)
    assert Tobit.entry(-1e300, 0.0, 1e-300) == (0.0, 0.0, 0.0)
    assert Tobit.entry(1e100, 0.0, 1e-100) == (0.5 * 1e100 * 1e100, 1e100, 1.0)


def test_the_tobit_loss_becomes_relu_where_there_is_no_noise():
    X, M = np.random.default_rng(0).standard_normal((2, 200))
    M = np.maximum(M, 0)
    for one, other in zip(
        bo.make("loss", "tobit(1e-9)").arrays(X, M), bo.make("loss", "relu").arrays(X, M), strict=True
    ):
        np.testing.assert_allclose(one, other, atol=1e-12)


def test_the_form_of_tobit_for_arrays_is_right_for_large_and_small_numbers():
    X = points()
    found = Tobit(1.0).arrays(X, np.zeros_like(X))
    wanted = np.array([Tobit.entry(x, 0.0, 1.0) for x in X.tolist()]).T
    for one, other in zip(found[:3], wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_the_variance_that_is_kept_is_that_of_a_truncated_normal():
    rng, sigma = np.random.default_rng(0), 0.7
    X, M = rng.standard_normal(60), np.maximum(rng.standard_normal(60), 0)
    wanted = [
        0.0 if m > 0 else scipy.stats.truncnorm(-np.inf, -x / sigma, x, sigma).var() for x, m in zip(X, M, strict=True)
    ]
    value, slope, curvature, _ = KeptVariance(sigma).arrays(X, M)
    np.testing.assert_allclose(value, wanted, rtol=1e-8, atol=1e-12)
    one = [KeptVariance.entry(x, m, sigma, 1.0) for x, m in zip(X.tolist(), M.tolist(), strict=True)]
    np.testing.assert_allclose(np.transpose(one), [value, slope, curvature], rtol=1e-12, atol=1e-13)


def test_the_tobit_loss_finds_what_was_cut_off_better_than_relu():
    rng = np.random.default_rng(0)
    truth = rng.standard_normal((80, 3)) @ rng.standard_normal((3, 60))
    M = np.maximum(0, truth + rng.standard_normal(truth.shape))
    errors = []
    for loss in ("tobit(1)", "relu"):
        Y = bo.solve(bo.compose("low-rank", M, rank=3, loss=loss), method="els", max_iterations=300).Y
        errors.append(np.linalg.norm(Y.U @ Y.V - truth) / np.linalg.norm(truth))
    assert errors[0] < 0.92 * errors[1]


def test_another_sigma_compiles_nothing_anew(monkeypatch):
    monkeypatch.setattr(run, "SMALL", 0)
    M = noise((12, 10))
    made = []
    problem = bo.compose("relu-nmd", M, rank=2)
    bo.solve(problem, method="em-nmd", max_iterations=1)
    usual = compiled_walks.walks

    def counted(*given, **named):
        found = usual(*given, **named)
        made.append(found)
        return found

    from bregopt_lowrank.losses import tile_loops

    before = tile_loops.loops.cache_info().misses
    monkeypatch.setattr(compiled_walks, "walks", counted)
    bo.solve(problem, method="em-nmd", max_iterations=6)
    assert made
    assert tile_loops.loops.cache_info().misses == before


@pytest.mark.parametrize("spec", ["tobit(0)", "tobit(-1)"])
def test_a_deviation_must_be_positive(spec):
    with pytest.raises(ParameterError, match="'sigma' parameter of Tobit must be"):
        bo.make("loss", spec)


def test_em_nmd_uses_no_more_than_the_first_sigma_of_the_data():
    M = exact()
    problem = bo.compose("relu-nmd", M, rank=RANK)
    assert isinstance(problem.block, LowRankBlock)
    assert states(problem, "em-nmd", None, 0)[0].inner.sigma == pytest.approx(M.std(), rel=1e-12)
    flat = bo.compose("relu-nmd", np.full((6, 5), 3.0), rank=1)
    assert states(flat, "em-nmd", None, 0)[0].inner.sigma == pytest.approx(3.0)
