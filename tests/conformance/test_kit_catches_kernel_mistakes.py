"""Planted mistakes in kernels and kernel policies: each is caught by the check that is there for it."""

import math

import numpy as np
import pytest
from attrs import evolve, frozen
from planted import assert_caught, outcome, printed_by

import bregopt as bo
from bregopt.testing import Status


def square(Y):
    return Y.dot(Y)


@frozen
class Quartic(bo.Kernel):
    """``ψ = (a/4)‖Y‖⁴ + (b/2)‖Y‖²``, right; the mutants change a method."""

    a: float = 3.0
    b: float = 2.0

    def value(self, Y):
        return self.a / 4 * square(Y) ** 2 + self.b / 2 * square(Y)

    def gradient(self, Y):
        return Y * (self.a * square(Y) + self.b)

    def divergence(self, Y, Z):
        e = Y - Z
        rise = 2 * Z.dot(e) + square(e)
        return self.a * (rise**2 / 4 + square(Z) * square(e) / 2) + self.b / 2 * square(e)

    @property
    def strong_convexity(self):
        return self.b

    def share(self, reference):
        if isinstance(reference, Quartic):
            return min(self.a / reference.a, self.b / reference.b)
        return super().share(reference)

    def along(self, Y, D):
        n, p, q = square(Y), Y.dot(D), square(D)
        line = self.a / 4 * np.array([n * n, 4 * n * p, 4 * p * p + 2 * n * q, 4 * p * q, q * q])
        line[:3] += self.b / 2 * np.array([n, 2 * p, q])
        return line

    def scaled(self, weight):
        return evolve(self, a=weight * self.a, b=weight * self.b)


def difference(self, Y, Z):
    return self.value(Y) - self.value(Z) - self.gradient(Z).dot(Y - Z)


def writing(self, Y):
    Y.flat.flags.writeable = True
    Y.flat[0] *= 1 + 1e-9
    return Quartic.value(self, Y)


def mutant(**methods):
    """The kernel with other methods."""
    return type("Wrong", (Quartic,), methods)()


@frozen
class Positive(bo.Kernel):
    """``ψ = −Σ log y`` on y > 0."""

    strong_convexity = 0.0
    edge = 1.0

    def value(self, Y):
        return -float(np.log(Y.flat).sum())

    def gradient(self, Y):
        return Y.like(-1 / Y.flat)

    def divergence(self, Y, Z):
        u = (Y.flat - Z.flat) / Z.flat
        return float(np.where(np.abs(u) < 1e-3, u**2 / 2 - u**3 / 3 + u**4 / 4 - u**5 / 5, u - np.log1p(u)).sum())

    def contains(self, Y):
        return bool((Y.flat > 0).all())

    def longest(self, Y, D):
        down = D.flat < 0
        return self.edge * float(np.min(-Y.flat[down] / D.flat[down], initial=math.inf))


def entropies(edge):
    return type("Other", (Positive,), {"edge": edge})()


@frozen
class Flat(bo.Kernel):
    """``½ Σ c_i y_i²`` with weights from 1 to 3, and a claim of its Lipschitz constant."""

    smoothness: float = 3.0
    strong_convexity = 1.0

    def value(self, Y):
        return self.gradient(Y).dot(Y) / 2

    def gradient(self, Y):
        return Y.like(np.linspace(1, 3, Y.flat.size) * Y.flat)

    def divergence(self, Y, Z):
        return self.value(Y - Z)


def schatten(claim):
    @frozen
    class Schatten(bo.Kernel):
        """``¼‖UᵀU + VVᵀ‖² + ½‖Y‖²``, right with the claim 1."""

        weight: float = 1.0

        @property
        def strong_convexity(self):
            return self.weight

        def share(self, reference):
            same = isinstance(reference, Schatten)
            return claim * self.weight / reference.weight if same else super().share(reference)

        def scaled(self, weight):
            return evolve(self, weight=weight * self.weight)

        def gram(self, Y, Z):
            return Y.U.T @ Z.U + Y.V @ Z.V.T

        def value(self, Y):
            return self.weight * (float(np.sum(self.gram(Y, Y) ** 2)) / 4 + square(Y) / 2)

        def gradient(self, Y):
            G = self.weight * (self.gram(Y, Y) + np.eye(len(Y.V)))
            return Y.map(lambda name, X: X @ G if name == "U" else G @ X)

        def divergence(self, Y, Z):
            e = Y - Z
            rise = self.gram(Z, e) + self.gram(e, Y)
            bend = float(np.sum(self.gram(Z, Z) * self.gram(e, e)))
            return self.weight * (float(np.sum(rise**2)) / 4 + bend / 2 + square(e) / 2)

    return Schatten()


def times_1001(self, Y):
    return Quartic.gradient(self, Y) * 1.001


def one_entry(self, Y):
    flat = Quartic.gradient(self, Y).flat.copy()
    flat[7] *= 1.001
    return Y.like(flat)


def swapped(self, Y, Z):
    return Quartic.divergence(self, Z, Y)


def lifted(self, Y, Z):
    return Quartic.divergence(self, Y, Z) + 1e-20


def bent(self, Y, D):
    return Quartic.along(self, Y, D) * [1, 1, 1, 1.001, 1]


def quadratic_share(self, reference):
    """2.1 of every quadratic kernel, of which there are 2."""
    return 2.1 / reference.smoothness if reference.smoothness < math.inf else Quartic.share(self, reference)


