"""PALM of pyproximal on ReLU-NMD, in dense NumPy arrays."""

import contextlib
import time
from importlib import import_module
from typing import Any, final

import numpy as np
from attrs import frozen

from bregopt import Array, Blocks, Regularizer, ResolvedProblem, StopRule
from bregopt.errors import IncompatibleError
from bregopt_bench import measuring
from bregopt_bench.peers.recorder import EndedError, PeerRecorder, Trace

LARGE = 2**27
"""Entries of M above which dense arrays of its size are not made."""
ENDLESS = 10**9
TINY = 1e-300
"""Keeps the step finite where a factor is zero."""


def pyproximal_palm(problem: ResolvedProblem, Y: Blocks, stop: StopRule) -> Trace:
    """PALM with pyproximal's defaults and bregopt's proximal maps."""
    try:
        PALM = import_module("pyproximal.optimization.palm").PALM
    except ImportError:
        raise IncompatibleError("pyproximal is not installed. Install it, or 'bregopt[race]'.") from None
    W = problem.block.argmin(problem.smooth, Y)
    if W.shape[0] * W.shape[1] > LARGE:
        raise IncompatibleError(f"pyproximal-palm takes dense arrays, and M is {W.shape[0]}×{W.shape[1]}.")
    M, H = np.maximum(np.asarray(W), 0.0), problem.regularizer
    scale = float(np.linalg.norm(M))

    def figures(U: Array, V: Array, S: Array) -> tuple[float, float]:
        error = np.linalg.norm(np.maximum(S, -M))  # of max(0, UV) − M, entry by entry
        return 0.5 * float(np.vdot(S, S)) + H.value(Blocks(U=U, V=V)), float(error) / scale

    recorder = PeerRecorder(stop)

    def record(products: float, U: Array, V: Array, S: Array) -> None:
        recorder.see(products, lambda: figures(U, V, S), lambda: Blocks(U=U, V=V))

    operator = ReluMatrix(M, Y, record)
    proxes = [Prox(H[name], Y[name].shape) for name in Y.names]
    with contextlib.suppress(EndedError), np.errstate(over="ignore", invalid="ignore"):
        PALM(operator, *proxes, *(Y[name].ravel() for name in Y.names), niter=ENDLESS)
    time.sleep(measuring.PAUSE)  # it ran BLAS on its own threads
    return recorder.trace()


@final
class ReluMatrix:
    """``½‖W − UV‖²`` as a bilinear operator of pyproximal, with W = W(UV) at the start of every iteration.

    S = UV − W is kept, so that an iteration takes three products. The Lipschitz constants are those of pyproximal's own
    operator for a fixed W: the Frobenius norms of the Gram matrices.
    """

    def __init__(self, M: Array, Y: Blocks, record: Any) -> None:
        self._M, self._record, self._iterations = M, record, 0
        self._U = self._U_new = Y["U"]
        self._V, self._S = Y["V"], M

    def gradx(self, x: Array) -> Array:
        """``SVᵀ`` at the start of an iteration, which is recorded with the products so far."""
        U, V = x.reshape(self._U.shape), self._V
        S = U @ V
        S -= np.where(self._M > 0, self._M, np.minimum(S, 0.0))
        self._U, self._S = U, S
        self._record(3 * self._iterations + 1, U, V, S)
        self._iterations += 1
        return (S @ V.T).ravel()

    def grady(self, y: Array) -> Array:
        """``U⁺ᵀ(U⁺V − W) = U⁺ᵀS + U⁺ᵀ(U⁺ − U)V``."""
        U, V = self._U_new, y.reshape(self._V.shape)
        return (U.T @ self._S + (U.T @ (U - self._U)) @ V).ravel()

    def updatex(self, x: Array) -> None:
        self._U_new = x.reshape(self._U.shape)

    def updatey(self, y: Array) -> None:
        self._V = y.reshape(self._V.shape)

    def lx(self, x: Array) -> float:
        U = x.reshape(self._U.shape)
        return max(float(np.linalg.norm(U.T @ U)), TINY)

    def ly(self, y: Array) -> float:
        V = y.reshape(self._V.shape)
        return max(float(np.linalg.norm(V @ V.T)), TINY)


@final
@frozen
class Prox:
    """The proximal map of H on flat vectors, as pyproximal calls it."""

    H: Regularizer
    shape: tuple[int, ...]

    def prox(self, x: Array, tau: float) -> Array:
        return self.H.prox(x.reshape(self.shape), tau).ravel()
