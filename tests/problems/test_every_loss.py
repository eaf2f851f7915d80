"""Every loss, however M is held, whatever is missing or weighted, compiled or not, against a few lines of NumPy."""

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
import scipy.special
from bregopt_lowrank.passes import run, sampled
from hypothesis import assume, settings
from hypothesis import given as drawn_from
from hypothesis import strategies as st
from lowrank_cases import stored

import bregopt as bo
from bregopt.errors import DataError, ParameterError
from bregopt.testing import RandomPoints
from bregopt.testing.search.bregman_ratio import BregmanDistance, DistanceRatio, starts

LOSSES = {entry.name: bo.make("loss", entry.name) for entry in bo.catalog("loss")}
SHAPE, RANK = (9, len(LOSSES)), 2
CONVEX = [name for name in LOSSES if LOSSES[name].convex]
every_loss = pytest.mark.parametrize("name", LOSSES)


def thresholds(x, m):
    """The slopes of the terms of the ordinal loss with five levels."""
    return [np.where(t < m, np.minimum(x - t - 1.5, 0), np.maximum(x - t + 0.5, 0)) for t in range(1, 5)]


SLOPES = {
    "least-squares": lambda x, m: x - m,
    "huber": lambda x, m: np.clip(x - m, -1, 1),
    "quantile": lambda x, m: np.clip(x - m, -0.5, 0.5),
    "epsilon-insensitive": lambda x, m: np.sign(x - m) * np.maximum(np.abs(x - m) - 0.1, 0),
    "interval": lambda x, m, u: np.where(x < m, x - np.maximum(m, -99), np.where(x > u, x - u, 0)),
    "one-bit": lambda x, m: np.where(m * x < 1, x - m, 0),
    "logistic": lambda x, m: -m / (1 + np.exp(m * x)),
    "ordinal": lambda x, m: np.sum(thresholds(x, m), axis=0),
    "modulus": lambda x, m: np.where(x < 0, x + m, x - m),
    "square": lambda x, m: np.where(x < 0, x + m**0.5, x - m**0.5),
    "quantised": lambda x, m: np.where(x > 0.5, x - 1, x),
    "relu": lambda x, m: np.where((m > 0) | (x > 0), x - m, 0),
    "bounded-relu": lambda x, m: np.where((m == 0) & (x < 0) | (m == 1) & (x > 1), 0, x - m),
    "leaky-relu": lambda x, m: np.where(m > 0, x - m, x - 10 * m),
    "tobit": lambda x, m: np.where(m > 0, x - m, (2 / np.pi) ** 0.5 / scipy.special.erfcx(x / 2**0.5)),
}
VALUES = {
    "huber": lambda x, m: np.where(np.abs(x - m) < 1, (x - m) ** 2 / 2, np.abs(x - m) - 1 / 2),
    "quantile": lambda x, m: np.where(np.abs(x - m) < 1 / 2, (x - m) ** 2 / 2, np.abs(x - m) / 2 - 1 / 8),
    "logistic": lambda x, m: np.log1p(np.exp(-m * x)),
    "tobit": lambda x, m: np.where(m > 0, (x - m) ** 2 / 2, -scipy.special.log_ndtr(-x)),
    "ordinal": lambda x, m: np.sum(np.square(thresholds(x, m)), axis=0) / 2,
}
"""Where it is not half the square of the slope."""


def entries(name, x, data, weights):
    """(e, e') of entries, 0 where an entry is missing."""
    known, given = ~np.isnan(data[0]), np.nan_to_num(data, nan=1.0, neginf=-np.inf, posinf=np.inf)
    slope = SLOPES[name](x, *given)
    value = VALUES[name](x, *given) if name in VALUES else slope**2 / 2
    return np.where(known, weights * value, 0.0), np.where(known, weights * slope, 0.0)


def matrices(names, X, data, weights):
    """(e, e') of a matrix whose columns have these losses; only the first of the data where a loss takes one number."""
    pairs = [
        entries(name, X[:, j], [it[:, j] for it in data[: 2 if name == "interval" else 1]], weights[:, j])
        for j, name in enumerate(names)
    ]
    return tuple(np.stack(columns, axis=1) for columns in zip(*pairs, strict=True))


