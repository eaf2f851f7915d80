"""The problem ``poisson`` against loops by hand, EM and SciPy; its constants; and the data that it refuses."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import coo_array, csr_array
from scipy.sparse.linalg import LinearOperator, aslinearoperator

import bregopt as bo
from bregopt.errors import DataError, IncompatibleError, ParameterError


def data(seed=0, shape=(30, 8), zeros=0.0):
    rng = np.random.default_rng(seed)
    A = rng.random(shape) * (rng.random(shape) >= zeros)
    A[:, 0] += 0.1  # no row is zero
    return A, rng.poisson(A @ rng.exponential(5.0, shape[1])) + 0.0


def kl(b, z):
    """``Σ b log(b/z) − b + z``, term by term."""
    return sum((bi * math.log(bi / zi) if bi > 0 else 0.0) - bi + zi for bi, zi in zip(b, z, strict=True))


def by_hand(A, b, x, iterations, burg, weights, l1=0.0, ridge=0.0, background=0.0):
    """BPG with L = 1 as a plain loop: Burg's kernel for KL(b, z), and that of Boltzmann and Shannon for KL(z, b)."""
    for _ in range(iterations):
        z = A @ x + background
        if burg:
            g = A.T @ (1 - b / z)
            c = g + l1 + weights / x
            x = weights / c if ridge == 0 else (-c + np.sqrt(c * c + 4 * ridge * weights)) / (2 * ridge)
        else:
            x = x * np.exp(-(A.T @ np.log(z / b) + l1) / weights)
    return x


def em(A, b, x, iterations, background=0.0):
    """Richardson and Lucy's, and Shepp and Vardi's, iteration."""
    for _ in range(iterations):
        x = x * (A.T @ (b / (A @ x + background))) / A.sum(axis=0)
    return x


@pytest.mark.parametrize(("H", "l1", "ridge"), [("none", 0, 0), ("l1(0.4)", 0.4, 0), ("ridge(0.3)", 0, 0.3)])
@pytest.mark.parametrize("background", [0.0, 0.7])
def test_fifty_steps_with_burgs_kernel_are_those_of_the_loop_by_hand(H, l1, ridge, background):
    A, b = data(zeros=0.6)
    problem = bo.compose("poisson", A, b, H=H, background=background)
    x = problem.first_point(None, np.random.default_rng(0)).x
    result = bo.solve(problem, method="apb", max_iterations=50)
    weights = (A > 0).T @ b
    assert len(set(weights)) > 2
    expected = by_hand(A, b, x, 50, True, weights, l1, ridge, background)
    np.testing.assert_allclose(result.Y.x, expected, rtol=1e-10)
    total = kl(b, A @ expected + background) + l1 * expected.sum() + 0.5 * ridge * expected @ expected
    assert result.objective == pytest.approx(total, rel=1e-12)
    assert result.certificate.guaranteed
    assert result.certificate.monotone


@pytest.mark.parametrize(("H", "l1"), [("none", 0.0), ("l1(0.4)", 0.4)])
def test_fifty_steps_with_shannons_kernel_are_those_of_the_loop_by_hand(H, l1):
    A, b = data(zeros=0.6)
    b += 1.0
    problem = bo.compose("poisson", A, b, H=H, reverse=True)
    x = problem.first_point(None, np.random.default_rng(0)).x
    result = bo.solve(problem, method="apb", max_iterations=50)
    expected = by_hand(A, b, x, 50, False, A.sum(axis=0), l1)
    np.testing.assert_allclose(result.Y.x, expected, rtol=1e-10)
    assert result.objective == pytest.approx(kl(A @ expected, b) + l1 * expected.sum(), rel=1e-12)
    assert result.certificate.guaranteed
    assert result.certificate.monotone


def test_a_constant_weight_takes_the_constant_that_belongs_to_it():
    A, b = data(zeros=0.6)
    problem = bo.compose("poisson", A, b, kernel="burg")
    x = problem.first_point(None, np.random.default_rng(0)).x
    result = bo.solve(problem, method="apb", max_iterations=50)
    largest = ((A > 0).T @ b).max()
    np.testing.assert_allclose(result.Y.x, by_hand(A, b, x, 50, True, np.full(8, largest)), rtol=1e-10)
    assert problem.smooth.smad(problem.kernel, {}, True).upper == pytest.approx(largest)
    assert problem.kernel_named
    assert problem.smooth.smad(bo.make("kernel", "psi2"), {}, True) is None


