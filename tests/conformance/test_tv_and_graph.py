"""Total variation and graphs: the prox of each against a reference of its own, and the bounds of a graph."""

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from bregopt_regularizers.graph import Graph, laplacian
from bregopt_regularizers.tv import TV, fuse
from convex_parts import AFFINITY, DEGREES, L
from prox_rivals import cases

from bregopt.errors import DataError


@pytest.mark.parametrize("weight", [0.01, 0.5, 3.0, 1e4])
@pytest.mark.parametrize("kind", ["noise", "walk", "steps", "constant", "ramp"])
def test_the_tv_prox_has_a_dual_certificate(kind, weight):
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((400, 2))
    X = {
        "noise": noise,
        "walk": np.cumsum(noise, axis=0),
        "steps": np.round(np.cumsum(noise, axis=0)),
        "constant": np.ones((400, 2)),
        "ramp": np.arange(800.0).reshape(400, 2),
    }[kind]
    Z = TV(2.0).prox(X, weight / 2.0)
    dual = np.cumsum(X - Z, axis=0)  # X − Z = Dᵀu: the optimum has |u| ≤ weight, and u = ±weight at each jump
    room = 1e-11 * max(1.0, np.abs(X).max(), weight)
    assert np.abs(dual[-1]).max() <= room
    assert np.abs(dual).max() <= weight + room
    jumps = np.diff(Z, axis=0)
    real = np.abs(jumps) > room
    np.testing.assert_allclose(dual[:-1][real], -weight * np.sign(jumps[real]), atol=room)
    np.testing.assert_array_equal(TV(2.0, per="row").prox(X.T, weight / 2.0), Z.T)


def test_the_tv_prox_agrees_with_a_bounded_least_squares_solver():
    rng = np.random.default_rng(2)
    for n in (2, 3, 7, 12):
        D = np.diff(np.eye(n), axis=0)
        for weight in (0.05, 0.7, 5.0):
            y = rng.standard_normal(n)
            u = scipy.optimize.lsq_linear(D.T, y, (-weight, weight), method="bvls", tol=1e-14).x
            np.testing.assert_allclose(fuse(y.tolist(), weight), y - D.T @ u, atol=1e-10)


@pytest.mark.parametrize("weight", [1e20, 1e150, 1e300])
def test_a_huge_weight_makes_a_line_its_mean(weight):
    y = np.random.default_rng(3).standard_normal(9)
    np.testing.assert_allclose(fuse(y.tolist(), weight), np.full(9, y.mean()), rtol=1e-14)


def test_the_tv_of_a_line_of_one_entry_is_nothing():
    X = np.array([[3.0, -2.0]])
    np.testing.assert_array_equal(TV(5.0).prox(X, 1.0), X)
    np.testing.assert_array_equal(TV(5.0, "row").prox(X, 1.0), [[0.5, 0.5]])
    assert TV(5.0).value(X) == 0.0
    assert TV(5.0, "row").value(X) == 25.0
    assert TV().prox(np.zeros((0, 3)), 1.0).shape == (0, 3)


def test_the_graph_prox_solves_its_linear_system():
    for X, step in cases():
        wanted = np.linalg.solve(np.eye(4) + step * 0.7 * L, X)
        for form in (L, scipy.sparse.csr_array(L), scipy.sparse.coo_matrix(L)):
            H = Graph(form, 0.7)
            np.testing.assert_allclose(H.prox(X, step), wanted, rtol=1e-10, atol=1e-13 * np.abs(X).max())
            edges = sum(AFFINITY[i, j] * np.sum((X[i] - X[j]) ** 2) for i in range(4) for j in range(i))
            assert H.value(X) == pytest.approx(0.35 * edges)
            np.testing.assert_allclose(H.prox(X[:, 0], step), wanted[:, 0], rtol=1e-10, atol=1e-13 * np.abs(X).max())


def test_the_laplacian_has_the_degrees_on_its_diagonal_and_ignores_self_loops():
    np.testing.assert_array_equal(L, np.diag(DEGREES) - AFFINITY + np.diag(np.diagonal(AFFINITY)))
    np.testing.assert_array_equal(L.sum(axis=1), np.zeros(4))
    sparse = laplacian(scipy.sparse.csr_array(AFFINITY))
    assert scipy.sparse.issparse(sparse)
    np.testing.assert_array_equal(sparse.toarray(), L)


def normalised():
    D = np.diag(1 / np.sqrt(DEGREES))
    return D @ L @ D


SIGNED = np.outer([1.0, -1.0, 1.0, -1.0], [1.0, -1.0, 1.0, -1.0])
"""Positive semidefinite with rows that sum to zero, and yet ‖L‖₂ = 4 > 2·max L_ii."""


@pytest.mark.parametrize("form", [L, normalised(), SIGNED], ids=["laplacian", "normalised", "signed"])
@pytest.mark.parametrize("wrap", [np.asarray, scipy.sparse.csr_array])
def test_the_bounds_of_the_graph_hold(form, wrap):
    H = Graph(wrap(form), 0.7)
    assert H.norm_bound >= 0.7 * np.linalg.norm(form, 2) * (1 - 1e-12)
    assert H.row_bound.shape == (4,)
    assert np.linalg.eigvalsh(np.diag(H.row_bound) - 0.7 * form)[0] >= -1e-12
    assert H.prox(np.ones((4, 2)), 1.0).shape == (4, 2)


def test_the_bounds_of_a_laplacian_are_twice_its_degrees():
    assert Graph(L, 0.7).norm_bound == pytest.approx(2 * 0.7 * 3.0)
    np.testing.assert_allclose(Graph(L, 0.7).row_bound, 2 * 0.7 * DEGREES)


@pytest.mark.parametrize("wrap", [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize(
    "bad",
    [np.ones((2, 3)), np.array([[1.0, 0.5], [0.0, 1.0]]), np.array([[0.0, 1.0], [1.0, 0.0]]), np.diag([1.0, np.nan])],
    ids=["not square", "not symmetric", "indefinite", "not finite"],
)
def test_a_graph_of_an_unfit_matrix_is_refused(bad, wrap):
    with pytest.raises(DataError, match="L must"):
        Graph(wrap(bad))


def test_unfit_affinities_are_refused():
    for bad in (-AFFINITY, np.ones((2, 3)), "affinity", np.ones((2, 2)) * 1j, [[1.0], [2.0, 3.0]]):
        with pytest.raises(DataError):
            laplacian(bad)
    with pytest.raises(DataError, match="4 nodes"):
        Graph(L).prox(np.ones((3, 4)), 1.0)
