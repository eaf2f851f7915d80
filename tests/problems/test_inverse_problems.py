"""Quadratic inverse problems and phase retrieval: constants, W, recovery, and the loops one would write by hand."""

import itertools

import bregopt_problems.measurements as measurements
import bregopt_problems.quadratic_inverse as quadratic
import numpy as np
import pytest
from attrs import evolve
from bregopt_problems import signal
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator, aslinearoperator

import bregopt as bo
from bregopt.errors import DataError, IncompatibleError, ParameterError
from bregopt.host.compose import resolve_oracle

METHODS = ["auto", "aapb", "aapb-certified", "bella", "cocain", "bpdcae", "dcae"]


def gaussian(m, d, seed=0, noise=0.0, complex_too=False):
    """A, b = |Ax|² + noise, and x."""
    rng = np.random.default_rng(seed)
    A, x = rng.standard_normal((m, d)), rng.standard_normal(d)
    if complex_too:
        A, x = A + 1j * rng.standard_normal((m, d)), x + 1j * rng.standard_normal(d)
    return A, np.abs(A @ x) ** 2 + noise * rng.standard_normal(m), x


def distance(x, y):
    """``min |tx − y|/|y|`` over |t| = 1."""
    t = np.vdot(x, y)
    return np.linalg.norm(x * (t / abs(t)) - y) / np.linalg.norm(y)


# ---- the constants


@pytest.mark.parametrize("name", ["quadratic-inverse", "phase-retrieval"])
def test_every_claim_stands_the_kit_with_fewer_measurements_than_unknowns(name):
    A, b, _ = gaussian(2, 3)
    problem = bo.Problem(**_parts(bo.compose(name, aslinearoperator(A), b + 0.1, H="l1(0.1)")))
    report = bo.testing.check((problem, bo.Blocks(x=np.array([0.5, -1.0, 2.0]))))
    assert report.ok, report.table()


@pytest.mark.parametrize("shape", [(7, 3), (4, 6)])
@pytest.mark.parametrize("complex_too", [False, True], ids=["real", "complex"])
def test_every_form_of_A_makes_the_same_problem(shape, complex_too):
    A, b, _ = gaussian(*shape, complex_too=complex_too)
    for name in ("phase-retrieval", *([] if complex_too else ["quadratic-inverse"])):
        one, *others = (bo.compose(name, form, b) for form in (A, csr_array(A), aslinearoperator(A), A.tolist()))
        Y = one.first_point(None, np.random.default_rng(0))
        at = Y.map(lambda _, X: X + 0.1)
        seen = one.oracle.evaluate(Y, at=at)
        for other in others:
            again = other.oracle.evaluate(Y, at=at)
            np.testing.assert_allclose(again.gradient.flat, seen.gradient.flat, rtol=1e-9)
            assert (again.value, again.value_at) == pytest.approx((seen.value, seen.value_at))
            assert (other.kernel.a, other.kernel.b) == pytest.approx((one.kernel.a, one.kernel.b))
            there = other.first_point(None, np.random.default_rng(0))
            np.testing.assert_allclose(np.abs(signal(other, there)), np.abs(signal(one, Y)))


def _parts(problem):
    return {name: getattr(problem, name) for name in ("smooth", "block", "regularizer", "kernel", "start")}


def curvature(A, x, h):
    """``3 Σ⟨a, x⟩²⟨a, h⟩²`` over ``d²ψ1(x)[h, h]``, on unit vectors."""
    x, h = x / np.linalg.norm(x), h / np.linalg.norm(h)
    return 3.0 * np.sum((A @ x) ** 2 * (A @ h) ** 2) / (1.0 + 2.0 * (x @ h) ** 2)


def most_curvature(A, seed=0):
    """The largest found by ascent from many starts."""
    rng, d = np.random.default_rng(seed), A.shape[1]
    starts = [np.concatenate([a, a]) for a in A[:6]] + [rng.standard_normal(2 * d) for _ in range(6)]
    return max(-minimize(lambda v: -curvature(A, v[:d], v[d:]), start).fun for start in starts)


