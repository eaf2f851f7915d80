"""Forty matrices of ten kinds and four sizes, drawn from fixed seeds: half to choose by, half to report on."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, final

import numpy as np
from attrs import frozen

from bregopt import Array

SIZES = {"tiny": (60, 40, 4), "small": (240, 180, 6), "medium": (1200, 800, 10), "large": (4000, 2500, 20)}
"""m, n and the rank."""
PENALTIES = ("none", "ridge", "l1", "nonneg", "l0-ball")


@final
@frozen
class Drawn:
    """One of the matrices, by its kind and its size."""

    kind: str
    size: str
    seed: int
    chosen_by: bool
    """whether the constants of a selector may be chosen by it; else they are judged by it"""

    @property
    def name(self) -> str:
        return f"{self.kind}, {self.size}"

    @property
    def rank(self) -> int:
        return SIZES[self.size][2]

    def matrix(self) -> Any:
        """The matrix, dense, or in CSR where few of its entries are not zero."""
        m, n, _ = SIZES[self.size]
        M = KINDS[self.kind](m, n, np.random.default_rng(self.seed))
        if np.count_nonzero(M) > 0.1 * M.size:
            return M
        from scipy.sparse import csr_array

        return csr_array(M)


def drawn() -> Iterator[Drawn]:
    """All forty; every kind and every size is in both halves."""
    for k, kind in enumerate(KINDS):
        for s, size in enumerate(SIZES):
            yield Drawn(kind, size, seed=1000 + 10 * k + s, chosen_by=(k + s) % 2 == 0)


def penalty(name: str, M: Any, rank: int) -> dict[str, str]:
    """H on U and V: weights that matter for the size of M, and leave a fit."""
    (m, n), top = M.shape, float(np.sqrt((M.multiply(M) if hasattr(M, "multiply") else M * M).sum()))
    match name:
        case "ridge":
            spec = f"ridge({0.01 * top:.6g})"
            return {"U": spec, "V": spec}
        case "l1":
            spec = f"l1({0.02 * top**1.5 / np.sqrt((m + n) * rank):.6g})"
            return {"U": spec, "V": spec}
        case "l0-ball":
            return {"U": f"l0-ball({int(0.3 * m * rank)})", "V": f"l0-ball({int(0.3 * n * rank)})"}
        case _:
            return {"U": name, "V": name}


def _symmetric(A: Array, m: int, n: int) -> Array:
    """The m×n corner of a graph's adjacency matrix."""
    A = np.triu(A, 1)
    return (A + A.T)[:m, :n]


def random_graph(m: int, n: int, rng: np.random.Generator) -> Array:
    """Erdős and Rényi's, 8 neighbours on average."""
    N = max(m, n)
    return _symmetric((rng.random((N, N)) < 8.0 / N).astype(float), m, n)


def hub_graph(m: int, n: int, rng: np.random.Generator) -> Array:
    """Expected degrees by a power law, so that a few vertices have most neighbours."""
    N = max(m, n)
    w = (np.arange(N) + 1.0) ** -0.6
    rng.shuffle(w)
    P = np.minimum(10.0 * N * np.outer(w, w) / w.sum() ** 2, 1.0)
    return _symmetric((rng.random((N, N)) < P).astype(float), m, n)


def communities(m: int, n: int, rng: np.random.Generator) -> Array:
    """A block model: dense within a community, sparse between them."""
    N = max(m, n)
    labels = rng.integers(0, 12, N)
    P = np.where(labels[:, None] == labels[None, :], min(1.0, 60.0 / N + 0.02), min(1.0, 3.0 / N))
    return _symmetric((rng.random((N, N)) < P).astype(float), m, n)


def banded(m: int, n: int, rng: np.random.Generator) -> Array:
    """Weights near the diagonal, as of a grid or a time series."""
    i, j = np.arange(m)[:, None] * (n / m), np.arange(n)[None, :]
    width = 2.0 + n / 100.0
    return np.where(np.abs(i - j) <= width, rng.random((m, n)) + 0.5, 0.0)


def counts(m: int, n: int, rng: np.random.Generator) -> Array:
    """Poisson counts of a product of gamma factors, half of it zero."""
    U, V = rng.gamma(0.5, 1.0, (m, 8)), rng.gamma(0.5, 1.0, (8, n))
    return rng.poisson(0.6 * U @ V).astype(float)


def text(m: int, n: int, rng: np.random.Generator) -> Array:
    """Words of documents: topics over a vocabulary that follows Zipf's law, log counts."""
    zipf = 1.0 / (np.arange(n) + 2.0)
    topics = zipf * rng.gamma(0.3, 1.0, (10, n))
    topics /= topics.sum(axis=1, keepdims=True)
    shares = rng.dirichlet(np.full(10, 0.2), m)
    return np.asarray(np.log1p(rng.poisson(min(80.0, 0.4 * n) * shares @ topics)))


def pictures(m: int, n: int, rng: np.random.Generator) -> Array:
    """Rows that are smooth: sums of a few bumps, with a little noise, all entries positive."""
    x = np.linspace(0.0, 1.0, n)
    centres, widths = rng.random((m, 6)), 0.03 + 0.2 * rng.random((m, 6))
    M = 0.02 * rng.random((m, n)) + 0.1
    for k in range(6):
        M += rng.random((m, 1)) * np.exp(-(((x - centres[:, k : k + 1]) / widths[:, k : k + 1]) ** 2))
    return M


def relu(m: int, n: int, rng: np.random.Generator) -> Array:
    """max(0, UV + noise), half of it zero."""
    X = rng.standard_normal((m, 8)) @ rng.standard_normal((8, n))
    return np.maximum(0.0, X + 0.3 * rng.standard_normal((m, n)))


def shifted_relu(m: int, n: int, rng: np.random.Generator) -> Array:
    """max(0, UV − c), a tenth of it not zero, without noise."""
    X = rng.standard_normal((m, 6)) @ rng.standard_normal((6, n))
    return np.maximum(0.0, X - np.quantile(X, 0.9))


def blocks(m: int, n: int, rng: np.random.Generator) -> Array:
    """Blocks on the diagonal of unequal sizes, with spots elsewhere."""
    cuts_m, cuts_n = (np.sort(rng.integers(0, size, 7)) for size in (m, n))
    rows, columns = np.searchsorted(cuts_m, np.arange(m)), np.searchsorted(cuts_n, np.arange(n))
    M = np.where(rows[:, None] == columns[None, :], 1.0 + rng.random((m, n)), 0.0)
    return M + (rng.random((m, n)) < 0.01) * rng.random((m, n))


KINDS: Mapping[str, Callable[[int, int, np.random.Generator], Array]] = {
    "random graph": random_graph,
    "hub graph": hub_graph,
    "communities": communities,
    "banded": banded,
    "counts": counts,
    "text": text,
    "pictures": pictures,
    "relu": relu,
    "shifted relu": shifted_relu,
    "blocks": blocks,
}
