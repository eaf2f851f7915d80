"""Labels of two kinds as the signs that a loss takes."""

from typing import Any

import numpy as np

from bregopt import Array
from bregopt.errors import DataError, parameter
from bregopt_problems.entries import in_memory, known_entries
from bregopt_problems.options import Options

SIGNS, ZERO_ONE = "+-1", "01"


def signs(M: Any, labels: str, options: Options, owner: str) -> Any:
    """M with the labels −1 and 1. What is sparse stays sparse; its stored zeros are labels where 0 is one."""
    if labels not in (SIGNS, ZERO_ONE):
        raise parameter("labels", owner, f"'{SIGNS}' or '{ZERO_ONE}'", labels)
    if labels == ZERO_ONE and not in_memory(M):
        raise parameter("labels", owner, f"'{SIGNS}' for an M that is not in memory", labels)
    known = known_entries(M, options.get("mask")) if in_memory(M) else np.empty(0)
    if known.dtype.kind not in "fiub":
        return M  # low-rank says what is wrong
    if labels == SIGNS:
        _refuse_zero_one(known, hasattr(M, "tocsr"), owner)
        return M
    if options.get("missing") == "zeros" and not hasattr(M, "tocsr"):
        raise parameter("missing", owner, "left out, as 0 is a label", "zeros")
    wrong = known[~((known == 0) | (known == 1) | (known != known))]
    if wrong.size:
        raise DataError(f"M must be 0 or 1 for {owner} with these labels, nan where unknown. Got {wrong[0]:g} instead.")
    return _doubled_sparse(M.tocsr()) if hasattr(M, "tocsr") else _doubled(np.asarray(M))


def _refuse_zero_one(known: Any, sparse: bool, owner: str) -> None:
    """Zeros are missing entries where the labels are signs, and ones alone are no labels."""
    if known.dtype.kind != "b" and (not known.size or bool((known == -1).any())):
        return
    if sparse:
        raise DataError(
            f"M must be 1 or -1 for {owner}. Got no -1 among the stored entries: where stored zeros are labels say "
            f"labels='{ZERO_ONE}', and where the other zeros are labels take the problem binary."
        )
    if known.dtype.kind == "b" or bool((known == 0).any()):
        raise DataError(
            f"M must be 1 or -1 for {owner}, 0 or nan where it is unknown. Got no -1 beside the others: "
            f"for the labels 0 and 1 say labels='{ZERO_ONE}'."
        )


def _doubled_sparse(csr: Any) -> Any:
    from scipy.sparse import csr_array

    return csr_array((_doubled(csr.data), csr.indices, csr.indptr), shape=csr.shape)


def _doubled(values: Any) -> Array:
    """−1 and 1 for 0 and 1, in the precision that there is."""
    kind = values.dtype if values.dtype.kind == "f" else np.float64
    return np.asarray(2 * values.astype(kind) - 1)
