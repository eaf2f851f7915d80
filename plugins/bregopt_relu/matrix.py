"""The data matrix behind a problem, wherever it lies: what one pass over it is asked, and what it answers."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, final

import numpy as np
from attrs import astuple, frozen

from bregopt import Array

Update = Callable[[slice, Array], Array]
"""``(rows, S V̄ᵀ on these rows) -> rows``, to go on with in place of those of Ū."""


@final
@frozen(eq=False)
class Ask:
    """A pass at X = UV with W = W(X) and the residual S = X − W; for a V̄ also S V̄ᵀ, for a Ū also SᵀŪ.

    With both, and not those of X, the gradient lags: then (ŪV̄ − W)V̄ᵀ takes the place of S V̄ᵀ.
    """

    U: Array
    V: Array
    U_bar: Array | None = None
    V_bar: Array | None = None
    left: Array | None = None
    """where S V̄ᵀ is to be written, m×r; needed with V̄"""
    distance: bool = False
    """whether ‖ŪV̄ − W‖² is wanted; with Ū and V̄"""
    update: Update | None = None
    """what takes the rows of S V̄ᵀ as they come; with V̄, without Ū, and where the matrix has ``row_wise_updates``"""

    @property
    def lags(self) -> bool:
        return self.U_bar is not None and self.V_bar is not None and self.U_bar is not self.U


@final
@frozen(eq=False)
class Answer:
    """The sums of a pass, and SᵀŪ."""

    residual: float
    """‖S‖²"""
    error: float
    """‖M − max(0, X)‖²"""
    below: float
    """‖min(0, X)‖² off the support of M"""
    distance: float
    right: Array | None
    """SᵀŪ, n×r"""
    gram: Array
    """UᵀU"""
    gram_bar: Array | None = None
    """ŪᵀŪ, where the gradient lags"""
    cross: Array | None = None
    """Ūᵀ(Ū − U), where the gradient lags"""

    def plus(self, other: "Answer") -> "Answer":
        """The pass over the rows of both."""
        mine, theirs = astuple(self, recurse=False), astuple(other, recurse=False)
        sums: list[Any] = [None if x is None else x + y for x, y in zip(mine, theirs, strict=True)]
        return Answer(*sums)


class Matrix(ABC):
    """M ≥ 0, m×n."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    """of the products; sums are float64"""
    frobenius: float
    nonzeros: int
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
    def put(self, rows: slice, X: Array) -> None:
        """Write M over X, a tile of these rows, where M > 0."""

    @abstractmethod
    def ask(self, ask: Ask) -> Answer:
        """One pass."""

    @property
    def rounding(self) -> float:
        """The part of its scale below which a difference of two values says nothing."""
        return 1e-12 if self.dtype == np.float64 else 1e-6

    def scale(self, value: float, U: Array, V: Array) -> float:
        """Of ``value = ½‖S‖²``: an entry of UV is known to a few units in the last place of |u_i||v_j|."""
        unit = 4.0 * float(np.finfo(self.dtype).eps) * float(np.linalg.norm(U)) * float(np.linalg.norm(V))
        return value + unit * (math.sqrt(2.0 * value) + unit) / self.rounding
