"""GiPALM and NiPALM against an independent dense NumPy iteration, their special cases, price and refusals."""

import attrs
import numpy as np
import pytest
import scipy.sparse
from attrs import frozen
from small_parts import Given, HalfSquares, hard, soft

import bregopt as bo

RANK, ITERATIONS = 4, 30


def firm(Z, t, eta, gamma):
    return np.where(np.abs(Z) <= gamma * eta, soft(Z, t * eta) / (1 - t / gamma), Z)


MODELS = {  # name: (spec of U, spec of V, their proximal maps (Z, step))
    "none": ("none", "none", lambda Z, t: Z, lambda Z, t: Z),
    "l1": ("l1(0.1)", "l1(0.3)", lambda Z, t: soft(Z, 0.1 * t), lambda Z, t: soft(Z, 0.3 * t)),
    "nonneg": ("nonneg", "ridge(2)", lambda Z, t: np.maximum(Z, 0), lambda Z, t: Z / (1 + 2 * t)),
    "mcp": ("mcp(0.3, 9)", "mcp(0.3, 9)", *[lambda Z, t: firm(Z, t, 0.3, 9.0)] * 2),
    "l0-ball": ("l0-ball(60)", "l0-ball(50)", lambda Z, t: hard(Z, 60), lambda Z, t: hard(Z, 50)),
}
METHODS = {  # spec: (α, β, γ_k or None where the step is taken from Ỹ, c/L)
    "gipalm": (0.2, 0.2, None, 1.0),
    "gipalm(0.4, 0.1, scale=1.5)": (0.4, 0.1, None, 1.5),
    "gipalm(0, 0.3)": (0.0, 0.3, None, 1.0),
    "nipalm": (0.7, 0.7, lambda k: (k - 1) / (k + 1), 1.0),
    "nipalm(0.3, 0.1, 0.5)": (0.3, 0.1, lambda k: 0.5, 1.0),
    "nipalm(0.2, 0, growing)": (0.2, 0.0, lambda k: (k - 1) / (k + 1), 1.0),
}


def reference(M, U, V, method, model):
    """The iteration as it is written, with W stored: W, U⁺, Ũ⁺, V⁺, Ṽ⁺, and ½‖W − UV‖² at Y for W = W(Y)."""
    alpha, beta, gamma, scale = METHODS[method]
    _, _, prox_U, prox_V = MODELS[model]
    U_old, V_old, Ut, Vt, fits = U, V, U, V, []

    def latent(X):
        return np.where(M > 0, M, np.minimum(0, X))

    for k in range(1, ITERATIONS + 1):
        fits.append(0.5 * np.sum((latent(U @ V) - U @ V) ** 2))
        W = latent(Ut @ Vt)
        Uh, Vh = (Ut, Vt) if gamma is None else (U + gamma(k) * (U - U_old), V + gamma(k) * (V - V_old))
        c = scale * np.linalg.norm(Vt, 2) ** 2
        U_new = prox_U(Uh - (Uh @ Vt - W) @ Vt.T / c, 1 / c)
        Ut = U_new + alpha * (U_new - Ut)
        d = scale * np.linalg.norm(Ut, 2) ** 2
        V_new = prox_V(Vh - Ut.T @ (Ut @ Vh - W) / d, 1 / d)
        Vt = V_new + beta * (V_new - Vt)
        U_old, V_old, U, V = U, V, U_new, V_new
    return U, V, fits


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("method", METHODS)
def test_thirty_iterations_agree_with_the_dense_reference(M, start, method, model, form):
    problem = bo.compose("relu-nmd", form(M), rank=RANK, U=MODELS[model][0], V=MODELS[model][1])
    Y0 = problem.regularizer.prox(start, 1e-12)
    result = bo.solve(problem, method=method, start=Y0, max_iterations=ITERATIONS)
    U, V, fits = reference(M, Y0.U, Y0.V, method, model)
    np.testing.assert_allclose(result.Y.U, U, rtol=0, atol=1e-9 * np.abs(U).max())
    np.testing.assert_allclose(result.Y.V, V, rtol=0, atol=1e-9 * np.abs(V).max())
    shown = result.history["model_residual"][:-1] * np.linalg.norm(M)
    np.testing.assert_allclose(0.5 * shown**2, fits, rtol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_several_tiles_and_the_plain_oracle_give_the_same(M, start, method, small_tiles):
    problem = bo.compose("relu-nmd", M, rank=RANK, U="l1(0.1)", V="nonneg")
    whole = bo.solve(problem, method=method, start=start, max_iterations=20)
    plain = attrs.evolve(problem, oracle=bo.PlainOracle(problem.smooth, problem.block, problem.metrics))
    two = bo.solve(plain, method=method, start=start, max_iterations=20)
    np.testing.assert_allclose(two.Y.flat, whole.Y.flat, rtol=0, atol=1e-10)
    small_tiles(least=100)
    tiled = bo.solve(problem, method=method, start=start, max_iterations=20)
    np.testing.assert_allclose(tiled.Y.flat, whole.Y.flat, rtol=0, atol=1e-10)


EQUAL = [
    ("gipalm(0, 0)", "ppalm"),
    ("gipalm(0, 0, scale=1.001)", "palm"),
    ("nipalm(0, 0, 0)", "ppalm"),
    ("nipalm(0, 0, 0.6)", "ippalm(0.6)"),
]


@pytest.mark.parametrize("H", ["l1(0.1)", "mcp(0.1, 9)", "l0-ball(60)"])
@pytest.mark.parametrize(("special", "plain"), EQUAL)
def test_without_gauss_seidel_inertia_the_steps_are_those_of_a_palm_type_method(M, start, special, plain, H):
    problem = bo.compose("relu-nmd", M, rank=RANK, U=H, V=H)
    one, two = (bo.solve(problem, method=method, start=start, max_iterations=20) for method in (special, plain))
    np.testing.assert_array_equal(one.Y.flat, two.Y.flat)
    for column in ("objective", "stationarity", "step", "products"):
        np.testing.assert_array_equal(one.history[column], two.history[column])


@pytest.mark.parametrize("H", ["l1(0.1)", "mcp(0.1, 9)", "ridge(0.5)"])
@pytest.mark.parametrize("method", ["gipalm(0, 0)", "nipalm(0, 0, 0)"])
def test_without_inertia_the_objective_is_guaranteed_not_to_rise(M, start, method, H):
    problem = bo.compose("relu-nmd", M, rank=RANK, U=H, V=H)
    result = bo.solve(problem, method=method, start=start, max_iterations=60)
    assert result.certificate.guaranteed
    assert (np.diff(result.history["objective"]) <= 1e-12 * result.history["objective"][0]).all()


@pytest.mark.parametrize("method", [*METHODS, "nipalm(0, 0, 0.6)"])
def test_with_inertia_nothing_is_promised(M, start, method):
    problem = bo.compose("relu-nmd", M, rank=RANK, U="l1(0.1)", V="l1(0.1)")
    certificate = bo.solve(problem, method=method, start=start, max_iterations=20).certificate
    assert not certificate.assumptions
    assert not certificate.guaranteed
    assert "the method has no descent theorem" in certificate.summary()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("U", "sweep"), [("l1(0.1)", 3), ("nuclear(0.1)", 4)])
