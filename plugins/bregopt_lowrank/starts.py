"""Where to begin: scaled random factors, or the truncated SVD."""

from typing import final

import numpy as np
from attrs import frozen

from bregopt import Array, Blocks, ProblemParts, Start
from bregopt.errors import IncompatibleError
from bregopt_lowrank.factorization import LowRankBlock


def _block(problem: ProblemParts, name: str) -> LowRankBlock:
    if not isinstance(problem.block, LowRankBlock):
        raise IncompatibleError(
            f"The start '{name}' is made from the matrix that UV is to fit, and the {problem.name} has none: "
            "give the blocks to start from."
        )
    return problem.block


@final
@frozen
class ScaledRandom(Start):
    """Gaussian U and V, each scaled to the Frobenius norm ``√‖M‖_F``; offsets are zero."""

    def point(self, problem: ProblemParts, rng: np.random.Generator) -> Blocks:
        block = _block(problem, "scaled-random")
        shapes, size = block.model.shapes(block.M.shape, block.rank), np.sqrt(block.size)
        return Blocks(**{name: _random(name, shape, size, rng) for name, shape in shapes.items()})


def _random(name: str, shape: tuple[int, ...], size: float, rng: np.random.Generator) -> Array:
    if name not in ("U", "V"):
        return np.zeros(shape)
    X = rng.standard_normal(shape)
    return np.asarray(X * (size / np.linalg.norm(X)))


@final
@frozen
class TSVD(Start):
    """The balanced truncated SVD of M, missing entries taken for 0: ``U = U_r S^½``, ``V = S^½ V_rᵀ``."""

    def point(self, problem: ProblemParts, rng: np.random.Generator) -> Blocks:
        block = _block(problem, "tsvd")
        U, s, Vt = block.M.leading(block.rank)
        root = np.sqrt(s)
        found = {"U": U * root, "V": root[:, None] * Vt}
        shapes = block.model.shapes(block.M.shape, block.rank)
        return Blocks(**{name: found.get(name, np.zeros(shape)) for name, shape in shapes.items()})
