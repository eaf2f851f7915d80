"""Small matrices and parts of problems that several test files build on."""

import math

import numpy as np
from attrs import frozen

import bregopt as bo


def relu_matrix(seed=0, shape=(20, 15)):
    """``max(0, X)`` of a Gaussian X: the ReLU of no low rank."""
    return np.maximum(0, np.random.default_rng(seed).standard_normal(shape))


@frozen
class Huber(bo.Regularizer):
    """``H(X) = Σ huber(x_ij)``: convex and separable, not homogeneous."""

    traits = bo.Trait.CONVEX | bo.Trait.SEPARABLE

    def value(self, X):
        return float(np.where(np.abs(X) <= 1, X**2 / 2, np.abs(X) - 0.5).sum())

    def prox(self, X, step):
        return np.where(np.abs(X) <= 1 + step, X / (1 + step), X - step * np.sign(X))


@frozen
class NoBlock(bo.ClosedFormBlock):
    """``G = 0``, for an F that does not depend on W."""

    def argmin(self, smooth, Y):
        return None

    def value(self, W):
        return 0.0


@frozen(eq=False)
class Poisson(bo.SmoothPart):
    """``F(y) = Σ (Ay)_i − b_i log (Ay)_i``: no Lipschitz gradient at 0, smooth adaptable to Burg with L = Σ b."""

    A: np.ndarray
    b: np.ndarray
    lower: float | None = 0.0
    """the lower constant it states: 0, as F is convex, or none"""

    def value(self, Y, W):
        z = self.A @ Y.y
        return float(np.sum(z - self.b * np.log(z))) if (z > 0).all() else math.inf

    def value_and_gradient(self, Y, W):
        return self.value(Y, W), bo.Blocks(y=self.A.T @ (1 - self.b / (self.A @ Y.y)))

    def smad(self, kernel, norms, reduced):
        return bo.Smad(upper=float(self.b.sum()), lower=self.lower)