def problem_at(names, data, weights, Y, Y_bar):
    """Of F(·, W(Y)) + G(W(Y)): the value at Y, the gradient there, the value and the gradient at Ȳ, and ‖W‖."""
    c = max(LOSSES[name].bound for name in names) * weights.max()
    X, X_bar = Y.U @ Y.V, Y_bar.U @ Y_bar.V
    e, S = matrices(names, X, data, weights)
    W = X - S / c
    T = c * (X_bar - W)
    value_at = np.sum(T**2) / (2 * c) + np.sum(e) - np.sum(S**2) / (2 * c)
    gradients = (np.concatenate([(D @ Z.V.T).ravel(), (Z.U.T @ D).ravel()]) for D, Z in ((S, Y), (T, Y_bar)))
    return np.sum(e), value_at, np.linalg.norm(W), *gradients


def paper_iterates(names, data, weights, Y, count=20):
    """Algorithm 2 of the paper with β = 0.6 and λ = 1, for the kernel c(3ψ1 + ‖W‖ψ2) and H = 0."""
    c = max(LOSSES[name].bound for name in names) * weights.max()
    U, V = U_old, V_old = Y.U, Y.V
    for _ in range(count):
        X = U @ V
        W = X - matrices(names, X, data, weights)[1] / c
        Ub, Vb = U + 0.6 * (U - U_old), V + 0.6 * (V - V_old)
        rho, T = 3 * (np.sum(Ub**2) + np.sum(Vb**2)) + np.linalg.norm(W), Ub @ Vb - W
        P, Q = rho * Ub - T @ Vb.T, rho * Vb - Ub.T @ T
        roots = np.roots([3 * (np.sum(P**2) + np.sum(Q**2)), 0, np.linalg.norm(W), -1])
        t = float(roots[np.abs(roots.imag) < 1e-12 * np.abs(roots)].real[0])
        U_old, V_old, U, V = U, V, t * P, t * Q
    return np.concatenate([U.ravel(), V.ravel()])


@pytest.fixture
def compiled(monkeypatch):
    """Compiled loops, however small M is."""
    monkeypatch.setattr(run, "SMALL", 0)
    monkeypatch.setattr(sampled, "FEW", 0)


def sample(loss, seed=0, shape=SHAPE):
    """(m,), or (m, upper)."""
    rng = np.random.default_rng(seed)
    M = loss.sample_data(rng, shape[0] * shape[1]).reshape(shape)
    return (M, np.maximum(M, rng.standard_normal(shape))) if loss.bounds else (M,)


def point(seed, shape=SHAPE):
    rng = np.random.default_rng(seed)
    return bo.Blocks(U=rng.standard_normal((shape[0], RANK)), V=rng.standard_normal((RANK, shape[1])))


def assert_same(problem, names, data, weights, tolerance=1e-10):
    """Values, gradients, ‖W‖ and iterates are those of NumPy."""
    Y, step = point(1), point(2)
    Y_bar = Y.plus(0.1, step)
    value, value_at, norm, gradient, lagged = problem_at(names, data, weights, Y, Y_bar)
    here, there = problem.oracle.evaluate(Y, at=Y), problem.oracle.evaluate(Y, at=Y_bar, value_at=True)
    for seen in (here, there, problem.oracle.evaluate(Y)):
        assert seen.value == pytest.approx(value, rel=tolerance)
        assert seen.norms["frobenius"] == pytest.approx(norm, rel=tolerance)
    assert there.value_at == pytest.approx(value_at, rel=tolerance)
    for found, wanted in ((here.gradient.flat, gradient), (there.gradient.flat, lagged)):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance * (1 + np.abs(wanted).max()))
    result = bo.solve(problem, method="aapb(beta=0.6, step=1)", start=Y * 0.5, max_iterations=20)
    wanted = paper_iterates(names, data, weights, Y * 0.5)
    np.testing.assert_allclose(result.Y.flat, wanted, rtol=0, atol=10 * tolerance * np.abs(wanted).max())


def compose(loss, data, **rest):
    upper = {"upper": data[1]} if len(data) > 1 else {}
    return bo.compose("low-rank", data[0], rank=RANK, loss=loss, kernel="paper", **upper, **rest)


def holes(data, known):
    """The data with nan where an entry is not known."""
    return np.where(known, data[0], np.nan), *data[1:]


