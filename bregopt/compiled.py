"""Loops that numba compiles at their first use and keeps on disk; numba is not imported before."""

import os
from collections.abc import Callable, Set
from typing import Any, TypeVar

Loop = TypeVar("Loop", bound=Callable[..., Any])
SWITCH = "BREGOPT_COMPILE"
"""Set to 0 to run on NumPy alone."""
FASTMATH = frozenset({"reassoc", "contract", "nsz"})
"""Sums may be added up in another order, so that they vectorise; nan and inf keep their meaning."""


def wanted() -> bool:
    """Whether compiled loops may be used."""
    return os.environ.get(SWITCH, "1") != "0" and os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")


def jit(loop: Loop, *, fastmath: Set[str] = FASTMATH, kept: bool = True) -> Loop:
    """The loop, compiled for each kind of arguments when it first meets them; it runs without the GIL.

    One that is a part of others need not be ``kept`` on disk: they hold its code.
    """
    from numba import njit

    from bregopt.compile_cache import cache_of

    compiled: Loop = njit(loop, nogil=True, fastmath=set(fastmath), error_model="numpy")
    if kept and compiled is not loop:  # as it is with NUMBA_DISABLE_JIT
        compiled._cache = cache_of(loop)  # type: ignore[attr-defined]  # numba's dispatcher
    return compiled


def first_class(loop: Callable[..., Any], *arguments: Any, returns: Any, fastmath: Set[str] = FASTMATH) -> Any:
    """The loop as a value that loops made by ``jit`` take as an argument and call; it must not raise.

    It is compiled at once, for arguments and a returned value of the types of those given. A loop that takes it is
    compiled once for all functions of these types.
    """
    from numba import typeof, types
    from numba.core.ccallback import CFunc

    from bregopt.compile_cache import cache_of

    result, *given = map(typeof, (returns, *arguments))
    compiled: Any = CFunc(loop, (tuple(given), result), {}, {"fastmath": set(fastmath), "error_model": "numpy"})
    compiled._cache = cache_of(loop)
    compiled.compile()
    compiled._numba_type_ = types.FunctionType(result(*given))  # else numba works it out at each call, for some 15 µs
    return compiled
