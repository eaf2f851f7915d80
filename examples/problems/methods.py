"""
Which method?
=============

All methods minimise the same function from the same start, and the work is counted in products with M. ``auto``, the
default, picks one for the problem. The paper's own method is the simplest here, and by far the slowest.
"""

import matplotlib.pyplot as plt
import numpy as np

import bregopt as bo

# %%
# A sparse M that is the ReLU of a matrix of rank 6. Each run may spend 1500 products.
rng = np.random.default_rng(0)
M = np.maximum(0.0, rng.standard_normal((80, 5)) @ rng.standard_normal((5, 60)) - 1.0)
problem = bo.compose("relu-nmd", M, rank=6, U="l1(0.01)", V="l1(0.01)")
for method in ("auto", "aapb", "ippalm", "aapb-paper"):
    result = bo.solve(problem, method=method, stop="max-products(1500)")
    error, guaranteed = result.metrics["relative_error"], result.certificate.guaranteed
    print(f"{method}: objective {result.objective:.3f}, relative error {error:.4f}, guaranteed {guaranteed}")
    plt.loglog(result.history["products"], result.history["objective"], label=method)
plt.gca().set(
    xlabel="products with M", ylabel="objective", title=f"{M.shape[0]}×{M.shape[1]}, {np.mean(M > 0):.0%} non-zeros"
)
plt.legend()
plt.show()
