"""
Your own regularizer
====================

The rank was guessed too large. A group lasso over the rows of V, written here in ten lines, switches the components off
that are not needed. The l1 norm, which is in the box, makes entries zero and no component.
"""

import attrs
import matplotlib.pyplot as plt
import numpy as np

import bregopt as bo

# %%
# A regularizer is its value and its Euclidean proximal map. The traits say what is known of it.


@attrs.frozen
class RowGroupLasso(bo.Regularizer):
    """``H(X) = η Σ_i ‖x_i‖₂`` over the rows x_i."""

    eta: float = attrs.field(default=1.0, validator=bo.validate.number(at_least=0))
    traits = bo.Trait.CONVEX | bo.Trait.HOMOGENEOUS | bo.Trait.ROW_WISE

    def value(self, X):
        return self.eta * float(np.linalg.norm(X, axis=1).sum())

    def prox(self, X, step):
        norms = np.linalg.norm(X, axis=1, keepdims=True)
        return X * np.maximum(0.0, 1.0 - step * self.eta / np.maximum(norms, 1e-300))


# %%
# M is the ReLU of a matrix of rank 3, and the models have 8 components.
rng = np.random.default_rng(0)
M = np.maximum(0, rng.standard_normal((50, 3)) @ rng.standard_normal((3, 40)))
figure, axes = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
for axis, (name, H) in zip(axes, {"group lasso over rows": RowGroupLasso(2.0), "l1": "l1(0.5)"}.items()):
    problem = bo.compose("relu-nmd", M, rank=8, U="ridge(1)", V=H)
    result = bo.solve(problem, method="aapb", stop="plateau(1e-6, 20)", max_iterations=2000)
    V, error = result.Y.V, result.metrics["relative_error"]
    kept = np.count_nonzero(V.any(axis=1))
    print(f"{name}: {kept} of 8 components kept, error {error:.3f}, {np.mean(V == 0):.0%} of V is zero")
    axis.imshow(V, cmap="RdBu_r", vmin=-3, vmax=3, aspect="auto", interpolation="none")
    axis.set(title=f"{name}: {kept} components, error {error:.2f}", xlabel="column of M", ylabel="component")
plt.show()
