"""How much of one kernel is in another: ``share(reference)``, the largest a with ψ − a·reference convex."""

import itertools
import math

import attrs
import numpy as np
import pytest

import bregopt as bo


def make(spec):
    return bo.make("kernel", spec)


PSI1, PSI2 = make("psi1"), make("psi2")
BLOCKS = make("block-quadratic(U=2, V=0.5)")


def hessian(kernel, Y):
    """By differences of the gradient."""
    step, columns = 1e-5, []
    for i in range(Y.flat.size):
        e = np.zeros(Y.flat.size)
        e[i] = step
        columns.append(
            (kernel.gradient(Y.like(Y.flat + e)).flat - kernel.gradient(Y.like(Y.flat - e)).flat) / (2 * step)
        )
    return np.array(columns)


def points(positive=False):
    rng = np.random.default_rng(0)
    for scale in (1e-2, 0.3, 1.0, 3.0, 30.0):
        for _ in range(4):
            Y = bo.Blocks(U=scale * rng.standard_normal((2, 1)), V=scale * rng.standard_normal((1, 2)))
            yield Y.like(np.abs(Y.flat) + 1e-2 * scale) if positive else Y


def largest(kernel, reference, positive=False):
    """The least of ⟨∇²ψ h, h⟩/⟨∇²reference h, h⟩ over points and directions."""
    found = math.inf
    for Y in points(positive):
        A, B = hessian(kernel, Y), hessian(reference, Y)
        if np.linalg.eigvalsh(B)[0] > 1e-9:
            root = np.linalg.inv(np.linalg.cholesky(B))
            found = min(found, float(np.linalg.eigvalsh(root @ A @ root.T)[0]))
    return found


EXACT = [
    (PSI1, PSI1, 1.0),
    (3 * PSI1 + 2 * PSI2, PSI1 + PSI2, 2.0),
    (PSI1 + 6 * PSI2, PSI1 + 2 * PSI2, 1.0),
    (PSI1 + 6 * PSI2, 0.1 * PSI1 + 2 * PSI2, 3.0),
    (PSI1 + BLOCKS, PSI1 + 0.25 * PSI2, 0.0),
    (PSI2 + BLOCKS, PSI2, 1.0),
    (PSI2 + BLOCKS, make("block-quadratic(U=1, V=1)"), 1.5),
    (BLOCKS, make("block-quadratic(U=1)"), 2.0),
    (make("power(3)") + PSI2, make("power(3)") + 2 * PSI2, 0.5),
    (make("power(6)"), 3 * make("power(6)"), 1 / 3),
    (make("schatten4(a=2, b=3)"), make("schatten4") + PSI2, 2.0),
    (make("schatten4(a=2, b=3)"), make("schatten4") + make("block-quadratic(U=2, V=0.5)"), 1.5),
    (make("schatten4"), PSI1, 0.0),
    (make("balanced(4, psi1)"), make("balanced(4, psi1)"), 1.0),
    (make("burg(0.5)"), make("burg"), 0.5),
    (make("boltzmann-shannon") + 2 * PSI2, make("boltzmann-shannon"), 1.0),
    (make("boltzmann-shannon") + 2 * PSI2, make("boltzmann-shannon") + PSI2, 1.0),
    (make("fermi-dirac"), PSI2, 4.0),
    (make("burg"), make("fermi-dirac"), 0.0),
    (make("burg"), PSI2, 0.0),
]


@pytest.mark.parametrize(("kernel", "reference", "a"), EXACT, ids=lambda it: repr(it))
def test_the_share_is_the_one_computed_by_hand(kernel, reference, a):
    assert kernel.share(reference) == pytest.approx(a, rel=1e-11)


