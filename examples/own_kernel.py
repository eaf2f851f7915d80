"""An own kernel outside of the radial family, and its Bregman proximal map for H = 0."""

import sys

import numpy as np

import bregopt as bo


class EntryQuartic(bo.Kernel):
    """``ψ(Y) = Σ ¼y⁴ + 24y²`` over the entries of Y."""

    strong_convexity = 48.0

    def value(self, Y):
        return float(np.sum(Y.flat**4 / 4 + 24 * Y.flat**2))

    def gradient(self, Y):
        return Y.like(Y.flat**3 + 48 * Y.flat)

    def divergence(self, Y, Z):  # never as a difference of values: y⁴ − z⁴ − 4z³(y − z) = (y − z)²((y + z)² + 2z²)
        y, z = Y.flat, Z.flat
        return float(np.sum((y - z) ** 2 * (((y + z) ** 2 + 2 * z**2) / 4 + 24)))


def prox(P, step, kernel):  # the root of y³ + 48y + p = 0, entry by entry
    return P.like(-8 * np.sinh(np.arcsinh(P.flat / 128) / 3))


@bo.hookimpl
def bregopt_resolve_prox(kernel, regularizer):
    return prox if isinstance(kernel, EntryQuartic) and regularizer.is_zero else None


bo.load_plugin(sys.modules[__name__])
M = np.maximum(0, np.random.default_rng(0).standard_normal((40, 30)))
for name, kernel in {"auto": "auto", "own": EntryQuartic()}.items():
    result = bo.solve(bo.compose("relu-nmd", M, rank=6, kernel=kernel), method="aapb")
    print(f"kernel {name}: objective {result.objective:.2f}\n{result.certificate.summary()}\n")
