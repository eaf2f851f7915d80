"""What is random in a check."""

import zlib
from typing import final

import numpy as np
from attrs import frozen

from bregopt.blocks import Array


@final
@frozen(eq=False)
class RandomPoints:
    """Random numbers that depend on the seed and on the name of the check only."""

    seed: int
    rng: np.random.Generator

    @classmethod
    def of(cls, seed: int, name: str) -> "RandomPoints":
        """Those of the check ``name``."""
        return cls(seed, np.random.default_rng([seed, zlib.crc32(name.encode())]))

    def gauss(self, shape: tuple[int, ...], scale: float = 1.0) -> Array:
        """Gaussian numbers of four digits."""
        return rounded(scale * self.rng.standard_normal(shape))


def rounded(X: Array, digits: int = 4) -> Array:
    """X to a few significant digits, for a counterexample that can be read."""
    short = [float(f"{x:.{digits - 1}e}") for x in X.ravel().tolist()]
    return np.array(short, dtype=X.dtype).reshape(X.shape)
