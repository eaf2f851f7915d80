"""The data matrix behind a problem, wherever it lies."""

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from bregopt import Array
from bregopt_lowrank.passes.request import PassRequest, PassResult


class Matrix(ABC):
    """M, m×n."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    """of the products; sums are float64"""
    frobenius: float
    nonzeros: int
    lowest: float
    """the smallest entry, or 0 if there is no smaller one"""
    row_wise_updates: ClassVar[bool] = True
    """whether a pass can take an ``update``; else a sweep is made of two"""

    @property
    @abstractmethod
    def spectral(self) -> float:
        """An upper bound of ‖M‖₂."""

    @abstractmethod
    def leading(self, rank: int) -> tuple[Array, Array, Array]:
        """The ``rank`` leading singular triplets (U, s, Vᵀ), largest first."""

    @abstractmethod
    def tiles(self) -> list[slice]:
        """Row ranges that cover M."""

    @abstractmethod
    def read(self, rows: slice) -> Array:
        """Some rows as a dense array."""

    @abstractmethod
    def run_pass(self, request: PassRequest) -> PassResult:
        """One pass."""

    @property
    def rounding(self) -> float:
        """The part of its scale below which a difference of two values says nothing."""
        return 1e-12 if self.dtype == np.float64 else 1e-6

    def scale(self, value: float, U: Array, V: Array) -> float:
        """Of ``value = ½‖S‖²``: an entry of UV is known to a few units in the last place of |u_i||v_j|."""
        unit = 4.0 * float(np.finfo(self.dtype).eps) * float(np.linalg.norm(U)) * float(np.linalg.norm(V))
        return value + unit * (math.sqrt(2.0 * value) + unit) / self.rounding
