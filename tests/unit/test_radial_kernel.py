"""The radial kernels: gradient, divergence, line polynomial, arithmetic."""

import numpy as np
import pytest
from bregopt_kernels.radial import Radial

import bregopt as bo
from bregopt.errors import BregoptError


def random_blocks(seed, scale=1.0):
    rng = np.random.default_rng(seed)
    return bo.Blocks(U=scale * rng.standard_normal((4, 2)), V=scale * rng.standard_normal((2, 3)))


def kernels():
    psi1, psi2 = bo.make("kernel", "psi1"), bo.make("kernel", "psi2")
    rows = bo.make("kernel", "block-quadratic(U=2, V=0.5)")
    return {
        "psi1": psi1,
        "psi2": psi2,
        "sum": 3 * psi1 + 2.5 * psi2,
        "blocks": psi1 + 0.1 * psi2 + rows,
        "rows": Radial(a=1.0, b=0.3, c={"U": np.arange(4.0)[:, None]}),
        "entries": Radial(a=1.0, b=0.3, c={"V": np.arange(6.0).reshape(2, 3)}),
        "generic sum": bo.parts.kernel.KernelSum(((3.0, psi1), (2.0, psi2))),
    }


NAMES = ["psi1", "psi2", "sum", "blocks", "rows", "entries", "generic sum"]


@pytest.mark.parametrize("name", NAMES)
def test_the_gradient_has_taylor_slope_two(name):
    kernel, Y, D = kernels()[name], random_blocks(0), random_blocks(1)
    steps = 10.0 ** np.arange(-1, -5, -1)
    slope = kernel.gradient(Y).dot(D)
    errors = [abs(kernel.value(Y.plus(t, D)) - kernel.value(Y) - t * slope) for t in steps]
    rates = np.diff(np.log(errors)) / np.diff(np.log(steps))
    np.testing.assert_allclose(rates[-2:], 2.0, atol=0.1)


@pytest.mark.parametrize("name", NAMES)
def test_along_is_the_polynomial_of_psi_on_a_line(name):
    kernel, Y, D = kernels()[name], random_blocks(2), random_blocks(3)
    line = kernel.along(Y, D)
    for beta in (-1.0, 0.0, 0.3, 2.0):
        value = kernel.value(Y.plus(beta, D))
        assert abs(np.polyval(line[::-1], beta) - value) <= 1e-12 * abs(value)
        powers = np.arange(len(line))
        by_line = np.sum((powers - 1) * line * float(beta) ** powers) + line[0]
        assert abs(by_line - kernel.divergence(Y, Y.plus(beta, D))) <= 1e-12 * abs(value)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("distance", [1.0, 1e-3, 1e-9])
def test_the_divergence_is_accurate_even_where_the_three_terms_cancel(name, distance):
    kernel, Z = kernels()[name], random_blocks(4)
    Y = Z.plus(distance, random_blocks(5))
    exact = _exact_divergence(kernel, Y, Z)
    found = kernel.divergence(Y, Z)
    assert found >= 0
    assert abs(found - exact) <= 1e-12 * exact


def _exact_divergence(kernel, Y, Z):
    """The three-term difference in 60 digits."""
    import mpmath

    mpmath.mp.dps = 60

    def parts(name):
        if name == "generic sum":
            return 3.0, 2.0, {}
        return kernel.a, kernel.b, kernel.c

    a, b, shares = parts("generic sum" if isinstance(kernel, bo.parts.kernel.KernelSum) else "")
    c = np.concatenate([np.broadcast_to(shares.get(n, 0.0), Y[n].shape).ravel() for n in Y.names])
    y, z = ([mpmath.mpf(float(x)) for x in B.flat] for B in (Y, Z))

    def psi(v):
        s = mpmath.fsum(x * x for x in v)
        return a * s * s / 4 + b * s / 2 + mpmath.fsum(ci * x * x for ci, x in zip(c, v, strict=True)) / 2

    s = mpmath.fsum(x * x for x in z)
    slope = mpmath.fsum((a * s + b + ci) * zi * (yi - zi) for ci, zi, yi in zip(c, z, y, strict=True))
    return psi(y) - psi(z) - slope


def test_kernels_add_and_scale():
    psi1, psi2 = bo.make("kernel", "psi1"), bo.make("kernel", "psi2")
    Y = random_blocks(6)
    assert (3 * psi1 + psi2 * 2).value(Y) == pytest.approx(3 * psi1.value(Y) + 2 * psi2.value(Y), rel=1e-15)
    s = Y.dot(Y)
    assert psi1.value(Y) == pytest.approx(s * s / 4)
    assert psi2.value(Y) == pytest.approx(s / 2)


def test_a_negative_weight_of_a_kernel_is_refused():
    with pytest.raises(BregoptError, match=">= 0"):
        -1.0 * bo.make("kernel", "psi1")
    with pytest.raises(BregoptError, match="added to a kernel"):
        bo.make("kernel", "psi1") + 1


@pytest.mark.parametrize("name", NAMES)
def test_the_declared_convexity_holds(name):
    kernel = kernels()[name]
    references = [bo.make("kernel", spec) for spec in ("psi1", "psi2", "power(3)", "block-quadratic(U=2, V=0.5)")]
    references += [references[0] + 0.3 * references[1], references[0] + references[3]]
    for seed in range(30):
        Y, Z = random_blocks(seed), random_blocks(seed + 100, 10.0 ** (seed % 5 - 2))
        for reference in references:
            floor = kernel.share(reference) * reference.divergence(Y, Z)
            assert kernel.divergence(Y, Z) >= floor * (1 - 1e-12)
        assert kernel.divergence(Y, Z) >= kernel.strong_convexity / 2 * (Y - Z).norm() ** 2 * (1 - 1e-12)
