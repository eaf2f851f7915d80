"""Φ of two models with a ridge, in plain NumPy: no solver is measured by code of its own."""

import numpy as np
from benchopt import BaseObjective


class Objective(BaseObjective):
    """``loss(M, UV) + (ridge/2)(‖U‖² + ‖V‖²)``."""

    name = "Low rank"
    min_benchopt_version = "1.10"
    requirements = ["numpy"]
    parameters = {"model": ["nmf", "relu-nmd"], "rank": [10], "ridge": [0.1], "seed": [0]}
    test_config = {"rank": 2}
    sampling_strategy = "callback"

    def set_data(self, M):
        self.M = M

    def skip(self, M):
        if min(M.shape) < self.rank:
            return True, f"the rank {self.rank} is more than {min(M.shape)}"
        return (True, "M has negative entries") if M.min() < 0 else (False, None)

    def get_objective(self):
        """The problem, and the point from which every solver begins; it is scaled so that ‖UV‖ is about ‖M‖."""
        rng = np.random.default_rng(self.seed)
        U, V = (rng.standard_normal(shape) for shape in ((len(self.M), self.rank), (self.rank, self.M.shape[1])))
        if self.model == "nmf":
            U, V = np.abs(U), np.abs(V)
        size = np.sqrt(np.linalg.norm(self.M) / np.linalg.norm(U @ V))
        return {"M": self.M, "model": self.model, "ridge": self.ridge, "U0": size * U, "V0": size * V}

    def evaluate_result(self, U, V):
        X = U @ V
        if self.model == "nmf":
            residual, shown = X - self.M, X
            broken = max(0.0, -U.min(), -V.min())
        else:
            residual, shown = np.where(self.M > 0, X - self.M, np.maximum(X, 0.0)), np.maximum(X, 0.0)
            broken = 0.0
        value = 0.5 * np.vdot(residual, residual) + 0.5 * self.ridge * (np.vdot(U, U) + np.vdot(V, V))
        error = np.linalg.norm(shown - self.M) / np.linalg.norm(self.M)
        return {"value": float(value) if broken <= 1e-9 else np.inf, "relative_error": float(error)}

    def get_one_result(self):
        return {"U": np.ones((len(self.M), self.rank)), "V": np.ones((self.rank, self.M.shape[1]))}
