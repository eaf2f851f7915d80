"""The few parts that the core itself asks for by name, each with the reason; it names no others."""

PROBLEM = "relu-nmd"
"""``bregopt solve data.mtx`` has to mean something: this is the model that the library was written for. The kit runs
a regularizer on it too."""
RANK = 10
"""Of this problem, or less for a small matrix, where no rank is given."""
START = "scaled-random"
"""Where a problem begins that says no more than the shapes of its blocks."""
METHOD = "auto"
"""What ``solve`` does without a method: the selector that looks at the problem."""
STOP = "plateau"
"""The goal of a run that was given none, by ``solve`` and by the command line: it suits every problem."""
MAX_ITERATIONS = 1000
"""The limit of a run that was given none."""
STOP_BY_ARGUMENT = {"tolerance": "tolerance", "max_seconds": "max-seconds", "max_iterations": "max-iterations"}
"""The rules behind the arguments of ``solve``."""
NUMBER = "constant"
"""A bare number in the place of a part is the part of this name: ``step=0.5`` is ``step=constant(0.5)``."""
JOINED = "stop"
"""The kind whose parts are joined by | and & in a spec."""
WITH_NUMBER = {"regularizer": ("l1", "ridge"), "stop": ("max-iterations", "tolerance")}
"""What somebody may have meant who gave a bare number to a kind without such a part: the answer names them."""
PLAIN_METHOD = "apb(step=0.9)"
"""The steps without extrapolation under which the kit looks at the descent of a regularizer."""
