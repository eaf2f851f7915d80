"""½‖W − UV‖² with a W that depends on UV entry by entry: the matrix M, the pass over it, Newton on rows, and starts.

What another plugin needs is named here: one that brings a loss, or one that brings another kind of matrix.
"""

from bregopt_lowrank.factorization import Factorization, LazyW, LowRankBlock, quartic
from bregopt_lowrank.graph import SharedPolicy, WithSmooth
from bregopt_lowrank.matrices.local import LocalMatrix, as_local_matrix
from bregopt_lowrank.matrices.matrix import Matrix, PassRequest, PassResult
from bregopt_lowrank.matrices.size import check_matrix
from bregopt_lowrank.matrices.spectrum import gram, image, norm_by_passes, subspace
from bregopt_lowrank.passes.numpy_walks import sum_of_squares
from bregopt_lowrank.starts import ScaledRandom
from bregopt_lowrank.tile_loss import TileLoops, TileLoss, TileSums

__all__ = [
    "Factorization",
    "LazyW",
    "LocalMatrix",
    "LowRankBlock",
    "Matrix",
    "PassRequest",
    "PassResult",
    "ScaledRandom",
    "SharedPolicy",
    "TileLoops",
    "TileLoss",
    "TileSums",
    "WithSmooth",
    "as_local_matrix",
    "check_matrix",
    "gram",
    "image",
    "norm_by_passes",
    "quartic",
    "subspace",
    "sum_of_squares",
]
