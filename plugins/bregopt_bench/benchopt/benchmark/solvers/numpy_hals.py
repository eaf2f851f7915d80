"""HALS as one would write it in NumPy: a loop over the columns of a factor."""

import numpy as np
from benchopt import BaseSolver


class Solver(BaseSolver):
    """``u_k ← max(0, (Mv_kᵀ − Σ_{j≠k} u_j v_jv_kᵀ)/(v_kv_kᵀ + ridge))``, then V, for the model nmf alone."""

    name = "NumPy HALS"
    requirements = ["numpy"]
    sampling_strategy = "callback"

    def skip(self, model, **objective):
        return (False, None) if model == "nmf" else (True, "HALS is for the model nmf")

    def set_objective(self, M, model, ridge, U0, V0):
        self.M, self.ridge, self.U0, self.V0 = M, ridge, U0, V0
        self.U, self.V = U0, V0

    def warm_up(self):
        self.run_once(3)

    def run(self, callback):
        U, V = self.U, self.V = self.U0.copy(), self.V0.copy()
        while callback():
            self.sweep(U.T, (self.M @ V.T).T, V @ V.T)
            self.sweep(V, U.T @ self.M, U.T @ U)

    def sweep(self, rows, target, gram):
        """The rows of a factor one after another, in place."""
        for k, row in enumerate(rows):
            curvature = gram[k, k] + self.ridge
            if curvature > 0:
                row[:] = np.maximum((target[k] - gram[k] @ rows + gram[k, k] * row) / curvature, 0.0)

    def get_result(self):
        return {"U": self.U, "V": self.V}
