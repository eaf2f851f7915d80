"""The data matrix behind a problem, wherever it lies: what one pass over it is asked for, and what it returns."""

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar, final

import numpy as np
from attrs import astuple, frozen

from bregopt import Array, Update
from bregopt_lowrank.tile_loss import TileLoss


@final
@frozen(eq=False)
class PassRequest:
    """A pass at X = UV with W = W(X) and the residual S = X − W; for a V̄ also S V̄ᵀ, for a Ū also SᵀŪ.

    With both, and not those of X, the gradient lags: then (ŪV̄ − W)V̄ᵀ takes the place of S V̄ᵀ.
    """

    loss: TileLoss
    U: Array
    V: Array
    U_bar: Array | None = None
    V_bar: Array | None = None
    left: Array | None = None
    """where S V̄ᵀ is to be written, m×r; needed with V̄"""
    distance: bool = False
    """whether ‖ŪV̄ − W‖² is wanted; with Ū and V̄"""
    update: Update | None = None
    """takes rows of S V̄ᵀ as they come, and returns those that go on in place of Ū's

    Only with V̄, without Ū, and where the matrix has ``row_wise_updates``.
    """

    @property
    def lags(self) -> bool:
        return self.U_bar is not None and self.V_bar is not None and self.U_bar is not self.U


@final
@frozen(eq=False)
class PassResult:
    """The sums of a pass, and SᵀŪ."""

    residual: float
    """‖S‖²"""
    error: float
    """‖M − M̂‖², where M̂ is what X predicts for M"""
    of_W: float
    """what ``LowRankBlock.frobenius`` needs in order to tell ‖W‖_F"""
    distance: float
    """‖ŪV̄ − W‖², where it was asked for"""
    right: Array | None
    """SᵀŪ, n×r"""
    gram: Array
    """UᵀU"""
    gram_bar: Array | None = None
    """ŪᵀŪ, where the gradient lags"""
    cross: Array | None = None
    """Ūᵀ(Ū − U), where the gradient lags"""

    def plus(self, other: "PassResult") -> "PassResult":
        """The pass over the rows of both."""
        mine, theirs = astuple(self, recurse=False), astuple(other, recurse=False)
        sums: list[Any] = [None if x is None else x + y for x, y in zip(mine, theirs, strict=True)]
        return PassResult(*sums)


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
        unit = self._unit(U, V)
        return value + unit * (math.sqrt(2.0 * value) + unit) / self.rounding

    def gradient_rounding(self, value: float, U: Array, V: Array) -> float:
        """Of (SVᵀ, UᵀS), ``value = ½‖S‖²``: S is known to the rounding of UV, and a product to its last places."""
        products = 4.0 * float(np.finfo(self.dtype).eps) * math.sqrt(2.0 * value)
        return (self._unit(U, V) + products) * math.hypot(float(np.linalg.norm(U)), float(np.linalg.norm(V)))

    def _unit(self, U: Array, V: Array) -> float:
        """The rounding of UV."""
        return 4.0 * float(np.finfo(self.dtype).eps) * float(np.linalg.norm(U)) * float(np.linalg.norm(V))
