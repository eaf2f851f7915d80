"""L-BFGS-B of scipy, on both factors at once."""

import numpy as np
from benchopt import BaseSolver
from bregopt_bench.peers.numpy_loops import SmoothLowRank
from scipy.optimize import minimize


class Solver(BaseSolver):
    """Φ is smooth in (U, V) with a ridge; for nmf the factors are bounded below by 0."""

    name = "L-BFGS-B"
    requirements = ["scipy", "pip::bregopt"]
    sampling_strategy = "callback"

    def set_objective(self, M, model, ridge, U0, V0):
        self.smooth = SmoothLowRank(M, model, U0.shape[1], ridge)
        self.x = self.x0 = np.concatenate([U0.ravel(), V0.ravel()])

    def warm_up(self):
        self.run_once(3)

    def run(self, callback):
        self.x = self.x0

        def seen(x):
            self.x = x.copy()
            if not callback():
                raise StopIteration

        if callback():
            endless = {"ftol": 0.0, "gtol": 0.0, "maxiter": 10**9, "maxfun": 10**9}
            minimize(
                self.smooth.value_and_gradient,
                self.x0,
                jac=True,
                method="L-BFGS-B",
                bounds=self.smooth.bounds,
                callback=seen,
                options=endless,
            )

    def get_result(self):
        U, V = self.smooth.factors(self.x)
        return {"U": U, "V": V}
