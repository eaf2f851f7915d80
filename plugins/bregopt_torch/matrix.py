"""M on a device: what a problem asks of it, each answer by one walk over its tiles."""

import math
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np
from attrs import field, frozen
from bregopt_lowrank import (
    ColumnLosses,
    EntrywiseLoss,
    Matrix,
    NonnegativeLoss,
    PassRequest,
    PassResult,
    Tile,
    subspace,
)

from bregopt import Array
from bregopt_torch.devices import to_device, to_host
from bregopt_torch.held import Held, Stored
from bregopt_torch.losses import check_expressions
from bregopt_torch.passes import over_entries, over_tiles

READ_ENTRIES = 2**21
"""Entries of the rows that NumPy reads at a time."""
SAFETY = 1.0001
"""A computed spectral norm is a lower bound; this factor makes it an upper one."""


@final
@frozen(eq=False, slots=False)
class DeviceMatrix(Matrix):
    """M, m×n, dense or CSR, on a device of torch."""

    device: str
    held: Held = field(repr=False, metadata={"unsaved": True})
    row_wise_updates: ClassVar[bool] = False
    in_memory: ClassVar[bool] = True
    """a pass is cheap, as nothing is read from a disk"""

    @property
    def plain(self) -> bool:
        held: Any = self.held
        return not self.missing and held.upper is None and held.weights is None

    def by_entries(self, loss: ColumnLosses) -> bool:
        """Whether a pass visits the stored entries alone: the others are missing, or cost ½x²."""
        return isinstance(self.held, Stored) and (self.held.sampled or loss.square)

    def share(self, loss: ColumnLosses, rank: int) -> float:
        if not isinstance(self.held, Stored) or not self.by_entries(loss):
            return 1.0
        (m, n), grams = self.shape, 0.0 if self.held.sampled else float(rank)
        return (len(self.held.values) + (m + n) * grams) / (m * n)

    @cached_property
    def spectral(self) -> float:
        found = self._lanczos(1) if min(self.shape) > 2 else self.leading(1)
        return self.frobenius if found is None else min(SAFETY * float(found[1][0]), self.frobenius)

    def leading(self, rank: int) -> tuple[Array, Array, Array]:
        found = self._lanczos(rank) if rank < min(self.shape) - 1 else None
        return found or subspace(
            lambda Z: self._times(self._times(Z), transposed=True), self._times, self.shape[1], rank
        )

    def _lanczos(self, rank: int) -> tuple[Array, Array, Array] | None:
        """As for an M held by this process; ``None`` where singular values are too close to each other for it."""
        from scipy.sparse.linalg import ArpackError, LinearOperator, svds

        size = 2.0 ** math.frexp(self.frobenius)[1]  # ARPACK takes squared singular values far below 1 for zero
        operator = LinearOperator(
            self.shape,
            matvec=lambda x: self._times(x.reshape(-1, 1))[:, 0] / size,
            rmatvec=lambda y: self._times(y.reshape(-1, 1), transposed=True)[:, 0] / size,
            dtype=np.float64,
        )
        v0 = np.random.default_rng(0).standard_normal(min(self.shape))
        try:
            U, s, Vt = svds(operator, k=rank, v0=v0, tol=1e-9 if self.dtype == np.float64 else 1e-5)
        except ArpackError:
            return None
        order = np.argsort(-s)
        return U[:, order], size * s[order], Vt[order]

    def _times(self, Z: Array, *, transposed: bool = False) -> Array:
        """MZ, or MᵀZ."""
        (there,) = to_device([Z], self.dtype, self.held.device)
        return np.asarray(to_host(self.held.times(there, transposed=transposed)), dtype=np.float64)

    def tiles(self) -> list[slice]:
        m, n = self.shape
        height = max(1, READ_ENTRIES // n)
        return [slice(k, min(k + height, m)) for k in range(0, m, height)]

    def read(self, rows: slice) -> Tile:
        tile = self.held.tile(rows, slice(0, self.shape[1]))
        M, upper, weights = (None if it is None else to_host(it) for it in (tile.M, tile.upper, tile.weights))
        return Tile(np.asarray(M), upper, weights, not self.missing)

    def unfit(self, loss: ColumnLosses) -> tuple[EntrywiseLoss, float] | None:
        check_expressions(loss)
        asked = [
            (columns, part)
            for columns, part in loss.runs(slice(0, self.shape[1]))
            if type(part).fits is not EntrywiseLoss.fits
            and not (isinstance(part, NonnegativeLoss) and self.lowest >= 0)
        ]
        for rows in self.tiles() if asked else ():
            tile = self.read(rows).M
            for columns, part in asked:
                known = tile[:, columns][~np.isnan(tile[:, columns])]
                wrong = known[~part.fits(known)]
                if wrong.size:
                    return part, float(wrong[0])
        return None

    def run_pass(self, request: PassRequest) -> PassResult:
        if isinstance(self.held, Stored) and self.by_entries(request.loss):
            return over_entries(self.held, request)
        return over_tiles(self.held, request, complete=not self.missing)
