"""From torch tensors to the matrix that the passes read: dense ones stay as they are."""

import math
from typing import Any, final

import numpy as np
import torch
from attrs import evolve, field, frozen
from bregopt_lowrank import Given, LocalMatrix, RemoteArray, check_matrix, local_matrix

from bregopt.errors import DataError
from bregopt_torch.devices import check_precision, to_host, writeable
from bregopt_torch.held import Dense, Held, Place, Stored
from bregopt_torch.matrix import DeviceMatrix

HALVES = (torch.float16, torch.bfloat16)
WHOLE = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
LAYOUTS = (torch.strided, torch.sparse_csr)


def _detached(tensor: Any) -> Any:
    """The numbers alone, without what they were computed from."""
    return tensor.detach()


@final
@frozen(eq=False)
class TorchTensor(RemoteArray):
    """A tensor with real numbers, dense or CSR."""

    tensor: Any = field(repr=False, converter=_detached)

    @tensor.validator
    def _is_readable(self, attribute: object, tensor: Any) -> None:
        if tensor.layout not in LAYOUTS:
            raise DataError(
                f"A torch tensor must be dense, or CSR. Got the layout {tensor.layout} instead: call to_sparse_csr()."
            )
        if tensor.is_meta:
            raise DataError("A torch tensor must hold numbers. Got one on the device meta instead.")
        if tensor.dtype not in (*HALVES, *WHOLE, torch.float32, torch.float64):
            raise DataError(f"A torch tensor must hold real numbers. Got dtype {tensor.dtype} instead.")

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.tensor.shape)

    @property
    def sparse(self) -> bool:
        return bool(self.tensor.layout == torch.sparse_csr)

    def load(self, given: Given) -> DeviceMatrix:
        """M on its device, with what was given beside it."""
        shape = self.shape
        if len(shape) != 2:
            raise DataError(f"M must be a matrix with two dimensions. Got shape {shape} instead.")
        if 0 in shape:
            raise DataError(f"M is empty. Got shape {shape} instead of at least one row and one column.")
        check_precision(self.tensor.device, str(self.tensor.dtype).removeprefix("torch."))
        return self._sparse(given) if self.sparse else self._dense(given)

    def _dense(self, given: Given) -> DeviceMatrix:
        M, (m, n) = self.tensor, self.shape
        device, kind = M.device, precision(M.dtype)
        mask, weights, upper = (_beside(given.companions.get(it), device) for it in ("mask", "weights", "upper"))
        mask = None if mask is None else _truth(mask)
        held = Dense((m, n), kind, device, M, mask, given.missing == "zeros", upper, weights)
        most = 1.0 if weights is None else _largest_weight(weights, held)
        norm, nonzeros, lowest, missing = survey(held)
        dtype = np.dtype(str(kind).removeprefix("torch."))
        if nonzeros:
            check_matrix(norm, dtype)
        return DeviceMatrix((m, n), dtype, norm, nonzeros, lowest, missing, most, str(device), held)

    def _sparse(self, given: Given) -> DeviceMatrix:
        """By way of the host, where the index arrays are checked, and a mask, weights and ``upper`` put on them."""
        rest = {name: it.on_host() if isinstance(it, TorchTensor) else it for name, it in given.companions.items()}
        local, device = local_matrix(evolve(given, M=self.on_host(), **rest)), self.tensor.device
        facts = (local.shape, local.dtype, local.frobenius, local.nonzeros, local.lowest, local.missing, local.most)
        return DeviceMatrix(*facts, str(device), _sent(local, device))

    def on_host(self) -> Any:
        """As a NumPy array or a scipy CSR array; of half precision as float32."""
        if not self.sparse:
            return to_host(self.tensor if self.tensor.dtype not in HALVES else self.tensor.float())
        from scipy.sparse import csr_array

        values = self.tensor.values()
        parts = (
            values if values.dtype not in HALVES else values.float(),
            *(self.tensor.col_indices(), self.tensor.crow_indices()),
        )
        return csr_array(tuple(to_host(part) for part in parts), shape=self.shape)


def precision(dtype: Any) -> Any:
    """Of the products: float32 for an M of that or of half precision."""
    return torch.float32 if dtype in (*HALVES, torch.float32) else torch.float64


