"""Where to begin: scaled random factors, or the truncated SVD."""

from typing import final

import numpy as np
from attrs import frozen

from bregopt import Blocks, ProblemParts, Start
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
    """Gaussian U and V, each scaled to the Frobenius norm ``√‖M‖_F``."""

    def point(self, problem: ProblemParts, rng: np.random.Generator) -> Blocks:
        block = _block(problem, "scaled-random")
        M, rank = block.M, block.rank
        factors = {"U": rng.standard_normal((M.shape[0], rank)), "V": rng.standard_normal((rank, M.shape[1]))}
        size = np.sqrt(M.frobenius)
        return Blocks(**{name: X * (size / np.linalg.norm(X)) for name, X in factors.items()})


@final
@frozen
class TSVD(Start):
    """The balanced truncated SVD of M: ``U = U_r S^½``, ``V = S^½ V_rᵀ``."""

    def point(self, problem: ProblemParts, rng: np.random.Generator) -> Blocks:
        block = _block(problem, "tsvd")
        U, s, Vt = block.M.leading(block.rank)
        root = np.sqrt(s)
        return Blocks(U=U * root, V=root[:, None] * Vt)
