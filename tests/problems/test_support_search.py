"""support-search against the same written with whole arrays, and what it finds."""

import numpy as np
import pytest
import scipy.sparse
from bregopt_methods.blockwise.support_search import SupportSearch, closing

import bregopt as bo
from bregopt.errors import IncompatibleError

SHAPE, RANK = (18, 14), 3


def planted(seed, shape=SHAPE, rank=RANK, share=0.4, noise=0.0):
    """max(0, UV + noise) of factors with few non-zeros."""
    rng = np.random.default_rng(seed)
    (m, n) = shape
    U, V = (rng.standard_normal(size) * (rng.random(size) < share) for size in ((m, rank), (rank, n)))
    return np.maximum(0.0, U @ V + noise * rng.standard_normal(shape)), U, V


def places(gains, s, per, room):
    """The s + room·(all − s) largest of each line, those that stand first where they are equal."""
    rows = gains.reshape(1, -1) if per == "all" else gains if per == "row" else gains.T
    s = min(s + round(room * max(0, rows.shape[1] - s)), rows.shape[1])
    kept = np.zeros(rows.shape, dtype=bool)
    for row, line in zip(kept, rows, strict=True):
        row[sorted(range(len(line)), key=lambda j: (-line[j], j))[:s]] = True
    return kept.reshape(gains.shape) if per != "column" else kept.T


def entry(X, T, other, kept, low):
    """One sweep over the columns of X, the factor left of ``other``, towards T = W, on the entries that are kept."""
    X = X.copy()
    for p in range(X.shape[1]):
        c = other[p] @ other[p]
        new = np.maximum(X[:, p] - (X @ other - T) @ other[p] / c, low)
        X[:, p] = np.where(kept[:, p], new, 0.0)
    return X


def reference(M, U, V, s, per, low, iterations, method):
    """Y^k, Φ or its bound, and where the search goes on, from the definition in the docstring of the method."""

    def phi(U, V, W=None):
        X = U @ V
        W = np.where(M > 0, M, np.minimum(0, X)) if W is None else W
        return 0.5 * np.sum((W - X) ** 2)

    def step(X, T, other, per, room):
        everywhere = np.ones(X.shape, dtype=bool)
        if room == 1:
            for _ in range(3):
                X = entry(X, T, other, everywhere, low)
            return X
        Z = entry(X, T, other, everywhere, low)
        kept = places(np.sum(other * other, axis=1) * Z**2, s, per, room)
        X = np.where(kept, Z, 0.0)
        for _ in range(2):
            X = entry(X, T, other, kept, low)
        return X

    P, P_prev, theta, bound = (U, V), (U, V), 1.0, phi(U, V)
    best, least, goal, vain, told = (U, V), bound, bound, 0, []
    first, later = method.first, method.round
    for k in range(iterations):
        room = first[k] if k < len(first) else later[(k - len(first)) % len(later)]
        if k >= len(first) and (k - len(first)) % len(later) == 0:
            vain = vain + 1 if least > goal else 0
            goal = least * (1 - 1e-3)
            P = P_prev = best
            theta = 1.0
        assert vain < method.patience, "the reference makes no more rounds than it has to"
        t, theta = theta, (1 + np.sqrt(1 + 4 * theta * theta)) / 2
        beta = (t - 1) / theta
        Uy, Vy = (X + beta * (X - X_prev) for X, X_prev in zip(P, P_prev, strict=True))
        W = np.where(M > 0, M, np.minimum(0, Uy @ Vy))
        U = step(Uy, W, Vy, per, room)
        V = step(Vy.T, W.T, U.T, per, room).T
        P_prev, P = P, (U, V)
        seen = phi(U, V, W) if room == 0 else np.inf
        if room == 0 and seen > bound:
            theta = 1.0
        bound, Y, objective = seen, P, seen
        if room > 0:
            U = np.where(places(np.sum(V * V, axis=1) * U**2, s, per, 0), U, 0.0)
            V = np.where(places(np.sum(U * U, axis=0) * V.T**2, s, per, 0), V.T, 0.0).T
            Y, objective = (U, V), phi(U, V)
        if objective < least:
            best, least = Y, objective
        told.append((*Y, objective))
    return told


@pytest.mark.parametrize(
    ("spec", "s", "per", "low"),
    [
        ("l0-ball(20)", 20, "all", -np.inf),
        ("l0-nonneg(20)", 20, "all", 0.0),
        ("l0-ball(1, per=row)", 1, "row", -np.inf),
        ("l0-ball(5, per=column)", 5, "column", -np.inf),
    ],
)
@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array], ids=["dense", "csr"])
def test_the_iterates_are_those_of_the_method_written_with_whole_arrays(form, spec, s, per, low):
    M, _, _ = planted(1, noise=0.3)
    turned = spec.replace("per=row", "per=x").replace("per=column", "per=row").replace("per=x", "per=column")
    problem = bo.compose("relu-nmd", form(M), rank=RANK, U=spec, V=turned)
    states = bo.iterate(problem, method="support-search", seed=3)
    Y = next(states).Y
    for k, (U, V, objective) in enumerate(reference(M, Y.U, Y.V, s, per, low, 60, SupportSearch())):
        state = next(states)
        np.testing.assert_allclose(state.Y.U, U, rtol=1e-6, atol=1e-8 * np.abs(U).max(), err_msg=f"state {k + 1}")
        np.testing.assert_allclose(state.Y.V, V, rtol=1e-6, atol=1e-8 * np.abs(V).max(), err_msg=f"state {k + 1}")
        assert state.objective == pytest.approx(objective, rel=1e-8)


