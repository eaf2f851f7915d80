"""The pass over the stored entries of a CSR M alone, at a cost of nnz·r: the others are missing, or cost ½x².

Where they cost ½x², the loss is ½‖UV‖² plus what the stored entries exceed it by. The first is known from the Gram
matrices, so that zeros cost nothing; the two cancel near a perfect fit, and the result says how much.
"""

from typing import TYPE_CHECKING, Any, final

import numpy as np
from attrs import evolve, field, frozen

from bregopt import Array
from bregopt.compiled import wanted
from bregopt_lowrank.losses.loss import Tile
from bregopt_lowrank.matrices.matrix import PassRequest, PassResult, added
from bregopt_lowrank.passes.threads import read_only
from bregopt_lowrank.passes.tiling import Factors

if TYPE_CHECKING:
    from bregopt_lowrank.matrices.local import LocalMatrix

FEW = 20_000
"""Stored entries from which on compiled loops pay for their import."""
HELD = 2**20
"""Stored entries of the rows that are updated, or gathered by NumPy, at a time."""


@final
@frozen(eq=False)
class SampledJob:
    """A pass over stored entries; ``square`` is 1 where the others cost ½x², and 0 where they are missing."""

    M: "LocalMatrix"
    request: PassRequest
    factors: Factors
    square: float
    line: Any
    """compiled, or ``None`` for NumPy"""
    numbers: Array = field(repr=False)

    def over(self, span: slice) -> tuple[Array, Array]:
        """The sums and SᵀŪ over some rows."""
        M, request, rank = self.M, self.request, self.request.V.shape[0]
        right = np.zeros((0 if request.U_bar is None and request.update is None else M.shape[1], rank))
        left = np.empty((0, rank)) if request.left is None else request.left
        sums = np.zeros(5)
        for rows in self._parts(span):
            S = np.empty(int(M.starts[rows.stop] - M.starts[rows.start]) if request.update is not None else 0)
            self._visit(rows, left, right, sums, S)
            if request.update is not None:
                if self.square:
                    left[rows] += request.U[rows] @ self._on_left
                U = np.ascontiguousarray(request.update(rows, left[rows]), dtype=M.dtype)
                self._add_right(rows, U, S, right)
                if self.square:
                    right += request.V.T @ (request.U[rows].T @ U)
        if self.square and request.update is None:
            if request.left is not None:
                left[span] += request.U[span] @ self._on_left
            if request.U_bar is not None:
                right += request.V.T @ (request.U[span].T @ request.U_bar[span])
        return sums, right

    @property
    def _on_left(self) -> Array:
        """V V̄ᵀ."""
        V, V_bar = self.request.V, self.request.V_bar
        return V @ (V if V_bar is None else V_bar).T

    def whole(self, result: PassResult) -> PassResult:
        """The sums over all rows with what the entries that are not stored bring to them."""
        return with_the_rest(self.request, result, self.square)

    def _parts(self, span: slice) -> list[slice]:
        """Rows with so many stored entries as may be held at a time; all of them where nothing is held."""
        if self.request.update is None and self.line is not None:
            return [span]
        parts, top = [], span.start
        while top < span.stop:
            end = int(np.searchsorted(self.M.starts, self.M.starts[top] + HELD, side="right")) - 1
            end = min(max(end, top + 1), span.stop)
            parts.append(slice(top, end))
            top = end
        return parts

    def _visit(self, rows: slice, left: Array, right: Array, sums: Array, S: Array) -> None:
        """Fill the sums, the rows of S V̄ᵀ and SᵀŪ where they are asked for, and S where it has room."""
        if self.line is None:
            self._visit_by_numpy(rows, left, right, sums, S)
            return
        M, loss = self.M, self.request.loss
        from bregopt_lowrank.passes.compiled_sampled import TOGETHER, visit

        longest = int(np.diff(M.starts[rows.start : rows.stop + 1]).max(initial=0))
        visit(
            self.line,
            read_only(loss.table),
            read_only(self.numbers),
            read_only(M.starts),
            read_only(M.columns),
            read_only(M.values),
            read_only(M.values if M.upper is None else M.upper),
            read_only(M.values if M.weights is None else M.weights),
            rows.start,
            rows.stop,
            self.factors,
            left,
            right,
            sums,
            S,
            np.empty((2, max(longest, TOGETHER))),
            self.request.distance,
        )

    def _visit_by_numpy(self, rows: slice, left: Array, right: Array, sums: Array, S: Array) -> None:
        M, factors, loss, c = self.M, self.factors, self.request.loss, self.request.curvature
        lines, columns, entries = self._places(rows)
        tile = Tile(M.values, M.upper, M.weights).part(entries)
        x = np.einsum("kr,kr->k", factors.U[lines], factors.VT[columns]).astype(np.float64)
        found = [np.empty(x.size) for _ in range(4)]
        for run, part in loss.runs(slice(0, M.shape[1])):
            inside = (columns >= run.start) & (columns < run.stop)
            for whole, piece in zip(found, part.on(x[inside], tile.part(inside)), strict=True):
                whole[inside] = piece
        value, slope, _, error = found
        off = self.square * x
        w, rest = x - slope / c, x - off / c
        sums[0] += float(np.sum(slope * slope - off * off))
        sums[1] += float(np.sum(error - off * off))
        sums[2] += float(np.sum(w * w - rest * rest))
        sums[4] += float(np.sum(value - 0.5 * off * x))
        if self.request.distance:
            gap = c * (np.einsum("kr,kr->k", factors.U_bar[lines], factors.VT_bar[columns]) - x)
            sums[3] += float(np.sum((gap + slope) ** 2 - (gap + off) ** 2))
        excess = slope - off
        if S.size:
            S[...] = excess
        csr = self._excess(rows, excess)
        if len(factors.VT_bar):
            left[rows] = csr @ factors.VT_bar
        if len(factors.U_bar):
            right += csr.T @ factors.U_bar[rows]

    def _places(self, rows: slice) -> tuple[Any, Any, slice]:
        """The rows and columns of the stored entries of some rows, and where they lie."""
        starts = self.M.starts[rows.start : rows.stop + 1]
        entries = slice(int(starts[0]), int(starts[-1]))
        return np.repeat(np.arange(rows.start, rows.stop), np.diff(starts)), self.M.columns[entries], entries

    def _excess(self, rows: slice, S: Array) -> Any:
        """Some rows of S as a CSR matrix."""
        from scipy.sparse import csr_array

        starts = self.M.starts[rows.start : rows.stop + 1]
        entries = slice(int(starts[0]), int(starts[-1]))
        shape = (rows.stop - rows.start, self.M.shape[1])
        return csr_array((S, self.M.columns[entries], starts - starts[0]), shape=shape)

    def _add_right(self, rows: slice, U: Array, S: Array, right: Array) -> None:
        """right += SᵀU for these rows."""
        if self.line is None:
            right += self._excess(rows, S).T @ U
            return
        from bregopt_lowrank.passes.compiled_sampled import add_right

        add_right(read_only(self.M.starts), read_only(self.M.columns), rows.start, rows.stop, read_only(U), S, right)


