"""A regularizer in a distribution of its own."""

import numpy as np

import bregopt as bo


class Halved(bo.Regularizer):
    """``H(X) = (η/2) Σ |x_ij|``."""

    traits = bo.Trait.CONVEX | bo.Trait.SEPARABLE | bo.Trait.HOMOGENEOUS

    def __init__(self, eta=1.0):
        self.eta = eta

    def value(self, X):
        return 0.5 * self.eta * float(np.abs(X).sum())

    def prox(self, X, step):
        return np.sign(X) * np.maximum(np.abs(X) - 0.5 * step * self.eta, 0.0)


@bo.hookimpl
def bregopt_register(registry):
    registry.add(bo.Regularizer, "halved-l1", Halved)
