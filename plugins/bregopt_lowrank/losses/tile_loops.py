"""The loops over a tile that numba compiles from the ``entry`` of a loss, for every form in which M may be held.

Where the columns of M have several losses, a tile is visited run by run.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, cast

import numpy as np

from bregopt.compiled import jit

Loop = Callable[..., Any]


class TileLoops(NamedTuple):
    """The arithmetic of a loss as loops over numbers, for some columns of a tile.

    ``p`` is a row of ``ColumnLosses.numbers``. The sums of ``TileSums`` are added to ``sums``, the value at place 4.
    What is not there (``upper``, ``weights``) is an array that is not read.
    """

    dense: Loop
    """``(X, M, upper, weights, i0, j0, a, b, p, sums)``: S in place of columns a to b − 1 of X; the non-zeros of S.

    X is a tile whose corner lies at (i0, j0) of M.
    """
    sparse: Loop
    """``(X, j0, a, b, positions, starts, top, columns, values, upper, weights, spare, p, sums)``: the same for CSR.

    ``positions`` says for each row where its entries from column j0 + a on begin, and moves on to column j0 + b.
    ``spare`` has room for a number for each column.
    """
    line: Loop
    """``(x, values, upper, weights, begin, end, p, sums)``: S in place of x, the entries begin to end − 1 of a CSR M.

    Where the last of p is 1, everything is the excess over the loss ½x²; that of W is always the excess over what W
    is where nothing is stored: x − x/c there, and x where the last of p is 0.
    """
    measure: Loop
    """``(X, M, upper, weights, a, b, p, value, error)``: those of each row added up, over columns a to b − 1."""
    curve: Loop
    """``(X, M, upper, weights, a, b, p, places, slopes, curvatures, counts, value, error)``: ``measure``, and more.

    Where the loss has a slope or a curvature, place, slope and curvature are written to the same row of the three
    arrays, from its count on; the count goes up.
    """


@cache
def loops(entry: Loop, error: Loop, parameters: int, bounds: bool, weighted: bool, missing: bool) -> TileLoops:
    """The loops of a loss, where there are weights or not, and where an entry may be missing or not."""
    e, miss = (_with_all(jit(part, kept=False), parameters, bounds) for part in (entry, error))

    def dense(X: Any, M: Any, upper: Any, weights: Any, i0: int, j0: int, a: int, b: int, p: Any, sums: Any) -> int:
        p0, p1, p2, p3, inverse = p[0], p[1], p[2], p[3], p[4]
        residual = wrong = of_W = value = 0.0
        count = 0
        for i in range(X.shape[0]):
            line, given = X[i, a:b], M[i0 + i, j0 + a : j0 + b]
            high = upper[i0 + i, j0 + a : j0 + b] if bounds else given
            weight = weights[i0 + i, j0 + a : j0 + b] if weighted else given
            for j in range(b - a):
                x, m = float(line[j]), float(given[j])
                known = m == m
                if missing:
                    m = m if known else 0.0
                f, s, _ = e(x, m, float(high[j]), p0, p1, p2, p3)
                d = miss(x, m, float(high[j]), p0, p1, p2, p3)
                if weighted:
                    s, f = s * float(weight[j]), f * float(weight[j])
                if missing:
                    s, f, d = s if known else 0.0, f if known else 0.0, d if known else 0.0
                w = x - s * inverse
                line[j] = s
                residual += s * s
                wrong += d
                of_W += w * w
                value += f
                count += 1 if s != 0.0 else 0
        sums[0] += residual
        sums[1] += wrong
        sums[2] += of_W
        sums[4] += value
        return count

    def sparse(
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
        p0, p1, p2, p3, inverse = p[0], p[1], p[2], p[3], p[4]
        residual = wrong = of_W = value = 0.0
        count = 0
        for i in range(X.shape[0]):
            line, begin, end, stop = X[i], positions[i], positions[i], starts[top + i + 1]
            while end < stop and columns[end] < j0 + b:  # the support is put aside, and nan left in its place
                x, m = float(line[columns[end] - j0]), float(values[end])
                high = float(upper[end]) if bounds else 0.0
                known = m == m
                m = m if known else 0.0
                f, s, _ = e(x, m, high, p0, p1, p2, p3)
                d = miss(x, m, high, p0, p1, p2, p3)
                if weighted:
                    s, f = s * float(weights[end]), f * float(weights[end])
                s, f, d = s if known else 0.0, f if known else 0.0, d if known else 0.0
                w = x - s * inverse
                residual += s * s
                wrong += d
                of_W += w * w
                value += f
                count += 1 if s != 0.0 else 0
                spare[end - begin] = s
                line[columns[end] - j0] = NAN
                end += 1
            for j in range(a, b):
                x = float(line[j])
                off = x == x
                x = x if off else 0.0
                f, s, _ = e(x, 0.0, 0.0, p0, p1, p2, p3)
                d = miss(x, 0.0, 0.0, p0, p1, p2, p3)
                s, f, d = s if off else 0.0, f if off else 0.0, d if off else 0.0
                w = x - s * inverse
                residual += s * s
                wrong += d
                of_W += w * w
                value += f
                count += 1 if s != 0.0 else 0
                line[j] = s
            for k in range(begin, end):
                line[columns[k] - j0] = spare[k - begin]
            positions[i] = end
        sums[0] += residual
        sums[1] += wrong
        sums[2] += of_W
        sums[4] += value
        return count

    def line(x: Any, values: Any, upper: Any, weights: Any, begin: int, end: int, p: Any, sums: Any) -> int:
        p0, p1, p2, p3, inverse, square = p[0], p[1], p[2], p[3], p[4], p[5]
        residual = wrong = of_W = value = 0.0
        count = 0
        for k in range(end - begin):
            y, m = float(x[k]), float(values[begin + k])
            high = float(upper[begin + k]) if bounds else 0.0
            known = m == m
            m = m if known else 0.0
            f, s, _ = e(y, m, high, p0, p1, p2, p3)
            d = miss(y, m, high, p0, p1, p2, p3)
            if weighted:
                s, f = s * float(weights[begin + k]), f * float(weights[begin + k])
            s, f, d = s if known else 0.0, f if known else 0.0, d if known else 0.0
            w, rest = y - s * inverse, y - square * y * inverse
            off = square * y
            residual += s * s - off * off
            wrong += d - off * off
            of_W += w * w - rest * rest
            value += f - 0.5 * off * y
            x[k] = s - off
            count += 1
        sums[0] += residual
        sums[1] += wrong
        sums[2] += of_W
        sums[4] += value
        return count

    def measure(X: Any, M: Any, upper: Any, weights: Any, a: int, b: int, p: Any, value: Any, error: Any) -> None:
        p0, p1, p2, p3 = p[0], p[1], p[2], p[3]
        for i in range(X.shape[0]):
            total = wrong = 0.0
            for j in range(a, b):
                m = float(M[i, j])
                known = m == m
                m = m if known else 0.0
                high = float(upper[i, j]) if bounds else 0.0
                f, _, _ = e(float(X[i, j]), m, high, p0, p1, p2, p3)
                d = miss(float(X[i, j]), m, high, p0, p1, p2, p3)
                if weighted:
                    f *= float(weights[i, j])
                total += f if known else 0.0
                wrong += d if known else 0.0
            value[i] += total
            error[i] += wrong

    def curve(
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
        p0, p1, p2, p3 = p[0], p[1], p[2], p[3]
        for i in range(X.shape[0]):
            line, given, count, total, wrong = X[i, a:b], M[i, a:b], counts[i], 0.0, 0.0
            high, weight = (upper[i, a:b] if bounds else given), (weights[i, a:b] if weighted else given)
            there, all_slopes, all_bent = places[i, count:], slopes[i, count:], curvatures[i, count:]
            for j in range(line.size):  # all of them first, which vectorises
                m = float(given[j])
                known = m == m
                if missing:
                    m = m if known else 0.0
                f, s, c = e(float(line[j]), m, float(high[j]), p0, p1, p2, p3)
                d = miss(float(line[j]), m, float(high[j]), p0, p1, p2, p3)
                if weighted:
                    f, s, c = f * float(weight[j]), s * float(weight[j]), c * float(weight[j])
                if missing:
                    f, s, c, d = f if known else 0.0, s if known else 0.0, c if known else 0.0, d if known else 0.0
                all_slopes[j], all_bent[j] = s, c
                total += f
                wrong += d
            found = 0
            for j in range(line.size):
                there[found] = j  # without a branch: an entry that is flat is written over by the next
                found += 1 if (all_slopes[j] != 0.0) | (all_bent[j] != 0.0) else 0
            for k in range(found):
                j = there[k]
                there[k], all_slopes[k], all_bent[k] = a + j, all_slopes[j], all_bent[j]
            counts[i] += found
            value[i] += total
            error[i] += wrong

    return TileLoops(dense, sparse, line, measure, curve)


NAN = float("nan")
ZERO = cast(int, np.int64(0))
"""numba compiles a loop that is given a plain 0 twice: for that very number, and for any."""


def _with_all(function: Loop, parameters: int, bounds: bool) -> Loop:
    """The function with all the arguments that any loss may take, of which it gets its own."""
    if bounds:
        forms: tuple[Loop, ...] = (
            lambda x, m, u, a, b, c, d: function(x, m, u),
            lambda x, m, u, a, b, c, d: function(x, m, u, a),
            lambda x, m, u, a, b, c, d: function(x, m, u, a, b),
            lambda x, m, u, a, b, c, d: function(x, m, u, a, b, c),
            lambda x, m, u, a, b, c, d: function(x, m, u, a, b, c, d),
        )
    else:
        forms = (
            lambda x, m, u, a, b, c, d: function(x, m),
            lambda x, m, u, a, b, c, d: function(x, m, a),
            lambda x, m, u, a, b, c, d: function(x, m, a, b),
            lambda x, m, u, a, b, c, d: function(x, m, a, b, c),
            lambda x, m, u, a, b, c, d: function(x, m, a, b, c, d),
        )
    return jit(forms[parameters], kept=False)


class RunLoops(NamedTuple):
    """``TileLoops`` for all columns of a tile, each with its own loss.

    In place of (a, b, p) they take ``runs``, ``ColumnLosses.table``, and ``numbers``, ``ColumnLosses.numbers``.
    """

    dense: Loop
    """``(X, M, upper, weights, i0, j0, runs, numbers, sums)``"""
    sparse: Loop
    """``(X, j0, positions, starts, top, columns, values, upper, weights, spare, runs, numbers, sums)``"""
    line: Loop
    """``(x, columns, values, upper, weights, begin, end, runs, numbers, sums)``"""
    measure: Loop
    """``(X, M, upper, weights, runs, numbers, value, error)``"""
    curve: Loop
    """``(X, M, upper, weights, runs, numbers, places, slopes, curvatures, counts, value, error)``"""


@cache
def by_runs(losses: tuple[TileLoops, ...]) -> RunLoops:
    """The loops for columns with these losses."""
    on_dense, on_sparse, on_line, on_measure, on_curve = (
        _choice([jit(getattr(loops, name), kept=False) for loops in losses]) for name in TileLoops._fields
    )

    def dense(X: Any, M: Any, upper: Any, weights: Any, i0: int, j0: int, runs: Any, numbers: Any, sums: Any) -> int:
        count, at = ZERO, ZERO
        for k in range(runs.shape[0]):
            until, which = min(runs[k, 0] - j0, X.shape[1]), runs[k, 1]
            if until > at:
                count += on_dense(which, X, M, upper, weights, i0, j0, at, until, numbers[which], sums)
                at = until
        return count

    def sparse(
        X: Any,
        j0: int,
        positions: Any,
        starts: Any,
        top: int,
        columns: Any,
        values: Any,
        upper: Any,
        weights: Any,
        spare: Any,
        runs: Any,
        numbers: Any,
        sums: Any,
    ) -> int:
        count, at = ZERO, ZERO
        for k in range(runs.shape[0]):
            until, which = min(runs[k, 0] - j0, X.shape[1]), runs[k, 1]
            if until > at:
                count += on_sparse(
                    which,
                    X,
                    j0,
                    at,
                    until,
                    positions,
                    starts,
                    top,
                    columns,
                    values,
                    upper,
                    weights,
                    spare,
                    numbers[which],
                    sums,
                )
                at = until
        return count

    def line(
        x: Any,
        columns: Any,
        values: Any,
        upper: Any,
        weights: Any,
        begin: int,
        end: int,
        runs: Any,
        numbers: Any,
        sums: Any,
    ) -> int:
        at, count = begin, 0
        for k in range(runs.shape[0]):
            until, which = end, runs[k, 1]
            if k + 1 < runs.shape[0]:
                until = at
                while until < end and columns[until] < runs[k, 0]:
                    until += 1
            if until > at:
                part = x[at - begin : until - begin]
                count += on_line(which, part, values, upper, weights, at, until, numbers[which], sums)
                at = until
        return count

    def measure(X: Any, M: Any, upper: Any, weights: Any, runs: Any, numbers: Any, value: Any, error: Any) -> int:
        at = ZERO
        for k in range(runs.shape[0]):
            until, which = runs[k, 0], runs[k, 1]
            on_measure(which, X, M, upper, weights, at, until, numbers[which], value, error)
            at = until
        return at

    def curve(
        X: Any,
        M: Any,
        upper: Any,
        weights: Any,
        runs: Any,
        numbers: Any,
        places: Any,
        slopes: Any,
        curvatures: Any,
        counts: Any,
        value: Any,
        error: Any,
    ) -> int:
        at = ZERO
        for k in range(runs.shape[0]):
            until, which = runs[k, 0], runs[k, 1]
            p = numbers[which]
            on_curve(which, X, M, upper, weights, at, until, p, places, slopes, curvatures, counts, value, error)
            at = until
        return at

    return RunLoops(dense, sparse, line, measure, curve)


def _choice(parts: list[Loop]) -> Loop:
    """``(which, …)``: the part of that number, called with the rest."""
    head, *others = parts
    if not others:
        return jit(lambda which, *rest: head(*rest), kept=False)
    tail = _choice(others)

    def chosen(which: int, *rest: Any) -> Any:
        if which == 0:
            return head(*rest)
        return tail(which - 1, *rest)

    return jit(chosen, kept=False)
