"""BPDCA, BPDCAe, DCAe and BPGE against dense NumPy loops, what never rises with them, and the convex parts of H."""

import math

import numpy as np
import pytest
from dense_bregman import Dense
from small_parts import Given, HalfSquares, NoBlock, Poisson

import bregopt as bo
from bregopt.testing.check import run
from bregopt.testing.kinds import checks_of

RANK, SHAPE, ITERATIONS = 3, (16, 12), 40
PENALTIES = {  # spec: (weight of the l1 norm r₁, ξ₂ of a block, H)
    "l1(0.05)": (0.05, np.zeros_like, lambda X: 0.05 * np.abs(X).sum()),
    "mcp(0.2, 3)": (
        0.2,
        lambda X: np.sign(X) * np.minimum(np.abs(X) / 3, 0.2),
        lambda X: np.where(np.abs(X) <= 0.6, 0.2 * np.abs(X) - X**2 / 6, 0.06).sum(),
    ),
    "exp(0.1, 1.5)": (
        0.15,
        lambda X: 0.15 * (1 - np.exp(-1.5 * np.abs(X))) * np.sign(X),
        lambda X: 0.1 * (1 - np.exp(-1.5 * np.abs(X))).sum(),
    ),
    "l1-minus-l2(0.1)": (
        0.1,
        lambda X: 0.1 * X / np.linalg.norm(X),
        lambda X: 0.1 * (np.abs(X).sum() - np.linalg.norm(X)),
    ),
    "capped-l1(0.2, 0.3)": (
        0.2,
        lambda X: 0.2 * np.sign(X) * (np.abs(X) > 0.3),
        lambda X: 0.2 * np.minimum(np.abs(X), 0.3).sum(),
    ),
}


def nesterov(theta):
    following = (1 + math.sqrt(1 + 4 * theta**2)) / 2
    return (theta - 1) / following, following


class Loop:
    """f + H on x = (U, V), with ψ = ψ1 + bψ2, and f + low convex for low = ½ψ1 + bψ2."""

    def __init__(self, problem, M, spec):
        self.b = problem.block.reduced_norm
        self.weight, self.slope, self.H = PENALTIES[spec]
        eta = (self.weight, self.weight)
        self.psi = Dense(M, RANK, eta, 1.0, self.b)
        self.phi = Dense(M, RANK, eta, 1.5, 2 * self.b)
        self.low = Dense(M, RANK, eta, 0.5, self.b)

    def xi(self, x):
        return np.concatenate([self.slope(X).ravel() for X in self.psi.factors(x)])

    def objective(self, x):
        return self.psi.f(x) + sum(self.H(X) for X in self.psi.factors(x))

    def low_gradient(self, x):
        return (0.5 * x @ x + self.b) * x

    def bpdca(self, x, rho, every=200):
        old, theta, age, rows, anew = x, 1.0, 0, [], 0
        for k in range(ITERATIONS):
            beta = 0.0
            if k and rho:
                beta, theta = nesterov(theta)
                y, age = x + beta * (x - old), age + 1
                D, D_old = self.phi.D(x, y, 2 * self.b), self.phi.D(old, x, 2 * self.b)
                if rho * D_old < D or age == every:
                    beta, theta, age, anew = 0.0, nesterov(1.0)[1], 0, anew + 1
            y = x + beta * (x - old)
            g = self.psi.evaluate(y)[1] + self.low_gradient(y) - self.low_gradient(x) - self.xi(x)
            old, x = x, self.phi.step(y, g, 2 * self.b, 1.0)
            rows.append((self.objective(x), beta, self.phi.D(old, x, 2 * self.b)))
        return x, np.array(rows), anew

    def dcae(self, x, C):
        old, theta, rows, shortened = x, 1.0, [], 0
        for k in range(ITERATIONS):
            beta = 0.0
            if k and C:
                beta, theta = nesterov(theta)
                budget, trials = C * self.psi.D(old, x, self.b), 0
                while True:
                    y = x + beta * (x - old)
                    if self.psi.D(x, y, self.b) + self.low.D(x, y, self.b) <= budget:
                        break
                    beta, trials, shortened = 0.9 * beta, trials + 1, shortened + 1
                    if trials == 30:
                        beta = 0.0
            y = x + beta * (x - old)
            old, x = x, self.psi.step(y, self.psi.evaluate(y)[1] - self.xi(x), self.b, 1.0)
            rows.append((self.objective(x), beta, self.psi.D(old, x, self.b)))
        return x, np.array(rows), shortened


def composed(M, spec, **rest):
    return bo.compose("relu-nmd", M, rank=RANK, U=spec, V=spec, **rest)


