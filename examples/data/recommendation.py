"""
Recommendation from clicks
==========================

Which twenty items to show to whom? Every model of low rank is far better than what is most clicked, and the models
differ little: completion and max(0, UV) with a mask tie a tuned ALS, and TSVD and NMF are a little behind.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import NMF

import bregopt as bo

# %%
# **Generated clicks**: tastes in a few of twelve genres, popular items, busy people. Of all entries, clicked or not, a
# tenth is hidden to choose rank and weight by, and three tenths are for the test. TSVD and NMF see zeros there.
small = os.environ.get("BREGOPT_EXAMPLES") == "small"
users, items, seeds, ranks, weights = (250, 200, 1, (8, 12), (3,)) if small else (400, 300, 3, (8, 12), (1, 3))


def quality(scores, hidden):  # Recall@20 and NDCG@20 among the hidden entries, the mean over users with clicks there
    best, wanted = np.argsort(-np.where(hidden, scores, -np.inf), axis=1)[:, :20], (R * hidden).sum(axis=1)
    hits, wanted = np.take_along_axis(R * hidden, best, axis=1)[wanted > 0], np.minimum(wanted[wanted > 0], 20)
    return [np.mean(hits @ g / np.cumsum(g)[wanted.astype(int) - 1]) for g in (1.0**place, 1 / np.log2(place + 2))]


def als(R, trust, weight, V):  # alternating weighted ridge regressions
    for _ in range(16):
        A = np.einsum("ui,ip,iq->upq", trust, V, V, optimize=True) + weight * np.eye(V.shape[1])
        R, trust, V, U = R.T, trust.T, np.linalg.solve(A, ((trust * R) @ V)[:, :, None])[:, :, 0], V
    return U @ V.T


found, place, grid = {}, np.arange(20), [(r, w) for r in ranks for w in weights]
for rng in map(np.random.default_rng, range(seeds)):
    liking = rng.dirichlet(np.full(12, 0.1), users) @ rng.gamma(0.5, 6, (12, items)) + rng.standard_normal(items)
    R = 1.0 * (rng.random((users, items)) < 1 / (1 + np.exp(6.2 - liking - rng.normal(0, 0.7, (users, 1)))))
    known, validation, test = (rng.choice(3, R.shape, p=[0.6, 0.1, 0.3]) == part for part in range(3))
    U, s, V = np.linalg.svd(R * known, full_matrices=False)
    models = {"most clicked": [np.tile((R * known).sum(axis=0) / known.sum(axis=0), (users, 1))]}
    models["TSVD"] = [(U[:, :rank] * s[:rank]) @ V[:rank] for rank in ranks]
    models["NMF"] = [(nmf := NMF(rank, max_iter=900)).fit_transform(R * known) @ nmf.components_ for rank in ranks]
    trust = known, known * (1 + R)  # a click may count more than none
    models["ALS"] = [als(R, t, w, rng.standard_normal((items, r))) for t in trust for r, w in grid]
    for name, kind in (("completion", "completion"), ("max(0, UV)", "relu-nmd")):
        problems = [bo.compose(kind, R, rank=r, mask=known, U=f"ridge({w})", V=f"ridge({w})") for r, w in grid]
        models[name] = [np.matmul(*bo.solve(problem, max_iterations=30).Y) for problem in problems]
    for name in models:
        best = max(models[name], key=lambda scores: quality(scores, validation)[1])
        found.setdefault(name, []).append(quality(best, test))
plt.figure(figsize=(7.5, 4.4))
for name, (recall, ndcg) in ((name, np.mean(runs, axis=0)) for name, runs in found.items()):
    print(f"{name}: Recall@20 {recall:.3f}, NDCG@20 {ndcg:.3f}")
    plt.bar_label(plt.bar(name.replace("most ", "most\n"), ndcg), fmt="%.3f")
plt.gca().set(ylabel="NDCG@20 on the test entries", title=f"{users} users, {items} items, draws of the data: {seeds}")
plt.show()
