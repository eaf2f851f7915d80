"""Where to begin: scaled random factors, the truncated SVD, or the non-negative parts of it."""

from typing import final

import numpy as np
from attrs import field, frozen

from bregopt import Array, Blocks, ProblemParts, Start, validate
from bregopt.errors import IncompatibleError
from bregopt_lowrank.factorization import LowRankBlock
from bregopt_lowrank.matrices.local import LocalMatrix
from bregopt_lowrank.matrices.matrix import Matrix


def _block(problem: ProblemParts, name: str) -> LowRankBlock:
    """Of a problem whose A is a product of U and V, or one of them."""
    if not isinstance(problem.block, LowRankBlock):
        raise IncompatibleError(
            f"The start '{name}' is made from the matrix that UV is to fit, and the {problem.name} has none: "
            "give the blocks to start from."
        )
    model = problem.block.model
    if not model.affine or model.ranks(problem.block.M.shape) is None:
        raise IncompatibleError(
            f"The start '{name}' is for a product of two factors, and the model of the {problem.name} is another: "
            "take scaled-random, or give the blocks to start from."
        )
    return problem.block


@final
@frozen
class ScaledRandom(Start):
    """Gaussian U and V, each scaled to the Frobenius norm ``√‖M‖_F``; offsets are zero.

    Each of n factors has the norm ``‖M‖_F^{1/n}``. Blocks of a problem that says no more than their shapes have entries
    of variance 1/(number of columns).
    """

    def point(self, problem: ProblemParts, rng: np.random.Generator) -> Blocks:
        block = problem.block
        if isinstance(block, LowRankBlock):
            return block.model.start(block.model.shapes(block.M.shape, block.rank), block.size, rng)
        if problem.shapes is None:
            raise IncompatibleError(
                f"The start 'scaled-random' needs the shapes of the blocks, and the {problem.name} does not tell them: "
                "give Problem(shapes=...), or the blocks to start from."
            )
        return Blocks(**{name: rng.standard_normal(it) / np.sqrt(it[-1]) for name, it in problem.shapes.items()})


@final
@frozen
class TSVD(Start):
    """The balanced truncated SVD of M, missing entries taken for 0: ``U = U_r S^½``, ``V = S^½ V_rᵀ``."""

    def point(self, problem: ProblemParts, rng: np.random.Generator) -> Blocks:
        block = _block(problem, "tsvd")
        U, s, Vt = block.M.leading(block.rank)
        root = np.sqrt(s)
        return _with_zeros(block, U * root, root[:, None] * Vt)


def _with_zeros(block: LowRankBlock, U: Array, V: Array) -> Blocks:
    """The blocks U and V as far as the model has them, and zero for the others."""
    found, shapes = {"U": U, "V": V}, block.model.shapes(block.M.shape, block.rank)
    return Blocks(**{name: found.get(name, np.zeros(shape)) for name, shape in shapes.items()})


@final
@frozen
class NNDSVD(Start):
    """The non-negative double SVD of M, missing entries taken for 0, of Boutsidis and Gallopoulos.

    The leading singular pair is taken without signs, as that of an M ≥ 0 has one sign. Each other pair (u, v) has the
    non-negative parts ``u₊v₊ᵀ`` and ``u₋v₋ᵀ``: the one of larger norm is taken. Times the singular value, it is shared
    evenly by a column of U and a row of V. About half of the entries are zero then. With ``fill=mean`` they are the
    mean of M (NNDSVDa), for methods that never leave zero, such as mu.
    """

    fill: str = field(default="zero", validator=validate.one_of("zero", "mean"))

    def point(self, problem: ProblemParts, rng: np.random.Generator) -> Blocks:
        block = _block(problem, "nndsvd")
        left, s, right = (np.asarray(it, dtype=np.float64) for it in block.M.leading(block.rank))
        U, V = np.zeros(left.shape), np.zeros(right.shape)
        U[:, 0], V[0] = np.sqrt(s[0]) * np.abs(left[:, 0]), np.sqrt(s[0]) * np.abs(right[0])
        for p in range(1, len(s)):
            U[:, p], V[p] = _positive_part(s[p], left[:, p], right[p])
        if self.fill == "mean":
            mean = max(_mean(block.M), 0.0)
            U[U == 0], V[V == 0] = mean, mean
        return _with_zeros(block, U, V)


def _positive_part(size: float, u: Array, v: Array) -> tuple[Array, Array]:
    """The larger one of ``size·u₊v₊ᵀ`` and ``size·u₋v₋ᵀ``, as two vectors of one norm."""
    pairs = [(np.maximum(t * u, 0.0), np.maximum(t * v, 0.0)) for t in (1.0, -1.0)]
    norms = [(float(np.linalg.norm(x)), float(np.linalg.norm(y))) for x, y in pairs]
    best = max((0, 1), key=lambda it: norms[it][0] * norms[it][1])
    (x, y), (a, b) = pairs[best], norms[best]
    if a == 0 or b == 0:
        return np.zeros_like(u), np.zeros_like(v)
    return x * np.sqrt(size * b / a), y * np.sqrt(size * a / b)


def _mean(M: Matrix) -> float:
    """Of the known entries."""
    if isinstance(M, LocalMatrix) and M.in_memory:
        total = float(M.filled().sum(dtype=np.float64))
    else:
        total = sum(float(np.nansum(M.read(rows).M, dtype=np.float64)) for rows in M.tiles())
    return total / max(M.known, 1)
