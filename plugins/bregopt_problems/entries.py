"""The known entries of an M that is in memory."""

from typing import Any

import numpy as np

from bregopt import resolve_data


def as_given(data: Any) -> Any:
    """Data with a shape, of any number of dimensions: what a plugin puts in their place, or lists as an array."""
    found = resolve_data(data)
    return found if hasattr(found, "shape") else np.asarray(found)


def in_memory(M: Any) -> bool:
    """Whether M is sparse, or an array or lists that no file is behind."""
    return hasattr(M, "tocsr") or (isinstance(M, (np.ndarray, list, tuple)) and not isinstance(M, np.memmap))


def known_entries(M: Any, mask: Any) -> Any:
    """The entries where the mask is True, nan among them; of a sparse M those that are stored.

    A mask of another shape is left to ``low-rank``, which refuses it.
    """
    if hasattr(M, "tocsr"):
        return M.tocsr().data
    A = np.asarray(M)
    mask = mask.toarray() if hasattr(mask, "toarray") else mask
    return A.ravel() if mask is None or np.shape(mask) != A.shape else A[np.asarray(mask, dtype=bool)]