@pytest.mark.parametrize("shape", [(1, 1), (5, 1), (4, 4), (12, 3), (40, 6), (5, 8)])
def test_alpha_bounds_the_curvature_and_is_near_it(shape):
    A, b, _ = gaussian(*shape)
    alpha, found = bo.compose("quadratic-inverse", A, b).smooth.high.a, most_curvature(A)
    assert found <= alpha * (1 + 1e-9)
    assert alpha <= 1.5 * found * (1 + 1e-6)
    classic = 3.0 * np.linalg.norm((A.T * np.sum(A**2, axis=1)) @ A, 2)
    assert alpha <= 0.5 * classic * (1 + 1e-9)


def test_alpha_is_attained_where_there_is_one_measurement_or_one_unknown():
    a = np.array([[2.0, 1.0, -3.0]])
    assert bo.compose("quadratic-inverse", a, [1.0]).smooth.high.a == pytest.approx(most_curvature(a), rel=0.5)
    column = np.array([[1.0], [-2.0], [3.0]])
    assert bo.compose("quadratic-inverse", column, [1.0, 1.0, 1.0]).smooth.high.a == pytest.approx(98.0)


def test_the_cheaper_constants_are_larger_ones(monkeypatch):
    A, b, _ = gaussian(100, 70)
    sharp = bo.compose("quadratic-inverse", A, b).smooth.high.a
    monkeypatch.setattr(quadratic, "ROWS", 10)
    by_rows = bo.compose("quadratic-inverse", A, b).smooth.high.a
    assert by_rows == pytest.approx(1.5 * np.linalg.norm((A.T * np.sum(A**2, axis=1)) @ A, 2))
    monkeypatch.setattr(measurements, "SMALL", 10)
    by_norm = bo.compose("quadratic-inverse", aslinearoperator(A), b).smooth.high.a
    assert sharp < by_rows < 1.5 * np.linalg.norm(A, 2) ** 4 <= by_norm


def test_the_quadratic_parts_bound_the_sum_with_b_on_both_sides():
    A, b, _ = gaussian(12, 5)
    b -= 4.0
    assert b.min() < 0 < b.max()
    F, ends = bo.compose("quadratic-inverse", A, b).smooth, np.linalg.eigvalsh((A.T * b) @ A)
    assert F.high.b >= -ends[0]
    assert F.low.b >= ends[-1]
    for data in (b, -b):
        problem = bo.compose("quadratic-inverse", A, data)
        assert problem.smooth.smad(problem.kernel, {}, True).upper == pytest.approx(1.0)
    positive = bo.compose("quadratic-inverse", A, np.abs(b))
    assert positive.smooth.high.b == 0
    assert positive.smooth.smad(positive.kernel, {}, True).lower == pytest.approx(1.0)


@pytest.mark.parametrize("top", [1.0, 1.001, 2.0, 1e6])
@pytest.mark.parametrize("spread", [0.0, 1e-3, 1.0])
def test_the_bound_by_lanczos_is_one_and_a_close_one(top, spread):
    rng, n = np.random.default_rng(1), 400
    values = np.concatenate([[top], 1.0 - spread * rng.random(n - 1)])
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    bound = measurements.lanczos_bound(lambda v: Q @ (values * (Q.T @ v)), n)
    assert max(values) <= bound <= 1.08 * max(values)


def test_large_matrices_have_bounds_above_their_norms():
    A, b, _ = gaussian(300, 260)
    F = bo.compose("phase-retrieval", A, b).smooth
    assert np.linalg.norm(A, 2) ** 2 <= F.block_lipschitz(None, "x") <= 1.08 * np.linalg.norm(A, 2) ** 2
    F = bo.compose("quadratic-inverse", A, b).smooth
    n, K = np.sum(A**2, axis=1), np.square(A @ A.T)
    assert 1.5 * np.linalg.norm(K - np.outer(n, n) / 262, 2) <= F.high.a


# ---- the oracle


@pytest.mark.parametrize("name", ["quadratic-inverse", "phase-retrieval"])
def test_a_step_costs_one_product_with_A_and_one_with_its_adjoint(name):
    A, b, _ = gaussian(30, 6)
    asked = []

    def times(x):
        asked.append("A")
        return A @ x

    def adjoint_times(z):
        asked.append("A*")
        return A.T @ z

    operator = LinearOperator(A.shape, matvec=times, rmatvec=adjoint_times, dtype=float)
    problem, seen = bo.compose(name, operator, b), []
    for iterations in (10, 30):
        asked.clear()
        result = bo.solve(problem, method="apb", start=bo.Blocks(x=np.ones(6)), max_iterations=iterations)
        assert result.counts.products == 2 * (iterations + 1)
        seen.append((asked.count("A"), asked.count("A*")))
    assert tuple(np.subtract(*reversed(seen))) == (20, 20)


