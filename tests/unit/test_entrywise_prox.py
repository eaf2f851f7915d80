"""Burg, Boltzmann-Shannon and Fermi-Dirac: closed proximal maps against mpmath and bisection, and weights by entry."""

import math

import mpmath
import numpy as np
import pytest
from bregopt_kernels.entrywise import BoltzmannShannon, Burg, FermiDirac
from bregopt_kernels.entrywise_prox import ClosedFormProx, EntrywiseProx, resolve_entrywise
from small_parts import Huber

import bregopt as bo
from bregopt.errors import IncompatibleError, OverflowedError, ParameterError

PENALTIES = ["none", "l1(0.3)", "ridge(0.7)", "nonneg", "elastic-net(0.3, 0.7)", "box(0.2, 3)", "with-nonneg(l1(2))"]
KERNELS = ["burg", "boltzmann-shannon", "burg(0.3)", "burg + 2*psi2", "0.5*boltzmann-shannon + psi2", "fermi-dirac"]
SIZES = [10.0**k for k in (-200, -50, -6, 0, 9, 200)]


def separable(spec):
    return bo.Separable(bo.make("regularizer", spec))


def both_maps(kernel, spec):
    """The closed form, and the bisection that knows H by its Euclidean proximal map alone."""
    closed = resolve_entrywise(kernel, separable(spec))
    assert isinstance(closed, ClosedFormProx)
    return closed, EntrywiseProx(separable(spec))


@pytest.mark.parametrize("spec", PENALTIES)
@pytest.mark.parametrize("name", KERNELS)
def test_the_closed_forms_are_what_bisection_finds(name, spec):
    kernel = bo.make("kernel", name)
    closed, bisection = both_maps(kernel, spec)
    rng = np.random.default_rng(0)
    for size in (1e-6, 1e-2, 1.0, 30.0):
        for step in (1e-3, 0.4, 20.0):
            P = bo.Blocks(U=size * rng.standard_normal((3, 4)), V=size * rng.standard_normal((4, 2)))
            if name.startswith("burg"):
                P = P.like(np.abs(P.flat))
            y, z = closed(P, step, kernel).flat, bisection(P, step, kernel).flat
            assert (np.abs(y - z) <= (1e-12 + 1e-15 * step / np.abs(P.flat)) * y).all()  # it sees p/λ to ε only


def bisected(slope):
    low, high = mpmath.mpf(-680), mpmath.mpf(680)
    if slope(mpmath.exp(low)) > 0 or slope(mpmath.exp(high)) < 0:
        return None
    for _ in range(70):
        middle = (low + high) / 2
        low, high = (low, middle) if slope(mpmath.exp(middle)) > 0 else (middle, high)
    return mpmath.exp(low)


@pytest.mark.parametrize("w", SIZES)
@pytest.mark.parametrize("q", [0.0, *SIZES])
def test_burgs_root_has_its_digits_at_every_size(w, q):
    c = np.array([sign * size for size in SIZES for sign in (1, -1)])
    with np.errstate(all="ignore"):
        y = Burg().minimiser(c, q, w)
    with mpmath.workdps(1100):
        for found, slope in zip(y, c, strict=True):
            C, Q, W = mpmath.mpf(slope), mpmath.mpf(q), mpmath.mpf(w)
            if Q == 0 and C <= 0:
                assert found == math.inf
                continue
            true = W / C if Q == 0 else (mpmath.sqrt(C * C + 4 * Q * W) - C) / (2 * Q)
            if 1e-290 < true < 1e290:
                assert float(abs(found - true) / true) < 1e-14


@pytest.mark.parametrize("w", SIZES)
@pytest.mark.parametrize("q", [0.0, *SIZES])
def test_shannons_root_has_the_digits_that_its_exponent_leaves_at_every_size(w, q):
    c = np.array([sign * size for size in (*SIZES, 300.0 * w) for sign in (1, -1)])
    with np.errstate(all="ignore"):
        y = BoltzmannShannon().minimiser(c, q, w)
    with mpmath.workdps(420):
        for found, slope in zip(y, c, strict=True):
            C, Q, W = mpmath.mpf(slope), mpmath.mpf(q), mpmath.mpf(w)
            true = bisected(lambda t, C=C, Q=Q, W=W: C + Q * t + W * mpmath.log(t))
            if true is not None:
                # log y = −c/w − (q/w)·y is known to the last digits of its largest term, less where qy is what counts
                exponent = max(1, abs(C / W), abs(mpmath.log(Q / W)) if Q else 0) / (1 + Q * true / W)
                assert float(abs(found - true) / true) < 4e-15 * float(1 + min(exponent, 1500))


