"""
Parts of faces
==============

Which models take faces apart into eyes, noses and mouths? These faces are drawn from 12 parts, so that the answer can
be counted: non-negative factors find all parts, and the truncated SVD and a ReLU model find none.
"""

import matplotlib.pyplot as plt
import numpy as np

import bregopt as bo

rng = np.random.default_rng(0)
SIDE, RANK = 28, 12

# %%
# A face has one of three heads, eyes, noses and mouths, each drawn with more or less ink.


def arc(x, y, rx, ry, begin=0, end=2):  # a part of an ellipse, from begin·π to end·π
    angle, grid = np.pi * np.linspace(begin, end, 60), np.linspace(-1, 1, SIDE)
    dx, dy = grid[:, None] - x - rx * np.cos(angle), grid[:, None] - y - ry * np.sin(angle)
    return np.exp(-(dx**2 + dy[:, None] ** 2).min(axis=2) / 0.005).ravel()


eyes = [(0.3, -0.25, 0.12, 0.12), (0.3, -0.25, 0.16, 0.03), (0.3, -0.2, 0.15, 0.15, 1, 2)]
parts = [arc(0, 0, 0.8, 0.85), arc(0, 0, 0.6, 0.9), arc(0, 0, 0.75, 0.75, 0, 1) + arc(0, 0, 0.75, 0.3, 1, 2)]
parts += [arc(*eye) + arc(-eye[0], *eye[1:]) for eye in eyes]
parts += [arc(0, 0.1, 0.03, 0.16), arc(0, 0.18, 0.12, 0.1, 0, 1), arc(0.04, 0.1, 0.1, 0.15, 0.5, 1.5)]
parts += [arc(0, 0.3, 0.35, 0.2, 0, 1), arc(0, 0.55, 0.3, 0.15, 1, 2), arc(0, 0.45, 0.12, 0.12)]
chosen = np.eye(3)[rng.integers(3, size=(400, 4))] * rng.uniform(0.3, 1, (400, 4, 1))
M = chosen.reshape(400, 12) @ parts
M = np.clip(M + 0.05 * rng.standard_normal(M.shape), 0, 1)

# %%
# Four models of the same rank. In the picture red is ink that a component adds, and blue is ink that it takes away. The
# error of the truncated SVD is the least that any UV of this rank can have. The ReLU model max(0, UV) may go below it,
# but on these faces it hardly does: take NMF.
problems = {
    "TSVD": bo.compose("low-rank", M, rank=RANK),
    "NMF": bo.compose("nmf", M, rank=RANK),
    "sparse NMF": bo.compose("nmf", M, rank=RANK, U="l1(0.1)", V="l1(0.3)"),
    "ReLU": bo.compose("relu-nmd", M, rank=RANK, U="ridge(0.1)", V="ridge(0.1)"),
}
figure, axes = plt.subplots(5, 8, figsize=(8, 5.4), layout="constrained", subplot_kw={"xticks": [], "yticks": []})
for axis, picture in zip(axes[0], M):
    axis.imshow(picture.reshape(SIDE, SIDE), cmap="gray_r")
axes[0, 0].set_ylabel("faces")
for row, (name, problem) in zip(axes[1:], problems.items()):
    result = bo.solve(problem, method="tsvd" if name == "TSVD" else "auto", max_iterations=200)
    V = result.Y.V / np.linalg.norm(result.Y.V, axis=1, keepdims=True)
    cosine = np.abs(V @ (np.array(parts) / np.linalg.norm(parts, axis=1, keepdims=True)).T).max(axis=0)
    error, found, blank = result.metrics["relative_error"], np.sum(cosine > 0.9), np.mean(result.Y.V == 0)
    print(f"{name}: error {error:.4f}, {found} of 12 parts found, {blank:.0%} of V is zero")
    for axis, picture in zip(row, V):
        axis.imshow(picture.reshape(SIDE, SIDE), cmap="RdBu_r", vmin=-0.2, vmax=0.2)
    row[0].set_ylabel(f"{name}\n{found} of 12")
plt.show()
