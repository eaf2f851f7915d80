"""Methods that go block by block, on one, three and more blocks: against loops in plain NumPy, and on every model."""

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from attrs import frozen

import bregopt as bo
from bregopt.errors import DataError, IncompatibleError, ParameterError


def tensor(dims=(7, 6, 5), rank=3, seed=0, noise=0.1):
    rng = np.random.default_rng(seed)
    T = np.einsum("ir,jr,kr->ijk", *(rng.standard_normal((n, rank)) for n in dims))
    return T + noise * rng.standard_normal(dims)


def built(Y):
    return np.einsum("ir,jr,kr->ijk", *Y)


def slopes(T, A, B, C):
    """Of ½‖T − [[A, B, C]]‖², for each block."""
    R = np.einsum("ir,jr,kr->ijk", A, B, C) - T
    return (
        np.einsum("ijk,jr,kr->ir", R, B, C),
        np.einsum("ijk,ir,kr->jr", R, A, C),
        np.einsum("ijk,ir,jr->kr", R, A, B),
    )


def gram(blocks, i):
    return np.prod([X.T @ X for j, X in enumerate(blocks) if j != i], axis=0)


def start_of(problem, seed=1):
    return problem.first_point(None, np.random.default_rng(seed))


def soft(X, t):
    return np.sign(X) * np.maximum(np.abs(X) - t, 0)


@pytest.mark.parametrize(("method", "alpha", "beta"), [("ppalm", 0, 0), ("ippalm(0.4)", 0.4, 0.4)])
def test_palm_on_three_blocks_is_the_loop_by_hand(method, alpha, beta):
    T = tensor()
    problem = bo.compose("low-rank", T, rank=3, model="cp(3)", U1="l1(0.1)", U2="ridge(0.2)", U3="none")
    Y = start_of(problem)
    proxes = (lambda X, c: soft(X, 0.1 / c), lambda X, c: X / (1 + 0.2 / c), lambda X, c: X)
    blocks, last = [X.copy() for X in Y], [X.copy() for X in Y]
    for _ in range(25):
        old = [X.copy() for X in blocks]
        for i in range(3):
            c = np.linalg.eigvalsh(gram(blocks, i))[-1]
            moved = old[i] + beta * (old[i] - last[i])
            there = [moved if j == i else X for j, X in enumerate(blocks)]
            blocks[i] = proxes[i](old[i] + alpha * (old[i] - last[i]) - slopes(T, *there)[i] / c, c)
        last = old
    result = bo.solve(problem, method=method, start=Y, max_iterations=25)
    for mine, theirs in zip(result.Y, blocks, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-10 * np.abs(theirs).max())
    if method == "ppalm":
        assert result.certificate.guaranteed


def test_els_on_three_blocks_without_momentum_is_alternating_least_squares():
    T = tensor(noise=0.5)
    problem = bo.compose("low-rank", T, rank=2, model="cp(3)")
    Y = start_of(problem)
    blocks = [X.copy() for X in Y]
    for i in range(3):
        G = gram(blocks, i)
        damped = G + 1e-3 * np.trace(G) / 2 * np.eye(2)
        blocks[i] = blocks[i] - np.linalg.solve(damped, slopes(T, *blocks)[i].T).T
    result = bo.solve(problem, method="els", start=Y, max_iterations=1)
    for mine, theirs in zip(result.Y, blocks, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-10 * np.abs(theirs).max())


def test_ecd_on_three_blocks_makes_each_entry_the_best():
    T = tensor(noise=0.5)
    H = {f"U{i}": "l1(0.3)" for i in (1, 2, 3)}
    problem = bo.compose("low-rank", T, rank=2, model="cp(3)", **H)
    Y = start_of(problem)
    blocks = [X.copy() for X in Y]
    for i in range(3):
        G, slope, old = gram(blocks, i), slopes(T, *blocks)[i], blocks[i].copy()
        X = old.copy()
        for _ in range(2):
            for p in range(2):
                g = slope[:, p] + (X - old) @ G[:, p]
                X[:, p] = soft(X[:, p] - g / G[p, p], 0.3 / G[p, p])
        blocks[i] = X
    result = bo.solve(problem, method="ecd", start=Y, max_iterations=1)
    for mine, theirs in zip(result.Y, blocks, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-10 * np.abs(theirs).max())


