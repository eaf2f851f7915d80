"""Loops that numba compiles at their first use and keeps on disk; numba is not imported before."""

import hashlib
import os
import sys
from collections.abc import Callable, Set
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, cast, final

from bregopt.compile_clock import (
    begin_waiting,
    clock,
    end_waiting,
    is_told,
    tell_of_compiling,
    told_of_compiling,
    waiting,
)

__all__ = ["FASTMATH", "SWITCH", "clock", "first_class", "jit", "tell_of_compiling", "told_of_compiling", "wanted"]

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
    load()
    from numba import njit

    from bregopt.compile_cache import cache_of

    own = _own_name(loop)
    compiled: Loop = njit(own, nogil=True, fastmath=set(fastmath), error_model="numpy")
    if kept and compiled is not own:  # as it is with NUMBA_DISABLE_JIT
        compiled._cache = cache_of(loop)  # type: ignore[attr-defined]  # numba's dispatcher
    return compiled


def first_class(loop: Callable[..., Any], *arguments: Any, returns: Any, fastmath: Set[str] = FASTMATH) -> Any:
    """The loop as a value that loops made by ``jit`` take as an argument and call; it must not raise.

    It is compiled at once, for arguments and a returned value of the types of those given. A loop that takes it is
    compiled once for all functions of these types.
    """
    load()
    from numba import typeof, types
    from numba.core.ccallback import CFunc

    from bregopt.compile_cache import cache_of

    result, *given = map(typeof, (returns, *arguments))
    compiled: Any = CFunc(
        _own_name(loop), (tuple(given), result), {}, {"fastmath": set(fastmath), "error_model": "numpy"}
    )
    compiled._cache, compile_it = cache_of(loop), compiled._compile_uncached

    def told() -> Any:
        tell_of_compiling(loop.__name__)
        return compile_it()

    compiled._compile_uncached = told  # numba tells of dispatchers only
    compiled.compile()
    compiled._numba_type_ = types.FunctionType(result(*given))  # else numba works it out at each call, for some 15 µs
    return compiled


@cache
def load() -> None:
    """Import numba, and hear from it when it compiles or reads what was kept: meanwhile the clock stands still."""
    with waiting():
        if is_told() and _nothing_kept():
            tell_of_compiling("the first loop")  # numba's import takes long enough to be waited for
        from numba.core import event

        @final
        class Wait(event.Listener):  # type: ignore[misc]  # numba has no types
            """Of a thread that compiles or reads, or waits for one that does."""

            def on_start(self, event: Any) -> None:
                begin_waiting()

            def on_end(self, event: Any) -> None:
                end_waiting()

        @final
        class Compiling(event.Listener):  # type: ignore[misc]  # numba has no types
            """Of a function that is not on disk."""

            def on_start(self, event: Any) -> None:
                tell_of_compiling(event.data["dispatcher"].py_func.__name__)

            def on_end(self, event: Any) -> None:
                pass

        event.register("numba:compiler_lock", Wait())
        event.register("numba:compile", Compiling())


def _nothing_kept() -> bool:
    """Whether no loop is on disk, so that it is certain that one will be compiled."""
    modules = ((name, getattr(module, "__file__", None)) for name, module in tuple(sys.modules.items()))
    beside = {Path(file).parent for name, file in modules if file and name.startswith("bregopt")}
    closed = [folder for folder in beside if not os.access(folder, os.W_OK)]
    given = os.environ.get("NUMBA_CACHE_DIR")
    if closed if not given else os.path.exists(given) and not os.access(given, os.W_OK):
        return False  # they are kept in a folder that numba finds
    packages = closed if given else beside
    roots = [*map(Path, [given] if given else []), *(folder / "__pycache__" for folder in packages)]
    return not any(next(root.rglob("*.checked.*nbi"), None) for root in roots)


def _own_name(loop: Loop) -> Loop:
    """The loop under a name of its own, made of all that it encloses.

    numba names machine code by the loop's name and a number that counts within a process. Code that two processes have
    kept may then have one name for two loops, and where both are loaded the first would stand for the other.
    """
    from bregopt.compile_cache import fingerprint

    digest = hashlib.sha256(repr(fingerprint(loop)).encode()).hexdigest()[:16]
    own: Any = FunctionType(loop.__code__, loop.__globals__, loop.__name__, loop.__defaults__, loop.__closure__)
    own.__qualname__, own.__module__, own.__doc__ = f"{loop.__qualname__}_{digest}", loop.__module__, loop.__doc__
    own.__kwdefaults__ = loop.__kwdefaults__
    return cast(Loop, own)
