"""Three methods on one small sparse matrix: the objective, the fit and the certificate."""

import numpy as np

import bregopt as bo

rng = np.random.default_rng(0)
M = np.maximum(0.0, rng.standard_normal((80, 5)) @ rng.standard_normal((5, 60)) - 1.0)  # the ReLU of rank 6
problem = bo.compose("relu-nmd", M, rank=6, U="l1(0.01)", V="l1(0.01)")

print(f"M is {M.shape[0]}×{M.shape[1]} with {np.mean(M > 0):.0%} non-zeros; every method may spend 1500 products.")
print(f"{'method':22}{'objective':>11}{'relative error':>16}{'iterations':>12}")
for method in ("aapb-paper", "auto", "aapb"):
    result = bo.solve(problem, method=method, seed=0, stop="max-products(1500)")
    print(f"{method:22}{result.objective:11.3f}{result.metrics['relative_error']:16.4f}{result.iterations:12d}")

print("\nThe certificate of the last run:")
print(result.certificate.summary())