def survey(held: Dense) -> tuple[float, int, float, int]:
    """‖M‖_F, the non-zeros, the smallest entry, or 0, and the missing ones, by two walks over the tiles.

    Where the entries are bounds, they may be infinite, and M may be zero.
    """
    unbounded, rows = held.upper is not None, []
    for place in held.places():
        M = held.tile(*place).M
        finite, missing = torch.isfinite(M), torch.isnan(M)
        K = torch.where(finite, M, 0.0)
        counts = [missing.sum(), (~finite).sum() - missing.sum(), torch.count_nonzero(K)]
        rows.append(torch.stack([it.to(held.sums) for it in (*counts, K.min(), K.max())]))
    found = to_host(torch.stack(rows))
    missing, infinite, nonzeros = (int(it) for it in found[:, :3].sum(axis=0, dtype=np.float64))
    lowest, highest = min(float(found[:, 3].min()), 0.0), float(found[:, 4].max())
    m, n = held.shape
    if infinite and not unbounded:
        raise DataError(f"M must be finite. Got {infinite} entries that are inf instead.")
    if missing == m * n:
        raise DataError("Every entry of M is missing: there is nothing to decompose.")
    if not (nonzeros or unbounded):
        raise DataError("M is zero everywhere: there is nothing to decompose.")
    power = math.frexp(max(-lowest, highest))[1]  # squares of numbers up to 1 do not overflow
    squares = [torch.ldexp(_known(held, place), torch.tensor(-power)).square().sum() for place in held.places()]
    total = float(to_host(torch.stack(squares)).sum(dtype=np.float64))
    return math.ldexp(math.sqrt(total), power), nonzeros, lowest, missing


def _known(held: Dense, place: Place) -> Any:
    """The finite entries of a tile in the precision of the sums, and 0 for the others."""
    M: Any = held.tile(*place).M
    return torch.nan_to_num(M.to(held.sums), nan=0.0, posinf=0.0, neginf=0.0)


def _beside(given: Any, device: Any) -> Any:
    """A mask, weights or ``upper`` as a dense tensor beside M."""
    if given is None:
        return None
    if isinstance(given, TorchTensor):
        return (given.tensor.to_dense() if given.sparse else given.tensor).to(device)
    array = np.asarray(given.toarray() if hasattr(given, "toarray") else given)
    if array.dtype.kind not in "fiub":
        raise DataError(f"What is given beside M must hold real numbers. Got dtype {array.dtype} instead.")
    if device.type == "mps" and array.dtype == np.float64:
        array = array.astype(np.float32)
    return torch.from_numpy(writeable(array)).to(device)


def _truth(mask: Any) -> Any:
    """The mask as truth values."""
    if mask.dtype == torch.bool:
        return mask
    if mask.dtype in WHOLE and bool(to_host(((mask == 0) | (mask == 1)).all())):
        return mask.bool()
    raise DataError(f"The mask must be True where an entry is known and False where not. Got dtype {mask.dtype}.")


def _largest_weight(weights: Any, held: Held) -> float:
    """Of weights that are finite and not negative, and not all of them zero."""
    ends = []
    for place in held.places():
        tile = weights[place].to(held.sums)
        ends.append(torch.stack([tile.min(), tile.max()]))
    found = to_host(torch.stack(ends))
    least, most = float(found[:, 0].min()), float(found[:, 1].max())
    if not (least >= 0 and math.isfinite(most)):
        raise DataError(
            f"The weights must be finite numbers >= 0. Got {least if not least >= 0 else most:g} among them."
        )
    if not most:
        raise DataError("Every weight is zero: there is nothing to fit.")
    return most


def _sent(local: LocalMatrix, device: Any) -> Held:
    """What a LocalMatrix holds, on the device."""

    def sent(array: Any) -> Any:
        return None if array is None else torch.from_numpy(writeable(array)).to(device)

    kind, beside = getattr(torch, local.dtype.name), (sent(local.upper), sent(local.weights))
    if local.source is not None:
        return Dense(local.shape, kind, device, sent(local.source), None, False, *beside)
    edges = local.starts.astype(np.int64)
    places = sent(local.columns.astype(np.int64)), sent(edges)
    return Stored(local.shape, kind, device, sent(local.values), *places, edges, *beside, local.sampled)
