"""Matrices that need no file: the Mycielskian graphs, and one that factors of low rank meet exactly."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bregopt.errors import ParameterError, UnknownNameError, parameter

ORDERS = (2, 20)
"""The smallest graph, and one with 786431 vertices."""


def mycielskian(order: int = 9) -> Any:
    """The 0/1 adjacency matrix of the Mycielskian graph, triangle-free with chromatic number ``order``, in CSR."""
    from scipy.sparse import block_array, csr_array

    _check("order", mycielskian, order, *ORDERS)
    A = csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
    for _ in range(order - 2):
        one = csr_array(np.ones((A.shape[0], 1)))
        A = block_array([[A, A, None], [A, None, one], [None, one.T, None]], format="csr")
    return A


def synthetic(m: int = 1500, n: int = 500, rank: int = 10, seed: int = 0) -> Any:
    """``max(0, U*V*)`` with Gaussian U* and V* of that rank."""
    for name, size in (("m", m), ("n", n)):
        _check(name, synthetic, size, 1)
    _check("rank", synthetic, rank, 1, min(m, n))
    _check("seed", synthetic, seed, 0)
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, rank)) @ rng.standard_normal((rank, n))
    return np.maximum(X, 0.0, out=X)


BUILT_IN: Mapping[str, Callable[..., Any]] = {"mycielskian": mycielskian, "synthetic": synthetic}


def built_in(name: str, *args: Any, **kwargs: Any) -> Any:
    """A matrix by its name, as in ``built_in("synthetic", 1500, 500, rank=10)``."""
    if name not in BUILT_IN:
        raise UnknownNameError(f"There is no built-in matrix {name!r}, only {' and '.join(BUILT_IN)}.")
    signature = inspect.signature(BUILT_IN[name])
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        takes = ", ".join(f"{it.name}={it.default}" for it in signature.parameters.values())
        raise ParameterError(f"The matrix '{name}' takes {takes}: {error}.") from None
    return BUILT_IN[name](*args, **kwargs)


def _check(name: str, owner: Callable[..., Any], value: Any, least: int, most: int | None = None) -> None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not (whole and least <= value and (most is None or value <= most)):
        rule = f"a whole number >= {least}" + ("" if most is None else f" and <= {most}")
        raise parameter(name, owner.__name__, rule, value)
