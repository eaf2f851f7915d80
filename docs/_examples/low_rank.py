"""Examples of the public names of bregopt_lowrank: losses, models and matrices of your own."""

import attrs
import numpy as np

import bregopt as bo

# %% bregopt_lowrank.EntrywiseLoss
# A loss is one function that returns e, its slope and its curvature. It runs compiled in the same pass as the others.
import math

from bregopt_lowrank import EntrywiseLoss


@attrs.frozen
class LogCosh(EntrywiseLoss):
    """``e(x; m) = log cosh(x − m)``."""

    @staticmethod
    def entry(x, m):
        z, t = abs(x - m), math.tanh(x - m)
        return z + math.log1p(math.exp(-2.0 * z)) - math.log(2.0), t, 1.0 - t * t


print([round(number, 3) for number in LogCosh().entry(2.0, 0.5)])
print(bo.compose("low-rank", np.eye(4), rank=2, loss=LogCosh()))

# %% bregopt_lowrank.SignLoss
# A loss for m = ±1. What a mistake is, and that a zero of a sparse M is missing, comes with the class.
from bregopt_lowrank import SignLoss


@attrs.frozen
class Margin(SignLoss):
    """``e(x; m) = ½(1 − mx)²``."""

    @staticmethod
    def entry(x, m):
        return 0.5 * (1.0 - m * x) ** 2, x - m, 1.0


loss = Margin()
print(loss.fits(np.array([1.0, -1.0, 0.5])), loss.metric, loss.zero)

# %% bregopt_lowrank.NonnegativeLoss
# A loss for m ≥ 0: other data are refused before the first iteration.
from bregopt_lowrank import NonnegativeLoss


@attrs.frozen
class Roots(NonnegativeLoss):
    """``e(x; m) = ½(x − √m)²``."""

    @staticmethod
    def entry(x, m):
        return 0.5 * (x - m**0.5) ** 2, x - m**0.5, 1.0


try:
    bo.compose("low-rank", np.array([[1.0, -4.0]]), rank=1, loss=Roots())
except bo.errors.DataError as error:
    print(error)

# %% bregopt_lowrank.Zero
# What a zero of a sparse M means to a loss: one of these words.
from typing import get_args

from bregopt_lowrank import Zero

print(get_args(Zero))
print(bo.make("loss", "least-squares").zero, bo.make("loss", "relu").zero, bo.make("loss", "logistic").zero)

# %% bregopt_lowrank.ColumnLosses
# One loss for each column: numbers, then answers of yes and no.
from bregopt_lowrank import ColumnLosses

losses = [bo.make("loss", name) for name in ("least-squares", "least-squares", "logistic")]
columns = ColumnLosses.by_column(losses)
print(columns.stops, columns.which, columns.single)

# %% bregopt_lowrank.Tile, bregopt_lowrank.TileSums
# Some entries of M, what is known of them, and what the loss makes of them.
from bregopt_lowrank import Tile

tile = Tile(M=np.array([[1.0, np.nan], [0.0, 2.0]]))
print(tile.plain, tile.part(slice(0, 1)).M)

# %% bregopt_lowrank.TileLoops
# The compiled arithmetic of a loss: five loops, one for each way in which a pass meets the entries.
from bregopt_lowrank import TileLoops

print(TileLoops._fields)

# %% bregopt_lowrank.TorchEntries
# What ``by_torch`` of a loss returns, on a device: the slope alone where e is half its square.
from bregopt_lowrank import TorchEntries

x, m = np.array([0.5, -1.0]), np.array([1.0, 0.0])
print(TorchEntries(slope=x - m).slope)

# %% bregopt_lowrank.Factorization, bregopt_lowrank.LowRankBlock
# F and the W block of every problem of this package can be asked by themselves.
problem = bo.compose("relu-nmd", np.maximum(0, np.random.default_rng(0).standard_normal((6, 5))), rank=2)
Y = problem.first_point(None, np.random.default_rng(0))
W = problem.block.argmin(problem.smooth, Y)
print(type(problem.smooth).__name__, type(problem.block).__name__)
print(f"F = {problem.smooth.value(Y, W):.3f}, G = {problem.block.value(W):g}")

# %% bregopt_lowrank.LazyW
# W exists only a tile at a time, whatever the size of M.
problem = bo.compose("relu-nmd", np.maximum(0, np.random.default_rng(0).standard_normal((6, 5))), rank=2)
W = bo.solve(problem, max_iterations=20).W
print(W.shape, W.rows(slice(0, 2)).shape, np.asarray(W).shape)

# %% bregopt_lowrank.Model, bregopt_lowrank.Sided
# A model says of which factors L and R the data are the product, and how a gradient goes back to its blocks.
from bregopt_lowrank import Model, Sided