@pytest.mark.parametrize(
    "method", ["palm", "ipalm", "ippalm", "gipalm", "nipalm", "els", "ecd", "aals", "bella", "aapb"]
)
def test_methods_agree_with_lbfgs_on_a_tensor(method):
    T = tensor(rank=2, noise=0.3)
    H = {f"U{i}": "ridge(0.1)" for i in (1, 2, 3)}
    problem = bo.compose("low-rank", T, rank=2, model="cp(3)", **H)
    Y = start_of(problem)

    def both(flat):
        blocks = list(Y.like(flat.copy()))
        R = built(blocks) - T
        total = 0.5 * np.sum(R**2) + 0.05 * flat @ flat
        return total, np.concatenate([s.ravel() for s in slopes(T, *blocks)]) + 0.1 * flat

    best = scipy.optimize.minimize(both, Y.flat, jac=True, method="L-BFGS-B", options={"maxiter": 5000, "ftol": 1e-15})
    result = bo.solve(problem, method=method, start=Y, max_iterations=4000, tolerance=1e-7)
    assert result.objective == pytest.approx(best.fun, rel=1e-6)


@pytest.mark.parametrize("dims", [(3, 4, 5), (2, 9, 8), (3, 2, 4, 5)])
@pytest.mark.parametrize("loss", ["least-squares", "huber(0.5)", "logistic"])
def test_every_loss_of_a_tensor_has_the_value_and_the_gradient_of_its_entries(dims, loss):
    rng = np.random.default_rng(0)
    T = rng.standard_normal(dims)
    T = np.where(T > 0, 1.0, -1.0) if loss == "logistic" else T
    known, weights = rng.random(dims) < 0.7, rng.random(dims)
    problem = bo.compose("low-rank", T, rank=2, model=f"cp({len(dims)})", loss=loss, mask=known, weights=weights)
    Y = start_of(problem)
    e = {
        "least-squares": lambda x: 0.5 * (x - T) ** 2,
        "huber(0.5)": lambda x: np.where(np.abs(x - T) <= 0.5, 0.5 * (x - T) ** 2, 0.5 * (np.abs(x - T) - 0.25)),
        "logistic": lambda x: np.logaddexp(0, -T * x),
    }[loss]
    letters = "abcd"[: len(dims)]
    form = ",".join(f"{it}r" for it in letters) + "->" + letters

    def value(Y):
        return float(np.sum(np.where(known, weights * e(np.einsum(form, *Y)), 0.0)))

    seen = problem.oracle.evaluate(Y, at=Y)
    assert seen.value == pytest.approx(value(Y), rel=1e-10)
    D = Y.like(rng.standard_normal(Y.flat.shape))
    slope = (value(Y.plus(1e-5, D)) - value(Y.plus(-1e-5, D))) / 2e-5
    assert seen.gradient.dot(D) == pytest.approx(slope, rel=1e-5)


def test_a_chain_falls_to_the_best_matrix_of_its_narrowest_width():
    rng = np.random.default_rng(0)
    M = rng.standard_normal((8, 6))
    problem = bo.compose("low-rank", M, model=bo.make("model", "chain", 3, (4, 2)))
    result = bo.solve(problem, method="bella", max_iterations=3000, tolerance=1e-9)
    assert result.objective == pytest.approx(0.5 * np.sum(np.linalg.svd(M)[1][2:] ** 2), rel=1e-8)


def test_palm_on_a_chain_with_inputs_is_the_loop_by_hand():
    rng = np.random.default_rng(0)
    X, M = rng.standard_normal((4, 9)), rng.standard_normal((5, 9))
    problem = bo.compose("low-rank", M, model=bo.make("model", "chain", 3, (3, 2), X))
    Y = start_of(problem)
    blocks = [it.copy() for it in Y]
    for _ in range(20):
        for i in range(3):
            L = np.linalg.multi_dot([np.eye(5), np.eye(5), *blocks[:i]]) if i else np.eye(5)
            R = np.linalg.multi_dot([*blocks[i + 1 :], X, np.eye(9)]) if i < 2 else X
            c = (np.linalg.norm(L, 2) * np.linalg.norm(R, 2)) ** 2
            blocks[i] = blocks[i] - L.T @ (L @ blocks[i] @ R - M) @ R.T / c
    result = bo.solve(problem, method="ppalm", start=Y, max_iterations=20)
    for mine, theirs in zip(result.Y, blocks, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-10 * np.abs(theirs).max())


