"""The methods of bregopt."""

from benchopt import BaseSolver

import bregopt as bo


class Solver(BaseSolver):
    """Every method that ``bregopt plugins`` lists: ``-s 'bregopt[method=palm]'``."""

    name = "bregopt"
    requirements = ["pip::bregopt"]
    parameters = {"method": ["auto", "aapb", "palm"]}
    sampling_strategy = "callback"

    def set_objective(self, M, model, ridge, U0, V0):
        H = f"ridge({ridge})"
        self.problem = bo.compose(model, M, rank=U0.shape[1], U=H, V=H)
        self.Y = self.start = bo.Blocks(U=U0, V=V0)

    def skip(self, **objective):
        """What the method says of the problem, where it refuses it."""
        self.set_objective(**objective)
        try:
            next(self.states())
        except bo.errors.IncompatibleError as error:
            return True, str(error)
        return False, None

    def states(self):
        return bo.iterate(self.problem, method=self.method, start=self.start)

    def warm_up(self):
        self.run_once(30)  # loops are compiled when they are first needed

    def run(self, callback):
        self.Y = self.start
        states = self.states()
        while callback():
            self.Y = next(states).Y

    def get_result(self):
        return {"U": self.Y.U, "V": self.Y.V}