@pytest.mark.parametrize(("kernel", "reference"), [(kernel, reference) for kernel, reference, a in EXACT if a > 0])
def test_no_point_and_direction_has_less_than_the_share(kernel, reference):
    inside = not (kernel.contains(bo.Blocks(U=[-1.0])) and reference.contains(bo.Blocks(U=[-1.0])))
    if make("fermi-dirac").__class__ in (type(kernel), type(reference)):
        return  # its domain ends at 1; the kit looks there
    assert kernel.share(reference) <= largest(kernel, reference, inside) * (1 + 1e-4)


def test_a_radial_share_is_the_largest_one():
    rng = np.random.default_rng(1)
    for _ in range(20):
        (a, b), (c, d) = rng.uniform(0.2, 3, (2, 2))
        kernel, reference = a * PSI1 + b * PSI2, c * PSI1 + d * PSI2
        near = kernel.share(reference)
        assert near == pytest.approx(min(a / c, b / d))
        Y = bo.Blocks(U=[[1e-4]], V=[[1e-4]]) if b / d < a / c else bo.Blocks(U=[[1e4]], V=[[1e4]])
        assert kernel.divergence(Y * 1.001, Y) < 1.001 * near * reference.divergence(Y * 1.001, Y)


def test_shares_scale_and_sums_share_term_by_term():
    kernels = [PSI1 + PSI2, make("schatten4(1, 2)"), make("burg"), make("balanced(3, psi1)"), PSI1 + make("burg")]
    for kernel in kernels:
        assert kernel.share(kernel) == pytest.approx(1)
        assert (3 * kernel).share(kernel) == pytest.approx(3)
        assert kernel.share(4 * kernel) == pytest.approx(0.25)
    generic = bo.KernelSum(((3.0, PSI1), (2.0, PSI2)))
    assert generic.share(PSI1 + PSI2) == (3 * PSI1 + 2 * PSI2).share(PSI1 + PSI2) == 2.0
    assert (PSI1 + PSI2).share(generic) == pytest.approx(1 / 3)


@attrs.frozen(eq=False)
class Cosh(bo.Kernel):
    """``w Σ cosh y``: a kernel of somebody else's, which knows its own family."""

    w: float = 1.0

    def value(self, Y):
        return self.w * float(np.cosh(Y.flat).sum())

    def gradient(self, Y):
        return Y.like(self.w * np.sinh(Y.flat))

    def divergence(self, Y, Z):
        e = Y.flat - Z.flat
        return self.w * float(np.sum(np.cosh(Z.flat) * 2 * np.sinh(e / 2) ** 2 + np.sinh(Z.flat) * (np.sinh(e) - e)))

    @property
    def strong_convexity(self):
        return self.w

    def share(self, reference):
        return self.w / reference.w if isinstance(reference, Cosh) else super().share(reference)


def test_a_kernel_that_knows_its_family_has_shares_in_sums_too():
    assert Cosh(2.0).share(Cosh(4.0)) == 0.5
    assert Cosh(2.0).share(PSI2) == 2.0, "by strong convexity"
    assert Cosh(2.0).share(PSI1) == 0.0
    assert (Cosh(2.0) + PSI1).share(PSI1 + PSI2) == 1.0
    assert (Cosh(2.0) + 3 * PSI1).share(Cosh(1.0) + PSI1) == 2.0
    assert (Cosh(2.0) + PSI1).share(Cosh(1.0) + PSI2) == 1.0, "one term serves two, by halves"
    assert (3 * Cosh(2.0)).share(2 * Cosh(1.0)) == pytest.approx(3.0)


def test_no_share_is_claimed_that_does_not_hold():
    kernels = [*(kernel for kernel, _, _ in EXACT[:14]), Cosh(2.0) + PSI1]
    for kernel, reference in itertools.product(kernels, repeat=2):
        a = kernel.share(reference)
        for Y, Z in itertools.pairwise(points()):
            if 0 < a < math.inf and max(np.abs(Y.flat).max(), np.abs(Z.flat).max()) < 5:
                assert kernel.divergence(Y, Z) >= a * reference.divergence(Y, Z) * (1 - 1e-9)
