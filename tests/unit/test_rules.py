"""β, step and stop rules."""

import numpy as np
import pytest
from attrs import frozen
from small_parts import relu_matrix

import bregopt as bo
from bregopt.errors import IncompatibleError


def problem(**options):
    return bo.compose("relu-nmd", relu_matrix(), rank=3, **options)


class WithoutLine(bo.Kernel):
    """A kernel that hides its polynomial."""

    def __init__(self, kernel):
        self.kernel = kernel

    def value(self, Y):
        return self.kernel.value(Y)

    def gradient(self, Y):
        return self.kernel.gradient(Y)

    def divergence(self, Y, Z):
        return self.kernel.divergence(Y, Z)

    @property
    def strong_convexity(self):
        return self.kernel.strong_convexity

    def scaled(self, weight):
        return WithoutLine(weight * self.kernel)


def move(seed, kernel, scale=1.0, **changes):
    rng = np.random.default_rng(seed)
    Y, Y_prev = (bo.Blocks(U=rng.standard_normal((3, 2)), V=rng.standard_normal((2, 4))) for _ in range(2))
    Y_prev = Y.plus(scale, Y_prev)
    values = {
        "iteration": 3,
        "Y": Y,
        "D": Y - Y_prev,
        "step": 1.0,
        "step_prev": 0.7,
        "kernel_prev": kernel,
        "divergence": kernel.divergence(Y_prev, Y),
        "longest": np.inf,
        "forecast": lambda beta: bo.Forecast(kernel, bo.Smad(1.0, 0.8)),
        "steady": True,
    }
    return bo.ExtrapolationContext(**(values | changes))


def psi():
    return 2.0 * bo.make("kernel", "psi1") + 0.5 * bo.make("kernel", "psi2")


@pytest.mark.parametrize("scale", [1e-9, 1e-3, 1.0, 30.0])
def test_the_root_and_the_bisection_agree_and_use_the_whole_budget(scale):
    rule = bo.make("extrapolation", "assumption2")
    for seed in range(20):
        with_line, without = move(seed, psi(), scale), move(seed, WithoutLine(psi()), scale)
        beta, _ = rule.choose(with_line, None)
        other, _ = rule.choose(without, None)
        assert abs(beta - other) <= 1e-10 * beta + (1e-7 if scale < 1e-6 else 0)
        cost = (1.0 + 0.8) * psi().divergence(with_line.Y, with_line.Y.plus(beta, with_line.D))
        budget = 0.998 / 0.7 * with_line.divergence
        assert cost == pytest.approx(budget, rel=1e-6 if scale < 1e-6 else 1e-10) or (beta == 0.99 and cost < budget)


def test_the_quadratic_kernel_gives_the_textbook_beta():
    rule = bo.make("extrapolation", "assumption2")
    beta, _ = rule.choose(move(0, bo.make("kernel", "psi2"), step_prev=1.0), None)
    assert beta == pytest.approx(np.sqrt(0.998 / 1.8), rel=1e-12)


def test_backtracking_stays_below_the_root_and_within_one_factor_of_it():
    root, back = bo.make("extrapolation", "assumption2"), bo.make("extrapolation", "assumption2(shrink=0.9)")
    for seed in range(20):
        case = move(seed, psi())
        best, _ = root.choose(case, None)
        found, _ = back.choose(case, None)
        assert 0.9 * best <= found <= best * (1 + 1e-12)


def test_the_literal_test_of_the_paper_uses_one_kernel_and_one_step():
    rule = bo.make("extrapolation", "assumption2(test=paper)")
    kernel = psi()
    case = move(1, kernel, kernel_prev=5.0 * kernel, divergence=123.0)
    beta, _ = rule.choose(case, None)
    left = kernel.divergence(case.Y, case.Y.plus(beta, case.D))
    right = 0.998 / (1.0 + 0.8) * kernel.divergence(case.Y - case.D, case.Y)
    assert left == pytest.approx(right, rel=1e-10)


def test_the_lower_kernel_allows_a_larger_beta():
    low = 0.5 * bo.make("kernel", "psi1") + 0.1 * bo.make("kernel", "psi2")
    case = move(2, psi(), forecast=lambda beta: bo.Forecast(psi(), bo.Smad(1.0, 1.0, low)))
    by_kernel, _ = bo.make("extrapolation", "assumption2").choose(case, None)
    by_low, _ = bo.make("extrapolation", "assumption2(bound=low)").choose(case, None)
    assert by_low > by_kernel
    cost = psi().divergence(case.Y, case.Y.plus(by_low, case.D)) + low.divergence(case.Y, case.Y.plus(by_low, case.D))
    assert cost == pytest.approx(0.998 / 0.7 * case.divergence, rel=1e-9)


