"""The ReLU loss, ½Σ_{M>0}(X − M)² + ½Σ_{M=0}max(0, X)²: by an entry, by NumPy, and by loops of its own."""

import math
from typing import Any, final

import numpy as np
from attrs import frozen
from bregopt_lowrank import Matrix, NonnegativeLoss, Tile, TileLoops, TileSums, TorchEntries, sum_of_squares

from bregopt import Array


@final
@frozen
class Relu(NonnegativeLoss):
    """``e(x; m) = ½(x − m)² if m > 0, else ½ max(0, x)²``: M ≈ max(0, UV) for an M ≥ 0."""

    @staticmethod
    def entry(x: Any, m: Any) -> tuple[Any, Any, Any]:
        s = x - m if m > 0.0 else max(x, 0.0)
        return 0.5 * s * s, s, 1.0 if (m > 0.0) | (x > 0.0) else 0.0

    @staticmethod
    def error(x: Any, m: Any) -> Any:
        s = max(x, 0.0) - m
        return s * s

    @property
    def formula(self) -> str:
        return "max(0, {})"

    def predict(self, X: Array) -> Array:
        return np.maximum(X, 0.0)

    @property
    def slope_per_data(self) -> float:
        return -1.0

    @property
    def flat_at_zero(self) -> bool:
        return True

    def arrays(self, X: Array, M: Array, upper: Array | None = None) -> tuple[Array, Array, Array, Array]:
        active = (M > 0) | (X > 0)
        S = np.where(active, X - M, 0.0)
        return 0.5 * S * S, S, active.astype(np.float64), np.square(np.maximum(S, -M))

    def by_torch(self, torch: Any, X: Any, tile: Tile) -> TorchEntries:
        M, Z = tile.M, X - tile.M
        S = torch.where(M > 0, Z, Z.clamp(min=0.0))
        return TorchEntries(S, error=torch.maximum(S, -M).square(), of_W=Z - S if tile.plain else None)

    def W(self, X: Array, tile: Tile, curvature: float) -> Array:
        if curvature != 1 or not tile.plain:
            return super().W(X, tile, curvature)
        return np.where(tile.M > 0, tile.M, np.minimum(X, 0.0))

    def G(self, X: Array, tile: Tile, curvature: float) -> float:
        return 0.0 if curvature == 1 and tile.plain else super().G(X, tile, curvature)

    def residual(self, X: Array, tile: Tile, curvature: float) -> TileSums:
        """Where every entry is known and has the weight 1, W is summed up off the support of M."""
        if curvature != 1 or not tile.plain:
            return super().residual(X, tile, curvature)
        Z = X - tile.M
        np.maximum(Z, tile.of_M(_floor), out=X)
        Z -= X
        below = sum_of_squares(Z)
        np.maximum(X, tile.of_M(np.negative), out=Z)
        return _sums(sum_of_squares(X), sum_of_squares(Z), below)

    def sparse_residual(self, X: Array, places: tuple[Any, Any], values: Tile, curvature: float) -> TileSums:
        if curvature != 1 or not values.plain:
            return super().sparse_residual(X, places, values, curvature)
        x, given = X[places], values.M
        X[places] = 0
        S = np.maximum(X, 0)
        X -= S
        above, below = sum_of_squares(S), sum_of_squares(X)
        np.copyto(X, S)
        x -= given
        X[places] = x
        return _sums(above + sum_of_squares(x), above + sum_of_squares(np.maximum(x, -given)), below)

    def norm_of_W(self, of_W: float, M: Matrix) -> float:
        """On the support of M, W is M."""
        return math.hypot(M.frobenius, math.sqrt(of_W)) if M.plain else super().norm_of_W(of_W, M)

    def loops(self, weighted: bool, missing: bool) -> TileLoops:
        usual: TileLoops = super().loops(weighted, missing)
        if weighted or missing:
            return usual
        return usual._replace(dense=_residual, sparse=_sparse_residual, measure=_measure, curve=_curve)


def _floor(M: Array) -> Array:
    """The least that x − m may count for: S is ``max(X − M, _floor(M))``."""
    return np.where(M > 0, M.dtype.type(-np.inf), M.dtype.type(0.0))


def _sums(residual: float, error: float, below: float) -> TileSums:
    return TileSums(residual, error, below, 0.5 * residual)


def _residual(X: Any, M: Any, upper: Any, weights: Any, i0: int, j0: int, a: int, b: int, p: Any, sums: Any) -> int:
    """``TileLoops.dense``; the sums over W are those off the support of M."""
    residual = error = below = 0.0
    count, width = 0, b - a
    for i in range(X.shape[0]):
        line, given = X[i, a:b], M[i0 + i, j0 + a : j0 + b]
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
    sums[4] += 0.5 * residual
    return count


def _sparse_residual(
    X: Any,
    j0: int,
    a: int,
    b: int,
    positions: Any,
    starts: Any,
    top: int,
    columns: Any,
    values: Any,
    upper: Any,
    weights: Any,
    spare: Any,
    p: Any,
    sums: Any,
) -> int:
    """``TileLoops.sparse``."""
    residual = error = below = 0.0
    count = 0
    for i in range(X.shape[0]):
        line, begin, end, stop = X[i], positions[i], positions[i], starts[top + i + 1]
        while end < stop and columns[end] < j0 + b:  # the support is put aside: it leaves zeros, no branch
            m = values[end]
            s = line[columns[end] - j0] - m
            clipped = max(s, -m)
            residual += s * s
            error += clipped * clipped
            spare[end - begin] = s
            line[columns[end] - j0] = 0.0
            end += 1
        off = low = 0.0
        positive, rest = 0, line[a:b]
        for j in range(rest.size):
            x = rest[j]
            above = max(x, 0.0)
            off += above * above
            low += (x - above) * (x - above)
            positive += 1 if x > 0.0 else 0
            rest[j] = above
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
    sums[4] += 0.5 * residual
    return count


def _measure(X: Any, M: Any, upper: Any, weights: Any, a: int, b: int, p: Any, value: Any, error: Any) -> None:
    """``TileLoops.measure``."""
    for i in range(X.shape[0]):
        residual = clipped = 0.0
        line, given = X[i, a:b], M[i, a:b]
        for j in range(line.size):
            m = float(given[j])
            s = float(line[j]) - m
            s = s if m > 0.0 else max(s, 0.0)
            c = max(s, -m)
            residual += s * s
            clipped += c * c
        value[i] += 0.5 * residual
        error[i] += clipped


def _curve(
    X: Any,
    M: Any,
    upper: Any,
    weights: Any,
    a: int,
    b: int,
    p: Any,
    places: Any,
    slopes: Any,
    curvatures: Any,
    counts: Any,
    value: Any,
    error: Any,
) -> None:
    """``TileLoops.curve``: an entry is active where max(x, m) > 0, and elsewhere it costs nothing."""
    for i in range(X.shape[0]):
        line, given, count = X[i, a:b], M[i, a:b], counts[i]
        there, out, bent = places[i, count:], slopes[i, count:], curvatures[i, count:]
        for j in range(line.size):
            out[j] = max(line[j], given[j])
        found = 0
        for j in range(line.size):
            there[found] = j  # without a branch: an entry that is flat is written over by the next
            found += 1 if out[j] > 0.0 else 0
        residual = clipped = 0.0
        for k in range(found):
            j = there[k]
            m = float(given[j])
            s = float(line[j]) - m
            c = max(s, -m)
            there[k], out[k], bent[k] = a + j, s, 1.0
            residual += s * s
            clipped += c * c
        counts[i] += found
        value[i] += 0.5 * residual
        error[i] += clipped