def test_exact_data_are_met_to_the_last_digits_with_every_assumption_in_force():
    A, b, x = gaussian(60, 8)
    for name, method in itertools.product(
        ["quadratic-inverse", "phase-retrieval"], ["aapb", "bella", "aapb-certified"]
    ):
        result = bo.solve(bo.compose(name, A, b), method=method, max_iterations=400)
        assert result.certificate.monotone, (name, method)
        assert result.certificate.guaranteed, (name, method)
        assert distance(result.Y.x, x) < 1e-13
        assert result.metrics["relative_error"] < 1e-13


@pytest.mark.parametrize("name", ["quadratic-inverse", "phase-retrieval"])
@pytest.mark.parametrize("away", [0.0, 1e-13, 1e-6, 1.0])
def test_values_and_gradients_are_known_as_well_as_they_say(name, away):
    for seed in range(5):
        A, b, x = gaussian(40, 30, seed=seed)
        problem, Y = bo.compose(name, A, b), bo.Blocks(x=x * (1.0 + away))
        seen = problem.oracle.evaluate(Y, at=Y)
        exact = [np.asarray(it, dtype=np.longdouble) for it in (A, b, Y.x, np.sqrt(b))]
        z = exact[0] @ exact[2]
        r = z**2 - exact[1] if name == "quadratic-inverse" else np.abs(z) - exact[3]
        value, slope = (0.25 * r @ r, r * z) if name == "quadratic-inverse" else (0.5 * r @ r, r * np.sign(z))
        assert abs(seen.value - float(value)) <= seen.rounding * seen.scale <= 1e-11 * (float(value) + b @ b)
        miss = np.linalg.norm(np.asarray(seen.gradient.flat - exact[0].T @ slope, dtype=float))
        assert miss <= seen.gradient_rounding <= 1e-10 * np.linalg.norm(A) * np.linalg.norm(b) ** 1.5


# ---- quadratic inverse problems


def loss(A, b, x):
    return 0.25 * np.sum((np.square(A @ x) - b) ** 2), A.T @ ((np.square(A @ x) - b) * (A @ x))


@pytest.mark.parametrize("method", METHODS)
def test_methods_agree_with_lbfgs_to_eight_digits(method):
    A, b, _ = gaussian(60, 10, noise=2.0)
    problem = bo.compose("quadratic-inverse", A, b)
    start = problem.first_point(None, np.random.default_rng(0))
    rival = minimize(lambda x: loss(A, b, x), start.x, jac=True, method="L-BFGS-B", options={"ftol": 0, "gtol": 1e-9})
    result = bo.solve(problem, method=method, start=start, stop="stationarity(1e-9)", max_iterations=3000)
    assert result.converged
    assert result.objective == pytest.approx(rival.fun, rel=1e-8)
    assert rival.fun > 1.0
    assert distance(result.Y.x, rival.x) < 1e-6


def test_apb_is_the_loop_one_would_write():
    A, b, _ = gaussian(40, 7, noise=1.0)
    problem = bo.compose("quadratic-inverse", A, b)
    alpha, sigma = problem.kernel.a, problem.kernel.b
    start = problem.first_point(None, np.random.default_rng(0))
    result = bo.solve(problem, method="apb", start=start, max_iterations=50)
    x = start.x
    for _ in range(50):
        p = (alpha * (x @ x) + sigma) * x - loss(A, b, x)[1]
        roots = np.roots([alpha * (p @ p), 0.0, sigma, -1.0])
        x = p * roots[np.abs(roots.imag) < 1e-12 * np.abs(roots)].real[0]
    np.testing.assert_allclose(result.Y.x, x, rtol=1e-10)
    np.testing.assert_allclose(result.history["step"][1:], 1.0)
    assert result.certificate.guaranteed


@pytest.mark.parametrize("make_A", [np.asarray, csr_array, aslinearoperator], ids=["dense", "sparse", "operator"])
def test_a_signal_is_recovered_up_to_its_sign(make_A):
    A, b, x = gaussian(80, 12, seed=3)
    problem = bo.compose("quadratic-inverse", make_A(A), b)
    result = bo.solve(problem, stop="relative-error(1e-10)", max_iterations=500)
    assert result.converged
    assert distance(signal(problem, result.Y), x) < 1e-9