RNG = np.random.default_rng(3)
KNOWN, FEW = RNG.random(SHAPE) < 0.7, np.arange(SHAPE[0] * SHAPE[1]).reshape(SHAPE) % 13 == 2
WEIGHTS, ONES = RNG.uniform(0, 3, SHAPE) * (RNG.random(SHAPE) < 0.9), np.ones(SHAPE)
WAYS = {
    "dense": lambda data, _: (data, {}, ONES, data),
    "stored": lambda data, folder: ((stored(data[0], folder), *data[1:]), {}, ONES, data),
    "nan": lambda data, _: (holes(data, KNOWN), {}, ONES, holes(data, KNOWN)),
    "mask": lambda data, _: (data, {"mask": KNOWN}, ONES, holes(data, KNOWN)),
    "stored, mask": lambda data, at: ((stored(data[0], at), *data[1:]), {"mask": KNOWN}, ONES, holes(data, KNOWN)),
    "few known": lambda data, _: (data, {"mask": FEW}, ONES, holes(data, FEW)),
    "weights": lambda data, _: (data, {"weights": WEIGHTS}, WEIGHTS, data),
    "mask and weights": lambda data, _: (data, {"mask": KNOWN, "weights": WEIGHTS}, WEIGHTS, holes(data, KNOWN)),
    "float32": lambda data, _: ([it.astype(np.float32) for it in data], {}, ONES, data),
}  # fmt: skip
"""What is given, and what it means: (data, options, weights, data with nan where nothing is known)."""


@pytest.mark.parametrize("switch", ["1", "0"])
@pytest.mark.parametrize("way", WAYS)
@every_loss
def test_every_loss_is_that_of_numpy_however_a_dense_M_is_held(name, way, switch, tmp_path, monkeypatch):
    monkeypatch.setenv("BREGOPT_COMPILE", switch)
    given, rest, weights, meant = WAYS[way](sample(LOSSES[name]), tmp_path)
    problem = compose(name, given, **rest)
    assert_same(problem, [name] * SHAPE[1], meant, weights, 1e-4 if way == "float32" else 1e-10)


def sparse_ways(name):
    """Ways to give a sparse M, where M is a sample without some of its entries."""
    data = sample(LOSSES[name], 1)
    kept = KNOWN & np.isfinite(data[0]) & (data[0] != 0)
    data = tuple(np.where(kept, it, 0.0) for it in data)
    csr, gaps = scipy.sparse.csr_array(data[0]), holes(data, kept)
    weighted = scipy.sparse.csr_array(np.where(kept, WEIGHTS + 0.1, 0.0))
    yield "missing", (csr, *data[1:]), {"missing": "zeros"}, ONES, gaps
    known = weighted.toarray()
    yield "missing, weighted", (csr, *data[1:]), {"missing": "zeros", "weights": weighted}, known, gaps
    if LOSSES[name].zero == "missing":
        yield "by the loss", (csr, *data[1:]), {}, ONES, gaps
    elif LOSSES[name].fits(np.zeros(1)).all():
        other = np.where(kept, WEIGHTS + 0.1, 1.0)
        yield "zeros", (csr, *data[1:]), {}, ONES, data
        yield "zeros, weighted", (csr, *data[1:]), {"weights": weighted}, other, data
        yield "zeros, mask", (csr, *data[1:]), {"mask": KNOWN[::-1]}, ONES, holes(data, KNOWN[::-1])


SPARSE = [pytest.param(name, *way[1:], id=f"{name}: {way[0]}") for name in LOSSES for way in sparse_ways(name)]


@pytest.mark.parametrize("switch", ["1", "0"])
@pytest.mark.parametrize(("name", "given", "rest", "weights", "meant"), SPARSE)
def test_every_loss_is_that_of_numpy_for_a_sparse_M(name, given, rest, weights, meant, switch, monkeypatch):
    monkeypatch.setenv("BREGOPT_COMPILE", switch)
    assert_same(compose(name, given, **rest), [name] * SHAPE[1], meant, weights)


@pytest.mark.usefixtures("compiled")
@every_loss
def test_the_compiled_loops_of_every_loss_are_numpy(name, tmp_path):
    given, rest, weights, meant = WAYS["dense"](sample(LOSSES[name]), tmp_path)
    assert_same(compose(name, given, **rest), [name] * SHAPE[1], meant, weights)
    _, given, rest, weights, meant = list(sparse_ways(name))[-1]
    assert_same(compose(name, given, **rest), [name] * SHAPE[1], meant, weights)


@pytest.fixture(scope="module")
def table():
    """A column for each loss."""
    columns = [sample(loss, seed, (SHAPE[0], 1)) for seed, loss in enumerate(LOSSES.values())]
    M, upper = (np.concatenate([pair[min(at, len(pair) - 1)] for pair in columns], axis=1) for at in (0, 1))
    return M, np.nan_to_num(upper, neginf=0.0)


