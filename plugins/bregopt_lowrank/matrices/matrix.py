"""The data matrix behind a problem, wherever it lies: what one pass over it is asked for, and what it returns."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, final

import numpy as np
from attrs import astuple, evolve, frozen

from bregopt import Array
from bregopt_lowrank.losses.loss import ColumnLosses, EntrywiseLoss, Tile

RowUpdate = Callable[[slice, Array], Array]
"""``(rows, S V̄ᵀ on these rows) -> rows that go on in place of Ū's``."""


@final
@frozen(eq=False)
class PassRequest:
    """A pass at X = UV with the slopes S = E'(X); for a V̄ also S V̄ᵀ, for a Ū also SᵀŪ.

    W is X − S/c. With Ū and V̄, and not those of X, the gradient lags: then c(ŪV̄ − W)V̄ᵀ takes the place of S V̄ᵀ.
    """

    loss: ColumnLosses
    curvature: float
    """c, an upper bound of e''"""
    U: Array
    V: Array
    U_bar: Array | None = None
    V_bar: Array | None = None
    left: Array | None = None
    """where S V̄ᵀ is to be written, m×r; needed with V̄"""
    distance: bool = False
    """whether ‖c(ŪV̄ − W)‖² is wanted; with Ū and V̄"""
    update: RowUpdate | None = None
    """takes rows of S V̄ᵀ as they come, and returns those that go on in place of Ū's

    Only with V̄, without Ū, and where the matrix has ``row_wise_updates``.
    """

    @property
    def lags(self) -> bool:
        """Whether the gradient is wanted at another point than W."""
        given = self.U_bar is not None and self.V_bar is not None and self.left is not None
        return given and not (self.U_bar is self.U and self.V_bar is self.V)


@final
@frozen(eq=False)
class PassResult:
    """The sums of a pass, and SᵀŪ."""

    residual: float
    """‖S‖²"""
    error: float
    """Σ of ``EntrywiseLoss.error``"""
    of_W: float
    """what ``EntrywiseLoss.norm_of_W`` needs in order to tell ‖W‖_F"""
    distance: float
    """‖c(ŪV̄ − W)‖², where it was asked for"""
    value: float
    """Σ e"""
    right: Array | None
    """SᵀŪ, n×r"""
    gram_bar: Array | None = None
    """ŪᵀŪ, where the gradient lags and ``right`` is still that of S"""
    cross: Array | None = None
    """Ūᵀ(Ū − U), likewise"""
    cancelled: float = 0.0
    """a number that was added to the value and taken off again: so much of rounding is in it"""

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
    """‖M‖_F over the known entries"""
    nonzeros: int
    """the known entries that are not zero"""
    lowest: float
    """the smallest entry, or 0 if there is no smaller one"""
    missing: int
    """how many entries are not known"""
    most: float
    """the largest weight of an entry; 1 where there are no weights"""
    row_wise_updates: ClassVar[bool] = True
    """whether a pass can take an ``update``; else a sweep is made of two"""

    @property
    def known(self) -> int:
        """The entries that are not missing."""
        return self.shape[0] * self.shape[1] - self.missing

    @property
    @abstractmethod
    def plain(self) -> bool:
        """Whether every entry is known, and has no weight and no second number."""

    @property
    @abstractmethod
    def spectral(self) -> float:
        """An upper bound of ‖M‖₂, missing entries taken for 0."""

    @abstractmethod
    def leading(self, rank: int) -> tuple[Array, Array, Array]:
        """The ``rank`` leading singular triplets (U, s, Vᵀ), largest first, missing entries taken for 0."""

    @abstractmethod
    def tiles(self) -> list[slice]:
        """Row ranges that cover M."""

    @abstractmethod
    def read(self, rows: slice) -> Tile:
        """Some rows as dense arrays."""

    @abstractmethod
    def share(self, loss: ColumnLosses, rank: int) -> float:
        """What a product costs in a pass, as a part of 2·m·n·r flops."""

    @abstractmethod
    def unfit(self, loss: ColumnLosses) -> tuple[EntrywiseLoss, float] | None:
        """A loss and a number of M that it has no use for, if there is one."""

    @abstractmethod
    def run_pass(self, request: PassRequest) -> PassResult:
        """One pass."""


def added(result: PassResult, **sums: float) -> PassResult:
    """The result with these numbers added to its sums."""
    return evolve(result, **{name: getattr(result, name) + extra for name, extra in sums.items()})