def test_a_sparse_signal_is_recovered_from_fewer_measurements_than_it_has_entries():
    rng = np.random.default_rng(1)
    A, x = rng.standard_normal((160, 200)), np.zeros(200)
    x[[3, 20, 41, 150]] = [1.5, -2.0, 1.0, 1.2]
    found = {}
    for H in ("l1(20)", "none"):
        problem = bo.compose("quadratic-inverse", A, np.square(A @ x), H=H)
        result = bo.solve(problem, method="bella", start="leading-eigenvector(support=8)", max_iterations=150)
        found[H] = distance(result.Y.x, x), np.count_nonzero(result.Y.x)
    assert found["l1(20)"][0] < 0.01
    assert found["l1(20)"][1] == 4
    assert found["none"][0] > 0.05


def test_negative_data_are_taken_and_the_best_x_may_be_zero():
    A, b, _ = gaussian(20, 4)
    result = bo.solve(bo.compose("quadratic-inverse", A, -b), max_iterations=50)
    np.testing.assert_array_equal(result.Y.x, 0.0)
    away = bo.solve(bo.compose("quadratic-inverse", A, -b), start=bo.Blocks(x=np.ones(4)), stop="max-iterations(300)")
    assert np.abs(away.Y.x).max() < 1e-6
    nothing = bo.solve(bo.compose("quadratic-inverse", A, 0.0 * b), start=bo.Blocks(x=np.ones(4)), max_iterations=300)
    assert nothing.objective < 1e-6 * nothing.history["objective"][0]


@pytest.mark.parametrize("kernel", ["psi1 + psi2", "200*psi1 + 0.01*psi2"])
def test_a_kernel_of_ones_own_brings_its_constant(kernel):
    A, b, _ = gaussian(60, 8)
    problem = bo.compose("quadratic-inverse", A, b, kernel=kernel)
    smad, high = problem.smooth.smad(problem.kernel, {}, True), problem.smooth.high
    assert smad.upper == pytest.approx(high.a / problem.kernel.a)
    result = bo.solve(problem, method="apb", max_iterations=100)
    assert result.certificate.guaranteed
    assert result.objective < result.history["objective"][0]
    assert problem.smooth.smad(bo.make("kernel", "psi2"), {}, True) is None


# ---- phase retrieval


def test_W_is_the_best_choice_of_signs():
    rng = np.random.default_rng(0)
    for m, d in [(1, 1), (4, 2), (6, 3)]:
        A, b = rng.standard_normal((m, d)), rng.random(m)
        problem = bo.compose("phase-retrieval", A, b)
        F, block, signs = problem.smooth, problem.block, list(itertools.product([-1.0, 1.0], repeat=m))
        for _ in range(5):
            Y = bo.Blocks(x=rng.standard_normal(d))
            values = [F.value(Y, np.array(s) * np.sqrt(b)) for s in signs]
            W = block.argmin(F, Y)
            np.testing.assert_allclose(W, np.array(signs[int(np.argmin(values))]) * np.sqrt(b))
            assert F.value(Y, W) == pytest.approx(0.5 * np.sum((np.abs(A @ Y.x) - np.sqrt(b)) ** 2))
            assert resolve_oracle(problem).evaluate(Y).value == pytest.approx(min(values))


def test_W_has_the_phases_of_the_measurements():
    A, b, _ = gaussian(5, 3, complex_too=True)
    problem = bo.compose("phase-retrieval", A, b)
    Y = bo.Blocks(x=np.random.default_rng(1).standard_normal((3, 2)))
    z, W = A @ signal(problem, Y), problem.block.argmin(problem.smooth, Y)
    best = problem.smooth.value(Y, W)
    np.testing.assert_allclose(np.abs(W), np.sqrt(b))
    for i, phase in itertools.product(range(5), np.exp(2j * np.pi * np.arange(24) / 24)):
        other = W.copy()
        other[i] *= phase
        assert problem.smooth.value(Y, other) >= best * (1 - 1e-12)
    assert best == pytest.approx(0.5 * np.sum((np.abs(z) - np.sqrt(b)) ** 2))


