"""
Neighbours of words
===================

Word vectors are kept to find the words nearest to a word. How short can they be? Keep the similarities above each
word's own threshold τᵢ, S = max(0, cos − τᵢ), as max(0, UV): it keeps more neighbours than PCA with as many numbers.
"""

import os

import matplotlib.pyplot as plt
import numpy as np

import bregopt as bo

# %%
# **The data are a stand-in**, as no package brings word vectors along: a word is a mixture of two senses, senses belong
# to topics, some are common and most are rare, and all words share one direction. Try your own vectors as ``X``.
rng = np.random.default_rng(0)
n, d, nearest = 400 if os.environ.get("BREGOPT_EXAMPLES") == "small" else 1000, 300, 10
topics = rng.standard_normal((30, d))
senses = topics[rng.integers(30, size=n // 12)] + rng.standard_normal((n // 12, d))
first, second = rng.choice(n // 12, size=(2, n), p=rng.dirichlet(np.full(n // 12, 0.7)))
share = rng.uniform(0.5, 1, (n, 1))
X = share * senses[first] + (1 - share) * senses[second] + 0.7 * rng.standard_normal((n, d))
X = X * np.arange(1, d + 1) ** -0.2 + 0.3 * rng.standard_normal(d)
X /= np.linalg.norm(X, axis=1, keepdims=True)

# %%
# The threshold leaves each word its fifteen nearest. Below it UV may be anything ≤ 0, which saves rank. A list of the
# ten nearest is shorter still, if you ask for nothing else: the factors also score other pairs, and take new words.
similarity = X @ X.T - 2 * np.eye(n)  # no word is its own neighbour
threshold = -np.sort(-similarity, axis=1)[:, [15]]
S = np.maximum(0, similarity - threshold)


def kept(scores):  # the share of the ten nearest words that are still among the ten nearest
    found, true = (np.argsort(9 * np.eye(n) - table, axis=1)[:, :nearest] for table in (scores, similarity))
    return np.mean([np.isin(*pair).mean() for pair in zip(found, true)])


def cosines(P):
    return (P @ P.T) / np.outer(*2 * [np.linalg.norm(P, axis=1)])


sizes, curves = [20, 40, 60], {"max(0, UV)": [], "SVD, inner product": [], "PCA, cosine": []}
(U, values, _), (P, spread, _) = np.linalg.svd(X), np.linalg.svd(X - X.mean(axis=0))
for size in sizes:  # U and V have size/2 numbers for each word, PCA and SVD have size
    problem = bo.compose("relu-nmd", S, rank=size // 2, U="ridge(0.001)", V="ridge(0.001)")
    curves["max(0, UV)"].append(kept(np.matmul(*bo.solve(problem, max_iterations=100).Y)))
    curves["SVD, inner product"].append(kept((U[:, :size] * values[:size] ** 2) @ U[:, :size].T))
    curves["PCA, cosine"].append(kept(cosines(P[:, :size] * spread[:size])))
for name, curve in curves.items():
    print(f"{name}: kept " + ", ".join(f"{k:.3f} with {size} numbers" for k, size in zip(curve, sizes)))
    plt.plot(sizes, curve, "o-", label=name)
plt.gca().set(xlabel="numbers a word", ylabel="share of the ten nearest kept", xticks=sizes, title=f"{n} words")
plt.legend()
plt.show()
