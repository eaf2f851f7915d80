"""The paper's compression: the basis Ũ of an NMF as max(0, UV) of lower rank, with few non-zeros in each row of V."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, final

import numpy as np
from attrs import frozen

import bregopt
from bregopt import Array, Blocks
from bregopt_paper.experiments.compression_section import compression_section
from bregopt_paper.experiments.experiment import Experiment, Record, Section, Task

NMF_METHOD, NMF_ITERATIONS = "hals", 300
METHODS = ("apb-paper", "aapb-paper", "aapb")
SHARE = 1.2
"""A row of V has at most ⌊r/1.2⌋ non-zeros, as in the paper."""
FACES = (0.0, 0.3, 0.6, 0.9)
"""Where the faces that are drawn lie among the samples, as shares of their number."""


@final
@frozen
class FaceSet:
    """A data set of faces, and how its basis is made and compressed."""

    dataset: str
    rank: int
    """r, of the NMF"""
    iterations: int
    """of the compression"""
    ranks: tuple[int, ...]
    """r', of the compression"""
    seconds: float = 1.0

    @property
    def most(self) -> int:
        """Non-zeros in a row of V."""
        return math.floor(self.rank / SHARE)

    @property
    def shown(self) -> int:
        """The r' that is drawn: 55 in the paper, the one before the last."""
        return self.ranks[-2]


FULL = (
    FaceSet("yaleb", 81, 300, (35, 45, 55, 65), 70.0),
    FaceSet("orl", 100, 150, (35, 45, 55, 65), 60.0),
)
QUICK = (FaceSet("tiny-faces", 12, 60, (4, 6, 8, 10), 3.0),)


@final
@frozen
class Compression(Experiment):
    """ORL and YaleB: the clipped truncated SVD, the paper's APB and AAPB, and ours."""

    name = "compression"

    def tasks(self, quick: bool) -> Sequence[Task]:
        return [
            Task(
                name=f"compression/{faces.dataset}",
                run=partial(_compress, faces),
                datasets=(faces.dataset,),
                seconds=faces.seconds,
                settings={
                    "dataset": faces.dataset,
                    "NMF": f"{NMF_METHOD}, {NMF_ITERATIONS} iterations, seed 0",
                    "rank": faces.rank,
                    "ranks": list(faces.ranks),
                    "non-zeros": faces.most,
                    "iterations": faces.iterations,
                    "methods": list(METHODS),
                    "start": "tsvd",
                },
            )
            for faces in (QUICK if quick else FULL)
        ]

    def section(self, records: Mapping[str, Record], quick: bool) -> Section:
        names = {faces.dataset: f"compression/{faces.dataset}" for faces in (QUICK if quick else FULL)}
        return compression_section({dataset: records.get(name) for dataset, name in names.items()})


def _compress(faces: FaceSet) -> Record:
    """The NMF of a set, and its basis at every rank by every method.

    It is one task, as all of it needs the same NMF, and a minute or two in all.
    """
    M = np.ascontiguousarray(bregopt.make("dataset", faces.dataset).M.T)  # a face in each column
    nmf = bregopt.solve(
        bregopt.compose("nmf", M, rank=faces.rank),
        method=NMF_METHOD,
        seed=0,
        stop=f"max-iterations({NMF_ITERATIONS})",
        on_interrupt="raise",
    )
    U, V = np.asarray(nmf.Y.U), np.asarray(nmf.Y.V)
    columns = [int(share * M.shape[1]) for share in FACES]
    runs: dict[str, list[Record]] = {
        "tsvd": [_measured(M, U, clipped_svd(U, rank), columns, rank == faces.shown) for rank in faces.ranks]
    }
    for method in METHODS:
        runs[method] = []
        for rank in faces.ranks:
            Y = compressed(U, rank, faces.most, method, faces.iterations)
            runs[method].append(_measured(M, U, np.maximum(0.0, Y.U @ Y.V), columns, rank == faces.shown))
    return {
        "shape": list(M.shape),
        "rank": faces.rank,
        "ranks": list(faces.ranks),
        "most": faces.most,
        "shown": faces.shown,
        "iterations": faces.iterations,
        "nmf_error": float(np.linalg.norm(M - U @ V) / np.linalg.norm(M)),
        "nmf_seconds": float(nmf.seconds),
        "zeros": float(np.mean(U == 0)),
        "basis": U.astype(np.float32),
        "faces": M[:, columns].astype(np.float32),
        "nmf_faces": (U @ V[:, columns]).astype(np.float32),
        "runs": runs,
    }


def clipped_svd(U: Array, rank: int) -> Array:
    """``max(0, T)`` for the best approximation T of this rank."""
    left, s, right = np.linalg.svd(U, full_matrices=False)
    return np.asarray(np.maximum(0.0, (left[:, :rank] * s[:rank]) @ right[:rank]))


def compressed(U: Array, rank: int, most: int, method: str, iterations: int) -> Blocks:
    """U' and V' of ``min ½‖W − U'V'‖²`` with max(0, W) = U and at most so many non-zeros in each row of V'."""
    problem = bregopt.compose("relu-nmd", U, rank=rank, V=bregopt.make("regularizer", "l0-ball", most, per="row"))
    stop = f"max-iterations({iterations})"
    return bregopt.solve(problem, method=method, start="tsvd", stop=stop, on_interrupt="raise").Y


def _measured(M: Array, U: Array, found: Array, columns: Sequence[int], keep: bool) -> dict[str, Any]:
    """The error on the basis and Tol_NMF; for one rank the basis and some faces as well, to be drawn."""
    V = weights(found, M)
    record: dict[str, Any] = {
        "error": float(np.linalg.norm(U - found) / np.linalg.norm(U)),
        "tol": float(np.linalg.norm(M - found @ V) / np.linalg.norm(M)),
    }
    if keep:
        record |= {"basis": found.astype(np.float32), "faces": (found @ V[:, columns]).astype(np.float32)}
    return record


def weights(B: Array, M: Array) -> Array:
    """``argmin_{V ≥ 0} ‖M − BV‖``, column by column, exactly."""
    from scipy.optimize import nnls

    Q, R = np.linalg.qr(B)
    return np.stack([nnls(R, z)[0] for z in (Q.T @ M).T], axis=1)
