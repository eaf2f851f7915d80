"""Loops that numba compiles at their first use and keeps on disk; numba is imported here alone, and not before."""

import os
from collections.abc import Callable, Set
from functools import partial
from typing import Any, TypeVar

Loop = TypeVar("Loop", bound=Callable[..., Any])
SWITCH = "BREGOPT_COMPILE"
"""Set to 0 to run on NumPy alone."""
FASTMATH = frozenset({"reassoc", "contract", "nsz"})
"""Sums may be added up in another order, so that they vectorise; nan and inf keep their meaning."""


def wanted() -> bool:
    """Whether compiled loops may be used."""
    return os.environ.get(SWITCH, "1") != "0"


def jit(loop: Loop, *, fastmath: Set[str] = FASTMATH) -> Loop:
    """The loop, compiled for each kind of arguments when it first meets them; it runs without the GIL."""
    from numba import njit

    compiled: Loop = _cached(partial(njit, nogil=True, fastmath=set(fastmath), error_model="numpy"), loop)
    return compiled


def first_class(loop: Callable[..., Any], *arguments: Any, returns: Any, fastmath: Set[str] = FASTMATH) -> Any:
    """The loop as a value that loops made by ``jit`` take as an argument and call; it must not raise.

    It is compiled at once, for arguments and a returned value of the types of those given. A loop that takes it is
    compiled once for all functions of these types.
    """
    from numba import cfunc, typeof, types

    result, *given = map(typeof, (returns, *arguments))
    signature = result(*given)
    compiled = _cached(partial(cfunc, signature, fastmath=set(fastmath), error_model="numpy"), loop)
    compiled._numba_type_ = types.FunctionType(signature)  # else numba works it out at each call, for some 15 µs
    return compiled


def _cached(compiler: Callable[..., Callable[[Any], Any]], loop: Callable[..., Any]) -> Any:
    """The compiled loop, kept on disk where that is possible."""
    try:
        return compiler(cache=True)(loop)
    except RuntimeError:  # no folder to keep it in
        return compiler()(loop)
