"""The loops of a walk; imported only where they run, as numba is.

All of them are in one file: what numba keeps on disk of a loop is renewed when the loop's own file changes.
"""

from typing import Any

import numpy as np
import scipy.linalg.cython_blas  # noqa: F401  (np.dot calls it: it is to be there when threads are limited)

from bregopt_relu.njit import compiled


@compiled
def dense(M: Any, shift: int, a: int, b: int, cut: Any, factors: Any, sums: Any, room: Any) -> None:
    """The walk over rows a to b − 1 of a dense M, whose first row is ``shift``."""
    n = M.shape[1]
    for top in range(a, b, cut.height):
        end = min(top + cut.height, b)
        for k in range(room.counts.size):
            first, last = k * cut.width, min(k * cut.width + cut.width, n)
            S = _product(factors, top, end, first, last, cut.kept, room)
            _gap(factors, top, end, first, last, S, room)
            room.counts[k] = _residual(S, M, top - shift, first, sums.figures)
            _distance(S, room, sums.figures)
            _products(S, room.counts[k], cut.limit, factors, top, end, first, last, sums, room)


@compiled
def sparse(
    starts: Any, columns: Any, values: Any, a: int, b: int, cut: Any, factors: Any, sums: Any, room: Any
) -> None:
    """The walk over rows a to b − 1 of a CSR M."""
    n = factors.VT.shape[0]
    for top in range(a, b, cut.height):
        end = min(top + cut.height, b)
        for i in range(top, end):
            room.place[i - top] = starts[i]
        for k in range(room.counts.size):
            first, last = k * cut.width, min(k * cut.width + cut.width, n)
            S = _product(factors, top, end, first, last, cut.kept, room)
            _gap(factors, top, end, first, last, S, room)
            room.counts[k] = _sparse_residual(
                S, first, room.place, starts, top, columns, values, room.wide, sums.figures
            )
            _distance(S, room, sums.figures)
            _products(S, room.counts[k], cut.limit, factors, top, end, first, last, sums, room)


@compiled
def renewed(U: Any, cut: Any, right: Any, room: Any) -> None:
    """right += SᵀU, for a row of tiles that was kept."""
    h, n = U.shape[0], right.shape[0]
    for k in range(room.counts.size):
        first, last = k * cut.width, min(k * cut.width + cut.width, n)
        S = room.S[h * first : h * last].reshape(h, last - first)
        if room.counts[k] < cut.limit * S.size:
            _few(S, U[:0], right[:0], U, right[first:last])
        else:
            _right(S, U, right[first:last], room.wide)


@compiled
def _product(factors: Any, top: int, end: int, first: int, last: int, kept: bool, room: Any) -> Any:
    """X, in its place."""
    h = end - top
    begin = h * first if kept else 0
    X = room.S[begin : begin + h * (last - first)].reshape(h, last - first)
    np.dot(factors.U[top:end], factors.VT[first:last].T, X)
    return X


@compiled
def _gap(factors: Any, top: int, end: int, first: int, last: int, X: Any, room: Any) -> None:
    """X̄ − X, where it is asked for."""
    if room.gap.size == 0:
        return
    gap = room.gap[: X.size].reshape(X.shape)
    np.dot(factors.U_bar[top:end], factors.VT_bar[first:last].T, gap)
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            gap[i, j] -= X[i, j]


@compiled
def _distance(S: Any, room: Any, figures: Any) -> None:
    """‖X̄ − W‖², as X̄ − W = (X̄ − X) + (X − W)."""
    if room.gap.size == 0:
        return
    gap = room.gap[: S.size].reshape(S.shape)
    total = 0.0
    for i in range(S.shape[0]):
        for j in range(S.shape[1]):
            x = float(gap[i, j] + S[i, j])
            total += x * x
    figures[3] += total


@compiled
def _residual(X: Any, M: Any, i0: int, j0: int, figures: Any) -> int:
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
    figures[0] += residual
    figures[1] += error
    figures[2] += below
    return count


@compiled
def _sparse_residual(
    X: Any, j0: int, place: Any, starts: Any, top: int, columns: Any, values: Any, aside: Any, figures: Any
) -> int:
    """The same for CSR; ``place`` moves on to the next tile."""
    residual = error = below = 0.0
    count, width = 0, X.shape[1]
    for i in range(X.shape[0]):
        line, begin, end, stop = X[i], place[i], place[i], starts[top + i + 1]
        while end < stop and columns[end] < j0 + width:  # the support is put aside: it leaves zeros, no branch
            m = values[end]
            s = line[columns[end] - j0] - m
            clipped = max(s, -m)
            residual += s * s
            error += clipped * clipped
            aside[end - begin] = s
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
            line[columns[k] - j0] = aside[k - begin]
        place[i] = end
        count += positive + end - begin
        residual += off
        error += off
        below += low
    figures[0] += residual
    figures[1] += error
    figures[2] += below
    return count


@compiled
def _products(
    S: Any, count: int, limit: float, factors: Any, top: int, end: int, first: int, last: int, sums: Any, room: Any
) -> None:
    """Those of a tile that are asked for: whole, or over its non-zeros where there are few."""
    VT, U = factors.VT_bar[first:last], factors.U_bar[top:end]
    left, right = sums.left[top:end], sums.right[first:last]
    if first == 0:
        left[:] = 0.0
    few = count < limit * S.size
    if few and VT.shape[0] + U.shape[0] > 0:
        _few(S, VT, left, U, right)
    if not few and VT.shape[0] > 0:
        _left(S, VT, left, room.tall)
    if not few and U.shape[0] > 0:
        _right(S, U, right, room.wide)


@compiled
def _left(S: Any, VT: Any, out: Any, room: Any) -> None:
    """out += S·VT."""
    h, r = out.shape
    product = room[: h * r].reshape(h, r)
    np.dot(S, VT, product)
    for i in range(h):
        for p in range(r):
            out[i, p] += product[i, p]


@compiled
def _right(S: Any, U: Any, out: Any, room: Any) -> None:
    """out += Sᵀ·U."""
    w, r = out.shape
    product = room[: w * r].reshape(w, r)
    np.dot(S.T, U, product)
    for j in range(w):
        for p in range(r):
            out[j, p] += product[j, p]


@compiled
def _few(S: Any, VT: Any, left: Any, U: Any, right: Any) -> None:
    """left += S·VT and right += Sᵀ·U, where they have rows, over the non-zeros of S; most blocks of it have none."""
    width, block, r = S.shape[1], 16, U.shape[1]
    on_left, on_right = VT.shape[0] > 0, U.shape[0] > 0
    for i in range(S.shape[0]):
        line = S[i]
        for first in range(0, width, block):
            last = min(first + block, width)
            if last - first == block:
                size = 0.0
                for j in range(first, first + block):
                    size += abs(line[j])
                if size == 0.0:
                    continue
            for j in range(first, last):
                s = line[j]
                if s == 0.0:
                    continue
                if on_left:
                    for p in range(r):
                        left[i, p] += s * VT[j, p]
                if on_right:
                    for p in range(r):
                        right[j, p] += s * U[i, p]
