"""What is benchmarked: a matrix, drawn or from a file, with the rank and the precision to decompose it in."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, final

from attrs import frozen

from bregopt.cli.bench_size import Size

SEED = 0


@final
@frozen(eq=False)
class Case:
    """M, dense, CSR or a memory map, and how it is to be decomposed."""

    name: str
    M: Any
    rank: int
    dtype: str
    """of the products"""

    @property
    def density(self) -> float | None:
        """The share of non-zeros of a sparse M."""
        m, n = self.M.shape
        return self.M.nnz / (m * n) if hasattr(self.M, "nnz") else None

    @property
    def facts(self) -> dict[str, Any]:
        m, n = self.M.shape
        shape = {"rows": m, "columns": n, "rank": self.rank, "density": self.density}
        return {"matrix": self.name, **shape, "dtype": self.dtype}


def drawn(size: Size, dtype: str) -> Case:
    """A random M ≥ 0: the positive part of Gaussian entries, or uniform ones at random places."""
    import numpy as np

    rng = np.random.default_rng(SEED)
    if size.density is None:
        M = rng.standard_normal((size.m, size.n), dtype=np.dtype(dtype).type)
        return Case(str(size), np.maximum(M, 0, out=M), size.rank, dtype)
    from scipy.sparse import csr_array

    places = rng.choice(size.m * size.n, round(size.density * size.m * size.n), replace=False, shuffle=False)
    values = 1 - rng.random(places.size, dtype=np.dtype(dtype).type)  # in (0, 1]
    M = csr_array((values, np.divmod(places, size.n)), shape=(size.m, size.n))
    return Case(str(size), M, size.rank, dtype)


def in_file(path: Path, rank: int, dtypes: Sequence[str]) -> Iterator[Case]:
    """The matrix in a file, in each precision."""
    from bregopt.cli.matrix_file import read_matrix

    M = read_matrix(path)
    name = f"{path.name} {M.shape[0]}×{M.shape[1]}"
    yield from (Case(name, M, rank, dtype) for dtype in dtypes)