@pytest.mark.parametrize("reverse", [False, True])
def test_no_curvature_is_above_that_of_the_kernel_and_some_reaches_it(reverse):
    A, b = data(zeros=0.5)
    b += reverse
    weights = A.sum(axis=0) if reverse else (A > 0).T @ b
    smooth, rng, largest = bo.compose("poisson", A, b, reverse=reverse).smooth, np.random.default_rng(0), 0.0
    psi = bo.make("kernel", "boltzmann-shannon" if reverse else "burg", {"x": weights})
    for spread in (0.0, 1.0, 4.0, 12.0):
        for _ in range(30):
            x = np.exp(spread * rng.standard_normal(8))
            z = A @ x
            Hessian = A.T @ ((1 / z if reverse else b / z**2)[:, None] * A)
            root = np.sqrt(weights / x) if reverse else np.sqrt(weights) / x
            largest = max(largest, np.linalg.eigvalsh(Hessian / np.outer(root, root))[-1])
    assert 0.99 < largest <= 1 + 1e-9
    assert smooth.smad(psi, {}, True).upper == pytest.approx(1.0)
    assert smooth.smad(0.5 * psi, {}, True).upper == pytest.approx(2.0)


@pytest.mark.parametrize("background", [0.0, 2.0])
def test_the_methods_end_no_higher_than_em(background):
    A, b = data(seed=1)
    problem = bo.compose("poisson", A, b, background=background)
    x = em(A, b, problem.first_point(None, np.random.default_rng(0)).x, 8000, background)
    least = kl(b, A @ x + background)
    for method, gap in (("aapb(step=monotone)", 1e-3), ("bella", 1e-3), ("apb(step=monotone)", 0.1)):
        result = bo.solve(problem, method=method, max_iterations=1000)
        assert least - 1e-8 <= result.objective <= least + gap * (1 + least)
        assert result.certificate.monotone


def test_the_reverse_form_ends_at_the_minimum_that_scipy_finds():
    A, b = data(seed=2)
    b += 1.0
    problem = bo.compose("poisson", A, b, H="ridge(0.1)", reverse=True)
    found = minimize(
        lambda x: (kl(A @ x, b) + 0.05 * x @ x, A.T @ np.log(A @ x / b) + 0.1 * x),
        np.ones(8), jac=True, bounds=[(1e-9, None)] * 8, options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 5000},
    )  # fmt: skip
    result = bo.solve(problem, max_iterations=1500)
    assert result.objective == pytest.approx(found.fun, abs=1e-5)


def test_a_perfect_fit_is_zero_and_the_metric_says_so():
    A = np.eye(3) + 0.2
    x = np.array([1.0, 2.0, 5.0])
    problem = bo.compose("poisson", A, A @ x)
    assert problem.smooth.value(bo.Blocks(x=x), None) == pytest.approx(0.0, abs=1e-30)
    result = bo.solve(problem, method="aapb", max_iterations=2000)
    assert 0 <= result.objective < 1e-6
    assert result.metrics["relative_error"] == pytest.approx(
        np.linalg.norm(A @ (result.Y.x - x)) / np.linalg.norm(A @ x), rel=1e-6
    )


@pytest.mark.parametrize("form", [csr_array, coo_array, aslinearoperator, np.ndarray.tolist, np.asfortranarray])
@pytest.mark.parametrize("reverse", [False, True])
def test_every_form_of_A_makes_the_same_steps(form, reverse):
    A, b = data(zeros=0.4)
    b += reverse
    # the weights of a LinearOperator are not seen, so one kernel is named for all
    runs = [bo.solve(bo.compose("poisson", M, b, reverse=reverse, kernel=kernel), method="apb(step=1e-3)",
                     max_iterations=20).Y.x
            for kernel in ["boltzmann-shannon" if reverse else "burg"] for M in (A, form(A))]  # fmt: skip
    np.testing.assert_allclose(runs[0], runs[1], rtol=1e-12)


def test_an_operator_of_unseen_entries_gets_the_sum_of_all_counts():
    A, b = data(zeros=0.6)
    assert bo.compose("poisson", aslinearoperator(A), b).kernel.weight == b.sum()
    assert bo.compose("poisson", A + 0.1, b).kernel.weight == b.sum()
    np.testing.assert_array_equal(bo.compose("poisson", csr_array(A), b).kernel.weight["x"], (A > 0).T @ b)


def test_A_may_be_a_file(tmp_path):
    A, b = data()
    np.save(tmp_path / "A.npy", A)
    np.testing.assert_array_equal(bo.compose("poisson", str(tmp_path / "A.npy"), b).smooth.A, A)


def test_the_start_is_constant_and_accounts_for_the_counts():
    A, b = data()
    for background in (0.0, 0.5, 1e6):
        x = bo.compose("poisson", A, b, background=background).first_point(None, np.random.default_rng(0)).x
        assert x.min() == x.max() > 0
        if background < 1:
            assert np.sum(A @ x + background) == pytest.approx(b.sum())


def test_counts_of_zero_rows_of_zeros_and_columns_of_zeros_are_no_error():
    A, b = data()
    b[:5], A[3], A[:, 2] = 0.0, 0.0, 0.0
    problem = bo.compose("poisson", A, b)
    result = bo.solve(problem, method="apb", max_iterations=30)
    assert np.isfinite(result.Y.x).all()
    assert result.objective == pytest.approx(kl(b, A @ result.Y.x), rel=1e-12)
    assert bo.solve(bo.compose("poisson", A, 0.0 * b, H="ridge(1)"), max_iterations=200).objective < 0.1


