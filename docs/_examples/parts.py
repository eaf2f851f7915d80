"""Examples of the parts that a recipe cannot show, as they need data or parameters of their own."""

import numpy as np

import bregopt as bo

# %% regularizer/graph
# The nodes of a path: neighbours are drawn towards each other.
path = 2 * np.eye(5) - np.eye(5, k=1) - np.eye(5, k=-1)
path[0, 0] = path[-1, -1] = 1
H = bo.make("regularizer", "graph", path, mu=2)
X = np.array([[0.0], [0.0], [5.0], [0.0], [0.0]])
print(f"H(X) = {H.value(X):g}")
print(H.prox(X, 1.0).ravel().round(3))

# %% regularizer/group
# The label of each row says to which group it belongs. Here the second group is small, and goes as a whole.
H = bo.make("regularizer", "group([0, 0, 1, 1], 1)")
X = np.array([[3.0, 1.0], [0.1, 2.0], [0.3, 0.2], [0.5, -0.4]])
print(f"H(X) = {H.value(X):.3g}")
print(H.prox(X, 1.0).round(3))

# %% regularizer/on-columns
# Only the first column is sparse; the others are free.
H = bo.make("regularizer", "on-columns(l1(0.5), [0])")
print(H.prox(np.array([[0.3, 0.3], [2.0, -0.1]]), 1.0))

# %% kernel/block-quadratic
# A number for each block: how heavy it is. A heavy block moves less.
psi = bo.make("kernel", "block-quadratic(U=3, V=0.5)")
Y = bo.Blocks(U=np.ones((2, 1)), V=np.ones((1, 2)))
print(psi.gradient(Y).flat)
print(f"D(Y, 0) = {psi.divergence(Y, 0 * Y):g}")

# %% kernel/fixed
# The norm of W is bounded once, here by that of M, instead of at every step.
M = np.maximum(0, np.random.default_rng(0).standard_normal((30, 20)))
for kernel in (f"fixed({np.linalg.norm(M):.3f})", "tight"):
    result = bo.solve(bo.compose("relu-nmd", M, rank=4, kernel=kernel), method="apb-paper", max_iterations=100)
    print(f"{kernel:14} objective {result.objective:.2f}")

# %% smooth/factorization
# F by itself: its value and its gradient for a given W.
F = bo.make("smooth", "factorization")
rng = np.random.default_rng(0)
Y = bo.Blocks(U=rng.standard_normal((4, 2)), V=rng.standard_normal((2, 3)))
value, gradient = F.value_and_gradient(Y, Y.U @ Y.V)
print(f"at W = UV: F = {value:g}, |∇F| = {gradient.norm():g}")
value, gradient = F.value_and_gradient(Y, np.zeros((4, 3)))
print(f"at W = 0:  F = {value:.3f}, |∇F| = {gradient.norm():.3f}")

# %% loss/bounded-relu
# A picture that is too bright: what is over 1 was cut off at 1, and what is below 0 at 0.
rng = np.random.default_rng(0)
X = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 30))
M = np.clip(X, 0, 1)
for loss in ("bounded-relu", "least-squares"):
    Y = bo.solve(bo.compose("low-rank", M, rank=2, loss=loss), max_iterations=200).Y
    print(f"{loss:13} {np.linalg.norm(Y.U @ Y.V - X) / np.linalg.norm(X):.3f} from what was there")

# %% loss/interval
# M and ``upper`` are the ends of an interval for every entry: here numbers that are rounded down.
rng = np.random.default_rng(0)
X = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 30))
problem = bo.compose("low-rank", np.floor(X), rank=2, loss="interval", upper=np.floor(X) + 1)
Y = bo.solve(problem, max_iterations=200).Y
print(f"{np.abs(Y.U @ Y.V - X).mean():.3f} from the truth, {np.abs(np.floor(X) + 0.5 - X).mean():.3f} by the middles")

# %% model/symmetric
# A matrix of distances within two groups, and U with a column for each group.
group = np.array([0, 0, 0, 1, 1, 1])
M = (group[:, None] == group).astype(float)
result = bo.solve(bo.compose("low-rank", M, rank=2, model="symmetric", U="nonneg"), max_iterations=100)
print(result.Y.U.round(2))

