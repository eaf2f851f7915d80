"""Numbers as Python code, so that a counterexample can be pasted."""

from typing import Any

import numpy as np

from bregopt.blocks import Array, Blocks


def literal(value: Any) -> str:
    """The expression that gives the value again, to the last digit."""
    if isinstance(value, np.ndarray):
        dtype = "" if value.dtype == np.float64 else f", dtype=np.{value.dtype}"
        return f"np.array({value.tolist()!r}{dtype})"
    if isinstance(value, Blocks):
        return f"bo.Blocks({', '.join(f'{name}={literal(value[name])}' for name in value.names)})"
    return repr(value.item() if isinstance(value, np.generic) else value)


def snippet(*lines: str, **values: Any) -> str:
    """The imports, the values under their names, and the lines."""
    given = [f"{name} = {literal(value)}" for name, value in values.items()]
    imports = ["import numpy as np"]
    if any("bo." in line for line in (*given, *lines)):
        imports.append("import bregopt as bo")
    return "\n".join([*imports, *given, *lines])


def digits(X: Array, count: int = 4) -> Array:
    """X to a few significant digits, for a counterexample that can be read."""
    short = [float(f"{x:.{count - 1}e}") for x in X.ravel().tolist()]
    return np.array(short, dtype=X.dtype).reshape(X.shape)


def number(x: float) -> str:
    """A number for a message."""
    return f"{x:.10g}"
