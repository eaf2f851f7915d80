"""scipy's L-BFGS-B on the reduced function, for H = 0 and for Tikhonov's H."""

import contextlib
from typing import Any

import numpy as np

from bregopt.blocks import Blocks
from bregopt.cli.race_curve import Trace
from bregopt.cli.race_outside import EndedError, Recorder
from bregopt.errors import IncompatibleError
from bregopt.parts.regularizer import Regularizer, Zero
from bregopt.problem import ResolvedProblem
from bregopt.rules.stopping import StopRule

ENDLESS = {"ftol": 0.0, "gtol": 0.0, "maxiter": 10**9, "maxfun": 10**9}
"""Goes on while it finds a descent; the memory of ten steps and the line search are scipy's defaults."""


def tikhonov(H: Regularizer) -> float | None:
    """η where ``H(X) = (η/2)‖X‖²``, else ``None``."""
    parts = H.split()
    return parts[1] if parts is not None and isinstance(parts[0], Zero) else None


def l_bfgs_b(problem: ResolvedProblem, Y: Blocks, stop: StopRule) -> Trace:
    """``min_Y  min_W F(Y, W) + (η/2)‖Y‖²`` by a quasi-Newton method; an evaluation is a look with its gradient."""
    from scipy.optimize import minimize

    H = problem.regularizer
    weights = {name: _weight(H[name]) for name in Y.names}
    oracle = problem.oracle
    recorder, products = Recorder(stop), 0.0

    def evaluate(flat: Any) -> tuple[float, Any]:
        nonlocal products
        Z = Y.like(flat.copy())
        look = oracle.evaluate(Z, at=Z)
        products += look.products
        objective = look.value + H.value(Z)
        recorder.see(products, lambda: (objective, look.metrics["relative_error"]))
        return objective, (look.gradient + Z.map(lambda name, X: weights[name] * X)).flat

    quiet = np.errstate(over="ignore", invalid="ignore")
    with contextlib.suppress(EndedError), quiet, oracle.working():
        found = minimize(evaluate, Y.flat.copy(), jac=True, method="L-BFGS-B", options=ENDLESS)
        recorder.end(f"scipy ended: {found.message}")
    return recorder.trace()


def _weight(H: Regularizer) -> float:
    eta = tikhonov(H)
    if eta is None:
        raise IncompatibleError(f"l-bfgs-b needs a smooth objective: H = 0 or Tikhonov (ridge). Got {H!r} instead.")
    return eta
