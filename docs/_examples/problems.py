"""Examples of the problems: as short as the data allow. docs/problems.md says more about each of them."""

import numpy as np

import bregopt as bo

# %% problem/relu-nmd
# A matrix of full rank that is the ReLU of one of rank 3.
rng = np.random.default_rng(0)
M = np.maximum(0, rng.standard_normal((40, 3)) @ rng.standard_normal((3, 30)))
result = bo.solve(bo.compose("relu-nmd", M, rank=3), max_iterations=100)
print("rank of M:", np.linalg.matrix_rank(M))
print(result.answer)

# %% problem/low-rank
# Any loss, any model, and H on every block. Here two entries of a hundred are grossly wrong.
rng = np.random.default_rng(0)
M = rng.standard_normal((20, 2)) @ rng.standard_normal((2, 20))
M[3, 4], M[10, 11] = 50.0, -80.0
result = bo.solve(bo.compose("low-rank", M, rank=2, loss="huber(0.1)", U="ridge(0.01)"), max_iterations=200)
wrong = np.abs(M - result.Y.U @ result.Y.V) > 10
print("does not fit at", np.argwhere(wrong).tolist())

# %% problem/nmf
# Two habits of shopping, and how much of each is in every household.
habits = np.array([[3, 2, 0, 0], [0, 0, 1, 3]])
M = np.random.default_rng(0).gamma(0.5, 2, (20, 2)) @ habits
result = bo.solve(bo.compose("nmf", M, rank=2), max_iterations=200)
print((result.Y.V / result.Y.V.max(axis=1, keepdims=True)).round(2))

# %% problem/semi-nmf
# Data of either sign, mixed by weights that only add.
rng = np.random.default_rng(0)
M = rng.standard_normal((20, 3)) @ rng.random((3, 30))
result = bo.solve(bo.compose("semi-nmf", M, rank=3), max_iterations=200)
print(f"smallest weight {result.Y.V.min():g}. {result.answer}")

# %% problem/kl-nmf
# Counts, with the divergence that is right for them.
rng = np.random.default_rng(0)
M = rng.poisson(rng.gamma(0.5, 4, (30, 2)) @ rng.random((2, 20))).astype(float)
result = bo.solve(bo.compose("kl-nmf", M, rank=2), max_iterations=200)
print("totals:", M.sum(), (result.Y.U @ result.Y.V).sum().round(1))

# %% problem/graph-nmf, problem/graph-relu-nmd
# Ten rows in a ring: rows next to each other get codes that are close.
rng = np.random.default_rng(0)
M = rng.random((10, 12))
ring = np.roll(np.eye(10), 1, axis=0) + np.roll(np.eye(10), -1, axis=0)
for name in ("graph-nmf", "graph-relu-nmd"):
    for mu in (0.01, 10):
        U = bo.solve(bo.compose(name, M, rank=2, graph=ring, mu=mu, V="ridge(0.1)"), max_iterations=100).Y.U
        rough = np.linalg.norm(U - np.roll(U, 1, axis=0)) / np.linalg.norm(U)
        print(f"{name:14} mu {mu:5}: difference of neighbours {rough:.2f}")

# %% problem/completion
# Half of the entries are known. The rest is filled in.
rng = np.random.default_rng(0)
truth = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 30))
known = rng.random(truth.shape) < 0.5
problem = bo.compose("completion", truth, rank=2, mask=known, U="ridge(0.01)", V="ridge(0.01)")
X = np.matmul(*bo.solve(problem, max_iterations=200).Y)
print(f"{np.linalg.norm((X - truth)[~known]) / np.linalg.norm(truth[~known]):.4f} on the unknown entries")

# %% problem/robust-pca, bregopt_problems.outliers
# ``outliers`` returns the entries that do not belong to the low rank, as a sparse matrix.
from bregopt_problems import outliers

rng = np.random.default_rng(0)
M = rng.standard_normal((30, 2)) @ rng.standard_normal((2, 20))
M[5, 7] += 30
problem = bo.compose("robust-pca", M, rank=2)
S = outliers(problem, bo.solve(problem, max_iterations=200).Y).toarray()
print("outliers of more than 1 at", np.argwhere(np.abs(S) > 1).tolist())

# %% problem/one-bit, problem/logistic
# Only signs are known, and only 60 % of them.
rng = np.random.default_rng(0)
truth = np.sign(rng.standard_normal((40, 2)) @ rng.standard_normal((2, 30)))
known = rng.random(truth.shape) < 0.6
for name in ("one-bit", "logistic"):
    X = np.matmul(*bo.solve(bo.compose(name, truth, rank=2, mask=known), max_iterations=100).Y)
    print(f"{name}: {np.mean(np.sign(X) == truth, where=~known):.0%} of the unknown signs are right")

# %% problem/binary
# Yes or no: who knows what. A zero is an answer here.
rng = np.random.default_rng(0)
skill, hardness = rng.standard_normal((50, 1)), rng.standard_normal((1, 12))
M = (skill - hardness + 0.5 * rng.standard_normal((50, 12)) > 0).astype(float)
result = bo.solve(bo.compose("binary", M, rank=1), max_iterations=100)
print(result.answer)
print(f"skill is seen in a: correlation {np.corrcoef(result.Y.a.ravel(), skill.ravel())[0, 1]:.2f}")

