"""Where to begin an ascent over pairs: random, sparse and rank-one ones, small and large."""

import math
from collections.abc import Iterator

import numpy as np

from bregopt.blocks import Array, Blocks
from bregopt.testing.draw import Draw

SCALES = (1e-2, 1.0, 1e2)
STIR = 1e-2
NEAR = 0.05
"""The length of a move, relative to the point, where it is to feel the curvature there."""


def starts(Y: Blocks, draw: Draw) -> Iterator[tuple[Blocks, Blocks]]:
    """(Z, D): the point given, and of every scale a random, a sparse and a rank-one pair, and one near zero."""
    rng, size = draw.rng, Y.norm() or 1.0
    yield Y, _random(Y, rng) * (0.1 * size)
    for scale in SCALES:
        unit = scale * size
        yield _random(Y, rng) * unit, _random(Y, rng) * (0.3 * unit)
        yield _random(Y, rng) * (1e-3 * unit), _random(Y, rng) * unit
        yield _stirred(_single(Y, rng), rng) * unit, _stirred(_single(Y, rng), rng) * (NEAR * unit)
        for moving in Y.names:
            yield out_of(moving, Y, rng, unit)


def out_of(moving: str, Y: Blocks, rng: np.random.Generator, unit: float) -> tuple[Blocks, Blocks]:
    """From a rank-one point where one block is zero, a rank-one move of that block."""
    Z = _rank_one(Y, rng).map(lambda name, X: 0.0 * X if name == moving else X)
    D = _rank_one(Y, rng).map(lambda name, X: X if name == moving else 0.0 * X)
    return _stirred(Z, rng) * unit, _stirred(D, rng) * (NEAR * unit)


def _random(Y: Blocks, rng: np.random.Generator) -> Blocks:
    return Y.like(rng.standard_normal(Y.flat.size) / math.sqrt(Y.flat.size))


def _stirred(Y: Blocks, rng: np.random.Generator) -> Blocks:
    """With a little of everything, so that an ascent is not held by zeros."""
    return Y.plus(STIR, _random(Y, rng))


def _single(Y: Blocks, rng: np.random.Generator) -> Blocks:
    flat = np.zeros_like(Y.flat)
    flat[rng.integers(flat.size)] = rng.choice([-1.0, 1.0])
    return Y.like(flat)


def _rank_one(Y: Blocks, rng: np.random.Generator) -> Blocks:
    def one(name: str, X: Array) -> Array:
        if X.ndim != 2:
            return rng.standard_normal(X.shape)
        rows, columns = rng.standard_normal(X.shape[0]), rng.standard_normal(X.shape[1])
        return np.outer(rows, columns) / (np.linalg.norm(rows) * np.linalg.norm(columns))

    return Y.map(one)
