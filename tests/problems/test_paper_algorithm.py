"""The engine against an independent dense NumPy reference of the paper's Algorithm 2 (corrected formulas)."""

import attrs
import numpy as np
import pytest
import scipy.sparse
import sparse
from scipy.optimize import brentq
from small_parts import hard, soft

import bregopt as bo

ITERATIONS = 50
RANK = 4


def coupled_step(P, Q, a, c1, c2):
    """U = −P/(a s + c1), V = −Q/(a s + c2) with the one s that fits both."""
    p, q = np.sum(P**2), np.sum(Q**2)

    def excess(s):
        return p / (a * s + c1) ** 2 + q / (a * s + c2) ** 2 - s

    s = brentq(excess, 0.0, p / c1**2 + q / c2**2 + 1e-300, xtol=1e-300, rtol=1e-15, maxiter=1000)
    return -P / (a * s + c1), -Q / (a * s + c2)


MODELS = {  # name: (spec of U, spec of V, step, proximal step of the reference)
    "none": ("none", "none", 1.0, lambda P, Q, a, b, lam: coupled_step(P, Q, a, b, b)),
    "ridge": (
        "ridge(2)",
        "ridge(9)",
        0.4,
        lambda P, Q, a, b, lam: coupled_step(P, Q, a, b + lam * 2, b + lam * 9),
    ),
    "l1": (
        "l1(0.1)",
        "l1(0.3)",
        1.0,
        lambda P, Q, a, b, lam: coupled_step(-soft(-P, lam * 0.1), -soft(-Q, lam * 0.3), a, b, b),
    ),
    "nonneg": (
        "nonneg",
        "nonneg",
        1.0,
        lambda P, Q, a, b, lam: coupled_step(-np.maximum(-P, 0), -np.maximum(-Q, 0), a, b, b),
    ),
    "l0-ball": (
        "l0-ball(60)",
        "l0-ball(50)",
        1.0,
        lambda P, Q, a, b, lam: coupled_step(-hard(-P, 60), -hard(-Q, 50), a, b, b),
    ),
}


def reference(M, U, V, beta, step, proximal):
    """Algorithm 2 with W stored, three terms as printed and no shared products."""
    U_prev, V_prev = U, V
    objectives = []
    for _ in range(ITERATIONS):
        W = np.where(M > 0, M, np.minimum(0, U @ V))
        objectives.append(0.5 * np.sum((W - U @ V) ** 2))
        Ub, Vb = U + beta * (U - U_prev), V + beta * (V - V_prev)
        b = np.linalg.norm(W)
        rho = 3 * (np.sum(Ub**2) + np.sum(Vb**2)) + b
        P = step * (Ub @ Vb - W) @ Vb.T - rho * Ub
        Q = step * Ub.T @ (Ub @ Vb - W) - rho * Vb
        U_prev, V_prev = U, V
        U, V = proximal(P, Q, 3.0, b, step)
    return U, V, objectives


FORMATS = {
    "dense": lambda M: M,
    "csr": scipy.sparse.csr_array,
    "csc": scipy.sparse.csc_matrix,
    "coo": sparse.COO.from_numpy,
    "gcxs": sparse.GCXS.from_numpy,
}


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("beta", [0.6, 0.0])
def test_fifty_iterations_agree_with_the_dense_reference(M, start, model, form, beta):
    U_spec, V_spec, step, proximal = MODELS[model]
    problem = bo.compose("relu-nmd", FORMATS[form](M), rank=RANK, U=U_spec, V=V_spec, kernel="paper")
    method = f"aapb(beta={beta}, step={step})" if beta else f"apb(step={step})"
    Y0 = problem.regularizer.prox(start, 1e-12)
    result = bo.solve(problem, method=method, start=Y0, max_iterations=ITERATIONS)
    U, V, objectives = reference(M, Y0.U, Y0.V, beta, step, proximal)
    np.testing.assert_allclose(result.Y.U, U, rtol=0, atol=1e-10 * np.abs(U).max())
    np.testing.assert_allclose(result.Y.V, V, rtol=0, atol=1e-10 * np.abs(V).max())
    if model in ("none", "nonneg", "l0-ball"):
        np.testing.assert_allclose(result.history["objective"][:-1], objectives, rtol=1e-10)


@pytest.mark.parametrize(
    "method", ["aapb", "aapb(w=Ybar)", "aapb(step=monotone)", "aapb(w=Ybar, step=monotone)", "apb"]
)
@pytest.mark.parametrize("kernel", ["paper", "tight", "fixed"])
def test_the_plain_oracle_gives_the_same_iterates_as_the_fused_pass(M, start, method, kernel):
    fused = bo.compose("relu-nmd", M, rank=RANK, U="l1(0.1)", V="ridge(0.2)", kernel=kernel)
    plain = attrs.evolve(fused, oracle=bo.PlainOracle(fused.smooth, fused.block, fused.metrics))
    one, two = (bo.solve(problem, method=method, start=start, max_iterations=30) for problem in (fused, plain))
    np.testing.assert_allclose(one.Y.flat, two.Y.flat, rtol=0, atol=1e-10 * np.abs(two.Y.flat).max())
    for column in ("objective", "relative_error", "model_residual", "lyapunov"):
        np.testing.assert_allclose(one.history[column], two.history[column], rtol=1e-9)


def test_several_tiles_give_the_same_as_one(M, start, small_tiles):
    problem = bo.compose("relu-nmd", M, rank=RANK)
    whole = bo.solve(problem, start=start, max_iterations=20)
    small_tiles(least=100)
    for form in ("dense", "csr"):
        tiled = bo.compose("relu-nmd", FORMATS[form](M), rank=RANK, threads=2)
        result = bo.solve(tiled, start=start, max_iterations=20)
        np.testing.assert_allclose(result.Y.flat, whole.Y.flat, rtol=0, atol=1e-11)
