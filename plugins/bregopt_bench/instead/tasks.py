"""The tasks of ``bregopt bench instead``: a problem, its start, and what one would use for it without bregopt."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np
from attrs import frozen

import bregopt
from bregopt import Array, Blocks, ResolvedProblem, feasible
from bregopt.errors import IncompatibleError
from bregopt.matrices import synthetic
from bregopt_bench.peers.numpy_loops import SmoothLowRank, als_sweep

Run = Callable[[int], tuple[Array, Array]]
"""U and V after at most so many iterations from the start."""
MISSING = IncompatibleError("scikit-learn is not installed. Install it, or 'bregopt[sklearn]'.")
RIDGE = 0.1
LOOPS = 100
"""Iterations of a loop written by hand, which has no rule to end it."""
SKLEARN = 200
"""The default of scikit-learn."""
SCIPY = 15000
"""The default of scipy."""


@final
@frozen(eq=False, kw_only=True)
class Task:
    """A problem with a start, and a peer that minimises the same objective from there."""

    title: str
    peer: str
    problem: ResolvedProblem
    start: Blocks
    run: Run
    iterations: int
    """at most; the peer may end earlier by its own rule"""

    def objective(self, Y: Blocks) -> float:
        """Φ with W = W(Y)."""
        return float(self.problem.oracle.evaluate(Y).value + self.problem.regularizer.value(Y))

    def peer_objective(self, iterations: int) -> float:
        """Φ where the peer is after so many iterations."""
        U, V = self.run(iterations)
        return self.objective(Blocks(U=U, V=V))


def tasks(scale: float) -> Sequence[Callable[[], Task]]:
    """One for each row; ``scale`` multiplies the sides of the matrices."""

    def side(length: int) -> int:
        return max(20, round(scale * length))

    return (
        lambda: nmf_of_scikit_learn("NMF of pictures", digits(), 16),
        lambda: nmf_of_scikit_learn("NMF of counts", counts(side(6000), side(4000)), 20),
        lambda: completion_in_numpy("matrix completion", ratings(side(3000), side(2000)), 10),
        lambda: relu_by_scipy("M = max(0, UV)", synthetic(side(1500), side(500), 10), 10),
    )


def digits() -> Array:
    """The pictures of handwritten digits that come with scikit-learn, a row each."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise MISSING from None
    return np.asarray(load_digits().data / 16.0)


def counts(m: int, n: int, rank: int = 20) -> Any:
    """Words of documents: Poisson counts whose means are a product, some per cent of them not zero."""
    from scipy.sparse import csr_array

    rng = np.random.default_rng(0)
    topics = rng.gamma(0.1, size=(rank, n))
    return csr_array(rng.poisson(rng.dirichlet(np.full(rank, 0.1), size=m) @ topics * 0.2).astype(float))


def ratings(m: int, n: int, rank: int = 10, known: float = 0.05) -> Any:
    """Entries of a product with noise, of which few are known."""
    from scipy.sparse import random_array

    rng = np.random.default_rng(0)
    M = random_array((m, n), density=known, format="csr", rng=rng)
    A, B = rng.standard_normal((m, rank)), rng.standard_normal((n, rank))
    rows = np.repeat(np.arange(m), np.diff(M.indptr))
    M.data = np.einsum("kr,kr->k", A[rows], B[M.indices]) + 0.1 * rng.standard_normal(M.nnz)
    return M


def nmf_of_scikit_learn(title: str, M: Any, rank: int) -> Task:
    """scikit-learn's NMF with its defaults: coordinate descent until it changes little."""
    try:
        from sklearn.decomposition import non_negative_factorization
    except ImportError:
        raise MISSING from None
    problem, Y = begun("nmf", M, rank)

    def run(iterations: int) -> tuple[Array, Array]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it may not have converged
            U, V, _ = non_negative_factorization(
                M, Y.U.copy(), Y.V.copy(), n_components=rank, init="custom", max_iter=iterations
            )
        return U, V

    return Task(title=told(title, M, rank), peer="NMF of scikit-learn", problem=problem, start=Y, run=run,
                iterations=SKLEARN)  # fmt: skip


def completion_in_numpy(title: str, M: Any, rank: int) -> Task:
    """Alternating least squares in a loop."""
    problem, Y = begun("completion", M, rank, missing="zeros", U=f"ridge({RIDGE})", V=f"ridge({RIDGE})")
    by_columns = M.T.tocsr()

    def run(iterations: int) -> tuple[Array, Array]:
        U, Vt = Y.U.copy(), Y.V.T.copy()
        for _ in range(iterations):
            als_sweep(U, Vt, M, RIDGE)
            als_sweep(Vt, U, by_columns, RIDGE)
        return U, Vt.T

    return Task(title=told(title, M, rank), peer="ALS in NumPy", problem=problem, start=Y, run=run, iterations=LOOPS)


def relu_by_scipy(title: str, M: Array, rank: int) -> Task:
    """L-BFGS-B with its defaults, on an objective written in NumPy."""
    from scipy.optimize import minimize

    problem, Y = begun("relu-nmd", M, rank, U=f"ridge({RIDGE})", V=f"ridge({RIDGE})")
    smooth = SmoothLowRank(M, "relu-nmd", rank, RIDGE)

    def run(iterations: int) -> tuple[Array, Array]:
        found = minimize(
            smooth.value_and_gradient, Y.flat, jac=True, method="L-BFGS-B", options={"maxiter": iterations}
        )
        return smooth.factors(found.x)

    return Task(title=told(title, M, rank), peer="L-BFGS-B of scipy", problem=problem, start=Y, run=run,
                iterations=SCIPY)  # fmt: skip


def begun(name: str, M: Any, rank: int, **options: Any) -> tuple[ResolvedProblem, Blocks]:
    """The problem on one thread, and its own start."""
    problem = bregopt.compose(name, M, rank=rank, threads=1, **options)
    Y, _ = feasible(problem, problem.first_point(None, np.random.default_rng(0)))
    return problem, Y


def told(title: str, M: Any, rank: int) -> str:
    filled = "" if isinstance(M, np.ndarray) else f", {100 * M.nnz / (M.shape[0] * M.shape[1]):.2g} %"
    return f"{title} {M.shape[0]}×{M.shape[1]}{filled}, rank {rank}"
