"""ReLU-NMD as a two-block problem."""

from typing import Any

from bregopt_lowrank import low_rank

from bregopt import Fixed, KernelPolicy, Problem, Regularizer, SmoothRegularizer
from bregopt.errors import DataError, parameter


def relu_nmd(
    M: Any,
    rank: int | None = None,
    U: Regularizer | Fixed | str = "none",
    V: Regularizer | Fixed | str = "none",
    kernel: KernelPolicy | str = "auto",
    graph: SmoothRegularizer | None = None,
    dtype: str = "auto",
    threads: int | None = None,
    mask: Any = None,
    weights: Any = None,
    held_out: float = 0.0,
    held_out_seed: int = 0,
) -> Problem:
    """``min ½‖W − UV‖² + H₁(U) + H₂(V)  s.t.  max(0, W) = M``: a sparse M ≥ 0 as the ReLU of a low-rank matrix.

    Parameters
    ----------
    M : array or sparse matrix
        m×n, non-negative: numpy, any scipy.sparse format, pydata sparse, a dask array, or anything that is sliced by
        rows, such as ``numpy.memmap``, zarr or h5py: such a matrix is read tile by tile, and never held as a whole.
        A dense array of the right type is used as it is, without a copy: do not change it while the problem is in use.
    rank : int
        Columns of U and rows of V.
    U, V : Regularizer, str or Fixed
        H₁ and H₂; ``bo.Fixed(V0)`` keeps a factor as it is.
    kernel : str or Kernel
        ``paper``: 3ψ1 + ‖W‖_F ψ2; ``tight``: ψ1 + ‖W‖₂ ψ2; ``fixed``: ψ1 + ‖M‖₂ ψ2, for gradients with W at their own
        point; ``auto``: the tightest that the method's theory allows; or a kernel of your own.
    graph : SmoothRegularizer, optional
        A smooth term on U that is put into F instead of H, such as ``Graph(L, mu)``: the step then takes its gradient,
        and the kernel the share of U that its curvature needs, row by row where H₁ is separable.
    dtype : str
        Of the products: ``float64`` or ``float32``; ``auto`` is float32 for an M of that type. Sums, steps and factors
        are float64.
    threads : int, optional
        For the pass; by default ``BREGOPT_THREADS``, or as many as there are processors.
    mask : array of bool, optional
        True where an entry is known.
    weights : array, optional
        A number ≥ 0 for each entry.
    held_out : float
        The share of the known entries that is kept from the fit; the error on them is the metric ``held_out_error``.
    held_out_seed : int
        Which entries these are: they are drawn at random by this seed.
    """
    if graph is not None and not isinstance(graph, SmoothRegularizer):
        raise parameter("graph", "relu-nmd", "a SmoothRegularizer, such as make('regularizer', 'graph', L)", graph)
    problem = low_rank(
        M,
        rank,
        "relu",
        U=U,
        V=V,
        kernel=kernel,
        mask=mask,
        weights=weights,
        held_out=held_out,
        held_out_seed=held_out_seed,
        smooth=None if graph is None else {"U": graph},
        dtype=dtype,
        threads=threads,
        name="ReLU-NMD problem",
        owner="relu-nmd",
    )
    block: Any = problem.block
    missing = block.M.missing - (0 if block.held_out is None else block.held_out.known)
    if mask is None and missing:
        raise DataError(
            f"M must be finite. Got {missing} entries that are nan instead: "
            "if they are missing, say so by mask=~np.isnan(M), or a problem that takes nan as unknown, such as nmf."
        )
    return problem
