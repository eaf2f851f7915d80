"""
Communities that overlap
========================

Who belongs to which community of a graph, and who to two? A symmetric factorisation A ≈ UUᵀ with U ≥ 0 gives each node
a weight in every community. Spectral clustering is as right about nodes of one community, and cannot see two.
"""

from itertools import permutations

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import SpectralClustering

import bregopt as bo

# %%
# 150 people in four communities, 36 of them in two. The more communities two people share, the likelier they know each
# other.
rng = np.random.default_rng(0)
n, k = 150, 4
member = np.eye(k, dtype=bool)[rng.integers(k, size=n)]
for person in rng.choice(n, 36, replace=False):
    member[person, rng.choice(np.flatnonzero(~member[person]))] = True
chance = np.minimum(0.03 + 0.3 * (member.astype(float) @ member.T), 1)
A = np.triu(rng.random((n, n)) < chance, 1).astype(float)
A += A.T

# %%
# A weight of more than 0.4 of the largest ones counts as membership. What a node has to do with itself is unknown.
problem = bo.compose("symmetric", A, rank=k, nonneg=True, mask=~np.eye(n, dtype=bool))
U = bo.solve(problem, max_iterations=300).Y.U
U = U / np.quantile(U, 0.95, axis=0)
labels = SpectralClustering(k, affinity="precomputed", random_state=0).fit_predict(A)


def right(found):  # for each node, whether all its communities were found, under the best order of the columns
    return max(((found[:, order] == member).all(axis=1) for order in map(list, permutations(range(k)))), key=np.sum)


both = member.sum(axis=1) > 1
for name, found in {"A ≈ UUᵀ": U > 0.4, "spectral clustering": np.eye(k, dtype=bool)[labels]}.items():
    hit = right(found)
    print(f"{name}: right about {np.mean(hit[~both]):.3f} of those in one, {np.mean(hit[both]):.3f} of those in two")

# %%
# Each corner is a community, and a node lies between the corners it has weights for.
corners = np.array([[-1, -1], [-1, 1], [1, 1], [1, -1]])
place = (U / U.sum(axis=1, keepdims=True)) @ corners
figure, axes = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
axes[0].spy(A, markersize=1, color="black")
axes[0].set(title="who knows whom", xticks=[], yticks=[])
axes[1].scatter(*place[~both].T, s=20, c=member[~both].argmax(axis=1), cmap="tab10", vmax=9, label="in one community")
axes[1].scatter(*place[both].T, s=40, c="black", marker="x", label="in two")
axes[1].set(title="nodes by their weights in U", xticks=[], yticks=[])
axes[1].legend(loc="upper center", bbox_to_anchor=(0.5, 0), ncols=2, frameon=False)
plt.show()