def quartic_share(self, reference):
    """As if the quadratic part counted far from zero, where only the fourth power does."""
    return self.a + self.b if repr(reference) == "1·ψ1" else Quartic.share(self, reference)


RIGHT = Quartic()
KERNELS = {
    "gradient sign": ("gradient/taylor-slope", RIGHT, mutant(gradient=lambda s, Y: -Quartic.gradient(s, Y))),
    "gradient times 1.001": ("gradient/taylor-slope", RIGHT, mutant(gradient=times_1001)),
    "one entry of the gradient": ("gradient/taylor-slope", RIGHT, mutant(gradient=one_entry)),
    "negative divergence": ("divergence/non-negative", RIGHT, mutant(divergence=difference)),
    "not zero at equality": ("divergence/non-negative", RIGHT, mutant(divergence=lifted)),
    "swapped arguments": ("divergence/definition", RIGHT, mutant(divergence=swapped)),
    "cancellation": ("divergence/stable", RIGHT, mutant(divergence=difference)),
    "cancellation, made positive": ("divergence/stable", RIGHT, mutant(divergence=lambda *a: abs(difference(*a)))),
    "strong convexity": ("strong-convexity/holds", RIGHT, mutant(strong_convexity=2.02)),
    "smoothness": ("smoothness/holds", Flat(), Flat(2.9)),
    "smoothness of a quartic": ("smoothness/holds", Flat(), mutant(smoothness=1e3)),
    "share of itself": ("share/holds", RIGHT, mutant(share=lambda s, other: 1.01 * Quartic.share(s, other))),
    "share of the quadratic": ("share/holds", RIGHT, mutant(share=quadratic_share)),
    "share of a fourth power": ("share/holds", RIGHT, mutant(share=quartic_share)),
    "negative share": ("share/holds", RIGHT, mutant(share=lambda s, other: -1.0)),
    "share of a Schatten-4 norm": ("share/holds", schatten(1.0), schatten(1.02)),
    "along": ("along/polynomial", RIGHT, mutant(along=bent)),
    "ends too early": ("domain/contains-and-longest", entropies(1.0), entropies(0.9)),
    "ends too late": ("domain/contains-and-longest", entropies(1.0), entropies(1.1)),
    "no domain": ("domain/contains-and-longest", RIGHT, mutant(contains=lambda s, Y: False)),
    "scaled": ("arithmetic/sum-and-scale", RIGHT, mutant(scaled=lambda s, w: evolve(s, a=w * s.a))),
    "merged": ("arithmetic/sum-and-scale", RIGHT, mutant(merged=lambda s, o: evolve(s, a=s.a + o.a))),
    "write": ("kernel/no-write", RIGHT, mutant(value=writing)),
}


@frozen
class Policy(bo.KernelPolicy):
    """``aψ1 + ‖W‖ψ2`` for the right shape of ``weight``."""

    weight: object
    kernel: object = Quartic

    def at(self, norms):
        return Quartic(1.0, self.weight(norms["frobenius"]))

    def sample(self):
        return self.kernel()


def growing(w):
    return w


POLICIES = {
    "shrinks": ("policy/monotone", Policy(growing), Policy(lambda w: w if w < 50 else 1.0)),
    "another family": ("policy/sample-family", Policy(growing), Policy(growing, Positive)),
    "a wrong kernel": ("gradient/taylor-slope", Policy(growing), Policy(growing, lambda: KERNELS["gradient sign"][2])),
}


@pytest.mark.parametrize("mistake", KERNELS)
def test_a_mistake_in_a_kernel_is_caught_by_its_check(mistake):
    assert_caught(*KERNELS[mistake])


def resolver(share):
    """A plugin that solves the quartic kernel for H = 0; right where the share of the radius is 1."""

    def prox(P, step, kernel):
        n = P.norm()
        roots = np.roots([kernel.a, 0.0, kernel.b, -n])
        return P * (-share * roots[np.abs(roots.imag) < 1e-9].real[0] / n)

    class Hooks:
        @bo.hookimpl
        def bregopt_resolve_prox(self, kernel, regularizer):
            return prox if isinstance(kernel, Quartic) and regularizer.is_zero else None

    return Hooks()


@pytest.mark.usefixtures("fresh_host")
@pytest.mark.parametrize(("share", "found"), [(1.0, Status.PASSED), (1.001, Status.FAILED), (0.5, Status.FAILED)])
def test_a_mistake_in_the_bregman_map_of_a_kernel_is_caught(share, found):
    assert outcome("bregman-prox/minimal", RIGHT).status is Status.NOT_APPLICABLE
    bo.load_plugin(resolver(share))
    seen = outcome("bregman-prox/minimal", RIGHT)
    assert seen.status is found
    assert found is Status.PASSED or printed_by(seen.counterexample, RIGHT)


@pytest.mark.parametrize("mistake", POLICIES)
def test_a_mistake_in_a_kernel_policy_is_caught_by_its_check(mistake):
    assert_caught(*POLICIES[mistake])


@pytest.mark.parametrize(
    "part", [RIGHT, Positive(), schatten(1.0), Policy(growing)], ids=lambda part: type(part).__name__
)
def test_a_right_kernel_passes_every_check(part):
    report = bo.testing.check(part)
    assert report.ok, report.table()