@pytest.mark.parametrize("way", WAYS)
def test_a_loss_for_each_column_is_that_of_numpy(way, table, tmp_path):
    given, rest, weights, meant = WAYS[way](table, tmp_path)
    problem = compose(list(LOSSES), given, missing="nan", **rest)
    assert_same(problem, list(LOSSES), meant, weights, 1e-4 if way == "float32" else 1e-10)


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize(
    "way",
    [
        pytest.param("mask and weights", marks=pytest.mark.long),  # all losses are compiled for each of them
        "few known",
        pytest.param("float32", marks=pytest.mark.long),
    ],
)
def test_a_loss_for_each_column_is_that_of_numpy_compiled_and_in_tiles_that_cut_runs(way, table, tmp_path, small_tiles):
    small_tiles(least=12)
    given, rest, weights, meant = WAYS[way](table, tmp_path)
    problem = compose(list(LOSSES), given, missing="nan", **rest)
    assert_same(problem, list(LOSSES), meant, weights, 1e-4 if way == "float32" else 1e-10)


@pytest.mark.parametrize("pass_by", ["numpy", "loops"])
def test_runs_of_columns_of_a_sparse_M_have_their_own_loss(pass_by, small_tiles, request):
    if pass_by == "loops":
        request.getfixturevalue("compiled")
    small_tiles(least=12)
    ranges = {"0:4": "huber", "4": "relu", "5:9": "least-squares", "9:": "huber"}
    names = [*["huber"] * 4, "relu", *["least-squares"] * 4, *["huber"] * (SHAPE[1] - 9)]
    data = (np.where(KNOWN, np.abs(sample(LOSSES["huber"])[0]), 0.0),)
    problem = compose(ranges, (scipy.sparse.csr_array(data[0]),))
    assert problem.block.loss.which == (0, 1, 2, 0)
    assert_same(problem, names, data, ONES)


def test_each_column_has_its_loss_named_in_the_summary(table):
    M, upper = table
    result = bo.solve(compose(list(LOSSES), (M, upper), missing="nan"), max_iterations=3)
    for loss in LOSSES.values():
        assert repr(loss) in result.certificate.summary()


def reduced(problem):
    def value_and_gradient(Y):
        seen = problem.oracle.evaluate(Y, at=Y)
        return seen.value, seen.gradient

    return value_and_gradient


def theorem_E(problem, name, data, weights, share=1.0):
    """The largest ratio found of D_f to D_ψ, ψ = cψ1 + ‖E'(0)‖₂ψ2."""
    shape = data[0].shape
    S = matrices([name] * shape[1], np.zeros(shape), data, weights)[1]
    c = LOSSES[name].bound * weights.max()
    psi = share * (c * bo.make("kernel", "psi1") + np.linalg.norm(S, 2) * bo.make("kernel", "psi2"))
    ratio = DistanceRatio(
        BregmanDistance.of_function(reduced(problem)), lambda Z: BregmanDistance.of_kernel(psi), lambda Y: True
    )
    found = ratio.largest(starts(point(5, shape), RandomPoints.of(0, name)), 1 + 1e-9)
    return found.ratio


@pytest.mark.parametrize(("shape", "weighted"), [((2, 2), False), ((4, 3), True)])
@pytest.mark.parametrize("name", CONVEX)
def test_one_kernel_is_for_every_convex_loss(name, shape, weighted):
    rng = np.random.default_rng(7)
    data = sample(LOSSES[name], 4, shape)
    weights = rng.uniform(0, 5, shape) if weighted else np.ones(shape)
    known = rng.random(shape) < 0.7 if weighted else np.ones(shape, dtype=bool)
    problem = compose(name, data, mask=known, weights=weights)
    assert theorem_E(problem, name, holes(data, known), weights) <= 1 + 1e-9


@pytest.mark.parametrize("name", CONVEX)
def test_a_smaller_kernel_is_found_out(name):
    """The search has its strength: with half of ψ it finds a pair, for every loss."""
    data = sample(LOSSES[name], 4, (3, 3))
    assert theorem_E(compose(name, data), name, data, np.ones((3, 3)), 0.5) > 1


