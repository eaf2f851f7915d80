"""The W block of ReLU-NMD, and its loss ½Σ_{M>0}(X − M)² + ½Σ_{M=0}max(0, X)² on a tile: by NumPy, and as loops."""

import math
from typing import Any, final

import numpy as np
from attrs import frozen
from bregopt_lowrank import LazyW, LowRankBlock, Matrix, TileLoops, TileLoss, TileSums, sum_of_squares
from numpy.typing import NDArray

from bregopt import Array


@final
@frozen
class ReluLoss(TileLoss):
    """``S = X − M where M > 0, max(0, X) elsewhere``; M̂ = max(0, X); W is summed up off the support of M."""

    def fill_W(self, X: Array, M: Array) -> None:
        np.minimum(X, 0.0, out=X)
        np.copyto(X, M, where=M > 0)

    def residual(self, X: Array, M: Array) -> TileSums:
        X -= M
        S = np.maximum(X, 0)
        np.copyto(S, X, where=M > 0)
        X -= S
        below = sum_of_squares(X)
        np.copyto(X, S)
        np.maximum(S, -M, out=S)
        return TileSums(sum_of_squares(X), sum_of_squares(S), below)

    def sparse_residual(self, X: Array, places: tuple[Any, Any], values: Array) -> TileSums:
        x = X[places]
        X[places] = 0
        S = np.maximum(X, 0)
        X -= S
        above, below = sum_of_squares(S), sum_of_squares(X)
        np.copyto(X, S)
        x -= values
        X[places] = x
        return TileSums(above + sum_of_squares(x), above + sum_of_squares(np.maximum(x, -values)), below)

    def measure(self, X: Array, M: Array) -> tuple[Array, Array]:
        S = np.where(M > 0, X - M, np.maximum(X, 0.0)).astype(np.float64)
        return 0.5 * np.square(S).sum(axis=1), np.square(np.maximum(S, -M)).sum(axis=1)

    def active_residual(self, X: Array, M: Array) -> tuple[Array, NDArray[np.bool_]]:
        active = (M > 0) | (X > 0)
        return np.where(active, X - M, 0.0), active

    @property
    def loops(self) -> TileLoops:
        return TileLoops(_residual, _sparse_residual, _measure, _active)


@final
@frozen(eq=False)
class ReluBlock(LowRankBlock):
    """``G(W) = 0 if max(0, W) = M, else ∞``; ``W(Y) = M where M > 0, min(0, UV) elsewhere``."""

    M: Matrix
    rank: int
    reduced_norm: float
    """an upper bound of ‖M‖₂"""

    @property
    def loss(self) -> ReluLoss:
        return ReluLoss()

    def value(self, W: LazyW) -> float:
        return 0.0

    def density(self) -> float:
        """The share of the entries of M that are not zero: there W is M."""
        return self.M.nonzeros / (self.M.shape[0] * self.M.shape[1])

    def frobenius(self, of_W: float) -> float:
        """The loss sums up W off the support of M; on it W is M."""
        return math.hypot(self.M.frobenius, math.sqrt(of_W))


def _residual(X: Any, M: Any, i0: int, j0: int, sums: Any) -> int:
    """X − W in place of X, for a tile whose corner lies at (i0, j0) of M; its non-zeros."""
    residual = error = below = 0.0
    count, width = 0, X.shape[1]
    for i in range(X.shape[0]):
        line, given = X[i], M[i0 + i, j0 : j0 + width]
        for j in range(width):
            x, m = line[j], given[j]
            above = max(x, 0.0)
            s = x - m if m > 0.0 else above
            clipped = max(s, -m)
            w = 0.0 if m > 0.0 else x - above
            line[j] = s
            residual += s * s
            error += clipped * clipped
            below += w * w
            count += 1 if s != 0.0 else 0
    sums[0] += residual
    sums[1] += error
    sums[2] += below
    return count


def _sparse_residual(
    X: Any, j0: int, positions: Any, starts: Any, top: int, columns: Any, values: Any, spare: Any, sums: Any
) -> int:
    """The same for CSR; ``positions`` move on to the next tile."""
    residual = error = below = 0.0
    count, width = 0, X.shape[1]
    for i in range(X.shape[0]):
        line, begin, end, stop = X[i], positions[i], positions[i], starts[top + i + 1]
        while end < stop and columns[end] < j0 + width:  # the support is put aside: it leaves zeros, no branch
            m = values[end]
            s = line[columns[end] - j0] - m
            clipped = max(s, -m)
            residual += s * s
            error += clipped * clipped
            spare[end - begin] = s
            line[columns[end] - j0] = 0.0
            end += 1
        off = low = 0.0
        positive = 0
        for j in range(width):
            x = line[j]
            above = max(x, 0.0)
            off += above * above
            low += (x - above) * (x - above)
            positive += 1 if x > 0.0 else 0
            line[j] = above
        for k in range(begin, end):
            line[columns[k] - j0] = spare[k - begin]
        positions[i] = end
        count += positive + end - begin
        residual += off
        error += off
        below += low
    sums[0] += residual
    sums[1] += error
    sums[2] += below
    return count


def _measure(X: Any, M: Any, value: Any, error: Any) -> None:
    """``f_i`` and ``‖m_i − max(0, x_i)‖²`` of each row."""
    for i in range(X.shape[0]):
        residual = clipped = 0.0
        for j in range(X.shape[1]):
            m = float(M[i, j])
            s = float(X[i, j]) - m
            s = s if m > 0.0 else max(s, 0.0)
            c = max(s, -m)
            residual += s * s
            clipped += c * c
        value[i], error[i] = 0.5 * residual, clipped


def _active(x: Any, m: Any, places: Any, slopes: Any) -> int:
    """Where m > 0 or x > 0, and x − m there."""
    count = 0
    for j in range(x.size):  # without a branch: an entry that is not active is written over by the next
        places[count] = j
        slopes[count] = float(x[j]) - float(m[j])
        count += 1 if (m[j] > 0.0) | (x[j] > 0.0) else 0
    return count