METHODS = {
    "bpdca": lambda loop, x: loop.bpdca(x, 0.0),
    "bpdcae": lambda loop, x: loop.bpdca(x, 0.99),
    "bpdcae(0.3)": lambda loop, x: loop.bpdca(x, 0.3),
    "bpdcae(0.99, 9)": lambda loop, x: loop.bpdca(x, 0.99, 9),
    "dcae": lambda loop, x: loop.dcae(x, 0.9999),
    "dcae(0.5)": lambda loop, x: loop.dcae(x, 0.5),
    "dcae(0)": lambda loop, x: loop.dcae(x, 0.0),
}


@pytest.mark.parametrize("spec", PENALTIES)
@pytest.mark.parametrize("method", METHODS)
def test_forty_iterations_agree_with_the_dense_reference(M, start, method, spec):
    problem = composed(M, spec)
    x, rows, _ = METHODS[method](Loop(problem, M, spec), start.flat)
    result = bo.solve(problem, method=method, start=start, max_iterations=ITERATIONS)
    np.testing.assert_allclose(result.Y.flat, x, rtol=0, atol=1e-9 * np.abs(x).max())
    for column, expected in zip(("objective", "beta", "divergence"), rows.T, strict=True):
        np.testing.assert_allclose(result.history[column][1:], expected, rtol=1e-7, atol=1e-12, err_msg=column)


def test_the_references_begin_anew_and_shorten_beta(M, start):
    loop = Loop(composed(M, "mcp(0.2, 3)"), M, "mcp(0.2, 3)")
    assert loop.bpdca(start.flat, 0.99)[2] == 0
    assert loop.bpdca(start.flat, 0.3)[2] > 0
    assert loop.bpdca(start.flat, 0.99, 9)[2] > 0
    assert loop.dcae(start.flat, 0.9999)[2] > 0


def test_bpge_agrees_with_a_dense_loop(M, start):
    problem = composed(M, "l1(0.05)")
    loop, x, old = Loop(problem, M, "l1(0.05)"), start.flat, start.flat
    for k in range(ITERATIONS):
        beta = 0.6 * (k - 1) / (k + 2) if k else 0.0
        y = x + beta * (x - old)
        old, x = x, loop.psi.step(y, loop.psi.evaluate(y)[1], loop.b, 1 / 1.1)
    result = bo.solve(problem, method="bpge", start=start, max_iterations=ITERATIONS)
    np.testing.assert_allclose(result.Y.flat, x, rtol=0, atol=1e-9 * np.abs(x).max())


EQUAL = [
    ("bpge(0)", "bpg", "auto"),
    ("bpge(0, L=2)", "bpg(L=2)", "auto"),
    ("dcae(0)", "bpg(L=1)", "auto"),
    ("bpdca", "bpg(L=1)", "wide"),
    ("bpdcae(0)", "bpdca", "auto"),
]


@pytest.mark.parametrize("H", ["l1(0.05)", "ridge(0.5)", "nonneg"])
@pytest.mark.parametrize(("special", "plain", "kernel"), EQUAL)
def test_special_cases_are_the_same_method(M, start, special, plain, kernel, H):
    problem = composed(M, H)
    other, Y0 = problem, problem.regularizer.prox(start, 1e-12)
    if kernel == "wide":  # φ = (3/2)ψ1 + 2bψ2, of which f is less than 1-smad: its step is asked for
        psi1, psi2 = bo.make("kernel", "psi1"), bo.make("kernel", "psi2")
        other, plain = composed(M, H, kernel=1.5 * psi1 + 2 * problem.block.reduced_norm * psi2), "bpg(step=1)"
    one = bo.solve(problem, method=special, start=Y0, max_iterations=25)
    two = bo.solve(other, method=plain, start=Y0, max_iterations=25)
    np.testing.assert_allclose(one.Y.flat, two.Y.flat, rtol=0, atol=1e-13 * np.abs(two.Y.flat).max())
    np.testing.assert_allclose(one.history["objective"], two.history["objective"], rtol=1e-13)
    np.testing.assert_array_equal(one.history["products"], two.history["products"])


ANY = [*PENALTIES, "ridge(0.5)", "none", "scad(0.2, 3.7)", "log(0.1, 0.7)", "with-nonneg(exp(0.1, 1.5))"]


@pytest.mark.parametrize("kernel", ["auto", "paper", "tight"])
@pytest.mark.parametrize("spec", ANY)
@pytest.mark.parametrize("method", ["bpdca", "bpdcae", "dcae", "dcae(0)"])
def test_the_lyapunov_value_never_rises(M, method, spec, kernel):
    result = bo.solve(composed(M, spec, kernel=kernel), method=method, max_iterations=50)
    history = result.history
    lag = 0.0 if method in ("bpdca", "dcae(0)") else np.nan_to_num(history["divergence"] / history["step"])
    np.testing.assert_allclose(history["objective"] + lag, history["lyapunov"], rtol=1e-12)
    assert (np.diff(history["lyapunov"]) <= 1e-12 * (history["lyapunov"][1:] + history["lyapunov"][:-1])).all()
    assert result.certificate.guaranteed
    if method in ("bpdcae", "dcae"):
        assert np.nanmax(history["beta"]) > 0.5