BELOW = st.floats(-2, -0.01) | st.just(0.0)
PARAMETERS = {
    "huber": st.builds("huber({:.3g})".format, st.floats(0.01, 10)),
    "quantile": st.builds("quantile({:.3g}, {:.3g})".format, st.floats(0.05, 0.95), st.floats(0.02, 5)),
    "epsilon-insensitive": st.builds("epsilon-insensitive({:.3g})".format, st.floats(0.01, 3)),
    "ordinal": st.builds("ordinal({})".format, st.integers(2, 9)),
    "quantised": st.builds("quantised({:.3g}, {:.3g})".format, BELOW, st.floats(0.1, 2)),
    "bounded-relu": st.builds("bounded-relu({:.3g}, {:.3g})".format, BELOW, st.floats(0.1, 2)),
    "leaky-relu": st.builds("leaky-relu({:.3g})".format, st.floats(0.05, 1)),
    "tobit": st.builds("tobit({:.3g})".format, st.floats(0.01, 10)),
}


@st.composite
def problems(draw, name):
    """A problem with this loss: its parameters, M dense or sparse, a mask, weights and H as they come; and a start."""
    loss = bo.make("loss", draw(PARAMETERS.get(name, st.just(name))))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = draw(st.integers(2, 7)), draw(st.integers(2, 7))
    M = loss.sample_data(rng, shape[0] * shape[1]).reshape(shape)
    rest = {"upper": np.maximum(M, rng.standard_normal(shape))} if loss.bounds else {}
    known = rng.random(shape) < draw(st.sampled_from([0.3, 0.7, 1.0]))
    known[0, 0] = True
    assume(M[known].any())
    if draw(st.booleans()):
        rest["weights"] = 10.0 ** rng.uniform(-2, 1, shape)
    sparse = draw(st.booleans()) and np.isfinite(M).all() and (M != 0).all()
    if sparse:
        M, rest["missing"] = scipy.sparse.csr_array(np.where(known, M, 0.0)), "zeros"
    else:
        rest["mask"] = known
    H = {block: draw(st.sampled_from(["none", "ridge(0.3)", "l1(0.1)", "nonneg", "l0-ball(3)"])) for block in "UV"}
    size = 10.0 ** draw(st.integers(-2, 1))
    Y = bo.Blocks(U=size * rng.standard_normal((shape[0], 2)), V=size * rng.standard_normal((2, shape[1])))
    kernel = "fixed" if loss.convex else "tight"
    return bo.compose("low-rank", M, rank=2, loss=loss, kernel=kernel, **H, **rest), Y


@every_loss
def test_apb_never_raises_the_objective_with_the_kernel_of_the_theorem(name):
    @settings(max_examples=40, deadline=None)
    @drawn_from(problems(name))
    def check(case):
        problem, start = case
        result = bo.solve(problem, method="apb(step=1)", start=start, max_iterations=15)
        objective = result.history["objective"]
        assert (np.diff(objective) <= 1e-12 * np.abs(objective[:-1]) + 1e-15 * np.abs(objective[0])).all()
        assert result.certificate.monotone
        flat = problem.block.reduced_norm == 0  # E'(0) = 0: the kernel is ψ1 alone, which is not strongly convex
        assert flat or result.certificate.assumptions_held

    check()


@pytest.mark.parametrize("q", [0.1, 0.5, 0.8])
def test_the_best_constant_for_the_quantile_loss_is_the_quantile(q):
    m = np.random.default_rng(0).standard_normal(1001)
    for d in (1e-1, 1e-3):
        loss = bo.make("loss", f"quantile({q}, {d})")
        x = scipy.optimize.brentq(lambda x, loss=loss: loss.arrays(np.full(m.shape, x), m)[1].sum(), -5, 5, xtol=1e-14)
        assert abs(x - np.quantile(m, q)) <= 2 * d


def test_the_huber_loss_is_that_of_outliers_that_are_minimised_out():
    x, m = np.random.default_rng(0).standard_normal((2, 300)) * 3
    outlier = np.sign(m - x) * np.maximum(np.abs(m - x) - 0.7, 0)
    wanted = (x + outlier - m) ** 2 / 2 + 0.7 * np.abs(outlier)
    np.testing.assert_allclose(bo.make("loss", "huber(0.7)").arrays(x, m)[0], wanted, rtol=1e-12)