# %% model/cp
# A tensor that is a sum of two products of vectors.
rng = np.random.default_rng(0)
T = np.einsum("ip,jp,kp->ijk", *(rng.standard_normal((size, 2)) for size in (8, 7, 6)))
result = bo.solve(bo.compose("low-rank", T, rank=2, model="cp(3)"), max_iterations=100)
print(result.Y)
print(result.answer)

# %% model/linear
# Logistic regression: the model is Ax, and the loss is that of signs.
rng = np.random.default_rng(0)
A, x = rng.standard_normal((60, 4)), np.array([2.0, -1.0, 0.0, 0.0])
signs = np.where(A @ x > 0, 1.0, -1.0)
problem = bo.compose("low-rank", signs, loss="logistic", model=bo.make("model", "linear", A), x="l1(1)")
print(bo.solve(problem, tolerance=1e-6).Y.x.ravel().round(2))

# %% model/convolution
# A picture k of 2×2 pixels, blurred into another one, x: both are found but for their sizes, and fit the data.
rng = np.random.default_rng(0)
M = rng.random((12, 12))
model = bo.make("model", "convolution", (2, 2))
result = bo.solve(bo.compose("low-rank", M, model=model, k="ball(1)", x="ridge(0.001)"), max_iterations=100)
print(result.Y)
print(result.answer)

# %% stop/held-out
# A tenth of the entries is kept from the fit. The run ends when the fit no longer predicts them better.
rng = np.random.default_rng(0)
M = rng.standard_normal((40, 3)) @ rng.standard_normal((3, 30)) + rng.standard_normal((40, 30))
problem = bo.compose("low-rank", M, rank=10, held_out=0.1)
result = bo.solve(problem, method="aapb", stop="held-out(5) | max-iterations(500)")
print(result.reason)
print(f"{result.metrics['held_out_error']:.2f} on the entries held out")

# %% start/flat-blur
rng = np.random.default_rng(0)
M = rng.standard_normal(32)
problem = bo.compose("blind-deconvolution", M, 4)
first = next(bo.iterate(problem, start="flat-blur"))
print(first.Y.k)

# %% start/leading-eigenvector, start/random-ray
# Where a signal is measured by squares, a good start saves most of the work.
rng = np.random.default_rng(0)
A, x = rng.standard_normal((80, 10)), rng.standard_normal(10)
problem = bo.compose("quadratic-inverse", A, np.square(A @ x))
for start in ("leading-eigenvector", "random-ray"):
    first = next(bo.iterate(problem, start=start, seed=0)).Y.x.ravel()
    angle = abs(first @ x) / np.linalg.norm(first) / np.linalg.norm(x)
    print(f"{start:19} cosine with the truth {angle:.2f}")

# %% dataset/coil20, dataset/mnist, dataset/mnist-1000, dataset/orl, dataset/pie, dataset/tdt2, dataset/yaleb
# The file is not part of bregopt: its licence is its authors'. The error says where to get it, and where to put it.
for name in ("coil20", "mnist", "mnist-1000", "orl", "pie", "tdt2", "yaleb"):
    try:
        print(name, bo.make("dataset", name).M.shape)
    except bo.errors.BregoptError as error:
        print(str(error).partition(", which")[0])

# %% dataset/netz4504-dual
# A finite element graph. Its file is not part of bregopt; the error says where to get it.
try:
    print(bo.make("dataset", "netz4504-dual").M.shape)
except bo.errors.BregoptError as error:
    print(str(error).partition(", which")[0])

# %% method/portfolio
# The second method takes over if it lowers the objective faster for its products.
rng = np.random.default_rng(0)
M = np.maximum(0, rng.standard_normal((40, 3)) @ rng.standard_normal((3, 30)))
problem = bo.compose("relu-nmd", M, rank=3, U="ridge(0.1)", V="ridge(0.1)")
result = bo.solve(problem, method="portfolio(aapb, els)", seed=0, max_iterations=60)
print(result.answer)
print(result.notes)

# %% method/support-search
# A third of the entries may be non-zero. aapb keeps to the places it finds first; support-search goes on looking.
rng = np.random.default_rng(0)
M = np.maximum(0, rng.standard_normal((40, 4)) @ rng.standard_normal((4, 30)))
problem = bo.compose("relu-nmd", M, rank=4, U="l0-ball(53)", V="l0-ball(40)")
for method in ("aapb", "support-search"):
    result = bo.solve(problem, method=method, seed=0, max_iterations=150)
    print(f"{method}: {result.answer}")
