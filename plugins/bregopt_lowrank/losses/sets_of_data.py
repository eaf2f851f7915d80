"""What losses have in common whose data are signs, or not negative."""

from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from bregopt import Array
from bregopt_lowrank.losses.loss import EntrywiseLoss, Zero


class SignLoss(EntrywiseLoss):
    """A loss for m = ±1: an x of the other sign is a mistake, and a zero of a sparse M is missing."""

    @final
    @staticmethod
    def error(x: Any, m: Any) -> Any:
        return 1.0 if m * x <= 0.0 else 0.0

    @final
    @property
    def zero(self) -> Zero:
        return "missing"

    @final
    @property
    def metric(self) -> str:
        return "mistakes"

    @final
    @property
    def formula(self) -> str:
        return "sign({})"

    @final
    def predict(self, X: Array) -> Array:
        return np.sign(X)

    @final
    @property
    def data(self) -> str:
        return "1 or -1"

    @final
    def fits(self, M: Array) -> NDArray[np.bool_]:
        return np.isin(M, (-1, 1))

    @final
    def sample_data(self, rng: np.random.Generator, size: int) -> Array:
        return rng.choice([-1.0, 1.0], size)


class NonnegativeLoss(EntrywiseLoss):
    """A loss for m ≥ 0."""

    @final
    @property
    def data(self) -> str:
        return "non-negative"

    @final
    def fits(self, M: Array) -> NDArray[np.bool_]:
        return np.asarray(M >= 0)

    def sample_data(self, rng: np.random.Generator, size: int) -> Array:
        return np.maximum(rng.standard_normal(size), 0.0)
