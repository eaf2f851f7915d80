"""A run: its states, history, observers, certificate, and that it can be repeated."""

import numpy as np
import pytest

import bregopt as bo


def problem(seed=0, **options):
    M = np.maximum(0, np.random.default_rng(seed).standard_normal((25, 18)))
    return bo.compose("relu-nmd", M, rank=3, **options)


@pytest.mark.parametrize("method", ["aapb", "apb", "aapb(w=Ybar)", "aapb(step=monotone)"])
@pytest.mark.parametrize("start", ["scaled-random", "tsvd"])
def test_the_same_seed_gives_the_same_result_bit_for_bit(method, start):
    runs = [bo.solve(problem(U="l1(0.1)"), method=method, start=start, seed=5, max_iterations=30) for _ in range(2)]
    np.testing.assert_array_equal(runs[0].Y.flat, runs[1].Y.flat)
    for column in set(runs[0].history) - {"seconds"}:
        np.testing.assert_array_equal(runs[0].history[column], runs[1].history[column])


def test_a_generator_is_a_seed_too():
    runs = [bo.solve(problem(), seed=np.random.default_rng(9), max_iterations=2).objective for _ in range(2)]
    assert runs[0] == runs[1]


def test_iterate_yields_the_states_of_solve():
    states = []
    for state in bo.iterate(problem(), method="aapb", seed=1):
        states.append(state)
        if state.iteration == 12:
            break
    result = bo.solve(problem(), method="aapb", seed=1, max_iterations=12)
    np.testing.assert_array_equal([s.objective for s in states], result.history["objective"])
    np.testing.assert_array_equal(states[-1].Y.flat, result.Y.flat)
    assert states[3].Y.flat is not states[4].Y.flat
    with pytest.raises(ValueError, match="read-only"):
        states[0].Y.U[0, 0] = 1.0


def test_observers_see_every_state_and_the_end():
    class Watch(bo.Observer):
        def __init__(self):
            self.seen, self.result = [], None

        def see(self, state):
            self.seen.append(state.iteration)

        def end(self, result):
            self.result = result

    watch, simple = Watch(), []
    result = bo.solve(problem(), max_iterations=4, observers=[watch, lambda state: simple.append(state.objective)])
    assert watch.seen == [0, 1, 2, 3, 4]
    assert watch.result is result
    np.testing.assert_array_equal(simple, result.history["objective"])


def test_the_history_has_every_column_of_the_design_for_every_state():
    history = bo.solve(problem(), max_iterations=7).history
    wanted = {"iteration", "seconds", "objective", "relative_error", "beta", "step", "lyapunov", "stationarity"}
    assert wanted | {"products", "divergence", "model_residual"} <= set(history)
    for name, column in history.items():
        assert column.shape == (8,), name
    assert np.isnan(history["beta"][0])
    with pytest.raises(ValueError, match="read-only"):
        history["objective"][0] = 0.0


def test_the_result_has_the_closed_form_W_and_the_objective_of_its_point():
    result = bo.solve(problem(U="l1(0.2)"), max_iterations=20)
    W = result.W.toarray()
    value = 0.5 * np.sum((W - result.Y.U @ result.Y.V) ** 2) + 0.2 * np.abs(result.Y.U).sum()
    assert result.objective == pytest.approx(value, rel=1e-12)
    assert result.objective <= result.history["objective"][-1]  # which may be a bound


@pytest.mark.parametrize("method", ["aapb", "apb", "aapb(w=Ybar)"])
def test_the_subgradient_without_H_is_the_gradient_of_the_reduced_function(method):
    free = problem()
    result = bo.solve(free, method=method, max_iterations=15)
    gradient = free.oracle.evaluate(result.Y, at=result.Y).gradient
    assert result.certificate.subgradient == pytest.approx(gradient.norm(), rel=1e-9)


def test_the_subgradient_with_l1_lies_in_the_subdifferential():
    lasso = problem(U="l1(0.5)", V="l1(0.5)")
    for state in bo.iterate(lasso, method="aapb"):
        if state.iteration == 20:
            break
    A = bo.make("method", "aapb").subgradient(lasso, state).A
    xi = A - lasso.oracle.evaluate(state.Y, at=state.Y).gradient
    moving = state.Y.flat != 0
    np.testing.assert_allclose(xi.flat[moving], 0.5 * np.sign(state.Y.flat[moving]), atol=1e-9)
    assert (np.abs(xi.flat[~moving]) <= 0.5 + 1e-9).all()


