"""How well found clusters fit known classes: ACC, NMI and ARI, each at most 1 and free of the names of the clusters."""

import numpy as np
from numpy.typing import NDArray

from bregopt.errors import DataError

Labels = NDArray[np.integer]
Counts = NDArray[np.int64]


def contingency(classes: Labels, clusters: Labels) -> Counts:
    """``n_ij``, the number of samples of class i in cluster j."""
    if np.ndim(classes) != 1 or np.shape(classes) != np.shape(clusters) or np.size(classes) == 0:
        raise DataError(
            "Scores compare two lists of labels, one for each sample. "
            f"Got the shapes {np.shape(classes)} and {np.shape(clusters)} instead."
        )
    _, i = np.unique(classes, return_inverse=True)
    _, j = np.unique(clusters, return_inverse=True)
    n = np.zeros((i.max() + 1, j.max() + 1), np.int64)
    np.add.at(n, (i, j), 1)
    return n


def accuracy(classes: Labels, clusters: Labels) -> float:
    """``max_π Σ n_{i,π(i)} / n`` over the matchings π of classes with clusters: ACC."""
    from scipy.optimize import linear_sum_assignment

    n = contingency(classes, clusters)
    matched = linear_sum_assignment(n, maximize=True)
    return float(n[matched].sum() / n.sum())


def mutual_information(classes: Labels, clusters: Labels) -> float:
    """``I / max(H(classes), H(clusters))``: NMI. Where both have one label only it is 1."""
    p = contingency(classes, clusters) / len(classes)
    rows, columns = p.sum(axis=1), p.sum(axis=0)
    largest = max(_entropy(rows), _entropy(columns))
    if largest == 0:
        return 1.0
    seen = p > 0
    information = float((p[seen] * np.log(p[seen] / np.outer(rows, columns)[seen])).sum())
    return max(information, 0.0) / largest


def adjusted_rand(classes: Labels, clusters: Labels) -> float:
    """``(S − E)/(M − E)`` for the S pairs that are together in both, E of them by chance, M at most: ARI."""
    n = contingency(classes, clusters)
    together, rows, columns = (_pairs(it) for it in (n, n.sum(axis=1), n.sum(axis=0)))
    chance = rows * columns / max(_pairs(n.sum()), 1)
    most = 0.5 * (rows + columns)
    return 1.0 if most == chance else float((together - chance) / (most - chance))


SCORES = {"ACC": accuracy, "NMI": mutual_information, "ARI": adjusted_rand}


def _entropy(p: NDArray[np.float64]) -> float:
    return float(-(p[p > 0] * np.log(p[p > 0])).sum()) if np.count_nonzero(p) > 1 else 0.0


def _pairs(n: Counts | np.int64) -> float:
    """``Σ n(n − 1)/2``."""
    return float(np.sum(n * (n - 1)) / 2)
