"""When a run of the command line ends."""

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import Any

import bregopt
from bregopt.rules.stopping import StopRule


def stop_options(
    interrupt: StopRule,
    stop: Sequence[str],
    max_iterations: int | None,
    max_seconds: float | None,
    tolerance: float | None,
) -> dict[str, Any]:
    """The arguments of ``bregopt.solve``: without any goal a plateau is one, without any limit 1000 iterations are."""
    from bregopt.host.api import DEFAULT_ITERATIONS

    limits = {"max_iterations": max_iterations, "max_seconds": max_seconds}
    limited = any(limit is not None for limit in limits.values())
    if not (stop or limited or tolerance is not None):
        stop = ("plateau",)
    rule = reduce(or_, (bregopt.make("stop", spec) for spec in stop), interrupt)
    if not (limited or rule.certain):
        limits["max_iterations"] = DEFAULT_ITERATIONS  # as bregopt.solve does; here the bar is to know of it
    return {"stop": rule, "tolerance": tolerance, **limits}
