"""L-BFGS-B of scipy, on both factors at once."""

import numpy as np
from benchopt import BaseSolver
from scipy.optimize import minimize


class Solver(BaseSolver):
    """Φ is smooth in (U, V) with a ridge; for nmf the factors are bounded below by 0."""

    name = "L-BFGS-B"
    requirements = ["scipy"]
    sampling_strategy = "callback"

    def set_objective(self, M, model, ridge, U0, V0):
        self.M, self.model, self.ridge = M, model, ridge
        self.shapes = U0.shape, V0.shape
        self.x = self.x0 = np.concatenate([U0.ravel(), V0.ravel()])

    def warm_up(self):
        self.run_once(3)

    def factors(self, x):
        first, second = self.shapes
        cut = first[0] * first[1]
        return x[:cut].reshape(first), x[cut:].reshape(second)

    def value_and_gradient(self, x):
        U, V = self.factors(x)
        X = U @ V
        E = X - self.M if self.model == "nmf" else np.where(self.M > 0, X - self.M, np.maximum(X, 0.0))
        value = 0.5 * np.vdot(E, E) + 0.5 * self.ridge * np.vdot(x, x)
        gradient = np.concatenate([(E @ V.T).ravel(), (U.T @ E).ravel()]) + self.ridge * x
        return value, gradient

    def run(self, callback):
        self.x = self.x0

        def seen(x):
            self.x = x.copy()
            if not callback():
                raise StopIteration

        if callback():
            minimize(
                self.value_and_gradient,
                self.x0,
                jac=True,
                method="L-BFGS-B",
                bounds=[(0.0, None)] * self.x0.size if self.model == "nmf" else None,
                callback=seen,
                options={"ftol": 0.0, "gtol": 0.0, "maxiter": 10**9, "maxfun": 10**9},
            )

    def get_result(self):
        U, V = self.factors(self.x)
        return {"U": U, "V": V}