@pytest.mark.parametrize("complex_too", [False, True], ids=["real", "complex"])
def test_where_a_measurement_is_zero_W_is_the_positive_root(complex_too):
    A, b, _ = gaussian(5, 3, complex_too=complex_too)
    problem = bo.compose("phase-retrieval", A, b)
    zero = bo.Blocks(x=np.zeros((3, 2) if complex_too else 3))
    np.testing.assert_array_equal(problem.block.argmin(problem.smooth, zero), np.sqrt(b))


@pytest.mark.parametrize("complex_too", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("method", ["aapb", "bella", "apb"])
def test_a_signal_is_recovered_up_to_its_phase(method, complex_too):
    A, b, x = gaussian(90, 12, seed=2, complex_too=complex_too)
    for magnitudes in (False, True):
        data = np.sqrt(b) if magnitudes else b
        problem = bo.compose("phase-retrieval", A, data, magnitudes=magnitudes)
        result = bo.solve(problem, method=method, stop="relative-error(1e-9)", max_iterations=1000)
        found = signal(problem, result.Y)
        assert found.dtype == (np.complex128 if complex_too else np.float64)
        assert distance(found, x) < 1e-8


def test_a_sparse_complex_signal_is_recovered_with_the_group_lasso():
    A, _, _ = gaussian(70, 80, seed=1, complex_too=True)
    x = np.zeros(80, dtype=complex)
    x[[3, 20, 31]] = [1.5 + 1j, -2.0j, 1.0]
    problem = bo.compose("phase-retrieval", A, np.abs(A @ x) ** 2, H="l21(0.3)")
    found = signal(problem, bo.solve(problem, method="aapb", start="leading-eigenvector(6)", max_iterations=200).Y)
    assert distance(found, x) < 0.01
    assert set(np.flatnonzero(found)) == {3, 20, 31}


@pytest.mark.parametrize("complex_too", [False, True], ids=["real", "complex"])
def test_apb_is_gradient_descent_with_the_phases_of_the_last_step(complex_too):
    A, b, _ = gaussian(30, 6, complex_too=complex_too)
    problem = bo.compose("phase-retrieval", A, b)
    start = problem.first_point(None, np.random.default_rng(0))
    result = bo.solve(problem, method="apb", start=start, max_iterations=30)
    x, L = signal(problem, start), np.linalg.norm(A, 2) ** 2
    for _ in range(30):
        z = A @ x
        x = x - A.conj().T @ (z - np.sqrt(b) * z / np.abs(z)) / L
    np.testing.assert_allclose(signal(problem, result.Y), x, rtol=1e-8)
    assert result.certificate.guaranteed


def test_apb_is_error_reduction_where_A_is_an_isometry_and_so_with_a_fourier_operator():
    rng, d = np.random.default_rng(0), 16
    masks = np.exp(2j * np.pi * rng.random((4, d)))
    operator = LinearOperator(
        (4 * d, d),
        matvec=lambda x: np.fft.fft(masks * x.ravel(), axis=1, norm="ortho").ravel(),
        rmatvec=lambda z: (masks.conj() * np.fft.ifft(z.reshape(4, d), axis=1, norm="ortho")).sum(axis=0),
        dtype=complex,
    )
    x_true = rng.standard_normal(d) + 1j * rng.standard_normal(d)
    root = np.abs(operator @ x_true)
    problem = bo.compose("phase-retrieval", operator, root, magnitudes=True)
    start = problem.first_point(bo.make("start", "random-ray"), rng)
    result = bo.solve(problem, method="apb", start=start, max_iterations=60)
    x = signal(problem, start)
    for _ in range(60):
        z = operator @ x
        x = operator.rmatvec(root * z / np.abs(z)) / 4.0  # the nearest Ax to w, and the nearest w to that
    np.testing.assert_allclose(signal(problem, result.Y), x, atol=1e-9)
    recovered = bo.solve(problem, method="aapb", stop="relative-error(1e-9)", max_iterations=2000)
    assert distance(signal(problem, recovered.Y), x_true) < 1e-7


@pytest.mark.parametrize("complex_too", [False, True], ids=["real", "complex"])
def test_partial_palm_takes_the_steps_of_apb(complex_too):
    A, b, _ = gaussian(30, 6, complex_too=complex_too)
    problem = bo.compose("phase-retrieval", A, b, H="ridge(0.5)")
    one, other = (bo.solve(problem, method=method, max_iterations=40) for method in ("apb", "ppalm"))
    np.testing.assert_allclose(one.Y.x, other.Y.x, rtol=1e-9)
    assert one.certificate.guaranteed
    assert other.certificate.guaranteed


def test_the_reduced_function_has_no_bound_from_below():
    A, b, _ = gaussian(12, 3)
    problem = bo.compose("phase-retrieval", A, b)
    fixed = problem.smooth.smad(problem.kernel, {}, False)
    assert (fixed.upper, fixed.lower) == (1.0, 0.0)
    reduced = problem.smooth.smad(problem.kernel, {}, True)
    assert (reduced.upper, reduced.lower) == (1.0, None)
    assert problem.smooth.smad(bo.make("kernel", "psi1"), {}, False) is None


# ---- starts, results, saving


@pytest.mark.parametrize("complex_too", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("exact", [256, 0], ids=["eigh", "eigsh"])
@pytest.mark.parametrize("weights", ["bounded", "plain"])
def test_the_spectral_start_is_the_leading_eigenvector_at_its_best_length(monkeypatch, weights, exact, complex_too):
    monkeypatch.setattr(measurements, "EXACT", exact)
    A, b, x = gaussian(300, 8, complex_too=complex_too)
    t = b if weights == "plain" else 1.0 - 1.0 / (b / b.mean() + 0.1)
    v = np.linalg.eigh((A.conj().T * t) @ A)[1][:, -1]
    for name in ("phase-retrieval", *([] if complex_too else ["quadratic-inverse"])):
        problem = bo.compose(name, A, b)
        Y = problem.first_point(bo.make("start", "leading-eigenvector", weights=weights), np.random.default_rng(0))
        found = signal(problem, Y)
        assert abs(np.vdot(found, v)) == pytest.approx(np.linalg.norm(found), rel=1e-5)
        assert distance(found, x) < (0.5 if weights == "plain" else 0.15)
        assert Y.x.ravel()[np.argmax(np.abs(Y.x))] > 0
        values = [resolve_oracle(problem).evaluate(t * Y).value for t in (0.99, 1.0, 1.01)]
        assert values[1] == min(values)


def test_the_spectral_start_on_a_support_is_zero_elsewhere(monkeypatch):
    rng = np.random.default_rng(0)
    A, x = rng.standard_normal((200, 10)), np.zeros(10)
    x[[2, 7]] = [2.0, -2.0]
    for form in (A, csr_array(A), aslinearoperator(A)):
        problem = bo.compose("quadratic-inverse", form, np.square(A @ x))
        Y = problem.first_point(bo.make("start", "leading-eigenvector(2)"), rng)
        np.testing.assert_array_equal(np.flatnonzero(Y.x), [2, 7])
        assert distance(Y.x, x) < 0.1
    monkeypatch.setattr(measurements, "SMALL", 10)
    monkeypatch.setattr(measurements, "STEPS", 1)
    with pytest.raises(DataError, match="A is a large operator"):
        problem.first_point(bo.make("start", "leading-eigenvector(2)"), rng)


def test_the_start_of_data_with_a_negative_mean_is_not_zero_where_a_better_one_is_known():
    rng = np.random.default_rng(0)
    A, x = rng.standard_normal((30, 4)), rng.standard_normal(4)
    b = np.square(A @ x) - 0.7 * np.square(A @ rng.standard_normal(4))
    assert np.linalg.eigvalsh((A.T * b) @ A)[-1] > 0
    assert bo.compose("quadratic-inverse", A, b).first_point(None, rng).norm() > 0


def test_starts_are_known_by_name_and_refuse_other_problems():
    A, b, _ = gaussian(30, 5)
    ends = [bo.solve(bo.compose("quadratic-inverse", A, b), start="random-ray", seed=seed).objective for seed in (0, 1)]
    assert max(ends) < 1e-12
    for start in ("leading-eigenvector", "random-ray"):
        with pytest.raises(IncompatibleError, match="needs measurements of a signal"):
            bo.solve(bo.compose("low-rank", A, rank=2), start=start)
    with pytest.raises(IncompatibleError, match="signal needs measurements"):
        signal(bo.compose("low-rank", A, rank=2), bo.Blocks(x=np.ones(5)))


@pytest.mark.parametrize("name", ["quadratic-inverse", "phase-retrieval", "complex"])
def test_a_run_that_was_cut_off_goes_on_bit_for_bit(tmp_path, name):
    A, b, _ = gaussian(30, 5, noise=0.1, complex_too=name == "complex")
    problem = bo.compose("phase-retrieval" if name == "complex" else name, A, np.abs(b))
    whole = bo.solve(problem, method="aapb", max_iterations=12)

    def cut(state):
        if state.iteration == 7:
            raise RuntimeError("power cut")

    with pytest.raises(RuntimeError, match="power cut"):
        bo.solve(problem, method="aapb", max_iterations=12, checkpoint=tmp_path, checkpoint_every=0, observers=[cut])
    result = bo.resume(tmp_path, problem if name == "complex" else None)
    np.testing.assert_array_equal(result.Y.x, whole.Y.x)
    assert result.iterations == 12


# ---- what is refused

A, B, _ = gaussian(6, 3)


@pytest.mark.parametrize("name", ["quadratic-inverse", "phase-retrieval"])
@pytest.mark.parametrize(
    ("A", "b", "told"),
    [
        (np.where(A > 0, np.nan, A), B, "Every entry of A must be finite"),
        (csr_array(np.where(A > 0, np.inf, A)), B, "Every entry of A must be finite"),
        (aslinearoperator(np.where(A > 0, np.nan, A)), B, "Every entry of A must be finite"),
        (A[0], B, r"Got the shape \(3,\)"),
        (A[:0], B[:0], r"Got the shape \(0, 3\)"),
        (A[:, :0], B, r"Got the shape \(6, 0\)"),
        ([[1.0, 2.0], [3.0]], B, "rows of different lengths"),
        (A.astype(str), B, "A must hold numbers"),
        (0.0 * A, B, "A is zero"),
        (csr_array(0.0 * A), B, "A is zero"),
        (aslinearoperator(0.0 * A), B, "A is zero"),
        (LinearOperator((6, 3), matvec=lambda x: A @ x, dtype=float), B, "give it the method rmatvec"),
        (LinearOperator((6, 3), matvec=lambda x: A @ x, rmatvec=lambda z: -A.T @ z, dtype=float), B, "not the adjoint"),
        (A, B[:5], r"a vector of 6 numbers.*Got the shape \(5,\)"),
        (A, B[:, None], r"Got the shape \(6, 1\)"),
        (A, np.where(B > 1, np.nan, B), "Every entry of b must be finite"),
        (A, B + 1j, "b must hold real numbers"),
        (1e200 * A, B, "range of float64"),
        (1e-200 * A, B, "range of float64"),
    ],
)
def test_data_that_cannot_be_used_get_one_clear_error(name, A, b, told):
    with pytest.raises(DataError, match=told):
        bo.compose(name, A, b)


def test_what_only_one_of_the_problems_takes():
    with pytest.raises(DataError, match=r"A must be real for quadratic-inverse.*phase-retrieval takes a complex A"):
        bo.compose("quadratic-inverse", A + 1j, B)
    with pytest.raises(DataError, match=r"b must be non-negative for phase-retrieval\. Got -1"):
        bo.compose("phase-retrieval", A, np.append(B[:5], -1.0))
    with pytest.raises(ParameterError, match="'magnitudes'"):
        bo.compose("phase-retrieval", A, B, magnitudes="yes")


@pytest.mark.parametrize("name", ["quadratic-inverse", "phase-retrieval"])
def test_a_start_of_another_shape_is_refused(name):
    problem = bo.compose(name, A, B)
    with pytest.raises(DataError, match=r"The block x must have the shape 3 for this A\. Got 4 instead"):
        bo.solve(problem, start=bo.Blocks(x=np.ones(4)))
    with pytest.raises(DataError, match="no block 'x'"):
        bo.solve(problem, start=bo.Blocks(y=np.ones(3)))
    with pytest.raises(DataError, match="the shape 3×2 for this A: the pairs"):
        bo.solve(bo.compose("phase-retrieval", A + 1j, B), start=bo.Blocks(x=np.ones(3)))


def test_a_metric_of_ones_own_needs_the_plain_oracle():
    problem = bo.compose("quadratic-inverse", A, B)
    plain = bo.PlainOracle(problem.smooth, problem.block, {"norm": lambda Y, W: Y.norm()})
    result = bo.solve(evolve(problem, oracle=plain), max_iterations=5)
    assert result.metrics["norm"] == pytest.approx(result.Y.norm())
