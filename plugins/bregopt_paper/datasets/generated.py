"""Data sets that need no file: the paper's own, two with known factors, and two small ones for quick runs."""

from collections.abc import Callable
from typing import Any

import numpy as np

from bregopt.errors import parameter
from bregopt.matrices import mycielskian as adjacency
from bregopt_paper.datasets.dataset import Dataset
from bregopt_paper.datasets.facts import FACTS

SIDE, FACES, POSES = 16, 6, 20
"""Pixels of a side, and pictures of each of so many faces."""
TOPICS, WORDS = (60, 50, 40, 30, 20), 500
"""Documents on each topic, and words in all."""


def mycielskian(k: int = 11) -> Dataset:
    """The 0/1 adjacency matrix of the Mycielskian graph with chromatic number k, sparse; k = 11 is the paper's."""
    _check(mycielskian, "k", k, 2, 20)
    return Dataset(f"mycielskian({k})", adjacency(k), None, FACTS["mycielskian"].provenance)


def synthetic(m: int = 1500, n: int = 500, r: int = 10, seed: int = 0, threshold: float = 1.0) -> Dataset:
    """``M = max(0, UV)``: U (m×r) and V (r×n) are Gaussian, and zero where they are below the threshold in size."""
    for name, size in (("m", m), ("n", n), ("r", r)):
        _check(synthetic, name, size, 1)
    _check(synthetic, "seed", seed, 0)
    if isinstance(threshold, bool) or not isinstance(threshold, (int, float)) or not 0 <= threshold < np.inf:
        raise parameter("threshold", "synthetic", "a finite number >= 0", threshold)
    rng = np.random.default_rng(seed)
    U, V = rng.standard_normal((m, r)), rng.standard_normal((r, n))
    for factor in (U, V):
        factor[np.abs(factor) < threshold] = 0.0
    name = f"synthetic({m}, {n}, {r}, seed={seed}, threshold={threshold})"
    return Dataset(name, np.maximum(0.0, U @ V), None, FACTS["synthetic"].provenance)


def identity(n: int = 100) -> Dataset:
    """The n×n identity, sparse: of full rank, and max(0, UV) of rank 3 meets it."""
    from scipy.sparse import eye_array

    _check(identity, "n", n, 1)
    return Dataset(f"identity({n})", eye_array(n, format="csr"), None, FACTS["identity"].provenance)


def blocks(n: int = 100, k: int = 4) -> Dataset:
    """k square blocks of ones along the diagonal of an n×n matrix, sparse; a row belongs to the class of its block."""
    from scipy.sparse import block_diag, csr_array

    _check(blocks, "n", n, 1)
    _check(blocks, "k", k, 1, n)
    labels = np.arange(n) * k // n
    M = block_diag([np.ones((size, size)) for size in np.bincount(labels)], format="csr")
    return Dataset(f"blocks({n}, {k})", csr_array(M), labels, FACTS["blocks"].provenance)


def tiny_faces(seed: int = 0) -> Dataset:
    """Pictures of 6 "faces" that turn their heads in changing light: 120 rows of 16×16 pixels from 0 to 1, dense.

    A face is a round head with dark spots that only it has. Its pictures lie along a curve, the pose, so neighbours in
    a graph of near pictures are neighbours in pose.
    """
    _check(tiny_faces, "seed", seed, 0)
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[-1 : 1 : SIDE * 1j, -1 : 1 : SIDE * 1j]
    head = np.clip(2.2 - 2.4 * (x**2 / 0.8 + y**2), 0.0, 1.0)
    rows = []
    for _ in range(FACES):
        spots = rng.uniform((-0.5, -0.6, 0.14, 0.4), (0.5, 0.6, 0.28, 0.9), (5, 4))
        for pose in np.linspace(-1, 1, POSES):
            dark = sum(
                depth * np.exp(-((x - u - 0.3 * pose) ** 2 + (y - v) ** 2) / size**2) for u, v, size, depth in spots
            )
            light = 1 + rng.uniform(-0.8, 0.8) * x + 0.6 * pose * y
            rows.append(head * light * (1 - dark) + 0.03 * rng.standard_normal(head.shape))
    M = np.clip(np.array(rows).reshape(-1, SIDE**2) - 0.03, 0.0, 1.0)
    return Dataset(f"tiny-faces(seed={seed})", M, np.repeat(np.arange(FACES), POSES), FACTS["tiny-faces"].provenance)


def tiny_documents(seed: int = 0) -> Dataset:
    """How often 500 words occur in 200 documents on 5 topics of unequal size, sparse.

    A topic drifts from its first words to its last, so neighbours in a graph of near documents are neighbours in time.
    Every second word is a common one, which all topics share.
    """
    from scipy.sparse import csr_array

    _check(tiny_documents, "seed", seed, 0)
    rng = np.random.default_rng(seed)
    common = rng.permutation(1 / np.arange(1, WORDS + 1))
    common /= common.sum()
    rows = []
    for size in TOPICS:
        first, last = rng.dirichlet(np.full(WORDS, 0.05), 2)
        for time in np.linspace(0, 1, size):
            chances = 0.5 * common + 0.5 * ((1 - time) * first + time * last)
            rows.append(rng.multinomial(rng.integers(25, 60), chances))
    labels = np.repeat(np.arange(len(TOPICS)), TOPICS)
    M = csr_array(np.array(rows, np.float64))
    return Dataset(f"tiny-documents(seed={seed})", M, labels, FACTS["tiny-documents"].provenance)


def _check(owner: Callable[..., Any], name: str, value: Any, least: int, most: int | None = None) -> None:
    """Refuse what is not a whole number in the range."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not (whole and least <= value and (most is None or value <= most)):
        rule = f"a whole number >= {least}" + ("" if most is None else f" and <= {most}")
        raise parameter(name, owner.__name__.replace("_", "-"), rule, value)