def with_the_rest(request: PassRequest, result: PassResult, square: float) -> PassResult:
    """The sums over the stored entries, with what the others bring: they cost ½x² for a ``square`` of 1, else 0."""
    c = request.curvature
    X2 = float(np.vdot(request.U.T @ request.U, request.V @ request.V.T))
    off = square * X2
    rest = (1.0 - square / c) ** 2 * X2
    result = added(result, residual=off, error=off, of_W=rest, value=0.5 * off, cancelled=0.5 * off)
    if request.distance and request.U_bar is not None and request.V_bar is not None:
        far = c * request.U_bar, (square - c) * request.U
        result = added(result, distance=_square_of_sum(far, (request.V_bar, request.V)))
    return evolve(result, **{name: max(getattr(result, name), 0.0) for name in ("residual", "error", "distance")})


def _square_of_sum(left: tuple[Array, Array], right: tuple[Array, Array]) -> float:
    """``‖A₀B₀ + A₁B₁‖²`` from Gram matrices."""
    A, B = np.concatenate(left, axis=1), np.concatenate(right, axis=0)
    return float(np.vdot(A.T @ A, B @ B.T))


def job(M: "LocalMatrix", request: PassRequest, factors: Factors) -> SampledJob:
    """The pass for M: compiled, or by NumPy where M has few entries."""
    square = not M.sampled
    compiled = None
    if wanted() and (len(M.values) >= FEW or not request.loss.has_arrays):
        from bregopt_lowrank.passes.compiled_sampled import line_of

        compiled = line_of(request.loss, M)
    return SampledJob(M, request, factors, float(square), compiled, request.loss.numbers(request.curvature, square))
