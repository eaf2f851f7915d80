"""Points that a minimiser must beat, each with the code that makes it."""

from collections.abc import Callable, Iterator

import numpy as np

from bregopt.blocks import Array
from bregopt.testing.outcomes import literal

Rival = tuple[Array, Callable[[], str]]
"""A point, and the statement that makes it as ``rival`` from ``Z`` and ``X``."""
MOVES = (1e-4, 1e-2, 0.3)


def rivals(X: Array, Z: Array, rng: np.random.Generator, moves: tuple[float, ...] = MOVES) -> Iterator[Rival]:
    """Multiples of Z, the input X, segments between, moves of single entries, and random ones."""
    for t in (0.0, 0.5, 0.9, 1.1, 2.0, -1.0):
        yield t * Z, _as_written(f"rival = {t} * Z")
    yield X.copy(), _as_written("rival = X")
    for t in (0.1, 0.5):
        yield (1 - t) * Z + t * X, _as_written(f"rival = {1 - t} * Z + {t} * X")
    for index in np.ndindex(X.shape):
        z, x = float(Z[index]), float(X[index])
        if z != 0:
            yield _with(Z, (index, 0.0))
            yield _with(Z, (index, -z))
        if z != x:
            yield _with(Z, (index, x))
    yield from _swaps(X, Z)
    yield from nearby_rivals(X, Z, rng, moves)


def nearby_rivals(X: Array, Z: Array, rng: np.random.Generator, moves: tuple[float, ...]) -> Iterator[Rival]:
    """Moves of single entries and random ones, by shares of the largest entry."""
    size = (float(np.abs(X).max()) + float(np.abs(Z).max())) or 1.0
    for move in moves:
        for index in np.ndindex(X.shape):
            for sign in (-1, 1):
                yield _with(Z, (index, float(Z[index]) + sign * move * size))
        for _ in range(3 if Z.size > 1 else 0):
            yield _given(Z + (move * size * rng.standard_normal(Z.shape)).astype(Z.dtype))


def _swaps(X: Array, Z: Array) -> Iterator[Rival]:
    """The weakest non-zero entry of Z left out for the strongest one that Z left out."""
    kept, left = Z != 0, (Z == 0) & (X != 0)
    if kept.any() and left.any():
        weakest = _place(np.argmin(np.where(kept, np.abs(X), np.inf)), X)
        for strongest in (np.abs(X), X):
            place = _place(np.argmax(np.where(left, strongest, -np.inf)), X)
            yield _with(Z, (weakest, 0.0), (place, float(X[place])))


def _place(number: np.intp, X: Array) -> tuple[int, ...]:
    return tuple(int(index) for index in np.unravel_index(number, X.shape))


def _with(Z: Array, *changes: tuple[tuple[int, ...], float]) -> Rival:
    rival = Z.copy()
    for index, entry in changes:
        rival[index] = entry

    def code() -> str:
        places = [f"rival[{', '.join(map(str, index))}] = {entry!r}" for index, entry in changes]
        return "; ".join(["rival = Z.copy()", *places])

    return rival, code


def _given(rival: Array) -> Rival:
    return rival, lambda: f"rival = {literal(rival)}"


def _as_written(text: str) -> Callable[[], str]:
    return lambda: text
