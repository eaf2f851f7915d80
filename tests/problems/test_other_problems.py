"""Two-block problems of other kinds, built from public names only, on the same engine."""

import math

import numpy as np
import pytest
from attrs import frozen
from small_parts import HalfSquares

import bregopt as bo


@frozen(eq=False)
class Completion(bo.ClosedFormBlock):
    """``W = M`` on the observed entries and ``UV`` elsewhere."""

    M: np.ndarray
    observed: np.ndarray

    def argmin(self, smooth, Y):
        return np.where(self.observed, self.M, Y.U @ Y.V)

    def value(self, W):
        return 0.0

    def norms(self, W):
        return {"frobenius": float(np.linalg.norm(W))}

    def bound_norms(self, norms, Y, Y_prev):
        return {"frobenius": norms["frobenius"] + float(np.linalg.norm(Y.U @ Y.V - Y_prev.U @ Y_prev.V))}


@frozen(eq=False)
class ByNorm(bo.KernelPolicy):
    """``ψ1 + ‖W‖_F ψ2``."""

    def at(self, norms):
        return bo.make("kernel", "psi1") + norms["frobenius"] * bo.make("kernel", "psi2")

    def sample(self):
        return self.at({"frobenius": 1.0})


def completion(seed=0):
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((30, 3)) @ rng.standard_normal((3, 25))
    observed = rng.random(M.shape) < 0.6
    problem = bo.Problem(
        smooth=HalfSquares(),
        block=Completion(M * observed, observed),
        regularizer=bo.Separable(U=bo.make("regularizer", "ridge(0.01)"), V=bo.make("regularizer", "l1(0.01)")),
        kernel=ByNorm(),
        metrics={"hidden_error": lambda Y, W: float(np.linalg.norm((Y.U @ Y.V - M)[~observed]))},
    )
    start = bo.Blocks(U=rng.standard_normal((30, 3)), V=rng.standard_normal((3, 25)))
    return problem, start, M, observed


def test_matrix_completion_recovers_the_hidden_entries():
    problem, start, M, observed = completion()
    result = bo.solve(problem, method="aapb(step=monotone)", start=start, max_iterations=3000)
    hidden = np.linalg.norm((result.Y.U @ result.Y.V - M)[~observed]) / np.linalg.norm(M[~observed])
    assert hidden < 0.02
    assert result.certificate.guaranteed
    assert result.certificate.monotone
    assert result.history["hidden_error"][-1] == pytest.approx(hidden * np.linalg.norm(M[~observed]))


@pytest.mark.parametrize("method", ["aapb", "apb", "aapb(w=Ybar)", "aapb(beta=assumption2(shrink=0.8))"])
def test_matrix_completion_falls_with_every_variant(method):
    problem, start, _, _ = completion(1)
    result = bo.solve(problem, method=method, start=start, max_iterations=200)
    assert result.certificate.guaranteed
    assert result.certificate.monotone
    assert result.objective < 0.1 * result.history["objective"][0]


@frozen
class Quartic(bo.SmoothPart):
    """``F(y, w) = ¼(‖y‖² − 4)² + ½‖y − w·1‖²``: nonconvex in y, quadratic in the number w."""

    def value(self, Y, W):
        y = Y.y
        return 0.25 * (float(y @ y) - 4.0) ** 2 + 0.5 * float(np.sum((y - W) ** 2))

    def value_and_gradient(self, Y, W):
        y = Y.y
        return self.value(Y, W), bo.Blocks(y=(y @ y - 4.0) * y + (y - W))

    def smad(self, kernel, norms, reduced):
        # d²F = d²ψ1 + (1 − 4)‖h‖², and −4‖h‖² is all that the reduced function can add below
        psi1, psi2 = bo.make("kernel", "psi1"), bo.make("kernel", "psi2")
        return bo.Smad(upper=1 / kernel.share(psi1), lower=4 / kernel.share(psi2))


@frozen
class Shrunk(bo.ClosedFormBlock):
    """``G(w) = |w|``, so w(y) = argmin ½‖y − w·1‖² + |w|, a soft threshold of the mean."""

    def argmin(self, smooth, Y):
        n, mean = Y.y.size, float(Y.y.mean())
        return math.copysign(max(abs(mean) - 1.0 / n, 0.0), mean)

    def value(self, W):
        return abs(W)


def quartic_problem(H="none"):
    kernel = bo.make("kernel", "psi1") + bo.make("kernel", "psi2")
    return bo.Problem(smooth=Quartic(), block=Shrunk(), regularizer=bo.make("regularizer", H), kernel=kernel)


@pytest.mark.parametrize("method", ["apb", "aapb", "aapb(w=Ybar)", "aapb(step=monotone)"])
def test_a_problem_that_is_no_factorisation_reaches_its_known_minimum(method):
    result = bo.solve(
        quartic_problem(),
        method=method,
        start=bo.Blocks(y=[0.3, 0.1, 0.2, 0.4]),
        stop="stationarity(1e-8)",
        max_iterations=20000,
    )
    assert result.converged
    assert result.certificate.guaranteed
    assert result.certificate.monotone
    # by symmetry y = c·1 at the minimum: φ(c) = ¼(4c² − 4)² + 2(c − w)² + |w| with w = max(c − ¼, 0)
    c = np.linspace(0, 2, 200001)
    w = np.maximum(c - 0.25, 0)
    assert result.objective <= (0.25 * (4 * c**2 - 4) ** 2 + 2 * (c - w) ** 2 + w).min() + 1e-10
    assert isinstance(result.W, float)


def test_a_regularizer_on_the_single_block_works_there_too():
    result = bo.solve(quartic_problem("l1(0.1)"), start=bo.Blocks(y=[0.3, -0.1, 0.2, 0.4]), max_iterations=300)
    assert result.certificate.guaranteed
    assert result.certificate.monotone


def test_a_problem_without_a_known_constant_asks_for_a_step():
    class Silent(bo.SmoothPart):  # says nothing of smad
        value = Quartic.value
        value_and_gradient = Quartic.value_and_gradient

    problem = bo.Problem(smooth=Silent(), block=Shrunk(), kernel=quartic_problem().kernel)
    start = bo.Blocks(y=[0.3, 0.1])
    with pytest.raises(bo.errors.IncompatibleError, match="step='monotone'"):
        bo.solve(problem, method="apb", start=start)
    result = bo.solve(problem, method="apb(step=monotone)", start=start, max_iterations=50)
    assert result.certificate.monotone
    with pytest.raises(bo.errors.IncompatibleError, match="start=Blocks"):
        bo.solve(problem, method="aapb")