@pytest.mark.parametrize("form", ["dense", "sparse", "operator"])
def test_a_linear_model_is_least_squares(form):
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((12, 5)), rng.standard_normal(12)
    given = {
        "dense": A,
        "sparse": scipy.sparse.csr_array(A),
        "operator": scipy.sparse.linalg.aslinearoperator(A),
    }[form]
    problem = bo.compose("low-rank", b, model=bo.make("model", "linear", given))
    best = np.linalg.lstsq(A, b, rcond=None)[0]
    for method in ("aapb", "palm", "bella", *(() if form == "operator" else ("els", "ecd"))):
        result = bo.solve(problem, method=method, max_iterations=3000, tolerance=1e-11)
        np.testing.assert_allclose(result.Y.x[:, 0], best, rtol=0, atol=1e-6)
    if form == "operator":
        with pytest.raises(IncompatibleError, match="gram"):
            bo.solve(problem, method="els", max_iterations=1)


def test_a_lasso_is_that_of_coordinate_descent_by_hand():
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((20, 8)), rng.standard_normal(20)
    x = np.zeros(8)
    for _ in range(500):
        for p in range(8):
            c = A[:, p] @ A[:, p]
            x[p] = soft(x[p] - A[:, p] @ (A @ x - b) / c, 2.0 / c)
    problem = bo.compose("low-rank", b, model=bo.make("model", "linear", A), x="l1(2)")
    for method in ("ecd", "aapb", "palm"):
        result = bo.solve(problem, method=method, max_iterations=5000, tolerance=1e-10)
        np.testing.assert_allclose(result.Y.x[:, 0], x, rtol=0, atol=1e-7)


