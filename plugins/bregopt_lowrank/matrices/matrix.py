"""The data matrix behind a problem, wherever it lies: what one pass over it is asked for, and what it returns."""

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


@frozen(eq=False, slots=False)
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
