"""masked-newton: against an independent implementation entry by entry, and what it promises on every kind of data."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse
from attrs import evolve
from bregopt_lowrank import ColumnLosses, as_local_matrix
from bregopt_lowrank.newton.compiled_minimisers import minimise as compiled_minimise
from bregopt_lowrank.newton.row_models import PlainModels, minimise, minimise_by_prox
from bregopt_lowrank.newton.row_newton import judge, row_newton
from bregopt_relu.relu import Relu
from row_reference import line_value, reference_row_newton, reference_run
from small_parts import NoBlock

import bregopt as bo
from bregopt.errors import IncompatibleError
from bregopt.matrices import mycielskian

PENALTIES = ["none", "ridge(0.3)", "l1(0.2)", "nonneg", "l1-nonneg(0.1)", "elastic-net(0.2, 0.3)", "box(-0.4, 0.7)"]
OTHERS = ["huber(0.2)", "mcp(0.2, 3)", "log(0.1, 0.5)", "l0(0.05)", "on-columns(l1(0.3), 0)"]


def relu_of_low_rank(m=20, n=14, r=3, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    return scale * np.maximum(0.0, rng.standard_normal((m, r)) @ rng.standard_normal((r, n)))


@pytest.fixture(params=["numpy", "compiled"])
def route(request, monkeypatch):
    monkeypatch.setenv("BREGOPT_COMPILE", "1" if request.param == "compiled" else "0")
    return request.param


@pytest.mark.usefixtures("route")
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "CSR"])
@pytest.mark.parametrize("spec", PENALTIES)
def test_the_rows_take_the_steps_of_the_definition(spec, sparse):
    M, H = relu_of_low_rank(), bo.make("regularizer", spec)
    rng = np.random.default_rng(1)
    U = H.prox(rng.standard_normal((20, 3)), 1e-12)
    V, delta = rng.standard_normal((3, 14)), np.geomspace(1e-9, 4.0, 20)
    data = as_local_matrix(scipy.sparse.csr_array(M) if sparse else M)
    loss = ColumnLosses.one(Relu(), 14)
    found = row_newton(loss, data, U, V, delta, H)
    l1 = bo.make("regularizer", "l1(0.2)")
    back = row_newton(loss.transposed, data.transposed, V.T, U.T, delta[:14], l1, by_columns=True)
    for made, wanted in (
        (found, reference_row_newton(M, U, V, delta, H.scalar())),
        (back, reference_row_newton(M.T, V.T, U.T, delta[:14], bo.ScalarPenalty(l1=0.2))),
    ):
        np.testing.assert_allclose(made.U, wanted[0], rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(made.delta, wanted[1], rtol=1e-12)
        np.testing.assert_allclose([made.value, made.error], wanted[2:], rtol=1e-10)
    assert not np.array_equal(found.U, U)


@pytest.mark.usefixtures("route")
@pytest.mark.parametrize("balance", [True, False])
@pytest.mark.parametrize("spec", ["none", "l1(0.2)", "ridge(0.1)", "nonneg"])
def test_the_iterations_are_those_of_the_definition(spec, balance):
    problem = bo.compose("relu-nmd", relu_of_low_rank(), rank=3, U=spec, V=spec)
    states = bo.iterate(problem, method=f"masked-newton(balance={balance})".lower(), seed=7)
    Y = next(states).Y
    h = {name: problem.regularizer[name].scalar() for name in ("U", "V")}
    betas = []
    for U, V, phi, beta in reference_run(relu_of_low_rank(), Y["U"], Y["V"], h, 14, balance):
        state = next(states)
        betas.append(state.beta)
        assert state.beta == pytest.approx(beta, rel=1e-12)
        assert state.objective == pytest.approx(phi, rel=1e-8)
        np.testing.assert_allclose(state.Y["U"], U, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(state.Y["V"], V, rtol=1e-6, atol=1e-7)
    assert max(betas) > 0.5
    assert spec != "none" or 0 in betas[1:], "the guard was not tried"


FORMS = {"dense": np.asarray, "CSR": scipy.sparse.csr_array, "float32": np.float32}


@pytest.mark.usefixtures("route")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("spec", ["none", "ridge(0.1)", "l1(0.01)", "nonneg"])
def test_the_objective_never_rises_and_is_exact(spec, scale, form):
    M = FORMS[form](relu_of_low_rank(60, 40, 4, scale=scale))
    problem = bo.compose("relu-nmd", M, rank=4, U=spec, V=spec)
    result = bo.solve(problem, method="masked-newton", max_iterations=25)
    assert result.certificate.monotone
    assert result.history["objective"][-1] < 0.5 * result.history["objective"][0]
    evaluation = problem.oracle.evaluate(result.Y)
    tolerance = {"rel": 1e-9} if form != "float32" else {"rel": 1e-3, "abs": 1e-9 * result.history["objective"][0]}
    assert result.objective == pytest.approx(evaluation.value + problem.regularizer.value(result.Y), **tolerance)
    if form != "float32":
        assert dict(result.metrics) == pytest.approx(dict(evaluation.metrics), rel=1e-6)


@pytest.mark.usefixtures("route")
@pytest.mark.parametrize("spec", [*OTHERS, "l1-minus-ridge(0.3, 0.05)", "with-nonneg(huber(0.2))"])
def test_the_objective_never_rises_for_any_separable_regularizer(spec):
    problem = bo.compose("relu-nmd", relu_of_low_rank(30, 20), rank=3, U=spec, V=spec)
    result = bo.solve(problem, method="masked-newton", max_iterations=25)
    assert result.certificate.monotone
    assert result.history["objective"][-1] < 0.5 * result.history["objective"][0]
    assert np.isfinite(problem.regularizer.value(result.Y))


def test_weights_of_their_own_for_entries_reach_what_one_weight_does():
    def solve(eta, form):
        H = {name: bo.make("regularizer", "l1", form(eta, shape)) for name, shape in (("U", (30, 3)), ("V", (3, 20)))}
        return bo.solve(
            bo.compose("relu-nmd", relu_of_low_rank(30, 20), rank=3, **H), method="masked-newton", max_iterations=300
        ).objective

    whole = solve(0.1, lambda eta, shape: eta)
    assert solve(0.1, lambda eta, shape: np.full(shape, eta)) == pytest.approx(whole, rel=0.02)


@pytest.mark.parametrize("alike", [False, True], ids=["weights by entry", "one weight"])
@pytest.mark.parametrize("by_columns", [False, True])
def test_a_regularizer_known_by_its_prox_has_the_same_minimisers(by_columns, alike, monkeypatch):
    monkeypatch.setattr("bregopt_lowrank.newton.row_models.SWEEPS", 1000)
    rng = np.random.default_rng(0)
    M, U, V = relu_of_low_rank(9, 14), rng.standard_normal((9, 3)), rng.standard_normal((3, 14))
    weights = np.full((1, 1) if alike else (3, 9) if by_columns else (9, 3), 0.3)
    rows, damping = slice(2, 7), np.geomspace(1e-3, 1, 5)
    it = PlainModels(ColumnLosses.one(Relu(), 14), as_local_matrix(M), V).gather(rows, U[rows])
    H = bo.make("regularizer", "l1", weights)
    assert (bo.Trait.ROW_WISE in H.traits) == alike
    made = minimise_by_prox(H, U.shape, by_columns, rows, it, U[rows], damping)
    wanted = minimise(bo.ScalarPenalty(l1=0.3), rows, it, U[rows], damping)
    np.testing.assert_allclose(made.Z, wanted.Z, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(made.fall, wanted.fall, rtol=1e-10)
    np.testing.assert_allclose(made.residual, wanted.residual, rtol=1e-10)


BENT = ["mcp(0.2, 3)", "scad(0.2)", "capped-l1(0.2, 0.5)", "log(0.1, 0.5)", "exp(0.2, 2)", "l0(0.05)", "lp(0.1, 0.5)"]
BENT += [
    "lp(0.1, '2/3')",
    "huber(0.2)",
    "l1-minus-ridge(0.3, 0.05)",
    "with-nonneg(mcp(0.2, 3))",
    "scaled(scad(0.2), 2)",
]
BENT += ["with-ridge(l0(0.05), 0.3)"]


@pytest.mark.parametrize("spec", BENT)
def test_the_compiled_minimiser_takes_the_coordinate_steps_of_the_prox(spec):
    rng = np.random.default_rng(3)
    H, V, damping = bo.make("regularizer", spec), rng.standard_normal((3, 14)), np.geomspace(0.01, 1, 9)
    U = H.prox(rng.standard_normal((9, 3)), 1e-12)
    it = PlainModels(ColumnLosses.one(Relu(), 14), as_local_matrix(relu_of_low_rank(9, 14)), V).gather(slice(0, 9), U)
    wanted = minimise_by_prox(H, U.shape, False, slice(0, 9), it, U, damping)
    found = compiled_minimise(H.entry(), None, False, 1.0 / (0.9 * H.step_limit), evolve(it, B=it.B.copy()), U, damping)
    np.testing.assert_allclose(found.Z, wanted.Z, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.fall, wanted.fall, rtol=1e-8, atol=1e-9)
    drop = [H.value(u[None]) - H.value(z[None]) for u, z in zip(U, found.Z, strict=True)]
    np.testing.assert_allclose(found.drop, drop, rtol=1e-9, atol=1e-9)
    assert not np.array_equal(found.Z, U)


@pytest.mark.parametrize("h", [(0.3, 0.0), (0.3, 0.2), (0.0, 0.0, 0.0), (0.2, 0.1, 0.0), (0.0, 0.0, -0.1, 0.2)])
@pytest.mark.parametrize("rank", [1, 2, 7, 12])
def test_a_row_model_is_minimised_to_the_last_digits_though_its_coordinates_are_far_from_independent(h, rank):
    rng = np.random.default_rng(rank)
    h, V = bo.ScalarPenalty(*h), rng.standard_normal((rank, 30)) + 1.0  # so much alike that sweeps alone are slow
    U, damping = h.prox(rng.standard_normal((20, rank)), 1e-3), np.geomspace(1e-3, 1, 20)
    M = np.maximum(0.0, rng.standard_normal((20, 30)))
    it = PlainModels(ColumnLosses.one(Relu(), 30), as_local_matrix(M), V).gather(slice(0, 20), U)
    plain = minimise(h, slice(0, 20), it, U, damping)
    compiled = compiled_minimise(h.entry(), None, True, 0.0, evolve(it, B=it.B.copy()), U, damping)
    B = it.B + damping[:, None, None] * np.eye(rank)
    for found in (plain, compiled):
        slope = it.G + (B @ (found.Z - U)[:, :, None])[:, :, 0]
        size = np.abs(it.G) + (np.abs(B) @ np.abs(found.Z - U)[:, :, None])[:, :, 0] + h.l1
        assert (np.abs(h.steepest(found.Z, slope)) <= 1e-12 * size).all()


def test_the_first_step_of_a_row_has_the_damping_with_which_it_falls_more():
    rng = np.random.default_rng(1)
    M, U, V = relu_of_low_rank(200, 6, 6), 3.0 * rng.standard_normal((200, 6)), rng.standard_normal((6, 6))
    loss, data, H = ColumnLosses.one(Relu(), 6), as_local_matrix(M), bo.make("regularizer", "l1(0.2)")
    first, *others = (row_newton(loss, data, U, V, np.full(200, at), H) for at in (0.0, 0.1, 1.0))

    def of_rows(made):
        return [line_value(u, V, m)[0] + 0.2 * np.abs(u).sum() for u, m in zip(made.U, M, strict=True)]

    np.testing.assert_allclose(of_rows(first), np.minimum(*map(of_rows, others)), rtol=1e-12)
    assert len(set(np.argmin([of_rows(other) for other in others], axis=0))) == 2, "both are the better one somewhere"
    assert first.products == pytest.approx(others[0].products + 1)


def test_where_only_the_prox_is_known_a_row_must_lie_below_its_model():
    gain, fall, delta = np.array([1.0, 0.9, -0.1, np.nan]), np.array([0.95, 0.95, -0.2, 1.0]), np.array([1, 1, 1e-9, 4])
    kept, following = judge(gain, fall, None, delta, rank=10)
    np.testing.assert_array_equal(kept, [True, False, True, False])
    np.testing.assert_allclose(following, [0.3, 4.0, 1e-9, 10.0])


SINGULAR = {
    "a zero column of U": lambda U, V: (U * [0, 1, 1], V),
    "zero columns of V": lambda U, V: (U, V * (np.arange(V.shape[1]) > 5)),
    "equal rows of V": lambda U, V: (U, np.repeat(V[:1], 3, axis=0)),
    "nothing active": lambda U, V: (-np.abs(U), np.abs(V)),
    "U = 0": lambda U, V: (0 * U, V),
    "V = 0": lambda U, V: (U, 0 * V),
    "both zero": lambda U, V: (0 * U, 0 * V),
    "V all but zero": lambda U, V: (U, 1e-9 * V),
}


@pytest.mark.usefixtures("route")
@pytest.mark.parametrize("spec", PENALTIES)
@pytest.mark.parametrize("case", SINGULAR)
def test_a_singular_model_does_no_harm(case, spec):
    rng = np.random.default_rng(0)
    M = relu_of_low_rank(20, 14)
    M[:4], M[:, 2] = 0.0, 0.0
    U, V = SINGULAR[case](rng.standard_normal((20, 3)), rng.standard_normal((3, 14)))
    problem = bo.compose("relu-nmd", M, rank=3, U=spec, V=spec)
    result = bo.solve(problem, method="masked-newton", start=bo.Blocks(U=U, V=V), max_iterations=20)
    assert result.certificate.monotone
    assert np.isfinite(result.Y.flat).all()


@pytest.mark.parametrize("spec", ["none", "l1(0.05)", "nonneg"])
@pytest.mark.parametrize("form", ["dense", "CSR"])
def test_the_compiled_loops_and_the_threads_change_nothing(form, spec, monkeypatch):
    M = FORMS[form](relu_of_low_rank(420, 350, 4))  # enough entries for two threads

    def solve(compiled, threads):
        monkeypatch.setenv("BREGOPT_COMPILE", compiled)
        problem = bo.compose("relu-nmd", M, rank=4, U=spec, V=spec, threads=threads)
        return bo.solve(problem, method="masked-newton", max_iterations=5)

    wanted = solve("0", 1)
    for compiled, threads in (("1", 1), ("1", 2), ("0", 2)):
        result = solve(compiled, threads)
        np.testing.assert_allclose(result.Y.flat, wanted.Y.flat, rtol=1e-10, atol=1e-10)
        assert result.objective == pytest.approx(wanted.objective, rel=1e-10)
        assert result.counts == wanted.counts


@pytest.mark.parametrize("seed", [0, 1])
def test_an_exact_decomposition_is_found_to_nine_digits_in_sixty_iterations(seed):
    problem = bo.compose("relu-nmd", relu_of_low_rank(150, 80, 6, seed), rank=6)
    result = bo.solve(problem, method="masked-newton", stop="relative-error(1e-9)", max_iterations=60)
    assert result.status is bo.Status.RELATIVE_ERROR


def test_products_are_four_and_those_over_the_active_entries():
    M, r = relu_of_low_rank(60, 40, 4), 4
    problem = bo.compose("relu-nmd", M, rank=r, U="l1(0.1)", V="l1(0.1)")
    result = bo.solve(problem, method="masked-newton", max_iterations=20)
    each = np.diff(result.history["products"])
    active = np.mean((M > 0) | (result.Y["U"] @ result.Y["V"] > 0))
    assert each[-1] == pytest.approx(4 + 2 * active * (1 + (r + 1) / 2), rel=1e-3)
    assert (each[result.history["beta"][1:] > 0] <= 5 + 2 * r).all()
    assert result.counts.products == result.history["products"][-1] + 3, "the subgradient at the end"
    assert result.counts.evaluations == 2


def test_a_step_taken_again_is_paid_for():
    problem = bo.compose("relu-nmd", relu_of_low_rank(), rank=3, U="nonneg", V="nonneg")
    result = bo.solve(problem, method="masked-newton", seed=7, max_iterations=14)
    again = np.flatnonzero(result.history["beta"][2:] == 0) + 1
    each = np.diff(result.history["products"])
    assert again.size
    assert (each[again] > 1.5 * np.median(each)).all()


def test_a_state_can_be_advanced_twice():
    problem = bo.compose("relu-nmd", relu_of_low_rank(), rank=3, U="l1(0.1)")
    method = bo.make("method", "masked-newton")
    state = bo.solve(problem, method=method, max_iterations=3)
    state = method.start(problem, state.Y)
    for _ in range(4):
        one, two = method.advance(problem, state), method.advance(problem, state)
        np.testing.assert_array_equal(one.Y.flat, two.Y.flat)
        assert one.objective == two.objective
        state = one


@pytest.mark.parametrize("spec", ["l1(0.3)", "l1-nonneg(0.2)", "elastic-net(0.2, 0.3)", "ridge(0.4)"])
def test_a_stationary_point_is_recognised(spec):
    problem = bo.compose("relu-nmd", relu_of_low_rank(30, 20), rank=2, U=spec, V=spec)
    result = bo.solve(problem, method="masked-newton", stop="stationarity(1e-5)", max_iterations=2000)
    assert result.status is bo.Status.STATIONARY
    assert result.certificate.relative_subgradient <= 1e-5
    assert result.certificate.monotone
    assert "observed" in result.certificate.summary()


def test_where_only_the_prox_is_known_there_is_no_subgradient():
    problem = bo.compose("relu-nmd", relu_of_low_rank(), rank=3, U="huber(0.1)")
    assert bo.solve(problem, method="masked-newton", max_iterations=2).certificate.subgradient is None


@pytest.mark.parametrize("form", ["dense", "CSR"])
def test_nothing_of_the_size_of_a_dense_matrix_is_made(form):
    def solve(m, n, density):
        M = scipy.sparse.random_array((m, n), density=density, random_state=np.random.default_rng(0), format="csr")
        M = M.toarray() if form == "dense" else M
        problem = bo.compose("relu-nmd", M, rank=5, U="l1(0.01)", V="l1(0.01)", kernel="paper", threads=1)
        tracemalloc.start()
        bo.solve(problem, method="masked-newton", max_iterations=1)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return peak

    solve(500, 500, 0.1)  # the compiled loops are loaded, which is not what is measured
    assert solve(2000, 3000, 0.005) < 0.25 * 2000 * 3000 * 8


def quadratic():
    from attrs import frozen

    @frozen
    class Half(bo.SmoothPart):
        """``½‖Y‖²``."""

        def value(self, Y, W):
            return 0.5 * Y.dot(Y)

        def value_and_gradient(self, Y, W):
            return 0.5 * Y.dot(Y), Y

    return bo.Problem(smooth=Half(), block=NoBlock(), kernel=bo.make("kernel", "psi2"), start=bo.Blocks(Y=np.ones(3)))


def relu(**options):
    return bo.compose("relu-nmd", relu_of_low_rank(), rank=3, **options)


REFUSED = {
    "another problem": ("is for F = ½‖W − UV‖²", quadratic),
    "rows in H": ("not separable", lambda: relu(U="l21(0.1)")),
    "singular values in H": ("not separable", lambda: relu(V="nuclear(0.1)")),
    "a graph in F": ("graph term", lambda: relu(graph=bo.make("regularizer", "graph", 20 * np.eye(20) - 1.0))),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_problem_it_cannot_solve_is_refused_with_what_can(case):
    told, problem = REFUSED[case]
    with pytest.raises(IncompatibleError, match=told) as error:
        bo.solve(problem(), method="masked-newton", max_iterations=1)
    assert "use aapb" in str(error.value)


def test_a_matrix_that_is_not_in_memory_is_refused(tmp_path):
    M = np.memmap(tmp_path / "M", dtype=np.float64, mode="w+", shape=(20, 14))
    M[:] = relu_of_low_rank()
    with pytest.raises(IncompatibleError, match="must be in memory"):
        bo.solve(bo.compose("relu-nmd", M, rank=3), method="masked-newton", max_iterations=1)


def test_on_a_mycielskian_graph_it_is_far_ahead_for_the_same_products():
    problem = bo.compose("relu-nmd", mycielskian(9), rank=10, U="l1(0.01)", V="l1(0.015)")
    newton, bregman = (
        bo.solve(problem, method=method, stop="max-products(300)") for method in ("masked-newton", "aapb")
    )
    assert newton.objective < 0.95 * bregman.objective


def test_where_one_factor_is_fixed_a_row_does_not_depend_on_the_others():
    M, V = relu_of_low_rank(m=30), 3.0 * np.random.default_rng(1).standard_normal((3, 14))
    U = np.random.default_rng(2).standard_normal((30, 3))

    def after_ten(rows):
        problem = bo.compose("relu-nmd", M[rows], V=bo.Fixed(V), U="l1(0.1)")
        return bo.solve(problem, method="masked-newton", start=bo.Blocks(U=U[rows]), max_iterations=10).Y.U

    np.testing.assert_allclose(after_ten(slice(10, 13)), after_ten(slice(0, 30))[10:13], rtol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_an_exact_fit_of_sparse_least_squares_may_round_to_a_value_below_zero(seed):
    rng = np.random.default_rng(seed)
    M = rng.random((40, 3)) * (rng.random((40, 3)) < 0.4)
    problem = bo.compose("low-rank", scipy.sparse.csr_array(M), V=bo.Fixed(rng.standard_normal((3, 3))))
    result = bo.solve(problem, method="masked-newton", max_iterations=40)
    assert result.metrics["relative_error"] < 1e-6


@pytest.mark.parametrize("form", ["dense", "missing", "few known"])
def test_rows_of_different_losses_have_the_value_that_a_pass_has(form):
    rng = np.random.default_rng(0)
    truth = rng.standard_normal((60, 3)) @ rng.standard_normal((3, 40))
    table = np.hstack(
        [truth[:, :20], np.where(truth[:, 20:35] > 0, 1.0, -1.0), np.clip(np.round(truth[:, 35:] + 3), 1, 5)]
    )
    options = {}
    if form == "missing":
        table[rng.random(table.shape) < 0.1] = np.nan
    elif form == "few known":
        table, options = scipy.sparse.csr_array(table * (rng.random(table.shape) < 0.3)), {"missing": "zeros"}
    losses = {"0:20": "huber(0.5)", "20:35": "logistic", "35:": "ordinal(5)"}
    problem = bo.compose("low-rank", table, rank=4, loss=losses, U="ridge(0.1)", V="ridge(0.1)", **options)
    run = bo.iterate(problem, method="masked-newton")
    states = [next(run) for _ in range(5)]
    for state in states:
        seen = run.problem.oracle.evaluate(state.Y)
        assert state.objective == pytest.approx(seen.value + run.problem.regularizer.value(state.Y), rel=1e-10)
    assert states[-1].objective < 0.5 * states[0].objective
