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
    """The arguments of ``bregopt.solve``: a run without any limit gets one, and one without a goal a plateau."""
    from bregopt.host.api import DEFAULT_ITERATIONS

    if not stop and max_iterations is None and max_seconds is None:
        max_iterations = DEFAULT_ITERATIONS
        stop = ("plateau",) if tolerance is None else ()
    rules = (bregopt.make("stop", spec) for spec in stop)
    return {
        "stop": reduce(or_, rules, interrupt),
        "max_iterations": max_iterations,
        "max_seconds": max_seconds,
        "tolerance": tolerance,
    }
