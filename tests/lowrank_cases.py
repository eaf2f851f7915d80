"""Small ReLU-NMD problems, and the ways in which a matrix may be held."""

import numpy as np
import scipy.sparse

import bregopt as bo


def case(seed=0, m=14, n=11, r=3, form="dense"):
    """(M, the problem, a point)."""
    rng = np.random.default_rng(seed)
    M = np.maximum(0, rng.standard_normal((m, n)))
    problem = bo.compose("relu-nmd", scipy.sparse.csr_array(M) if form == "csr" else M, rank=r)
    return M, problem, bo.Blocks(U=rng.standard_normal((m, r)), V=rng.standard_normal((r, n)))


def stored(M, folder):
    """M as a memory map."""
    path = folder / "M.npy"
    np.save(path, M)
    return np.load(path, mmap_mode="r")


class Rows:
    """What h5py and zarr arrays have in common: a shape, a dtype, and slices by rows."""

    def __init__(self, M):
        self._M, self.shape, self.dtype, self.read = M, M.shape, M.dtype, []

    def __getitem__(self, rows):
        self.read.append(rows)
        return self._M[rows]
