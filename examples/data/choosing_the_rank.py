"""
How many components?
====================

The fit to the data gets better with every component and cannot tell. Hide some entries and predict them instead: the
error on what was hidden is least at the true rank. A rule such as "90 % of the variance" depends on the noise.
"""

import matplotlib.pyplot as plt
import numpy as np
from bregopt_selection import rank_curve

# %%
# The same matrix of rank 5 with little noise and with much. ``rank_curve`` fits each rank three times, each time to
# another 90 % of the entries.
rng = np.random.default_rng(0)
X = rng.standard_normal((80, 5)) @ rng.standard_normal((5, 60))
figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained", sharey=True)
for axis, noise in zip(axes, (0.5, 1.5)):
    M = X + noise * rng.standard_normal(X.shape)
    curve = rank_curve("low-rank", M, range(1, 9), seeds=3, jobs=1)
    energy = np.cumsum(np.linalg.svd(M, compute_uv=False) ** 2) / np.sum(M**2)
    variance = int(np.argmax(energy >= 0.9)) + 1
    print(f"noise {noise}: rank {curve.chosen} by held-out entries, {variance} by 90 % of the variance; the truth is 5")
    axis.errorbar(curve.values, curve.mean, curve.standard_error, fmt="o-", capsize=3, label="entries that were hidden")
    axis.plot(curve.values, curve.fit_error, "o--", label="entries that were seen")
    axis.axvline(curve.chosen, color="gray", linestyle=":", label="chosen")
    axis.set(xlabel="rank", title=f"noise {noise}: rank {curve.chosen}, by variance {variance}")
axes[0].set_ylabel("relative error")
axes[0].legend()
plt.show()
