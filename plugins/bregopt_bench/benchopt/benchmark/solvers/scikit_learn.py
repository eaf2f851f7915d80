"""NMF of scikit-learn, with its weights set so that it minimises the same Φ."""

import warnings

from benchopt import BaseSolver
from sklearn.decomposition import non_negative_factorization
from sklearn.exceptions import ConvergenceWarning


class Solver(BaseSolver):
    """Coordinate descent or multiplicative updates, for the model nmf alone."""

    name = "scikit-learn"
    requirements = ["scikit-learn"]
    parameters = {"solver": ["cd", "mu"]}
    sampling_strategy = "iteration"

    def skip(self, model, **objective):
        return (False, None) if model == "nmf" else (True, f"scikit-learn has no {model}")

    def set_objective(self, M, model, ridge, U0, V0):
        m, n = M.shape
        self.M, self.U0, self.V0 = M, U0, V0
        self.options = {
            "n_components": U0.shape[1],
            "init": "custom",
            "solver": self.solver,
            "tol": 0.0,
            "alpha_W": ridge / n,  # it weighs the factors by the sides of M
            "alpha_H": ridge / m,
            "l1_ratio": 0.0,
        }
        self.U, self.V = U0, V0

    def run(self, n_iter):
        self.U, self.V = self.U0, self.V0
        if n_iter == 0:
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.U, self.V, _ = non_negative_factorization(
                self.M, self.U0.copy(), self.V0.copy(), max_iter=n_iter, **self.options
            )

    def get_result(self):
        return {"U": self.U, "V": self.V}