@pytest.mark.parametrize(("size", "shape"), [((3,), (8,)), ((2, 3), (6, 5)), ((4, 3), (4, 7))])
def test_a_convolution_is_the_sum_over_shifts(size, shape):
    rng = np.random.default_rng(0)
    M, k, x = rng.standard_normal(shape), rng.standard_normal(size), rng.standard_normal(shape)
    problem = bo.compose("low-rank", M, model=bo.make("model", "convolution", size))
    X = np.zeros(shape)
    for place in np.ndindex(*size):
        shift = [p - s // 2 for p, s in zip(place, size, strict=True)]
        X += k[place] * np.roll(x, shift, tuple(range(len(shape))))
    seen = problem.oracle.evaluate(bo.Blocks(k=k, x=x))
    assert seen.value == pytest.approx(0.5 * np.sum((X - M) ** 2), rel=1e-12)


@frozen(eq=False)
class Three(bo.SmoothPart):
    """``½(xyz − 1)²``, with Lipschitz constants, and a count of its gradients."""

    asked: list

    def value(self, Y, W):
        return 0.5 * float(np.sum((Y.x * Y.y * Y.z - 1) ** 2))

    def value_and_gradient(self, Y, W):
        r = Y.x * Y.y * Y.z - 1
        return self.value(Y, W), bo.Blocks(x=r * Y.y * Y.z, y=r * Y.x * Y.z, z=r * Y.x * Y.y)

    def block_gradient(self, Y, W, name):
        self.asked.append(name)
        return self.value_and_gradient(Y, W)[1][name]

    def block_lipschitz(self, Y, name):
        rest = [Y[other] for other in Y.names if other != name]
        return float(np.max((rest[0] * rest[1]) ** 2))


@frozen(eq=False)
class Nothing(bo.ClosedFormBlock):
    def argmin(self, smooth, Y):
        return None

    def value(self, W):
        return 0.0


def test_an_own_F_is_asked_for_the_gradient_of_one_block_at_a_time():
    F = Three([])
    shapes = dict.fromkeys("xyz", (4,))
    problem = bo.Problem(
        smooth=F, block=Nothing(), kernel="power(6) + psi2", regularizer={"x": "l1(0.01)"}, shapes=shapes
    )
    result = bo.solve(problem, method="ppalm", max_iterations=50)
    assert F.asked[:6] == ["x", "y", "z", "x", "y", "z"]
    assert result.certificate.guaranteed
    assert result.objective < 0.1


def test_a_problem_takes_specs_and_refuses_what_does_not_fit_its_blocks():
    given = {"smooth": Three([]), "block": Nothing(), "shapes": dict.fromkeys("xyz", (4,))}
    problem = bo.Problem(kernel="2*power(6) + psi2", regularizer="ridge(0.1)", **given)
    assert bo.solve(problem, method="aapb", max_iterations=20).objective < 1.5
    with pytest.raises(ParameterError, match=r"for the blocks x, y, z\. Got 'u' instead"):
        bo.Problem(kernel="psi1", regularizer={"u": "l1(0.1)"}, **given)
    with pytest.raises(bo.errors.UnknownNameError, match="no regularizer named 'l3'"):
        bo.solve(bo.Problem(kernel="psi1", regularizer={"x": "l3(0.1)"}, **given))
    with pytest.raises(IncompatibleError, match="is a name so far"):
        problem.regularizer["x"].value(np.ones(4))


def test_a_start_by_shape_needs_the_shapes():
    problem = bo.Problem(smooth=Three([]), block=Nothing(), kernel="psi1 + psi2")
    with pytest.raises(IncompatibleError, match="needs the shapes of the blocks"):
        bo.solve(problem, start="scaled-random", max_iterations=1)


def test_data_that_a_model_cannot_take_are_refused_with_what_it_takes():
    with pytest.raises(DataError, match=r"cp\(3\) takes data of 3 dimensions. Got 4 × 5 instead"):
        bo.compose("low-rank", np.ones((4, 5)), rank=2, model="cp(3)")
    with pytest.raises(DataError, match="two dimensions"):
        bo.compose("low-rank", np.ones((4, 5, 2)), rank=2)
    with pytest.raises(DataError, match=r"must have 5 rows, as A has\. Got 4 instead"):
        bo.compose("low-rank", np.ones(4), model=bo.make("model", "linear", np.ones((5, 2))))
    with pytest.raises(DataError, match="at least 5×5"):
        bo.compose("low-rank", np.ones((4, 9)), model=bo.make("model", "convolution", (5, 5)))
    with pytest.raises(ParameterError, match="left out: this model has none"):
        bo.compose("low-rank", np.ones((6, 9)), rank=2, model=bo.make("model", "convolution", (5, 5)))
    with pytest.raises(DataError, match="must have the shape of M, 2×3×4"):
        bo.compose("low-rank", np.ones((2, 3, 4)), rank=2, model="cp(3)", mask=np.ones((2, 3), bool))


def test_a_tensor_with_all_blocks_but_the_first_fixed_is_least_squares():
    T = tensor(noise=0.2)
    problem = bo.compose("low-rank", T, rank=3, model="cp(3)")
    Y = start_of(problem)
    fixed = problem.freeze(U2=Y.U2, U3=Y.U3)
    KR = np.einsum("jr,kr->rjk", Y.U2, Y.U3).reshape(3, -1)
    best = np.linalg.lstsq(KR.T, T.reshape(7, -1).T, rcond=None)[0].T
    result = bo.solve(fixed, method="els", max_iterations=200, tolerance=1e-12)
    np.testing.assert_allclose(result.Y.U1, best, rtol=0, atol=1e-6)
    with pytest.raises(DataError, match="must make up one of the two factors: U2 and U3"):
        problem.freeze(U1=Y.U1)


def test_the_kit_checks_a_problem_that_is_given_by_specs():
    problem = bo.Problem(smooth=Three([]), block=Nothing(), kernel="power(6) + psi2", shapes=dict.fromkeys("xyz", (4,)))
    report = bo.testing.check(problem)
    assert report.ok, report.table()


@pytest.mark.parametrize("known", [1.0, 0.5, 0.04])
def test_the_gradient_of_a_linear_model_elsewhere_is_that_with_W_kept(known):
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((200, 5)), rng.standard_normal(200)
    b = np.where(rng.random(200) < known, b, np.nan)
    problem = bo.compose("low-rank", b, model=bo.make("model", "linear", A))
    Y, at = start_of(problem, 1), start_of(problem, 2)
    W = np.where(np.isnan(b), A @ Y.x[:, 0], b)
    seen = problem.oracle.evaluate(Y, at=at, value_at=True)
    R = A @ at.x[:, 0] - W
    np.testing.assert_allclose(seen.gradient.x[:, 0], A.T @ R, rtol=0, atol=1e-10)
    assert seen.value_at == pytest.approx(0.5 * R @ R, rel=1e-12)