def test_bpge_is_certified_where_its_beta_meets_assumption_2(M):
    small = bo.solve(composed(M, "l1(0.05)"), method="bpge(0.2)", max_iterations=60)
    assert small.certificate.guaranteed
    large = bo.solve(composed(M, "l1(0.05)"), method="bpge(0.95)", max_iterations=60).certificate
    assert large.assumptions["extrapolation"].failed_at


@pytest.mark.parametrize("method", ["bpdca", "bpdcae", "dcae", "dcae(0)"])
def test_an_iteration_costs_four_products_and_three_where_beta_is_zero(M, start, method):
    result = bo.solve(composed(M, "mcp(0.2, 3)"), method=method, start=start, max_iterations=30)
    ahead = np.append(result.history["beta"][1:], np.nan) > 0  # of the step that leaves a state
    np.testing.assert_array_equal(np.diff(result.history["products"])[:-1], 3 + ahead[1:-1])


@pytest.fixture(scope="module")
def small():
    """A small problem that is not convex in H, and the point where aapb ends."""
    rng = np.random.default_rng(5)
    M = np.maximum(0, rng.standard_normal((12, 2)) @ rng.standard_normal((2, 9)))
    problem = bo.compose("relu-nmd", M, rank=2, U="with-ridge(exp(0.6, 1.5), 0.5)", V="with-ridge(exp(0.6, 1.5), 0.5)")
    return problem, bo.solve(problem, method="aapb", stop="stationarity(1e-10)", max_iterations=2000)


@pytest.mark.parametrize("method", ["bpge", "bpdca", "bpdcae", "dcae"])
def test_the_fixed_points_are_those_of_aapb(small, method):
    problem, end = small
    assert end.converged
    stays = bo.solve(problem, method=method, start=end.Y, max_iterations=30)
    np.testing.assert_allclose(stays.Y.flat, end.Y.flat, rtol=0, atol=1e-7)
    result = bo.solve(problem, method=method, stop="stationarity(1e-6)", max_iterations=2000)
    assert result.converged
    assert result.certificate.relative_subgradient <= 1e-6
    assert result.objective == pytest.approx(end.objective, rel=1e-9)


@pytest.mark.parametrize("method", ["bpdca", "bpdcae", "dcae", "bmme"])
def test_a_critical_point_that_is_not_stationary_is_not_called_so(M, method):
    """At U = 0, ∂r₁ − ∂r₂ holds the slope of F, and ∂H for H = η(Σ|u| − ‖U‖) does not: one entry of U costs nothing."""
    problem = bo.compose("relu-nmd", M, rank=RANK, U="l1-minus-l2(50)")
    start = bo.Blocks(U=np.zeros((SHAPE[0], RANK)), V=np.ones((RANK, SHAPE[1])))
    result = bo.solve(problem, method=method, start=start, stop="stationarity(1e-6)", max_iterations=20)
    assert not result.Y.U.any()
    assert result.status is bo.Status.MAX_ITERATIONS
    assert result.certificate.subgradient is None
    assert bo.solve(problem, method="aapb", start=start, max_iterations=20).objective < 0.99 * result.objective


@pytest.mark.parametrize("method", ["bpdca", "bpdcae", "dcae", "bmme"])
@pytest.mark.parametrize("H", ["l0-ball(5)", "lp(0.1)", "unit-rows"])
def test_an_H_without_convex_parts_is_refused_with_what_would_take_it(M, method, H):
    problem = bo.compose("relu-nmd", M, rank=RANK, U=H)
    with pytest.raises(bo.errors.IncompatibleError, match=f"method {method} needs H = r₁ − r₂.*knows no.*aapb"):
        bo.solve(problem, method=method)


@pytest.mark.parametrize("method", ["bpdca", "bpdcae", "dcae"])
def test_an_F_without_constants_is_refused_with_what_would_take_it(method):
    class Silent(bo.SmoothPart):
        value, value_and_gradient = HalfSquares.value, HalfSquares.value_and_gradient
        names = ("U", "V")

    kernel = bo.make("kernel", "psi1") + bo.make("kernel", "psi2")
    problem = bo.Problem(smooth=Silent(), block=Given(np.eye(3)), kernel=kernel)
    with pytest.raises(bo.errors.IncompatibleError, match=f"method {method} needs the constant L of F.*aapb"):
        bo.solve(problem, method=method, start=bo.Blocks(U=np.eye(3), V=np.eye(3)))


