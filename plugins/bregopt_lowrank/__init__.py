"""(c/2)‖W − A(Y)‖² with a W that depends on A(Y) entry by entry: losses, models, the pass over M, Newton on rows.

What another plugin needs is named here: one that brings a loss or a problem, or one that brings another kind of matrix.
"""

from bregopt_lowrank.data import Given, RemoteArray, local_matrix
from bregopt_lowrank.factorization import Factorization, LazyW, LowRankBlock
from bregopt_lowrank.forward import Forward
from bregopt_lowrank.losses.loss import ColumnLosses, EntrywiseLoss, Tile, TileSums, TorchEntries, Zero
from bregopt_lowrank.losses.sets_of_data import NonnegativeLoss, SignLoss
from bregopt_lowrank.losses.tile_loops import TileLoops
from bregopt_lowrank.matrices.local import LocalMatrix, as_local_matrix
from bregopt_lowrank.matrices.matrix import Matrix, PassRequest, PassResult
from bregopt_lowrank.matrices.size import check_matrix
from bregopt_lowrank.matrices.spectrum import gram, image, norm_by_passes, subspace
from bregopt_lowrank.models import Model, Sided, quartic
from bregopt_lowrank.passes.numpy_walks import sum_of_squares
from bregopt_lowrank.passes.run import grams
from bregopt_lowrank.passes.sampled import with_the_rest
from bregopt_lowrank.problem import low_rank
from bregopt_lowrank.smooth_terms import SharedPolicy, WithSmooth
from bregopt_lowrank.starts import ScaledRandom
from bregopt_lowrank.warm_up import short_runs

__all__ = [
    "ColumnLosses",
    "EntrywiseLoss",
    "Factorization",
    "Forward",
    "Given",
    "LazyW",
    "LocalMatrix",
    "LowRankBlock",
    "Matrix",
    "Model",
    "NonnegativeLoss",
    "PassRequest",
    "PassResult",
    "RemoteArray",
    "ScaledRandom",
    "SharedPolicy",
    "Sided",
    "SignLoss",
    "Tile",
    "TileLoops",
    "TileSums",
    "TorchEntries",
    "WithSmooth",
    "Zero",
    "as_local_matrix",
    "check_matrix",
    "gram",
    "grams",
    "image",
    "local_matrix",
    "low_rank",
    "norm_by_passes",
    "quartic",
    "short_runs",
    "subspace",
    "sum_of_squares",
    "with_the_rest",
]