model = bo.make("model", "with-bias")
print(isinstance(model, Model), isinstance(model, Sided), dict(model.shapes((6, 5), 2)))
Y = bo.Blocks(U=np.ones((6, 2)), V=np.ones((2, 5)), a=np.ones((6, 1)), b=np.zeros((1, 5)))
L, R = model.factors(Y)
print((L @ R)[0, 0])

# %% bregopt_lowrank.Forward
# A model by its map and the adjoint of its derivative; the convolution is one.
from bregopt_lowrank import Forward

model, _ = bo.make("model", "convolution", 2).unfolded((4,))
Y = bo.Blocks(k=np.array([1.0, 2.0]), x=np.array([0.0, 1.0, 0.0, 0.0]))
print(isinstance(model, Forward), model.forward(Y))

# %% bregopt_lowrank.quartic
# The kernel that a product of two factors needs.
from bregopt_lowrank import quartic

print(quartic(1.0, 5.0))

# %% bregopt_lowrank.low_rank
# The function behind ``bo.compose("low-rank", …)`` states a problem; ``compose`` also resolves it.
from bregopt_lowrank import low_rank

stated = low_rank(np.eye(4), 2, loss="huber(0.5)", U="ridge(0.1)")
print(type(stated).__name__, stated.name, stated.facts()["Data"])

# %% bregopt_lowrank.ScaledRandom
# The default start: Gaussian factors of the size of M.
from bregopt_lowrank import ScaledRandom

problem = bo.compose("low-rank", 100 * np.eye(4), rank=2)
Y = ScaledRandom().point(problem, np.random.default_rng(0))
print(f"|U|² = {np.square(Y.U).sum():.1f}, |M| = {np.linalg.norm(100 * np.eye(4)):.1f}")

# %% bregopt_lowrank.WithSmooth, bregopt_lowrank.SharedPolicy
# With a graph in F there is a smooth term beside the loss, and its kernel beside the kernel of the loss.
ring = np.roll(np.eye(6), 1, axis=0) + np.roll(np.eye(6), -1, axis=0)
problem = bo.compose("graph-nmf", np.random.default_rng(0).random((6, 5)), rank=2, graph=ring)
print(type(problem.smooth).__name__, list(problem.smooth.terms))
print(type(problem.kernel).__name__)

# %% bregopt_lowrank.Given, bregopt_lowrank.RemoteArray, bregopt_lowrank.local_matrix
# The data as they were given, and the matrix made of them. A ``RemoteArray`` makes a matrix elsewhere in the same way.
from bregopt_lowrank import Given, local_matrix

M = local_matrix(Given(np.arange(6.0).reshape(2, 3), mask=np.array([[1, 1, 0], [1, 1, 1]], dtype=bool)))
print(M.shape, M.known, "known,", M.missing, "missing,", f"norm {M.frobenius:.2f}")

# %% bregopt_lowrank.Matrix, bregopt_lowrank.LocalMatrix, bregopt_lowrank.as_local_matrix
# M as a pass sees it, dense or sparse: its size, its norm, its rows.
from bregopt_lowrank import Matrix, as_local_matrix
from scipy.sparse import csr_array

for given in (np.eye(3), csr_array(np.eye(3))):
    M = as_local_matrix(given)
    print(isinstance(M, Matrix), M.shape, M.nonzeros, M.read(slice(0, 1)).M)

# %% bregopt_lowrank.PassRequest, bregopt_lowrank.PassResult
# One pass at X = UV: the sums that a problem needs, and the gradient if V̄ and Ū are given.
from bregopt_lowrank import ColumnLosses, PassRequest, as_local_matrix

U, V = np.ones((3, 1)), np.ones((1, 3))
loss = ColumnLosses.one(bo.make("loss", "least-squares"), 3)
seen = as_local_matrix(np.eye(3)).run_pass(PassRequest(loss, 1.0, U, V))
print(f"Σ e = {seen.value:g}, ‖S‖² = {seen.residual:g}")

# %% bregopt_lowrank.grams
# Where the gradient is taken at the point of W, nothing has to be corrected.
from bregopt_lowrank import ColumnLosses, PassRequest, grams

U, V = np.ones((3, 1)), np.ones((1, 3))
loss = ColumnLosses.one(bo.make("loss", "least-squares"), 3)
print(grams(PassRequest(loss, 1.0, U, V, U_bar=U, V_bar=V, left=np.zeros((3, 1))), slice(0, 3)))
print(
    [it.shape for it in grams(PassRequest(loss, 1.0, U, V, U_bar=2 * U, V_bar=V, left=np.zeros((3, 1))), slice(0, 3))]
)

# %% bregopt_lowrank.with_the_rest
# A pass over the stored entries of a sparse M becomes one over all of them: each other entry costs ½x².
from bregopt_lowrank import ColumnLosses, PassRequest, PassResult, with_the_rest

