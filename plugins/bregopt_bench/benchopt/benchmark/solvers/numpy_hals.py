"""HALS as one would write it in NumPy: a loop over the columns of a factor."""

from benchopt import BaseSolver
from bregopt_bench.peers.numpy_loops import hals_sweep


class Solver(BaseSolver):
    """All columns of U one after another, then the rows of V, for the model nmf alone."""

    name = "NumPy HALS"
    requirements = ["pip::bregopt"]
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
            hals_sweep(U.T, V @ self.M.T, V @ V.T, self.ridge)
            hals_sweep(V, U.T @ self.M, U.T @ U, self.ridge)

    def get_result(self):
        return {"U": self.U, "V": self.V}