# %% problem/symmetric
# Who knows whom, of two groups.
group = np.repeat([0, 1], 6)
M = (group[:, None] == group).astype(float)
U = bo.solve(bo.compose("symmetric", M, rank=2, nonneg=True), max_iterations=100).Y.U
print("groups:", U.argmax(axis=1))

# %% problem/dictionary
# Every column of M is made of two of eight atoms.
rng = np.random.default_rng(0)
atoms = rng.standard_normal((6, 8))
atoms /= np.linalg.norm(atoms, axis=0)
code = np.zeros((8, 200))
for column in code.T:
    column[rng.choice(8, 2, replace=False)] = rng.choice([-1, 1], 2)
result = bo.solve(bo.compose("dictionary", atoms @ code, rank=8), method="aapb", max_iterations=200)
print(f"{np.sum(np.abs(atoms.T @ result.Y.U).max(axis=1) > 0.95)} of 8 atoms found")

# %% problem/sparse-pca, bregopt_problems.explained_variance
# Each component is made of few variables. ``explained_variance`` is the share that each of them explains.
from bregopt_problems import explained_variance

rng = np.random.default_rng(0)
loadings = np.array([[3, 3, 3, 0, 0, 0], [0, 0, 0, 2, 2, 2]])
M = rng.standard_normal((100, 2)) @ loadings + 0.3 * rng.standard_normal((100, 6))
problem = bo.compose("sparse-pca", M, rank=2, eta=5.0)
result = bo.solve(problem, max_iterations=200)
for row, share in zip(result.Y.V, explained_variance(problem, result.Y), strict=True):
    print("variables", np.flatnonzero(row), f"{share:.0%} of the variance")

# %% problem/cp, problem/tensor-completion
# A tensor, and the same with six entries of ten unknown.
rng = np.random.default_rng(0)
T = np.einsum("ip,jp,kp->ijk", *(rng.standard_normal((size, 2)) for size in (10, 9, 8)))
result = bo.solve(bo.compose("cp", T, rank=2), max_iterations=100)
print(result.Y)
holes = np.where(rng.random(T.shape) < 0.4, T, np.nan)
X = np.einsum("ip,jp,kp->ijk", *bo.solve(bo.compose("tensor-completion", holes, rank=2), max_iterations=200).Y)
print(f"{np.linalg.norm((X - T)[np.isnan(holes)]) / np.linalg.norm(T[np.isnan(holes)]):.3f} on the unknown entries")

# %% problem/deep-linear
# Three layers whose product is M.
M = np.random.default_rng(0).standard_normal((8, 6))
result = bo.solve(bo.compose("deep-linear", M, depth=3, rank=3), max_iterations=200)
print(result.Y)
print(result.answer)

# %% problem/blind-deconvolution
# A few spikes that went through a blur nobody knows.
rng = np.random.default_rng(0)
x = np.zeros(64)
x[[10, 30, 50]] = 2.0, -1.0, 1.5
blur = np.array([1.0, 2.0, 1.0])
M = sum(weight * np.roll(x, shift) for weight, shift in zip(blur, (-1, 0, 1), strict=True))
result = bo.solve(bo.compose("blind-deconvolution", M, 3, x="l1(0.01)"), method="ipalm", max_iterations=300)
print("the blur:", (result.Y.k.ravel() / result.Y.k.max()).round(2))

# %% problem/poisson
# Photons counted behind a lens that blurs: two stars.
rng = np.random.default_rng(0)
place = np.arange(40)
A = np.exp(-0.5 * np.square((place[:, None] - place) / 1.5))
stars = np.zeros(40)
stars[[12, 28]] = 100.0, 300.0
result = bo.solve(bo.compose("poisson", A, rng.poisson(A @ stars), H="l1(1)"), max_iterations=300)
print("brightest at", np.sort(np.argsort(result.Y.x.ravel())[-2:]))

# %% problem/quadratic-inverse, bregopt_problems.signal
# ``signal`` returns x as a vector. The data do not tell x from −x.
from bregopt_problems import signal

rng = np.random.default_rng(0)
A, x = rng.standard_normal((60, 8)), np.array([2.0, 0, 0, -1.0, 0, 0, 0, 1.0])
problem = bo.compose("quadratic-inverse", A, np.square(A @ x), H="l1(0.1)")
found = signal(problem, bo.solve(problem, max_iterations=200).Y)
print((found * np.sign(found @ x)).round(2))

# %% problem/phase-retrieval
# Only the size of complex measurements is known, not their phase.
from bregopt_problems import signal

rng = np.random.default_rng(0)
A, x = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape) for shape in ((60, 6), 6))
problem = bo.compose("phase-retrieval", A, np.abs(A @ x), magnitudes=True)
found = signal(problem, bo.solve(problem, max_iterations=300, tolerance=1e-8).Y)
phase = np.vdot(found, x) / abs(np.vdot(found, x))
print("found up to a phase:", np.allclose(phase * found, x, atol=1e-5))