U, V = np.ones((3, 1)), np.ones((1, 3))
request = PassRequest(ColumnLosses.one(bo.make("loss", "least-squares"), 3), 1.0, U, V)
stored = PassResult(residual=0.0, error=0.0, of_W=0.0, distance=0.0, value=-4.5, right=None)
print(with_the_rest(request, stored, 1.0).value, "=", -4.5 + 9 / 2)

# %% bregopt_lowrank.check_matrix
# A matrix that is too large or too small for its precision is refused, with the factor that helps.
from bregopt_lowrank import check_matrix

check_matrix(1.0, np.dtype("float64"))
try:
    check_matrix(1e200, np.dtype("float64"))
except bo.errors.DataError as error:
    print(error)

# %% bregopt_lowrank.image, bregopt_lowrank.gram, bregopt_lowrank.subspace
# MZ and MᵀMZ by passes over the rows, and the leading singular vectors made of them.
from functools import partial

from bregopt_lowrank import as_local_matrix, gram, image, subspace

M = np.random.default_rng(0).standard_normal((20, 8))
held = as_local_matrix(M)
U, s, Vt = subspace(partial(gram, held), partial(image, held), n=8, rank=2)
print(np.allclose(image(held, np.eye(8)), M), np.allclose(s, np.linalg.svd(M, compute_uv=False)[:2], rtol=1e-3))

# %% bregopt_lowrank.norm_by_passes
# An upper bound of the spectral norm, for an M ≥ 0, without forming MᵀM.
from functools import partial

from bregopt_lowrank import as_local_matrix, gram, norm_by_passes

M = np.random.default_rng(0).random((20, 8))
bound = norm_by_passes(as_local_matrix(M), partial(gram, as_local_matrix(M)))
print(f"{np.linalg.norm(M, 2):.4f} ≤ {bound:.4f} ≤ {np.linalg.norm(M):.4f}")

# %% bregopt_lowrank.sum_of_squares
# In float64, whatever the array is held in.
from bregopt_lowrank import sum_of_squares

X = np.full(1_000_000, 0.1, dtype=np.float32)
print(f"{sum_of_squares(X):.6f} in float64, {np.vdot(X, X):.6f} in float32")

# %% bregopt_lowrank.short_runs
# What a plugin returns from ``bregopt_warm_up``: labelled runs that compile the loops of its problem beforehand.
from bregopt_lowrank import short_runs

for label, _ in short_runs("robust-pca"):
    print(label)

# %% bregopt_selection.rank_curve, bregopt_selection.Curve, bregopt_selection.Fit
# Which rank predicts best what the fit did not see?
from bregopt_selection import rank_curve

rng = np.random.default_rng(0)
M = rng.standard_normal((30, 2)) @ rng.standard_normal((2, 20)) + 0.2 * rng.standard_normal((30, 20))
curve = rank_curve("low-rank", M, range(1, 4), seeds=2, jobs=1)
print(curve.chosen, curve.mean.round(2))
print(curve.table())

# %% bregopt_selection.weight_path
# How strong may a regularizer be? The errors, and the share of zeros, from strong to weak.
from bregopt_selection import weight_path

rng = np.random.default_rng(0)
M = rng.standard_normal((30, 2)) @ rng.standard_normal((2, 20)) + 0.2 * rng.standard_normal((30, 20))
path = weight_path("low-rank", M, H="l1", weights=[10, 3, 1, 0.3], rank=2, seeds=2, jobs=1)
print(path.chosen, path.mean.round(2), path.zeros("V").round(2))

# %% bregopt_sklearn.LowRank
# An estimator of scikit-learn that takes missing entries and fills them in.
from bregopt_sklearn import LowRank

rng = np.random.default_rng(0)
truth = rng.standard_normal((60, 3)) @ rng.standard_normal((3, 40))
X = np.where(rng.random(truth.shape) < 0.3, np.nan, truth)
model = LowRank(3, missing="nan", U="ridge(0.01)", V="ridge(0.01)", random_state=0)
filled = model.inverse_transform(model.fit_transform(X))
print(
    f"{np.linalg.norm((filled - truth)[np.isnan(X)]) / np.linalg.norm(truth[np.isnan(X)]):.3f} on the missing entries"
)

# %% bregopt_sklearn.ReluNMD
# In a pipeline, as any other transformer.
from bregopt_sklearn import ReluNMD

rng = np.random.default_rng(0)
X = np.maximum(0, rng.standard_normal((60, 3)) @ rng.standard_normal((3, 40)))
model = ReluNMD(n_components=3, random_state=0).fit(X[:50])
print(model.components_.shape, model.transform(X[50:]).shape)

# %% bregopt_torch.on_device
# A matrix as a tensor on a device. Without torch, the error says what to install.
from bregopt_torch import on_device

try:
    print(on_device(np.eye(3), "cpu").dtype)
except bo.errors.BregoptError as error:
    print(error)
