"""Loops compiled by numba and kept on disk; imported only where they run, as numba is."""

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

Loop = TypeVar("Loop", bound=Callable[..., Any])
OPTIONS: dict[str, Any] = {"nogil": True, "fastmath": {"reassoc", "contract", "nsz"}, "error_model": "numpy"}


def compiled(loop: Loop) -> Loop:
    """The loop, compiled at its first use and kept where that is possible; it runs without the GIL."""
    try:
        found: Loop = njit(cache=True, **OPTIONS)(loop)
    except RuntimeError:  # no folder to keep it in
        found = njit(**OPTIONS)(loop)
    return found