def test_a_run_costs_two_products_an_iteration():
    A, b = data()
    result = bo.solve(bo.compose("poisson", A, b), method="apb", max_iterations=20)
    assert result.counts.products <= 2.0 * (result.iterations + 1)


class CrashError(Exception):
    pass


@pytest.mark.parametrize("reverse", [False, True])
def test_a_run_goes_on_where_it_broke_off(tmp_path, reverse):
    def crash(state):
        if state.iteration == 6:
            raise CrashError

    A, b = data(zeros=0.4)
    problem = bo.compose("poisson", A, b + reverse, reverse=reverse)
    with pytest.raises(CrashError):
        bo.solve(problem, method="aapb", max_iterations=12, observers=[crash], checkpoint=tmp_path, checkpoint_every=0)
    whole = bo.solve(problem, method="aapb", max_iterations=12)
    resumed = bo.resume(tmp_path)
    np.testing.assert_array_equal(resumed.Y.x, whole.Y.x)
    assert resumed.metrics == whole.metrics


A0, B0 = data()
NEGATIVE, NAN, INFINITE, DARK = (A0.copy() for _ in range(4))
NEGATIVE[1, 1], NAN[1, 1], INFINITE[1, 1], DARK[4] = -1.0, math.nan, math.inf, 0.0


def changed(b, value):
    b = b.copy()
    b[4] = value
    return b


@pytest.mark.parametrize(("A", "b", "options", "told"), [
    (NEGATIVE, B0, {}, r"A must be non-negative for poisson\. Got -1 in it"),
    (csr_array(NEGATIVE), B0, {}, r"A must be non-negative"),
    (aslinearoperator(-A0), B0, {}, r"A, and so the product of A with ones, must be non-negative"),
    (NAN, B0, {}, r"A must be finite\. Got nan in it"),
    (INFINITE, B0, {}, r"A must be finite\. Got inf in it"),
    (A0 + 1j, B0, {}, r"A must be a real matrix\. Got shape \(30, 8\) and dtype complex128"),
    (aslinearoperator(A0 + 1j), B0, {}, r"Got products of dtype complex128"),
    (A0[0], B0, {}, r"A must be a real matrix\. Got shape \(8,\)"),
    (A0[:, :0], B0, {}, r"A must be a real matrix\. Got shape \(30, 0\)"),
    ([[1.0], [1.0, 2.0]], B0, {}, r"A must be a matrix\. Got rows of different lengths"),
    (LinearOperator((30, 8), matvec=lambda x: A0 @ x, dtype=float), B0, {}, r"give the LinearOperator a rmatvec"),
    (A0, B0[:5], {}, r"b must be a vector of 30 real numbers, one for each row of A\. Got shape \(5,\)"),
    (A0, B0[:, None], {}, r"b must be a vector of 30"),
    (A0, ["a"] * 30, {}, r"b must be a vector of 30"),
    (A0, changed(B0, -2.0), {}, r"b must be non-negative for poisson\. Got -2"),
    (A0, changed(B0, math.nan), {}, r"b must be finite\. Got nan"),
    (A0, changed(B0, 0.0), {"reverse": True}, r"b must be positive for the reverse form.* Got 1 zeros"),
    (DARK, changed(B0, 2.0), {}, r"Row 4 of A is zero, but b is 2 there"),
    (csr_array(DARK), changed(B0, 2.0), {"reverse": True}, r"Row 4 of A is zero"),
    (A0, B0, {"background": -1.0}, r"background must be non-negative"),
    (A0, B0, {"background": math.nan}, r"background must be finite"),
    (A0, B0, {"background": np.ones(3)}, r"background must be a vector of 30"),
    (A0, B0, {"background": "much"}, r"background must be a"),
])  # fmt: skip
def test_bad_data_are_refused_in_one_sentence(A, b, options, told):
    b = np.maximum(b, 0.5) if options.get("reverse") and "positive" not in told else b
    with pytest.raises(DataError, match=told):
        bo.compose("poisson", A, b, **options)


def test_other_bad_parameters_are_refused():
    with pytest.raises(ParameterError, match="'reverse' parameter of poisson"):
        bo.compose("poisson", A0, B0, reverse="yes")
    with pytest.raises(ParameterError, match="'H' parameter of poisson"):
        bo.compose("poisson", A0, B0, H=bo.Fixed(np.ones(8)))
    with pytest.raises(DataError, match=r"The block x must have the shape \(8,\)"):
        bo.solve(bo.compose("poisson", A0, B0), start=bo.Blocks(x=np.ones(3)))
    with pytest.raises(IncompatibleError, match="Lipschitz"):
        bo.solve(bo.compose("poisson", A0, B0), method="palm")
