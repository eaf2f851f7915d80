"""scipy's L-BFGS-B on the reduced function, for H = 0 and for Tikhonov's H."""

import contextlib
import math
from typing import Any

import numpy as np

from bregopt import Blocks, Regularizer, ResolvedProblem, StopRule, tikhonov
from bregopt.errors import IncompatibleError
from bregopt_bench.peers.recorder import EndedError, PeerRecorder, Trace

ENDLESS = {"ftol": 0.0, "gtol": 0.0, "maxiter": 10**9, "maxfun": 10**9}
"""Goes on while it finds a descent; the memory of ten steps and the line search are scipy's defaults."""


def l_bfgs_b(problem: ResolvedProblem, Y: Blocks, stop: StopRule) -> Trace:
    """``min_Y  min_W F(Y, W) + (η/2)‖Y‖²`` by a quasi-Newton method."""
    from scipy.optimize import minimize

    H = problem.regularizer
    weights = {name: _weight(H[name]) for name in Y.names}
    recorder, products = PeerRecorder(stop), 0.0

    def value_and_gradient(flat: Any) -> tuple[float, Any]:
        nonlocal products
        Z = Y.like(flat.copy())
        evaluation = problem.oracle.evaluate(Z, at=Z)
        products += evaluation.products
        objective = evaluation.value + H.value(Z)
        recorder.see(products, lambda: (objective, evaluation.metrics.get("relative_error", math.nan)), lambda: Z)
        return objective, (evaluation.gradient + Z.map(lambda name, X: weights[name] * X)).flat

    quiet = np.errstate(over="ignore", invalid="ignore")
    with contextlib.suppress(EndedError), quiet, problem.oracle.working():
        found = minimize(value_and_gradient, Y.flat.copy(), jac=True, method="L-BFGS-B", options=ENDLESS)
        recorder.end(f"scipy ended: {found.message}")
    return recorder.trace()


def _weight(H: Regularizer) -> float:
    eta = tikhonov(H)
    if eta is None:
        raise IncompatibleError(f"l-bfgs-b needs a smooth objective: H = 0 or Tikhonov (ridge). Got {H!r} instead.")
    return eta