@pytest.mark.parametrize("levels", [2, 3, 5, 12])
def test_the_bound_of_the_ordinal_loss_is_met_and_not_exceeded(levels):
    loss = bo.make("loss", f"ordinal({levels})")
    x, m = np.meshgrid(np.linspace(-20, 30, 1001), np.arange(1.0, levels + 1))
    assert loss.arrays(x, m)[2].max() == loss.bound


def test_the_label_nearest_to_x_is_right_or_a_mistake():
    loss = bo.make("loss", "ordinal(3)")
    found = [[loss.error(x, m, 3.0) for m in (1.0, 2.0, 3.0)] for x in (-7.0, 1.4, 1.6, 2.4, 2.6, 50.0)]
    assert found == [[0, 1, 1], [0, 1, 1], [1, 0, 1], [1, 0, 1], [1, 1, 0], [1, 1, 0]]


def test_the_labels_of_the_middle_are_fitted_by_themselves():
    loss = bo.make("loss", "ordinal(5)")
    for m in (2.0, 3.0, 4.0):
        assert loss.entry(m, m, 5.0)[1] == 0
        assert loss.entry(m, m, 5.0)[2] == 2


def test_the_logistic_loss_by_polynomials_is_right_to_fourteen_digits():
    loss, z = bo.make("loss", "logistic"), np.concatenate([np.linspace(-60, 60, 4001), [0.0, 1e-9, 800.0, -800.0]])
    e, s, c = np.array([loss.entry(x, 1.0) for x in z.tolist()]).T
    p = scipy.special.expit(-z)
    np.testing.assert_allclose(e, np.logaddexp(0, -z), rtol=1e-13, atol=2e-14)
    np.testing.assert_allclose(s, -p, rtol=0, atol=2e-14)
    np.testing.assert_allclose(c, p * scipy.special.expit(z), rtol=0, atol=2e-14)


def test_intervals_may_be_open_on_either_side():
    loss = bo.make("loss", "interval")
    for low, high, wanted in ((-np.inf, 1.0, 2.0), (4.0, np.inf, -1.0), (-np.inf, np.inf, 0.0), (2.0, 5.0, 0.0)):
        assert loss.entry(3.0, low, high)[:2] == (wanted**2 / 2, wanted)


def test_data_cut_off_in_float32_are_at_the_ends():
    M = np.clip(np.random.default_rng(0).standard_normal((6, 5)), -0.7, 0.1)
    values = [
        bo.compose("low-rank", M.astype(dtype), rank=2, loss="bounded-relu(-0.7, 0.1)")
        .oracle.evaluate(point(1, (6, 5)))
        .value
        for dtype in (np.float32, np.float64)
    ]
    assert values[0] == pytest.approx(values[1], rel=1e-5)


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("huber(0)", "'d' parameter of Huber must be a finite number > 0"),
        ("quantile(1)", "'q' parameter of Quantile must be a finite number > 0 and < 1"),
        ("quantised(1, 1)", "'hi' parameter of Quantised must be above lo = 1"),
        ("bounded-relu(2, 1)", "'hi' parameter of BoundedRelu must be above lo = 2"),
        ("ordinal(1)", "'levels' parameter of Ordinal must be a whole number >= 2"),
        ("leaky-relu(0)", "'alpha' parameter of LeakyRelu must be a finite number > 0 and <= 1"),
        ("epsilon-insensitive(-1)", "'eps' parameter of EpsilonInsensitive must be a finite number > 0"),
    ],
)
def test_a_parameter_without_sense_is_refused(spec, told):
    with pytest.raises(ParameterError, match=told.replace("(", r"\(")):
        bo.make("loss", spec)


@pytest.mark.parametrize(
    ("loss", "wrong", "told"),
    [
        ("one-bit", 2.0, "1 or -1"),
        ("logistic", 0.5, "1 or -1"),
        ("ordinal(3)", 4.0, "whole numbers from 1 to 3"),
        ("ordinal(3)", 1.5, "whole numbers from 1 to 3"),
        ("bounded-relu", 1.5, "numbers from 0 to 1"),
        ("modulus", -1.0, "non-negative"),
        ("square", -1.0, "non-negative"),
        ("relu", -1.0, "non-negative"),
    ],
)
def test_data_outside_of_the_set_of_a_loss_are_refused(loss, wrong, told):
    M = np.ones((4, 3))
    M[2, 1] = wrong
    for given in (M, scipy.sparse.csr_array(M)):
        with pytest.raises(DataError, match=f"{told} for .*{wrong:g} instead"):
            bo.compose("low-rank", given, rank=2, loss=loss)
