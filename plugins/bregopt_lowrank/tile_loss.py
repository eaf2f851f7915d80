"""What a loss computes on a tile: the passes and Newton's method on rows know of a loss only what stands here."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bregopt import Array


class TileSums(NamedTuple):
    """What a tile adds to the sums of a pass, in float64."""

    residual: float
    """‖S‖²"""
    error: float
    """‖M − M̂‖², where M̂ is what X predicts for M"""
    of_W: float
    """what ``LowRankBlock.frobenius`` needs in order to tell ‖W‖_F"""


class TileLoops(NamedTuple):
    """The arithmetic of a loss as plain loops over numbers, which numba can compile."""

    dense: Callable[[Any, Any, int, int, Any], int]
    """``(X, M, i0, j0, sums)``: S in place of X, a tile whose corner lies at (i0, j0) of M; the non-zeros of S.

    The three sums of the tile are added to the first three of ``sums``.
    """
    sparse: Callable[[Any, int, Any, Any, int, Any, Any, Any, Any], int]
    """``(X, j0, positions, starts, top, columns, values, spare, sums)``: the same for a CSR M, from row ``top`` on.

    ``positions`` says for each row where its entries from column j0 on begin, and moves on to the next tile. ``spare``
    has room for a number for each column.
    """
    measure: Callable[[Any, Any, Any, Any], None]
    """``(X, M, value, error)``: what ``TileLoss.measure`` returns."""
    active: Callable[[Any, Any, Any, Any], int]
    """``(x, m, places, slopes)``: how many entries of a row are active, which, and S there."""


class TileLoss(ABC):
    """W(X), entry by entry, for a tile of X = UV and that tile of M; the residual is S = X − W.

    An entry is active where the loss min_W ½(w − x)² has curvature 1; elsewhere S is zero.
    """

    @abstractmethod
    def fill_W(self, X: Array, M: Array) -> None:
        """W in place of X."""

    @abstractmethod
    def residual(self, X: Array, M: Array) -> TileSums:
        """S in place of X, and its sums."""

    @abstractmethod
    def sparse_residual(self, X: Array, places: tuple[Any, Any], values: Array) -> TileSums:
        """The same where M is zero but for ``values`` at ``places``."""

    @abstractmethod
    def measure(self, X: Array, M: Array) -> tuple[Array, Array]:
        """``½‖s‖²`` and the error ``‖m − m̂‖²`` of each row."""

    @abstractmethod
    def active_residual(self, X: Array, M: Array) -> tuple[Array, NDArray[np.bool_]]:
        """S, and which entries are active."""

    @property
    @abstractmethod
    def loops(self) -> TileLoops:
        """The same to be compiled."""
