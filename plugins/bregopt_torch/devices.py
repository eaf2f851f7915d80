"""Devices, and the two functions through which numbers reach them and come back."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from bregopt import Array
from bregopt.errors import DataError, ParameterError, PluginError


def on_device(M: Any, device: str = "cuda") -> Any:
    """A matrix as a torch tensor on a device, to be given to ``bregopt.compose``.

    Parameters
    ----------
    M : array or sparse matrix
        numpy, or any scipy.sparse format, which becomes a CSR tensor.
    device : str
        ``cuda``, ``cuda:1``, ``mps``, ``cpu`` or another device of this torch.
    """
    torch, place = found(device)
    held = M.tocsr() if hasattr(M, "tocsr") else np.asarray(M)
    check_precision(place, held.dtype.name)
    if isinstance(held, np.ndarray):
        return torch.from_numpy(writeable(held)).to(place)
    if not held.has_canonical_format:
        held = held.copy()
        held.sum_duplicates()
    arrays = (torch.from_numpy(writeable(it)).to(place) for it in (held.indptr, held.indices, held.data))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support", category=UserWarning)
        try:
            return torch.sparse_csr_tensor(*arrays, size=held.shape, check_invariants=True)
        except RuntimeError as error:
            reason = str(error).splitlines()[0]
            raise DataError(f"The sparse M cannot be a CSR tensor: {reason}. Build the matrix again.") from None


def found(device: str) -> tuple[Any, Any]:
    """torch and its device of this name, if both are there."""
    try:
        import torch
    except ImportError:
        raise PluginError("A device needs torch. Install it: pip install 'bregopt[torch]'.") from None
    try:
        place = torch.device(device)
        torch.empty(1, device=place).cpu()
    except (RuntimeError, AssertionError, TypeError):
        there = ["cpu", *(f"cuda:{k}" for k in range(torch.cuda.device_count()))]
        there += ["mps"] if torch.backends.mps.is_available() else []
        raise ParameterError(f"The device {device!r} is not there. This torch has {', '.join(there)}.") from None
    return torch, place


def check_precision(device: Any, dtype: str) -> None:
    """Refuse float64 products where the device has no float64."""
    if device.type == "mps" and dtype not in ("float32", "float16", "bfloat16"):
        raise DataError(f"The device mps has no float64. Give M in float32. Got {dtype} instead.")


def writeable(X: Array) -> Array:
    """X by rows, and a copy of it where torch would warn that it must not be written to."""
    X = np.ascontiguousarray(X)
    return X if X.flags.writeable else X.copy()


def to_device(arrays: Sequence[Array], dtype: np.dtype[Any], device: Any) -> list[Any]:
    """Arrays in one precision as tensors, sent together; cuda takes them over before anything is computed."""
    import torch

    sizes = [array.size for array in arrays]
    flat = np.concatenate([array.reshape(-1) for array in arrays], dtype=dtype, casting="same_kind")
    parts = torch.from_numpy(flat).to(device, non_blocking=device.type == "cuda").split(sizes)
    return [part.view(array.shape) for part, array in zip(parts, arrays, strict=True)]


def to_host(tensor: Any) -> Any:
    """A tensor as a NumPy array: the only place where anything waits for the device."""
    return tensor.detach().cpu().numpy()
