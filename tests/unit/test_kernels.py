"""The kernels beyond the quartic ones: their maps against brute force, their domains, and where they are refused."""

import numpy as np
import pytest
from bregopt_kernels.radial import Radial
from bregopt_kernels.rescaled import Rescaled
from small_parts import Huber, NoBlock, Poisson, relu_matrix

import bregopt as bo
from bregopt.errors import DataError, IncompatibleError, OverflowedError, ParameterError
from bregopt.host.compose import examples

KERNELS = dict(examples("kernel"))


def blocks(rng, scale):
    return bo.Blocks(U=scale * rng.standard_normal((3, 2)), V=scale * rng.standard_normal((2, 3)))


def rivals(Y, rng):
    size = np.abs(Y.flat).max() + 1e-9
    yield from (Y * t for t in (0.0, 0.5, 0.9, 0.999, 1.001, 1.1, 2.0))
    for i in range(Y.flat.size):
        for move in (1e-5, 1e-2, 1.0):
            for sign in (-1, 1):
                flat = Y.flat.copy()
                flat[i] += sign * move * size
                yield Y.like(flat)
                flat = Y.flat.copy()
                flat[i] *= 1 + sign * 0.5 * move
                yield Y.like(flat)
    yield from (Y.like(Y.flat * np.exp(1e-2 * rng.standard_normal(Y.flat.size))) for _ in range(20))


@pytest.mark.parametrize("label", KERNELS)
@pytest.mark.parametrize("H", ["none", "ridge(0.7)", "l1(0.3)", "nonneg", Huber()], ids=str)
def test_no_rival_beats_the_map_and_it_stays_in_the_domain(label, H):
    psi, rng = KERNELS[label], np.random.default_rng(0)
    separable = bo.Separable(bo.make("regularizer", H))
    if label == "schatten4" and H not in ("none", "ridge(0.7)"):
        with pytest.raises(IncompatibleError, match="Schatten4"):
            bo.bregman_prox(psi, separable)
        return
    prox = bo.bregman_prox(psi, separable)
    for scale in (1e-3, 1.0, 50.0):
        for step in (0.2, 1.5):
            P = blocks(rng, scale)
            if label == "burg":
                P = P.like(np.abs(P.flat))
            Y = prox(P, step)
            assert psi.contains(Y)
            best = step * separable.value(Y) + P.dot(Y) + psi.value(Y)
            slack = 1e-9 * (abs(step * separable.value(Y)) + np.abs(P.flat * Y.flat).sum() + abs(psi.value(Y)))
            for rival in rivals(Y, rng):
                if psi.contains(rival):
                    assert step * separable.value(rival) + P.dot(rival) + psi.value(rival) >= best - slack


@pytest.mark.parametrize(("spec", "inverse"), [
    ("boltzmann-shannon", lambda p: np.exp(-p)),
    ("burg", lambda p: 1 / p),
    ("fermi-dirac", lambda p: 1 / (1 + np.exp(p))),
])  # fmt: skip
def test_without_H_the_entropies_have_their_textbook_maps(spec, inverse):
    p = np.array([1e-3, 0.3, 1.0, 7.0, 30.0])
    Y = bo.bregman_prox(spec, "none")(bo.Blocks(y=p), 0.5)
    np.testing.assert_allclose(Y.y, inverse(p), rtol=1e-13)


def test_a_map_without_a_minimiser_says_so():
    with pytest.raises(OverflowedError, match="no minimiser"):
        bo.bregman_prox("burg", "none")(bo.Blocks(y=[-1.0]), 1.0)


def test_the_power_two_and_four_are_psi2_and_twice_two_psi1():
    Y, Z = blocks(np.random.default_rng(0), 1.0), blocks(np.random.default_rng(1), 1.0)
    for p, same in ((2, bo.make("kernel", "psi2")), (4, bo.make("kernel", "psi1"))):
        assert bo.make("kernel", f"power({p})").divergence(Y, Z) == pytest.approx(same.divergence(Y, Z), rel=1e-14)
        series = Radial(kappa={p: 1.0})
        for distance in (1.0, 1e-3, 1e-8):
            near = Z.plus(distance, Y)
            assert series.divergence(near, Z) == pytest.approx(same.divergence(near, Z), rel=1e-9)
    with pytest.raises(ParameterError, match=">= 2"):
        bo.make("kernel", "power(1.5)")


def test_the_balanced_kernel_is_the_kernel_of_rescaled_factors():
    psi = bo.make("kernel", "balanced(4, psi1)")
    Y = blocks(np.random.default_rng(0), 1.0)
    s = 4 * np.sum(Y.U**2) + np.sum(Y.V**2) / 4
    assert psi.value(Y) == pytest.approx(s * s / 4)
    for bad in ("balanced(0)", "balanced(-1)", "balanced(2, paper)"):
        with pytest.raises(ParameterError):
            bo.make("kernel", bad)