@pytest.mark.parametrize("spec", ["nonneg", "ridge(1e-9)", "box(0, 1e150)", "with-nonneg(elastic-net(1, 1e9))"])
@pytest.mark.parametrize("kernel", [Burg(1e-3), BoltzmannShannon(1e-3), FermiDirac(1e-3)], ids=str)
def test_entries_stay_in_the_domain_at_every_size(kernel, spec):
    prox = resolve_entrywise(kernel, separable(spec))
    P = bo.Blocks(x=SIZES)
    for sign in (1.0, -1.0) if spec.startswith("box") else (1.0,):
        Y = prox(P * sign, 1.0, kernel)
        assert kernel.contains(Y)
        assert np.isfinite(Y.flat).all()


@pytest.mark.parametrize(("kernel", "H", "p"), [
    ("burg", "none", -1.0),
    ("burg", "none", 0.0),
    ("burg", "l1(0.5)", -0.5),
    ("burg", "nonneg", -1e-300),
    ("boltzmann-shannon", "l1(1)", -1000.0),
])  # fmt: skip
def test_a_map_without_a_minimiser_says_so(kernel, H, p):
    for spec in (H, Huber() if p < -1.0 else H):
        with pytest.raises(OverflowedError, match="no minimiser"):
            bo.bregman_prox(kernel, spec)(bo.Blocks(y=[1.0, p]), 1.0)


def test_a_ridge_or_an_upper_bound_gives_burgs_map_its_minimiser_back():
    p = bo.Blocks(y=[-1.0])
    assert bo.bregman_prox("burg", "box(0, 7)")(p, 1.0).y == 7.0
    assert bo.bregman_prox("burg", "ridge(2)")(p, 1.0).y == pytest.approx((1 + 3) / 4)  # 2y² − y − 1 = 0


def test_an_H_that_leaves_no_point_of_the_domain_is_refused():
    for kernel, H in (("burg", "box(-2, 0)"), ("boltzmann-shannon", "box(-2, -1)"), ("fermi-dirac", "box(1, 2)")):
        with pytest.raises(IncompatibleError, match="leaves no point of the domain"):
            bo.bregman_prox(kernel, H)


def test_other_convex_sums_over_entries_go_by_bisection():
    kernel = bo.make("kernel", "burg")
    assert isinstance(resolve_entrywise(kernel, bo.Separable(Huber())), EntrywiseProx)
    y = resolve_entrywise(kernel, bo.Separable(Huber()))(bo.Blocks(x=[0.5, 40.0]), 2.0, kernel).x
    slope = 2.0 * np.minimum(y, 1.0) + [0.5, 40.0] - 1 / y
    np.testing.assert_allclose(slope, 0.0, atol=1e-12)
    assert resolve_entrywise(kernel, separable("l0(0.1)")) is None


def test_a_sum_of_two_entropies_goes_by_bisection():
    kernel = bo.make("kernel", "burg + boltzmann-shannon")
    P = bo.Blocks(x=[0.3, -2.0, 9.0])
    y = bo.bregman_prox(kernel, "ridge(0.5)")(P, 2.0).x
    np.testing.assert_allclose(P.x + y - 1 / y + np.log(y), 0.0, atol=1e-12)


WEIGHTS = {"U": np.linspace(0.2, 3.0, 6).reshape(3, 2), "V": np.array([0.5, 2.0, 7.0])}
FLAT = np.concatenate([WEIGHTS["U"].ravel(), np.tile(WEIGHTS["V"], 2)])


def points(rng):
    return (bo.Blocks(U=rng.uniform(0.1, 0.9, (3, 2)), V=rng.uniform(0.1, 0.9, (2, 3))) for _ in range(2))


@pytest.mark.parametrize("kind", [Burg, BoltzmannShannon, FermiDirac])
def test_weights_by_entry_are_a_sum_of_kernels_of_one_entry(kind):
    psi, one = kind(WEIGHTS), kind()
    Y, Z = points(np.random.default_rng(0))
    assert psi.value(Y) == pytest.approx(FLAT @ one.phi(Y.flat), rel=1e-14)
    assert psi.divergence(Y, Z) == pytest.approx(FLAT @ one.distance(Y.flat, Z.flat), rel=1e-14)
    np.testing.assert_allclose(psi.gradient(Y).flat, FLAT * one.slope(Y.flat), rtol=1e-15)
    assert psi.strong_convexity == pytest.approx(0.2 * kind.flattest)
    assert psi.share(one) == pytest.approx(0.2)
    assert one.share(psi) == pytest.approx(1 / 7)
    assert psi.share(kind({"U": 1.0, "V": 1.0})) == pytest.approx(0.2)
    assert psi.share(kind({"U": 1.0})) == 0.0  # a kernel for other blocks
    assert (psi + 2.0 * one).divergence(Y, Z) == pytest.approx(psi.divergence(Y, Z) + 2 * one.divergence(Y, Z))
    assert (3.0 * psi + psi).value(Y) == pytest.approx(4 * psi.value(Y))