@pytest.mark.parametrize("H", ["l0-ball(30)", "l0-nonneg(30)", "with-ridge(l0-ball(30), 0.2)"])
def test_every_state_keeps_to_the_limit_and_the_least_objective_is_returned(H):
    problem = bo.compose("relu-nmd", planted(2, noise=0.2)[0], rank=RANK, U=H, V=H)
    seen = []
    result = bo.solve(problem, method="support-search", max_iterations=80, observers=seen.append)
    assert len(seen) == result.iterations + 1
    for state in seen:
        assert problem.regularizer.value(state.Y) < np.inf
    least = min(seen, key=lambda state: state.objective)
    assert result.objective == pytest.approx(least.objective, rel=1e-4), "what was only a bound is computed in the end"
    assert result.objective <= least.objective * (1 + 1e-12)


def test_it_ends_below_methods_that_keep_to_the_limit_at_every_step():
    below = 0
    for seed in range(8):
        M, U, V = planted(100 + seed, (40, 30), 4, noise=0.1)
        H = {"U": f"l0-ball({np.count_nonzero(U)})", "V": f"l0-ball({np.count_nonzero(V)})"}
        problem = bo.compose("relu-nmd", M, rank=4, **H)
        ours, *others = (
            bo.solve(problem, method=method, stop="max-products(400)", seed=seed).objective
            for method in ("support-search", "nipalm", "aapb", "palm")
        )
        below += ours < min(others)
    assert below >= 7


def test_rounds_that_find_nothing_better_come_to_an_end():
    H = "with-ridge(l0-ball(30), 0.2)"
    problem = bo.compose("relu-nmd", planted(3, noise=0.2)[0], rank=RANK, U=H, V=H)
    result = bo.solve(problem, method="support-search(patience=1)", tolerance=1e-7, max_iterations=3000)
    assert result.status is bo.Status.STATIONARY
    assert result.certificate.relative_subgradient <= 1e-7
    without = bo.solve(problem, method="support-search(patience=0)", max_iterations=200)
    assert without.iterations < 200, "it comes to rest without any round"
    assert result.objective <= without.objective


def test_room_closes_from_all_of_it_to_none_and_most_of_it_first():
    rooms = closing(0.5, 10)
    assert rooms[-1] == 0.0
    assert 0.0 < rooms[0] < 0.5
    assert np.all(np.diff(rooms) < 0)
    assert np.all(np.diff(rooms, 2) > 0)


def test_without_room_and_with_a_limit_that_does_not_bind_it_is_coordinate_descent():
    problem = bo.compose("relu-nmd", planted(4)[0], rank=RANK, U=f"l0-ball({18 * RANK})", V="l0-ball(60)")
    free = bo.compose("relu-nmd", planted(4)[0], rank=RANK)
    ours = bo.iterate(problem, method="support-search", seed=1)
    cd = bo.iterate(free, method="ecd(sweeps=3, balance=false)", seed=1)
    for _ in range(8):
        np.testing.assert_allclose(next(ours).Y.flat, next(cd).Y.flat, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("loss", ["least-squares", "huber(0.5)", "relu"])
def test_other_losses_missing_entries_and_one_limited_block(loss):
    rng = np.random.default_rng(5)
    M = np.maximum(0, planted(5)[0]) if loss == "relu" else planted(5)[1] @ planted(5)[2]
    problem = bo.compose(
        "low-rank", M, rank=RANK, loss=loss, mask=rng.random(M.shape) < 0.8, U="l0-ball(30)", V="l1-nonneg(0.01)"
    )
    result = bo.solve(problem, max_iterations=60)
    assert isinstance(result.method, SupportSearch)
    assert np.count_nonzero(result.Y.U) <= 30
    assert result.Y.V.min() >= 0
    assert result.objective < 0.5 * result.history["objective"][0]


@pytest.mark.parametrize(
    ("H", "says"),
    [
        ({"U": "l1(0.1)", "V": "none"}, "limits their number on no block"),
        ({"U": "l0-ball(3)", "V": "nuclear(0.1)"}, "takes none, l1, ridge and bounds"),
    ],
)
def test_an_h_that_it_does_not_take_is_refused(H, says):
    with pytest.raises(IncompatibleError, match=says):
        bo.solve(bo.compose("relu-nmd", planted(0)[0], rank=2, **H), method="support-search")


def test_auto_takes_it_where_h_limits_the_number_of_non_zeros_and_tells_why():
    problem = bo.compose("relu-nmd", planted(0)[0], rank=2, U="l0-ball(20)", V="l0-nonneg(10)")
    result = bo.solve(problem, max_iterations=2)
    assert result.notes[0] == "auto picked support-search: H limits how many entries are not zero."
    other = bo.solve(bo.compose("relu-nmd", planted(0)[0], rank=2, U="rank-ball(1)"), max_iterations=2)
    assert not isinstance(other.method, SupportSearch)
