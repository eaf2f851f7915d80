"""What is random in a check."""

import zlib
from typing import final

import numpy as np
from attrs import frozen

from bregopt.blocks import Array
from bregopt.testing.code import digits


@final
@frozen(eq=False)
class Draw:
    """Random numbers that depend on the seed and on the name of the check only."""

    seed: int
    rng: np.random.Generator

    @classmethod
    def of(cls, seed: int, name: str) -> "Draw":
        return cls(seed, np.random.default_rng([seed, zlib.crc32(name.encode())]))

    def gauss(self, shape: tuple[int, ...], scale: float = 1.0) -> Array:
        """Gaussian numbers of four digits."""
        return digits(scale * self.rng.standard_normal(shape))
