"""ReLU-NMD as a two-block problem."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from bregopt_lowrank import (
    Factorization,
    LazyW,
    Matrix,
    ScaledRandom,
    SharedPolicy,
    WithSmooth,
    as_local_matrix,
)

from bregopt import (
    Blocks,
    Kernel,
    KernelByMode,
    KernelPolicy,
    Problem,
    Regularizer,
    Separable,
    SmoothPart,
    SmoothRegularizer,
    Trait,
    make,
    resolve_data,
)
from bregopt.errors import DataError, IncompatibleError, parameter
from bregopt_relu.policies import fixed, tight
from bregopt_relu.relu import ReluBlock, ReluLoss


def relu_nmd(
    M: Any,
    rank: int,
    U: Regularizer | str = "none",
    V: Regularizer | str = "none",
    kernel: KernelPolicy | str = "auto",
    graph: SmoothRegularizer | None = None,
    dtype: str = "auto",
    threads: int | None = None,
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
    U, V : Regularizer or str
        H₁ and H₂.
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
    """
    found = resolve_data(M)
    data = found if isinstance(found, Matrix) else as_local_matrix(found, dtype, threads, owner="relu-nmd")
    if data.lowest < 0:
        raise DataError(f"M must be non-negative. Got a smallest entry of {data.lowest:g} instead.")
    if dtype not in ("auto", data.dtype.name):
        raise parameter("dtype", "relu-nmd", f"'auto' or {data.dtype.name!r}, which this M decides on", dtype)
    if threads is not None and data is found:
        raise parameter("threads", "relu-nmd", "left out for this M, which comes with its own", threads)
    if isinstance(rank, bool) or not isinstance(rank, (int, np.integer)) or not 1 <= rank <= min(data.shape):
        m, n = data.shape
        raise parameter("rank", "relu-nmd", f"a whole number from 1 to {min(m, n)}, as M is {m}×{n}", rank)
    by_data = kernel in ("auto", "fixed")
    norm = data.spectral if by_data else data.frobenius
    H, policy = make("regularizer", U), _policy(kernel, norm)
    smooth: SmoothPart = Factorization()
    if graph is not None:
        smooth, policy = _with_graph(graph, H, policy, (data.shape[0], int(rank)))
    return Problem(
        smooth=smooth,
        block=ReluBlock(data, int(rank), norm),
        regularizer=Separable(U=H, V=make("regularizer", V)),
        kernel=policy,
        start=ScaledRandom(),
        metrics=_metrics(data),
        name="ReLU-NMD problem",
        kernel_named=kernel != "auto",
    )


def _policy(kernel: KernelPolicy | str, norm: float) -> KernelPolicy:
    if kernel == "auto":
        return KernelByMode(lagged=tight(), reduced=fixed(norm))
    if kernel == "fixed":
        return fixed(norm)
    policy: KernelPolicy = make("kernel", kernel)
    if not policy.sample().contains(Blocks(U=[[-1.0]], V=[[-1.0]])):
        raise IncompatibleError(
            f"ReLU-NMD cannot use the kernel {policy.sample()!r}: its domain is not the whole space, "
            "and no constant L makes ½‖W − UV‖² smooth adaptable to it. Use auto, tight, fixed, paper or s4."
        )
    return policy


def _with_graph(
    S: SmoothRegularizer, H: Regularizer, policy: KernelPolicy, shape: tuple[int, int]
) -> tuple[WithSmooth, KernelPolicy]:
    if not isinstance(S, SmoothRegularizer):
        raise parameter("graph", "relu-nmd", "a SmoothRegularizer, such as make('regularizer', 'graph', L)", S)
    share = S.curvature(np.empty(shape))
    if Trait.SEPARABLE not in H.traits:
        share = np.full((1, 1), share.max())
    U = share if share.size > 1 else float(share.max())
    bound: Kernel = make("kernel", "block-quadratic", U=U)
    return WithSmooth(S, bound), SharedPolicy(policy, bound)


def _metrics(M: Matrix) -> Mapping[str, Any]:
    """The figures of the fused pass, for the plain oracle."""

    def parts(Y: Blocks) -> tuple[float, float]:
        error = residual = 0.0
        W = LazyW(ReluLoss(), M, Y["U"], Y["V"])
        for rows in M.tiles():
            X, tile = Y["U"][rows] @ Y["V"], W.rows(rows)
            residual += float(np.square(tile - X).sum())
            error += float(np.square(np.maximum(tile, 0.0) - np.maximum(X, 0.0)).sum())
        return math.sqrt(error) / M.frobenius, math.sqrt(residual) / M.frobenius

    return {"relative_error": lambda Y, W: parts(Y)[0], "model_residual": lambda Y, W: parts(Y)[1]}