def test_the_free_residual_is_that_of_the_kernel():
    states = []
    for state in bo.iterate(problem(kernel="paper"), method="aapb(beta=0.6, step=1)"):
        states.append(state)
        if state.iteration == 3:
            break
    plan = states[2].inner
    kernel, Y_bar = plan.model.kernel, plan.model.Y_bar
    gap = kernel.gradient(Y_bar) - kernel.gradient(states[3].Y)
    assert states[3].stationarity == pytest.approx(gap.norm() / plan.model.step, rel=1e-12)


def test_kernel_auto_is_tight_where_W_lags_and_fixed_where_it_does_not():
    def kernels(method, kernel):
        for state in bo.iterate(problem(kernel=kernel), method=method):
            if state.iteration == 5:
                break
        return state.inner.model.kernel.a, state.inner.model.kernel.b

    assert kernels("aapb(step=1)", "auto") == kernels("aapb(step=1)", "tight")
    assert kernels("apb(step=1)", "auto") == kernels("apb(step=1)", "fixed")
    assert kernels("aapb(step=1, w=Ybar)", "auto") == kernels("aapb(step=1, w=Ybar)", "fixed")


def test_the_default_step_is_the_longest_that_the_theory_allows():
    for kernel in ("paper", "tight", "fixed"):
        result = bo.solve(problem(kernel=kernel), method="apb", max_iterations=20)
        assert result.certificate.guaranteed
        assert (result.history["step"][1:] == 1.0).all()
    planted = 0.25 * bo.make("kernel", "psi1") + 1000.0 * bo.make("kernel", "psi2")
    result = bo.solve(
        problem(kernel=planted), method="aapb(assumption2, step=constant, w=Y, guard=false)", max_iterations=20
    )
    assert result.certificate.guaranteed
    np.testing.assert_allclose(result.history["step"][1:], 0.25)


def test_a_regularizer_on_a_block_that_does_not_exist_is_refused():
    free = problem()
    H = bo.Separable(UU=bo.make("regularizer", "l1(0.1)"))
    misspelt = bo.Problem(smooth=free.smooth, block=free.block, kernel=free.kernel, start=free.start, regularizer=H)
    with pytest.raises(bo.errors.IncompatibleError, match=r"H names the block 'UU', and the .* has U, V only"):
        bo.solve(misspelt)


def test_a_method_with_an_inexact_objective_ends_with_an_exact_evaluation():
    class Bounded(bo.Method):
        def start(self, problem, Y):
            return bo.State(iteration=0, Y=Y, objective=1e9, metrics={}, lyapunov=1e9, scale=1e9, exact=False)

        def advance(self, problem, state):
            return bo.State(iteration=1, Y=state.Y, objective=1e8, metrics={}, lyapunov=1e8, scale=1e8, exact=False)

    free = problem()
    result = bo.solve(free, method=Bounded(), max_iterations=1)
    assert result.objective == free.oracle.evaluate(result.Y).value
    assert result.counts.products == 1
    assert "no descent theorem" in result.certificate.summary()


@pytest.mark.parametrize("method", ["aapb-paper", "cocain", "aapb-certified"])
@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_rounding_above_a_start_that_meets_the_data_is_no_divergence(method, seed):
    rng = np.random.default_rng(seed)
    U, V = rng.integers(-3, 4, (8, 2)), rng.integers(-3, 4, (2, 6))
    result = bo.solve(
        bo.compose("relu-nmd", np.maximum(0, U @ V) * (1 / 9), rank=2),
        method=method,
        start=bo.Blocks(U=U * (1 / 3), V=V * (1 / 3)),
        stop="max-iterations(40)",
    )
    assert result.status is bo.Status.MAX_ITERATIONS
    assert result.metrics["relative_error"] < 1e-13


def test_what_truly_grows_is_still_called_divergence():
    result = bo.solve(problem(), method="ippalm(0.9, scale=0.05)", max_iterations=200)
    assert result.status in (bo.Status.DIVERGED, bo.Status.NOT_FINITE)