def test_a_kernel_that_grows_with_beta_is_tested_at_the_beta_chosen():
    def forecast(beta):
        return bo.Forecast((1.0 + 20.0 * beta) * psi(), bo.Smad(1.0, 1.0))

    case = move(3, psi(), forecast=forecast, steady=False)
    beta, _ = bo.make("extrapolation", "assumption2").choose(case, None)
    assert 0 < beta < 0.99
    cost = 2.0 * forecast(beta).kernel.divergence(case.Y, case.Y.plus(beta, case.D))
    assert cost <= 0.998 / 0.7 * case.divergence


def test_without_constants_there_is_no_extrapolation():
    case = move(4, psi(), forecast=lambda beta: bo.Forecast(psi(), None))
    assert bo.make("extrapolation", "assumption2").choose(case, None)[0] == 0.0


@pytest.mark.parametrize("spec", ["constant(0.6)", "nesterov", "assumption2"])
def test_no_rule_leaves_the_domain(spec):
    rule = bo.make("extrapolation", spec)
    beta, _ = rule.choose(move(5, psi(), longest=1e-3), 50.0 if spec == "nesterov" else None)
    assert 0 < beta < 1e-3


def test_a_combined_rule_keeps_delta_and_epsilon_of_the_rule_it_rests_on():
    strict = "assumption2(delta=0.5, epsilon=0.1)"
    for spec in (f"least(constant(0.6), {strict})", f"restart({strict}, when=gradient)"):
        rule = bo.make("extrapolation", spec)
        assert (rule.delta, rule.epsilon) == (0.5, 0.1)
    assert bo.make("extrapolation", f"least({strict}, constant(0.6))").delta == 0.999


def test_nesterov_follows_its_sequence():
    result = bo.solve(problem(), method="aapb(beta=nesterov)", max_iterations=6)
    theta, expected = 1.0, [np.nan, 0.0]
    for _ in range(5):
        after = (1 + np.sqrt(1 + 4 * theta**2)) / 2
        expected.append((theta - 1) / after)
        theta = after
    np.testing.assert_allclose(result.history["beta"], expected)


def test_a_shortened_step_makes_the_engine_choose_beta_again():
    result = bo.solve(problem(), method="aapb(step=monotone(1000))", max_iterations=40)
    steps = result.history["step"][1:]
    assert steps[-1] < steps[0] or steps[0] < 1000
    assert result.counts.proxes > 40
    assert result.certificate.guaranteed


def test_a_step_rule_that_accepts_everything_proves_nothing():
    class Careless(bo.StepRule):
        tests = True

        def propose(self, carried, limit):
            return 50.0

    result = bo.solve(problem(), method=bo.AAPB(bo.make("extrapolation", "zero"), Careless()), max_iterations=5)
    assert not result.certificate.assumptions["step"].held


def test_an_upper_constant_alone_allows_the_step_but_no_extrapolation():
    known = problem(kernel="paper")

    class Upper(bo.SmoothPart):
        value = known.smooth.value
        value_and_gradient = known.smooth.value_and_gradient

        def smad(self, kernel, norms, reduced):
            return None if reduced else bo.Smad(upper=1.0)

    upper = bo.Problem(smooth=Upper(), block=known.block, kernel=known.kernel, start=known.start)
    assert bo.solve(upper, method="apb", max_iterations=5).certificate.guaranteed
    result = bo.solve(upper, method="aapb(assumption2, step=constant, w=Y, guard=false)", max_iterations=5)
    assert result.certificate.guaranteed
    assert np.nanmax(result.history["beta"]) == 0
    assert not bo.solve(upper, method="aapb(beta=0.1)", max_iterations=5).certificate.guaranteed


STOPS = {
    "max-iterations(3)": bo.Status.MAX_ITERATIONS,
    "max-seconds(0)": bo.Status.MAX_SECONDS,
    "max-products(10)": bo.Status.MAX_PRODUCTS,
    "relative-error(0.9)": bo.Status.RELATIVE_ERROR,
    "stationarity(1e3)": bo.Status.STATIONARY,
    "tolerance(1e3)": bo.Status.RELATIVE_ERROR,
    "plateau(0.5, 4)": bo.Status.PLATEAU,
    "target(1e9)": bo.Status.TARGET,
}


@pytest.mark.parametrize("spec", STOPS)
def test_each_stop_rule_has_a_status_and_a_sentence(spec):
    result = bo.solve(problem(), stop=spec)
    assert result.status is STOPS[spec]
    assert result.reason.endswith(".")
    assert result.converged == (not spec.startswith("max-"))
    if result.converged:
        assert result.raise_for_status() is result
    else:
        with pytest.raises(bo.errors.NotSolvedError, match="did not converge"):
            result.raise_for_status()


def test_rules_compose_with_or_and_and():
    few, many = bo.make("stop", "max-iterations(3)"), bo.make("stop", "max-products(30)")
    assert bo.solve(problem(), method="apb", stop=few | many).iterations == 3
    both = bo.solve(problem(), method="apb", stop=few & many)
    assert both.iterations == 9
    assert both.status is bo.Status.MAX_PRODUCTS
    assert "3 iterations" in both.reason
    assert "30 products" in both.reason