def test_relu_nmd_knows_the_constants_of_the_balanced_kernel():
    norm = float(np.linalg.norm(relu_matrix(), 2)) * 1.001
    base = bo.make("kernel", "psi1") + norm * bo.make("kernel", "psi2")
    problem = bo.compose("relu-nmd", relu_matrix(), rank=3, kernel=bo.make("kernel", "fixed(1)"))
    fixed = bo.compose("relu-nmd", relu_matrix(), rank=3, kernel="fixed")
    evaluation = fixed.oracle.evaluate(bo.solve(fixed, max_iterations=3).Y)
    plain = fixed.smooth.smad(base, evaluation.norms, True)
    stretched = fixed.smooth.smad(Rescaled(base, {"U": 2.0, "V": 0.5}), evaluation.norms, True)
    assert (stretched.upper, stretched.lower) == (plain.upper, plain.lower)
    assert problem.kernel.sample() is problem.kernel


@pytest.mark.parametrize("H", ["none", "ridge(0.3)"])
def test_the_schatten4_kernel_descends_faster_than_the_tight_one(H):
    runs = {}
    for kernel in ("s4", "tight"):
        problem = bo.compose("relu-nmd", relu_matrix(), rank=5, U=H, V=H, kernel=kernel)
        runs[kernel] = bo.solve(problem, method="apb(step=1)", max_iterations=150)
        assert runs[kernel].certificate.monotone
        assert runs[kernel].certificate.guaranteed
    assert runs["s4"].objective < runs["tight"].objective


def test_the_schatten4_kernel_has_no_lower_constant_and_so_no_extrapolation():
    problem = bo.compose("relu-nmd", relu_matrix(), rank=5, kernel="s4")
    result = bo.solve(problem, method="aapb(assumption2, guard=false)", max_iterations=20)
    assert np.nanmax(result.history["beta"]) == 0
    assert not bo.solve(problem, method="aapb(beta=0.5)", max_iterations=20).certificate.guaranteed


def test_the_schatten4_kernel_refuses_other_regularizers_by_name():
    with pytest.raises(IncompatibleError, match=r"L1.*Schatten4"):
        bo.compose("relu-nmd", relu_matrix(), rank=3, U="l1(0.1)", kernel="s4")
    with pytest.raises(IncompatibleError, match="Ridge"):
        bo.compose("relu-nmd", relu_matrix(), rank=3, U="ridge(0.1)", V="ridge(0.2)", kernel="s4")


@pytest.mark.parametrize("spec", ["boltzmann-shannon", "burg", "fermi-dirac"])
def test_relu_nmd_refuses_a_kernel_on_part_of_the_space_by_name(spec):
    with pytest.raises(IncompatibleError, match=r"The ReLU-NMD problem cannot use the kernel \w+"):
        bo.compose("relu-nmd", relu_matrix(), rank=3, kernel=spec)


def poisson(kernel="burg"):
    rng = np.random.default_rng(0)
    A = rng.random((30, 4))
    smooth = Poisson(A, rng.poisson(A @ np.array([1.0, 5.0, 0.0, 2.0])) + 0.0)
    return bo.Problem(smooth=smooth, block=NoBlock(), regularizer=bo.make("regularizer", "l1(0.1)"),
                      kernel=bo.make("kernel", kernel), start=bo.Blocks(y=np.ones(4)))  # fmt: skip


@pytest.mark.parametrize("method", ["apb", "aapb", "aapb(beta=0.9)", "aapb(beta=nesterov)", "aapb(step=monotone(1e4))"])
def test_iterates_and_extrapolated_points_never_leave_the_domain(method):
    def inside(state):
        assert (state.Y.y > 0).all()
        assert (state.inner.model.Y_bar.y > 0).all()

    result = bo.solve(poisson(), method=method, max_iterations=100, observers=[inside])
    assert (result.Y.y > 0).all()
    if method in ("apb", "aapb", "aapb(step=monotone(1e4))"):
        assert result.certificate.guaranteed
        assert result.certificate.monotone


def test_a_poisson_problem_nears_the_minimum_that_scipy_finds():
    from scipy.optimize import minimize

    problem = poisson()
    found = minimize(lambda y: problem.smooth.value(bo.Blocks(y=y), None) + 0.1 * y.sum(), np.ones(4),
                     bounds=[(1e-12, None)] * 4, method="L-BFGS-B", options={"ftol": 1e-15})  # fmt: skip
    result = bo.solve(problem, method="aapb(step=monotone(1e4))", max_iterations=300)
    assert found.fun - 1e-6 <= result.objective <= found.fun + 1.0


def test_a_start_outside_of_the_domain_is_refused():
    with pytest.raises(DataError, match="outside of the domain of the kernel Burg"):
        bo.solve(poisson(), start=bo.Blocks(y=[1.0, 1.0, -1.0, 1.0]))