def test_an_iteration_costs_a_sweep_and_one_product_for_the_value(M, start, method, U, sweep):
    problem = bo.compose("relu-nmd", M, rank=RANK, U=U)
    result = bo.solve(problem, method=method, start=start, max_iterations=12)
    np.testing.assert_array_equal(result.history["products"], sweep + (sweep + 1) * np.arange(13))
    assert result.counts.products == result.history["products"][-1] + 3, "a subgradient costs an evaluation"


@pytest.fixture(scope="module")
def small():
    """A small problem that is not convex in H, and the point where aapb ends."""
    rng = np.random.default_rng(5)
    M = np.maximum(0, rng.standard_normal((12, 2)) @ rng.standard_normal((2, 9)))
    problem = bo.compose("relu-nmd", M, rank=2, U="with-ridge(exp(0.6, 1.5), 0.5)", V="with-ridge(exp(0.6, 1.5), 0.5)")
    return problem, bo.solve(problem, method="aapb", stop="stationarity(1e-10)", max_iterations=2000)


@pytest.mark.parametrize("method", METHODS)
def test_the_fixed_points_are_those_of_aapb(small, method):
    problem, end = small
    assert end.converged
    stays = bo.solve(problem, method=method, start=end.Y, max_iterations=30)
    np.testing.assert_allclose(stays.Y.flat, end.Y.flat, rtol=0, atol=1e-7)
    result = bo.solve(problem, method=method, stop="stationarity(1e-6)", max_iterations=2000)
    assert result.converged
    assert result.certificate.relative_subgradient <= 1e-6
    assert result.objective == pytest.approx(end.objective, rel=1e-9)


@frozen(eq=False)
class Silent(bo.SmoothPart):
    """½‖W − UV‖² that knows no Lipschitz constant."""

    def value(self, Y, W):
        return HalfSquares(Y.names[:2]).value(Y, W)

    def value_and_gradient(self, Y, W):
        return HalfSquares(Y.names[:2]).value_and_gradient(Y, W)


class HalfSilent(Silent):
    def block_lipschitz(self, Y, name):
        return 1.0 if name == "U" else None


@pytest.mark.parametrize(
    ("smooth", "blocks", "words"),
    [
        (Silent(), "UV", "Silent knows none.*gram or block_lipschitz.*aapb"),
        (HalfSilent(), "UV", "block 'V', and HalfSilent does not know it.*aapb"),
    ],
)
@pytest.mark.parametrize("method", ["gipalm", "nipalm", "bmme"])
def test_a_problem_that_does_not_fit_is_refused_with_what_would(method, smooth, blocks, words):
    kernel = bo.make("kernel", "psi1") + bo.make("kernel", "psi2")
    problem = bo.Problem(smooth=smooth, block=Given(np.eye(3)), kernel=kernel)
    start = bo.Blocks(**{name: np.eye(3) for name in blocks})
    with pytest.raises(bo.errors.IncompatibleError, match=words):
        bo.solve(problem, method=method, start=start)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("gipalm(alpha=1)", "'alpha' parameter of GiPALM must be a finite number >= 0 and < 1"),
        ("gipalm(beta=-0.1)", "'beta' parameter of GiPALM must be a finite number >= 0 and < 1"),
        ("gipalm(scale=0)", "'scale' parameter of GiPALM must be a finite number > 0"),
        ("nipalm(gamma=fast)", "'gamma' parameter of NiPALM must be 'growing' or a number >= 0 and < 1"),
        ("nipalm(gamma=1)", "'gamma' parameter of NiPALM must be 'growing' or a number >= 0 and < 1"),
    ],
)
def test_a_parameter_out_of_range_is_refused_by_name(spec, words):
    with pytest.raises(bo.errors.ParameterError, match=words):
        bo.make("method", spec)