def test_a_goal_without_a_limit_ends_after_a_thousand_iterations():
    goal = bo.make("stop", "target(-1)")
    assert not goal.certain
    assert (goal | bo.make("stop", "max-iterations(5000)")).certain
    assert not (goal & bo.make("stop", "max-iterations(5)")).certain
    small = bo.compose("relu-nmd", np.eye(3), rank=1)
    assert bo.solve(small, stop=goal).iterations == 1000


def test_the_stationarity_rule_is_honest():
    result = bo.solve(problem(U="ridge(1)", V="ridge(1)"), stop="stationarity(1e-6)", max_iterations=20000)
    assert result.status is bo.Status.STATIONARY
    assert result.certificate.relative_subgradient <= 1e-6


def test_a_stop_rule_of_the_wrong_type_is_refused():
    rule = bo.make("stop", "max-iterations(3)")
    with pytest.raises(IncompatibleError, match="combined with a stop rule"):
        rule | 3
    with pytest.raises(bo.errors.SpecError):
        bo.solve(problem(), stop=[rule])
    quartic = bo.Problem(smooth=problem().smooth, block=_Plain(), kernel=psi())
    with pytest.raises(IncompatibleError, match="relative error"):
        bo.solve(quartic, method="apb(step=1)", stop="relative-error", start=bo.Blocks(U=[[1.0]], V=[[1.0]]))


class _Plain(bo.ClosedFormBlock):
    def argmin(self, smooth, Y):
        return np.array([[1.0]])

    def value(self, W):
        return 0.0


@pytest.mark.parametrize("rule", ["relative-error(0.1)", "stationarity(0.1)", "tolerance(0.1)"])
def test_a_figure_that_is_nan_is_no_goal_that_was_reached(rule):
    nan, Y = float("nan"), bo.Blocks(U=0.0)
    progress = bo.Progress(3, Y, 0.1, 9.0, 1.0, {"relative_error": nan}, nan, {"stationarity": [nan] * 4}, lambda: nan)
    assert bo.make("stop", rule).judge(progress) is None
    small = bo.Progress(8, Y, 0.1, 9.0, 1.0, {"relative_error": nan}, 1e-9, {"stationarity": [1e-9] * 9}, lambda: nan)
    assert bo.make("stop", rule).judge(small) is None


def ends_at(objectives, spec="plateau"):
    rule = bo.make("stop", spec)
    for k in range(len(objectives)):
        history = {"objective": list(objectives[: k + 1])}
        progress = bo.Progress(k, bo.Blocks(U=0.0), 0.1, 9.0, objectives[k], {}, None, history, lambda: None)
        if rule.judge(progress) is not None:
            return k
    return None


def test_a_plateau_is_where_the_objective_stands_still_whatever_its_unit():
    falls = [1.0 + 0.5**k for k in range(200)]
    end = ends_at(falls)
    assert falls[end - 10] - falls[end] <= 1e-8 * falls[end] < falls[end - 11] - falls[end - 1]
    assert ends_at([1e-9 * it for it in falls]) == ends_at([1e9 * it for it in falls]) == end
    assert ends_at([0.7**k for k in range(200)]) is None  # to zero, and never still


def test_a_plateau_says_how_much_the_objective_fell():
    def told(last):
        history = {"objective": [last + 1e-9, *[last] * 10]}
        progress = bo.Progress(10, bo.Blocks(U=0.0), 0.1, 9.0, last, {}, None, history, lambda: None)
        return bo.make("stop", "plateau").judge(progress).reason

    assert told(1.0) == "The objective fell by only 1.00e-09 in 10 iterations."
    assert told(1e30) == "The objective did not fall in 10 iterations."


def test_momentum_that_raises_the_objective_is_no_plateau():
    ripples = [1.0 + 0.99**k * (1.0 + 0.5 * np.cos(k / 3)) for k in range(400)]
    assert any(now >= then for then, now in zip(ripples, ripples[10:], strict=False))
    assert ends_at(ripples) is None


def test_a_cycle_and_rounding_come_to_an_end():
    assert ends_at([2.0 + (k % 2) for k in range(300)]) == 199
    noise = np.random.default_rng(0).uniform(0.5, 1.5, 400) * 1e-28
    assert ends_at([1.0, 0.5, *noise]) is not None


def test_a_stop_rule_sees_the_point_of_its_state():
    seen = []

    @frozen
    class Watching(bo.StopRule):
        def judge(self, progress):
            seen.append(progress.Y)

    states = []
    problem = bo.compose("relu-nmd", np.eye(4) + 0.1, rank=2)
    result = bo.solve(problem, method="apb", stop=Watching(), max_iterations=3, observers=states.append)
    assert [Y is state.Y for Y, state in zip(seen, states, strict=True)] == [True] * 4
    assert seen[-1] is result.Y