@pytest.mark.parametrize("lower", [0.0, None])
@pytest.mark.parametrize("method", ["bpdcae", "dcae"])
def test_a_kernel_with_a_boundary_keeps_every_point_inside_and_beta_needs_a_constant_from_below(method, lower):
    rng = np.random.default_rng(0)
    A = rng.random((12, 5))
    smooth = Poisson(A, A @ [1.0, 0.01, 2.0, 0.5, 0.1], lower)
    problem = bo.Problem(smooth=smooth, block=NoBlock(), kernel=bo.make("kernel", "burg"))
    result = bo.solve(problem, method=method, start=bo.Blocks(y=np.ones(5)), max_iterations=100)
    assert (result.Y.y > 0).all()
    assert result.certificate.guaranteed
    assert (np.nanmax(result.history["beta"]) > 0.3) == (lower is not None)


class Mine(bo.Regularizer):
    """mcp(1, 10), as an author would write it."""

    def value(self, X):
        size = np.minimum(np.abs(X), 10.0)
        return float((size - size**2 / 20).sum())

    def prox(self, X, step):
        return np.where(np.abs(X) <= 10, np.sign(X) * np.maximum(np.abs(X) - step, 0) / (1 - step / 10), X)

    def convex_parts(self):
        return bo.ConvexParts(bo.make("regularizer", "l1(1)"), lambda X: np.clip(X / 10, -1, 1))


@pytest.mark.parametrize("method", ["bpdcae", "dcae", "bmme"])
def test_convex_parts_of_ones_own_are_all_that_a_step_needs(M, start, method):
    one, two = (
        bo.solve(bo.compose("relu-nmd", M, rank=RANK, U=H), method=method, start=start, max_iterations=20)
        for H in (Mine(), "mcp(1, 10)")
    )
    np.testing.assert_allclose(one.Y.flat, two.Y.flat, rtol=0, atol=1e-12)
    assert one.certificate.guaranteed


@pytest.mark.parametrize("method", ["bpdcae", "dcae", "bmme", "hybrid(bpdca, dcae, 4)", "hybrid(aapb, bmme, 4)"])
def test_a_run_goes_on_after_a_break_with_its_convex_parts_found_again(M, method, tmp_path):
    problem = composed(M, "mcp(0.2, 3)")

    def cut(state):
        if state.iteration == 7:
            raise EOFError

    with pytest.raises(EOFError):
        bo.solve(problem, method=method, max_iterations=12, checkpoint=tmp_path, checkpoint_every=0, observers=[cut])
    result, whole = bo.resume(tmp_path), bo.solve(problem, method=method, max_iterations=12)
    np.testing.assert_array_equal(result.Y.flat, whole.Y.flat)
    assert result.certificate == whole.certificate
    assert result.counts == whole.counts


WRAPPED = [
    "scaled(mcp(0.4, 3), 2)",
    "with-ridge(scad(0.4, 3.7), 0.1)",
    "with-ridge(mcp(0.4, 3), 0.5)",
    "with-nonneg(exp(0.6, 1.5))",
    "with-nonneg(with-ridge(capped-l1(0.7, 0.8), 0.2))",
    "on-columns(log(0.5, 0.7), 1)",
    "scaled(l1-minus-l2(0.4), 3)",
]


@pytest.mark.parametrize("spec", WRAPPED)
def test_the_convex_parts_of_wrapped_regularizers_hold(spec):
    H = bo.make("regularizer", spec)
    for seed in range(3):
        assert run("convex-parts/hold", checks_of(H)["convex-parts/hold"], seed).status == "passed"


def test_who_knows_convex_parts():
    def known(spec):
        return bo.make("regularizer", spec).convex_parts() is not None

    nonconvex = ["l1-minus-l2", "mcp", "scad", "exp", "log", "capped-l1", "l1-minus-ridge"]
    assert all(known(spec) for spec in [*nonconvex, "l1", "nonneg", "ridge", "none", *WRAPPED])
    assert not any(known(spec) for spec in ("l0", "l0-ball", "lp", "orthonormal", "scaled(l0, 2)", "with-nonneg(lp)"))
    ridge = bo.make("regularizer", "with-ridge(mcp(0.4, 3), 0.5)")
    assert ridge.convex_parts().first is ridge, "it is convex"


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("bpdcae(rho=1)", "'rho' parameter of BPDCA must be a finite number >= 0 and < 1"),
        ("bpdcae(every=0)", "'every' parameter of BPDCA must be"),
        ("dcae(share=1)", "'share' parameter of DCAe must be a finite number >= 0 and < 1"),
        ("bpge(beta=1)", "'beta' parameter of bpge must be a number >= 0 and < 1"),
        ("bpge(L=0)", "'L' parameter of bpg must be a finite number > 0"),
    ],
)
def test_a_parameter_out_of_range_is_refused_by_name(spec, words):
    with pytest.raises(bo.errors.ParameterError, match=words):
        bo.make("method", spec)
