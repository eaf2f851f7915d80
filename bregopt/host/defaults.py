"""The few parts that the core itself asks for by name, each with the reason; it names no others."""

PROBLEM = "relu-nmd"
"""``bregopt solve data.mtx`` has to mean something: this is the model that the library was written for. The kit runs
a regularizer on it too."""
START = "scaled-random"
"""Where a problem begins that says no more than the shapes of its blocks."""
METHOD = "auto"
"""What ``solve`` does without a method: the selector that looks at the problem."""
STOP = "plateau"
"""Where a run of the command line ends that was given neither a goal nor a limit: it suits every problem."""
STOP_BY_ARGUMENT = {"tolerance": "tolerance", "max_seconds": "max-seconds", "max_iterations": "max-iterations"}
"""The rules behind the arguments of ``solve``."""
NUMBER = "constant"
"""A bare number in the place of a part is the part of this name: ``step=0.5`` is ``step=constant(0.5)``."""
PLAIN_METHOD = "apb(step=0.9)"
"""The steps without extrapolation under which the kit looks at the descent of a regularizer."""
