"""An own regularizer, the group lasso over rows: on V it switches whole components off, under any radial kernel."""

import attrs
import numpy as np

import bregopt as bo


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


rng = np.random.default_rng(0)
M = np.maximum(0.0, rng.standard_normal((50, 3)) @ rng.standard_normal((3, 40)))

print("kernel   objective   relative error   components kept of 8")
for kernel in ("paper", "tight"):
    problem = bo.compose("relu-nmd", M, rank=8, U="ridge(1)", V=RowGroupLasso(2.0), kernel=kernel)
    result = bo.solve(problem, method="aapb", stop="plateau(1e-5, 20)", max_iterations=2000)
    kept = np.count_nonzero(result.Y.V.any(axis=1))
    print(f"{kernel:8}{result.objective:10.3f}{result.metrics['relative_error']:17.4f}{kept:24d}")
print(result.certificate.summary())
