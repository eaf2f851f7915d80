"""ReLU-NMD: W, its metrics and norms, and the constants of its kernels."""

import numpy as np
import pytest
from lowrank_cases import case

import bregopt as bo


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_W_is_the_best_matrix_whose_relu_is_M(form):
    M, problem, Y = case(form=form)
    W = problem.block.argmin(problem.smooth, Y)
    dense = W.toarray()
    np.testing.assert_array_equal(np.maximum(dense, 0), M)
    np.testing.assert_array_equal(np.asarray(W), dense)
    assert W.shape == M.shape
    best, rng = problem.smooth.value(Y, W), np.random.default_rng(1)
    assert best == pytest.approx(problem.smooth.value(Y, dense))
    for _ in range(100):
        rival = np.where(M > 0, M, np.minimum(0, dense + rng.standard_normal(M.shape)))
        assert problem.smooth.value(Y, rival) >= best


def test_the_metrics_are_what_they_are_called():
    M, problem, Y = case()
    X = Y.U @ Y.V
    W = np.where(M > 0, M, np.minimum(0, X))
    metrics = problem.oracle.evaluate(Y).metrics
    assert metrics["relative_error"] == pytest.approx(np.linalg.norm(M - np.maximum(0, X)) / np.linalg.norm(M))
    assert metrics["model_residual"] == pytest.approx(np.linalg.norm(W - X) / np.linalg.norm(M))


def test_the_norms_bound_W_now_and_ahead():
    for seed in range(30):
        _, problem, Y = case(seed)
        Z = Y.plus(10.0 ** (seed % 4 - 3), case(seed + 50)[2])
        block = problem.block
        dense = [block.argmin(problem.smooth, point).toarray() for point in (Y, Z)]
        now = block.norms(block.argmin(problem.smooth, Y))
        assert now["frobenius"] == pytest.approx(np.linalg.norm(dense[0]))
        assert now["spectral"] >= np.linalg.norm(dense[0], 2) * (1 - 1e-12)
        ahead, then = block.bound_norms(now, Z, Y), block.norms(block.argmin(problem.smooth, Z))
        for name in ("frobenius", "spectral"):
            assert ahead[name] >= then[name] * (1 - 1e-12)
        assert now["reduced"] >= np.linalg.norm(block.M.array(), 2)
        assert now["reduced"] <= np.linalg.norm(block.M.array(), 2) * 1.0002


def test_the_spectral_bound_is_exact_where_the_model_fits():
    rng = np.random.default_rng(0)
    U, V = rng.standard_normal((20, 3)), rng.standard_normal((3, 15))
    problem = bo.compose("relu-nmd", np.maximum(0, U @ V), rank=3)
    norms = problem.oracle.evaluate(bo.Blocks(U=U, V=V)).norms
    assert norms["spectral"] == pytest.approx(np.linalg.norm(U @ V, 2), rel=1e-10)


def divergence_of(value_and_gradient, Y, Z):
    value, gradient = value_and_gradient(Z)
    return value_and_gradient(Y)[0] - value - gradient.dot(Y - Z)


@pytest.mark.parametrize("reduced", [False, True])
def test_the_constants_of_smooth_adaptability_hold_on_random_pairs(reduced):
    kernels = [1.0 * bo.make("kernel", "psi1") + b * bo.make("kernel", "psi2") for b in (1.0, 7.0)]
    for seed in range(60):
        _, problem, Z = case(seed, m=4, n=3, r=2)
        Y = Z.plus(10.0 ** (seed % 4 - 2), case(seed + 500, m=4, n=3, r=2)[2])
        evaluation = problem.oracle.evaluate(Z)

        def reduced_f(point, problem=problem):
            seen = problem.oracle.evaluate(point, at=point)
            return seen.value, seen.gradient

        def with_W(point, problem=problem, W=evaluation.W):
            return problem.smooth.value_and_gradient(point, W)

        D_F = divergence_of(reduced_f if reduced else with_W, Y, Z)
        for kernel in kernels:
            smad = problem.smooth.smad(kernel, evaluation.norms, reduced)
            D, slack = kernel.divergence(Y, Z), 1e-9 * abs(evaluation.value)
            assert smad.upper * D + slack >= D_F
            assert smad.lower * D + slack >= -D_F
            assert smad.low.divergence(Y, Z) + slack >= -D_F


def test_the_tight_kernel_is_tight():
    """0.95 of it fails: for ψ1 at U = 0 and rank-one moves, for ψ2 on the leading singular pair at Y = 0."""
    smooth = bo.make("smooth", "factorization")
    psi1, psi2 = bo.make("kernel", "psi1"), bo.make("kernel", "psi2")
    W = np.diag([2.0, 1.0])
    e = np.eye(2)
    cases = [
        (bo.Blocks(U=np.zeros((2, 1)), V=[[100.0, 0.0]]), bo.Blocks(U=[[0.0], [1e-3]], V=np.zeros((1, 2)))),
        (bo.Blocks(U=np.zeros((2, 1)), V=np.zeros((1, 2))), bo.Blocks(U=1e-3 * e[:, :1], V=-1e-3 * e[:1])),
    ]
    for a, b, (Z, move) in [(0.95, 2.0, cases[0]), (1.0, 1.9, cases[1])]:
        D_F = divergence_of(lambda point: smooth.value_and_gradient(point, W), Z + move, Z)
        assert (a * psi1 + b * psi2).divergence(Z + move, Z) < D_F
        assert (psi1 + 2.0 * psi2).divergence(Z + move, Z) * (1 + 1e-6) >= D_F
