"""The paper's l1–l1 table: ``min ½‖W − UV‖² + 0.01‖U‖₁ + 0.015‖V‖₁  s.t.  max(0, W) = M`` on three data sets."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import final

import numpy as np
from attrs import frozen

import bregopt
from bregopt import Array, Result, StopRule
from bregopt_paper.experiments.curves import matrix, run
from bregopt_paper.experiments.experiment import Experiment, Record, Section, Task
from bregopt_paper.experiments.l1_rows import (
    ETA,
    LONGEST,
    MOST_SECONDS,
    PAPER,
    QUICK,
    RANDOM,
    ROWS,
    STARTS,
    TSVD,
    Row,
)
from bregopt_paper.experiments.l1_section import l1_section


@final
@frozen
class L1(Experiment):
    """Nine rows, two starts, and the methods of the paper, of others and of bregopt."""

    seeds: int = 1
    """random starts of each method; the truncated SVD is one start"""
    name = "l1"

    def tasks(self, quick: bool) -> Sequence[Task]:
        known = {entry.name for entry in bregopt.catalog("method")}
        return [
            _task(row, start, seed, method)
            for row in (QUICK if quick else ROWS)
            for start in STARTS
            for method in row.methods(start)
            if method.partition("(")[0] in known
            for seed in range(self.seeds if start == RANDOM else 1)
        ]

    def _names(self, row: Row, start: str, method: str) -> list[str]:
        """Of the tasks of a method, one for each seed."""
        return [_name(row, start, seed, method) for seed in range(self.seeds if start == RANDOM else 1)]

    def section(self, records: Mapping[str, Record], quick: bool) -> Section:
        rows = QUICK if quick else ROWS
        found = {
            (row.name, start): {
                method: runs
                for method in row.methods(start)
                if (runs := [records[name] for name in self._names(row, start, method) if name in records])
            }
            for row in rows
            for start in STARTS
        }
        return l1_section(rows, found)


def _name(row: Row, start: str, seed: int, method: str) -> str:
    return f"l1/{row.name}/{start if start == TSVD else f'{start}-{seed}'}/{method}"


def _task(row: Row, start: str, seed: int, method: str) -> Task:
    """A run by the paper's stop rules for its methods, and for the budget of products."""
    seconds = row.pace * row.iterations
    stop = f"{row.products:g} products, or {LONGEST:g} s"
    if _by_the_rules(row, start, method):
        seconds = max(seconds, min(row.pace * row.most, MOST_SECONDS))
        stop = f"{row.products:g} products, and {row.most} iterations or {MOST_SECONDS:g} s"
    return Task(
        name=_name(row, start, seed, method),
        run=partial(_solve, row, start, seed, method),
        datasets=(row.dataset,),
        seconds=seconds + 0.3,
        settings={
            "dataset": row.dataset,
            "rank": row.rank,
            "U": f"l1({ETA[0]})",
            "V": f"l1({ETA[1]})",
            "method": method,
            "start": STARTS[start],
            "seed": seed,
            "stop": stop,
        },
    )


def _by_the_rules(row: Row, start: str, method: str) -> bool:
    return method in PAPER and not (row.large and start == TSVD)


def _stop(row: Row, start: str, method: str) -> StopRule:
    budget: StopRule = bregopt.make("stop", "max-products", row.products)
    if not _by_the_rules(row, start, method):
        longest: StopRule = bregopt.make("stop", "max-seconds", LONGEST)
        return budget | longest
    rules: StopRule = bregopt.make("stop", "max-iterations", row.most)
    longest = bregopt.make("stop", "max-seconds", MOST_SECONDS)
    return budget & (rules | longest)


def _solve(row: Row, start: str, seed: int, method: str) -> Record:
    M = matrix(row.dataset)
    problem = bregopt.compose("relu-nmd", M, rank=row.rank, U=f"l1({ETA[0]})", V=f"l1({ETA[1]})")
    return run(problem, method, STARTS[start], seed, _stop(row, start, method), partial(identities, M))


def identities(M: Array, result: Result) -> Record:
    """What holds at a stationary point: ``⟨R, X⟩ = η₁|U|₁ = η₂|V|₁`` for R = W − X, X = UV.

    R is zero off the active entries A = {M > 0 or X > 0}, so ``|R| ≥ ⟨R, X⟩/|X_A|``, and with H = η₁|U|₁ + η₂|V|₁ the
    error ``√(2f)/|M| = |R|/|M|`` is at least ``bound = H/(2|M||X_A|)``.
    """
    U, V = result.Y.U, result.Y.V
    dense = M if isinstance(M, np.ndarray) else M.toarray()
    X = U @ V
    R = np.where(dense > 0, dense - X, np.minimum(-X, 0.0))
    size, active = float(np.linalg.norm(dense)), float(np.linalg.norm(X[(dense > 0) | (X > 0)]))
    on_U, on_V = ETA[0] * float(np.abs(U).sum()), ETA[1] * float(np.abs(V).sum())
    return {
        "error": float(np.linalg.norm(dense - np.maximum(X, 0.0))) / size,
        "residual": float(np.linalg.norm(R)) / size,
        "bound": (on_U + on_V) / (2 * size * active) if active > 0 else 0.0,
        "inner": float(np.vdot(R, X)),
        "on_U": on_U,
        "on_V": on_V,
    }
