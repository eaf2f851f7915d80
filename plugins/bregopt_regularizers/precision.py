"""X's own precision: for steps, and for the rounding that an indicator allows."""

import math
from typing import Any, cast

import numpy as np

from bregopt import Array


def floating(X: Array) -> np.dtype[Any]:
    """The dtype of X, or the floating one that holds it."""
    return np.result_type(X.dtype, np.float16)


def match(step: float | Array, X: Array) -> float:
    """The step as a Python float, or an array of steps in X's precision: neither widens X."""
    if type(step) is float:
        return step
    return float(step) if np.ndim(step) == 0 else cast(float, np.asarray(step, dtype=floating(X)))


def slack(X: Array) -> float:
    """The relative rounding an indicator allows: 4e-11 in double, 2e-5 in single precision."""
    return math.pow(np.finfo(floating(X)).eps, 2 / 3)
