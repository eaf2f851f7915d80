"""One pass on the device, over tiles of UV or over stored entries: the factors go there, and the sums come back."""

from typing import Any, final

import numpy as np
import torch
from attrs import frozen
from bregopt_lowrank import PassRequest, PassResult, Tile, grams, with_the_rest

from bregopt_torch.devices import to_device, to_host
from bregopt_torch.held import Held, Stored
from bregopt_torch.losses import on_entries, on_tile, squared_norm

SUMS, DISTANCE = 5, 4
"""‖S‖², the error, what is to tell ‖W‖, the value, and ‖c(ŪV̄ − W)‖² where it is asked for."""


@final
@frozen(eq=False)
class OnDevice:
    """The factors of a request in the precision of the products, and one tensor for all that comes back."""

    U: Any
    VT: Any
    U_bar: Any
    """``None`` where SᵀŪ is not asked for; so V̄"""
    VT_bar: Any
    out: Any
    left: Any
    """S V̄ᵀ, a part of ``out`` without rows where it is not asked for"""
    right: Any
    """SᵀŪ, likewise"""
    sums: Any
    """a row for each tile, likewise"""

    @classmethod
    def of(cls, held: Held, request: PassRequest, count: int) -> "OnDevice":
        """With room for the sums of ``count`` tiles."""
        (m, n), rank = held.shape, request.V.shape[0]
        given = {"U": request.U, "V": request.V.T}
        if request.U_bar is not None and request.U_bar is not request.U:
            given["U_bar"] = request.U_bar
        if request.V_bar is not None and request.V_bar is not request.V:
            given["V_bar"] = request.V_bar.T
        kind = np.dtype(str(held.dtype).removeprefix("torch."))
        sent = dict(zip(given, to_device(list(given.values()), kind, held.device), strict=True))
        rows, columns = 0 if request.left is None else m, 0 if request.U_bar is None else n
        sizes = [rows * rank, columns * rank, count * SUMS]
        out = torch.zeros(sum(sizes), dtype=held.sums, device=held.device)
        left, right, sums = out.split(sizes)
        return cls(
            U=sent["U"],
            VT=sent["V"],
            U_bar=None if request.U_bar is None else sent.get("U_bar", sent["U"]),
            VT_bar=None if request.V_bar is None else sent.get("V_bar", sent["V"]),
            out=out,
            left=left.view(rows, rank),
            right=right.view(columns, rank),
            sums=sums.view(count, SUMS),
        )

    def result(self, request: PassRequest) -> PassResult:
        """What comes back, in one piece; S V̄ᵀ is written where it is wanted."""
        back = to_host(self.out).astype(np.float64, copy=False)
        left, right, sums = np.split(back, np.cumsum([self.left.numel(), self.right.numel()]))
        if request.left is not None:
            request.left[...] = left.reshape(self.left.shape)
        residual, error, of_W, value, distance = sums.reshape(-1, SUMS).sum(axis=0).tolist()
        on_right = right.reshape(self.right.shape) if len(self.right) else None
        return PassResult(residual, error, of_W, distance, value, on_right, *grams(request, slice(0, len(self.U))))


def over_tiles(held: Held, request: PassRequest, *, complete: bool) -> PassResult:
    """Tile by tile: X = UV, the slopes S, their sums, and the products with S; ``complete``: nothing is missing."""
    places, c, loss = held.places(), request.curvature, request.loss
    there = OnDevice.of(held, request, len(places))
    for (rows, columns), sums in zip(places, there.sums, strict=True):
        given = held.tile(rows, columns)._replace(complete=complete and loss.single is not None)
        X = there.U[rows] @ there.VT[columns].T
        found = on_tile(loss, X, given, columns, c)
        for k, total in enumerate(found.sums(held.sums)):
            sums[k] = total
        if request.distance:  # c(X̄ − W) = c(X̄ − X) + S
            gap = there.U_bar[rows] @ there.VT_bar[columns].T - X
            sums[DISTANCE] = squared_norm(c * gap + found.slope, held.sums)
        if len(there.left):
            there.left[rows] += found.slope @ there.VT_bar[columns]
        if len(there.right):
            there.right[columns] += found.slope.T @ there.U_bar[rows]
    return there.result(request)


def over_entries(held: Stored, request: PassRequest) -> PassResult:
    """The stored entries alone, at a cost of nnz·r; what the others add, where they cost ½x², the factors tell."""
    c, square = request.curvature, 0.0 if held.sampled else 1.0
    parts = list(held.parts(request.V.shape[0]))
    there = OnDevice.of(held, request, len(parts))
    for rows, sums in zip(parts, there.sums, strict=True):
        entries, lines = held.inside(rows)
        columns = held.columns[entries]
        upper, weights = (None if it is None else it[entries].to(held.sums) for it in (held.upper, held.weights))
        given = Tile(held.values[entries].to(held.sums), upper, weights)
        x = (there.U[lines] * there.VT[columns]).sum(dim=1).to(held.sums)
        found = on_entries(request.loss, x, given, columns, c)
        off = square * x
        excess, squares = found.slope - off, off.square()
        sums[0] = (found.slope.square() - squares).sum()
        sums[1] = (found.error - squares).sum()
        sums[2] = (found.w.square() - (x - off / c).square()).sum()
        sums[3] = (found.value - 0.5 * off * x).sum()
        if request.distance:
            gap = c * ((there.U_bar[lines] * there.VT_bar[columns]).sum(dim=1).to(held.sums) - x)
            sums[DISTANCE] = ((gap + found.slope).square() - (gap + off).square()).sum()
        if len(there.left):
            there.left.index_add_(0, lines, excess[:, None] * there.VT_bar[columns])
        if len(there.right):
            there.right.index_add_(0, columns, excess[:, None] * there.U_bar[lines])
    result = there.result(request)
    left, right = request.left, result.right
    if square and left is not None and request.V_bar is not None:
        left += request.U @ (request.V @ request.V_bar.T)
    if square and right is not None and request.U_bar is not None:
        right += request.V.T @ (request.U.T @ request.U_bar)
    return with_the_rest(request, result, square)
