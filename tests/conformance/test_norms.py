"""Norms and their sums: the prox of each against a reference of its own."""

import numpy as np
import pytest
import scipy.optimize
from bregopt_regularizers.ball import Ball
from bregopt_regularizers.box import Box
from bregopt_regularizers.huber import Huber
from bregopt_regularizers.l1 import L1
from bregopt_regularizers.l1_ball import L1Ball
from bregopt_regularizers.l21 import L21
from bregopt_regularizers.nonneg import NonNegative
from bregopt_regularizers.nuclear import Nuclear
from bregopt_regularizers.ridge import Ridge
from bregopt_regularizers.sparse_group import SparseGroup
from bregopt_regularizers.tv import TV
from bregopt_regularizers.with_nonneg import l1_nonneg, l21_nonneg, with_nonneg
from bregopt_regularizers.with_ridge import with_ridge
from convex_parts import ENTRIES, ROWS, WEIGHTS
from prox_rivals import cases


def test_weighted_l1_thresholds_each_entry_by_its_weight():
    for X, step in cases():
        wanted = np.sign(X) * np.maximum(np.abs(X) - step * WEIGHTS, 0)
        np.testing.assert_allclose(L1(WEIGHTS).prox(X, step), wanted, rtol=1e-13, atol=1e-16)
        assert L1(WEIGHTS).value(X) == pytest.approx(np.sum(WEIGHTS * np.abs(X)))
    assert L1(np.full((4, 3), 0.4)).value(X) == pytest.approx(L1(0.4).value(X))


def test_the_weights_of_l1_are_its_own():
    mine = WEIGHTS.copy()
    H = L1(mine)
    mine[0, 1] = 100.0
    assert H.eta[0, 1] == 0.3
    assert not H.eta.flags.writeable


SCALAR = {
    "l1-nonneg": (l1_nonneg(0.4), (0.0, np.inf)),
    "huber": (Huber(0.7, 0.3), (-np.inf, np.inf)),
    "box": (Box(-0.5, 0.7), (-0.5, 0.7)),
}


@pytest.mark.parametrize(("H", "domain"), SCALAR.values(), ids=SCALAR)
def test_a_separable_prox_is_the_minimiser_of_a_bounded_search(H, domain):
    for X, step in cases((2, 2)):
        for x, z in zip(X.ravel(), H.prox(X, step).ravel(), strict=True):
            low, high = max(domain[0], -abs(x) - 1), min(domain[1], abs(x) + 1)

            def cost(z, x=x, step=step):
                return float(H.value(np.array([[z]])) + (z - x) ** 2 / (2 * step))

            found = scipy.optimize.minimize_scalar(cost, bounds=(low, high), method="bounded", options={"xatol": 1e-10})
            assert z == pytest.approx(found.x, abs=1e-6 * (1 + abs(x)))


def test_the_huber_prox_solves_its_equation():
    for X, step in cases():
        Z = Huber(0.7, 0.3).prox(X, step)
        np.testing.assert_allclose(Z + step * 0.7 * np.clip(Z, -0.3, 0.3), X, rtol=1e-14)


def groups(per):
    if isinstance(per, str):
        return [np.indices((4, 3))[0 if per == "row" else 1] == k for k in range(4 if per == "row" else 3)]
    labels = per if per.ndim == 2 else np.repeat(per[:, None], 3, axis=1)
    return [labels == k for k in set(labels.ravel().tolist())]


@pytest.mark.parametrize("per", ["row", "column", ENTRIES, ROWS], ids=["row", "column", "entries", "rows"])
def test_the_group_lasso_shortens_each_group(per):
    H = L21(0.4, per=per)
    for X, step in cases():
        Z = H.prox(X, step)
        for group in groups(per):
            length = np.linalg.norm(X[group])
            wanted = X[group] * (1 - 0.4 * step / length) if length > 0.4 * step else 0 * X[group]
            np.testing.assert_allclose(Z[group], wanted, rtol=1e-12, atol=1e-15)
        assert H.value(X) == pytest.approx(0.4 * sum(np.linalg.norm(X[group]) for group in groups(per)))


def both(F, G, X, step, rounds=20000):
    """The prox of F + G from those of F and G, by Dykstra's iteration."""
    P, Q = np.zeros_like(X), np.zeros_like(X)
    Z = X
    for _ in range(rounds):
        A = F.prox(Z + P, step)
        P = Z + P - A
        new = G.prox(A + Q, step)
        Q = A + Q - new
        if np.abs(new - Z).max() + np.abs(new - A).max() <= 1e-13 * np.abs(X).max():
            break
        Z = new
    return new


SUMS = {
    "l1-nonneg": (l1_nonneg(0.4), L1(0.4), NonNegative()),
    "l21-nonneg": (l21_nonneg(0.4), L21(0.4), NonNegative()),
    "l21-nonneg by labels": (l21_nonneg(0.4, ENTRIES), L21(0.4, ENTRIES), NonNegative()),
    "sparse-group": (SparseGroup(0.3, 0.4), L1(0.3), L21(0.4)),
    "sparse-group by column": (SparseGroup(0.1, 0.9, "column"), L1(0.1), L21(0.9, "column")),
    "ridge and l1-ball": (with_ridge(L1Ball(2.0), 0.5), L1Ball(2.0), Ridge(0.5)),
    "ridge and tv": (with_ridge(TV(0.4), 0.5), TV(0.4), Ridge(0.5)),
    "orthant and huber": (with_nonneg(Huber(0.7, 0.3)), Huber(0.7, 0.3), NonNegative()),
    "orthant and ball": (with_nonneg(Ball(1.5)), Ball(1.5), NonNegative()),
    "orthant and l1-ball": (with_nonneg(L1Ball(1.3, "row")), L1Ball(1.3, "row"), NonNegative()),
    "orthant and box": (with_nonneg(Box(-0.5, 0.7)), Box(-0.5, 0.7), NonNegative()),
}


@pytest.mark.parametrize(("H", "F", "G"), SUMS.values(), ids=SUMS)
def test_the_prox_of_a_sum_is_the_limit_of_dykstra(H, F, G):
    for X, step in cases(steps=(1e-2, 1.0)):
        np.testing.assert_allclose(H.prox(X, step), both(F, G, X, step), atol=1e-6 * np.abs(X).max())
        Z = H.prox(X, step)
        assert H.value(Z) == pytest.approx(F.value(Z) + G.value(Z))


def test_the_nuclear_prox_has_a_dual_certificate():
    for X, step in cases((5, 3)):
        for A in (X, X.T):
            Z = Nuclear(0.4).prox(A, step)
            room = 1e-12 * np.linalg.norm(A)
            values = np.sqrt(np.maximum(np.linalg.eigvalsh(Z.T @ Z), 0))
            assert np.linalg.norm(A - Z, 2) <= 0.4 * step + room
            assert np.sum((A - Z) * Z) == pytest.approx(0.4 * step * values.sum(), abs=1e-6 * np.sum(A**2))
            assert Nuclear(0.4).value(Z) == pytest.approx(0.4 * values.sum(), abs=1e-6 * np.linalg.norm(A))


def test_the_nuclear_prox_lowers_the_rank():
    U, _, Vt = np.linalg.svd(np.random.default_rng(0).standard_normal((6, 4)), full_matrices=False)
    X = U * [3.0, 2.0, 1.0, 0.5] @ Vt
    np.testing.assert_allclose(Nuclear(1.5).prox(X, 1.0), U * [1.5, 0.5, 0, 0] @ Vt, atol=1e-14)
