"""Graphs of near rows: who is near whom, the Laplacian, and the spectral embedding."""

import warnings
from typing import Any

import numpy as np

from bregopt import Array
from bregopt.errors import parameter

NEIGHBOURS = 5


def unit_rows(M: Any) -> Any:
    """M with every row divided by its norm; rows of zeros stay as they are, and sparse stays sparse."""
    if isinstance(M, np.ndarray):
        norms = np.linalg.norm(M, axis=1, keepdims=True)
        return M / np.where(norms > 0, norms, 1.0)
    from scipy.sparse import csr_array, diags_array

    norms = np.sqrt(M.multiply(M).sum(axis=1))
    return csr_array(diags_array(1.0 / np.where(norms > 0, norms, 1.0)) @ M)


def affinities(M: Any, neighbours: int = NEIGHBOURS) -> Any:
    """``s_ij = 1`` where row i is one of the nearest rows of j by the cosine, or j of i, else 0: S, sparse."""
    from scipy.sparse import csr_array
    from sklearn.neighbors import NearestNeighbors

    rows = M.shape[0]
    if not 1 <= neighbours < rows:
        raise parameter(
            "neighbours", "affinities", f"a whole number from 1 to {rows - 1}, as M has {rows} rows", neighbours
        )
    nearest = NearestNeighbors(n_neighbors=neighbours, metric="cosine", algorithm="brute").fit(M)
    columns = nearest.kneighbors(return_distance=False).ravel().astype(np.int32)  # none of them is the row itself
    starts = np.arange(0, columns.size + 1, neighbours, dtype=np.int32)
    one_way = csr_array((np.ones(columns.size), columns, starts), shape=(rows, rows))
    return csr_array(one_way.maximum(one_way.T))


def laplacian(S: Any) -> Any:
    """``L = D − S`` with the row sums D, sparse."""
    from scipy.sparse import csr_array, diags_array

    return csr_array(diags_array(S.sum(axis=1)) - S)


def spectral_embedding(S: Any, dimensions: int) -> Array:
    """Rows to cluster: ``D^{−½}Q`` for the leading eigenvectors Q of D^{−½}SD^{−½}, as scikit-learn has them."""
    from sklearn.manifold import spectral_embedding as embedding

    with warnings.catch_warnings():
        # it warns of a graph in pieces: here the pieces are wanted, and the embedding tells them apart
        warnings.filterwarnings("ignore", message="Graph is not fully connected")
        found = embedding(S, n_components=dimensions, drop_first=False, random_state=0)
    return np.asarray(found)