@pytest.mark.parametrize("spec", PENALTIES)
@pytest.mark.parametrize("kind", [Burg, BoltzmannShannon, FermiDirac])
def test_the_map_of_weights_by_entry_is_that_of_each_entry(kind, spec):
    psi, rng = kind(WEIGHTS), np.random.default_rng(1)
    closed, bisection = both_maps(psi, spec)
    P = bo.Blocks(U=rng.random((3, 2)), V=rng.random((2, 3)))
    Y = closed(P, 0.4, psi)
    np.testing.assert_allclose(Y.flat, bisection(P, 0.4, psi).flat, rtol=1e-12)
    for w, p, y in zip(FLAT, P.flat, Y.flat, strict=True):
        assert bo.bregman_prox(kind(float(w)), spec)(bo.Blocks(x=[p]), 0.4).x[0] == pytest.approx(y, rel=1e-13)


@pytest.mark.parametrize("kind", [Burg, BoltzmannShannon])
def test_the_kit_passes_kernels_with_weights_by_entry(kind):
    report = bo.testing.check(kind(WEIGHTS))
    assert report.ok, report.table()


def test_an_entry_of_weight_zero_is_left_to_H_and_counts_for_nothing():
    psi = Burg({"x": [0.0, 1.0]})
    Y, Z = bo.Blocks(x=[1e-320, 2.0]), bo.Blocks(x=[1e300, 1.0])
    assert psi.divergence(Z, Y) == pytest.approx(0.5 - 1 - math.log(0.5))
    for kernel in (psi, BoltzmannShannon({"x": [0.0, 1.0]})):
        y = bo.bregman_prox(kernel, "ridge(2)")(bo.Blocks(x=[-3.0, 1.0]), 1.0).x
        assert y[0] == 1.5
        assert 0 < bo.bregman_prox(kernel, "none")(bo.Blocks(x=[3.0, 1.0]), 1.0).x[0] < 1e-299


def test_one_multiplicative_update_of_kl_nmf_is_a_step_with_burgs_kernel_and_a_weight_per_entry():
    rng = np.random.default_rng(3)
    M, U, V = rng.random((6, 5)), rng.random((6, 2)), rng.random((2, 5))
    up, down = (M / (U @ V)) @ V.T, np.ones((6, 5)) @ V.T  # ∇ = down − up
    psi = Burg({"U": U * up})
    P = bo.Blocks(U=down - up).plus(-1.0, psi.gradient(bo.Blocks(U=U)))
    np.testing.assert_allclose(bo.bregman_prox(psi, "nonneg")(P, 1.0).U, U * up / down, rtol=1e-12)


@pytest.mark.parametrize("weight", [-1.0, math.nan, math.inf, "2", None, True, {}, [1.0, 2.0]])
def test_a_weight_that_is_none_is_refused(weight):
    with pytest.raises(ParameterError, match=r"The 'weight' parameter of Burg must be a finite number >= 0"):
        Burg(weight)


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf, [1.0, -2.0], [math.nan, 1.0]])
def test_a_bad_weight_of_a_block_is_refused_by_its_name(bad):
    with pytest.raises(ParameterError, match=r"The weights of block 'U' in Burg must be finite and >= 0"):
        Burg({"U": bad})


def test_weights_that_do_not_fit_the_blocks_are_refused_in_one_sentence():
    Y = bo.Blocks(U=np.ones((3, 2)), V=np.ones((2, 2)))
    with pytest.raises(IncompatibleError, match="Burg has weights for U, and none for the block 'V'"):
        Burg({"U": 1.0}).value(Y)
    with pytest.raises(IncompatibleError, match=r"The weights of block 'V' have shape \(3,\)"):
        Burg({"U": 1.0, "V": np.ones(3)}).gradient(Y)


def test_weights_are_shown_by_their_shapes():
    assert repr(Burg({"U": np.ones((300, 2)), "V": 2})) == "Burg(weight={U: (300, 2), V: 2.0})"
    assert repr(bo.make("kernel", "burg(2)")) == "Burg(weight=2.0)"


def test_a_kernel_from_a_spec_takes_weights_by_block_beside_it():
    psi = bo.make("kernel", "burg", WEIGHTS)
    assert psi.share(bo.make("kernel", "burg(0.1)")) == pytest.approx(2.0)
