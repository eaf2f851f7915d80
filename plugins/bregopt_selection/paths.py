"""``rank_curve`` and ``weight_path``: the held-out error along ranks and along weights."""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import bregopt as bo
from bregopt.errors import ParameterError, parameter
from bregopt.matrices import LabelledMatrix, read
from bregopt_selection.curve import Curve, Fit
from bregopt_selection.progress import watched
from bregopt_selection.records import Records, fingerprint
from bregopt_selection.search import RANK, WEIGHT, Search
from bregopt_selection.workers import fits_in_processes, sendable

SEEDS = 5
SHARE = 0.1
ITERATIONS = 1000
TAKEN = {"held_out": "share", "held_out_seed": "seeds", "threads": "jobs"}
"""Parameters of problems that a search sets by itself, and what to give instead."""


def rank_curve(
    problem: str,
    M: Any,
    ranks: Iterable[int],
    *,
    seeds: int | Sequence[int] = SEEDS,
    share: float = SHARE,
    method: Any = "auto",
    warm: bool = True,
    max_iterations: int = ITERATIONS,
    max_seconds: float | None = None,
    jobs: int | None = None,
    out: str | Path | None = None,
    progress: bool = False,
    plugins: Sequence[Path] = (),
    **parameters: Any,
) -> Curve:
    """How well each rank predicts entries of M that the fit did not see.

    Parameters
    ----------
    problem : str
        A registered problem whose entries can be held out, such as ``relu-nmd``, ``low-rank`` or ``nmf``.
    M : array, sparse matrix, data frame or path
        Its data.
    ranks : iterable of int
        Such as ``range(2, 13)``.
    seeds : int or sequence of int
        How many times other entries are held out, or the seeds that they are drawn by.
    share : float
        Of the known entries, to be held out.
    method, max_iterations, max_seconds : optional
        Of each fit, as in ``bregopt.solve``; a fit ends at a plateau too.
    warm : bool
        Whether each fit is made twice: from the factors of the rank before, with random components added, and from a
        random start. The lower objective counts. Else it is made from the random start alone.
    jobs : int, optional
        Processes that share the seeds, each with one thread; by default as many as there are processors. With 1 all is
        done in this process.
    out : str or Path, optional
        A folder that keeps every finished fit: the same call goes on from there.
    progress : bool
        Whether to show a bar on the terminal.
    plugins : sequence of Path
        Python files that the processes load as plugins.
    **parameters
        Further ones of the problem, such as ``U="ridge(0.1)"``.

    Returns
    -------
    Curve
        Ctrl-C ends the search with the fits that were made so far.
    """
    values = tuple(sorted(set(_ranks(ranks))))
    rest: dict[str, Any] = {"share": share, "method": method, "warm": warm}
    search = Search(
        problem=problem,
        M=_matrix(M),
        parameters=parameters,
        values=values,
        max_iterations=max_iterations,
        max_seconds=max_seconds,
        **rest,
    )
    return _curve(search, "rank_curve", seeds, jobs, out, progress, plugins)


def weight_path(
    problem: str,
    M: Any,
    *,
    H: str = "l1",
    weights: Iterable[float],
    blocks: Sequence[str] = ("U", "V"),
    seeds: int | Sequence[int] = SEEDS,
    share: float = SHARE,
    method: Any = "auto",
    warm: bool = True,
    max_iterations: int = ITERATIONS,
    max_seconds: float | None = None,
    jobs: int | None = None,
    out: str | Path | None = None,
    progress: bool = False,
    plugins: Sequence[Path] = (),
    **parameters: Any,
) -> Curve:
    """How well each weight of a regularizer predicts entries that the fit did not see, and how many zeros it makes.

    Parameters
    ----------
    problem, M : str, and data
        As in ``rank_curve``; the rank is one of the further parameters.
    H : str
        The regularizer, whose first argument is the weight: ``l1``, ``ridge``, ``nonneg-l1`` …
    weights : iterable of float
        Such as ``numpy.geomspace(1, 0.001, 7)``; the largest is fitted first.
    blocks : sequence of str
        The blocks that H is on.
    seeds, share, method, warm, max_iterations, max_seconds, jobs, out, progress, plugins : optional
        As in ``rank_curve``.
    **parameters
        Further ones of the problem, such as ``rank=6``.

    Returns
    -------
    Curve
        With the share of zeros in each block beside.
    """
    values = tuple(sorted(set(_weights(weights)), reverse=True))
    on = (blocks,) if isinstance(blocks, str) else tuple(blocks)
    for block in on:
        if block in parameters:
            raise ParameterError(f"H is on the block {block}, and '{block}' is given too. Leave one of them out.")
    search = Search(
        problem=problem,
        M=_matrix(M),
        parameters=parameters,
        variable=WEIGHT,
        values=values,
        H=H,
        blocks=on,
        share=share,
        method=method,
        warm=warm,
        max_iterations=max_iterations,
        max_seconds=max_seconds,
    )
    return _curve(search, "weight_path", seeds, jobs, out, progress, plugins)


def _matrix(M: Any) -> Any:
    """The matrix alone: of a file, of one with labels, and of a data frame of numbers."""
    if isinstance(M, (str, Path)):
        M = read(M, any_shape=True)
    if isinstance(M, LabelledMatrix):
        return M.matrix
    numbers = M.to_numpy() if hasattr(M, "to_numpy") else None
    return M if numbers is None or numbers.dtype.kind not in "fiub" else numbers


def _ranks(ranks: Iterable[int]) -> Iterator[int]:
    found = list(ranks)
    if not found:
        raise ParameterError("There is no rank to try: give some, as in range(2, 13).")
    for rank in found:
        if isinstance(rank, bool) or not isinstance(rank, (int, np.integer)) or rank < 1:
            raise parameter("ranks", "rank_curve", "whole numbers >= 1", rank)
        yield int(rank)


def _weights(weights: Iterable[float]) -> Iterator[float]:
    found = list(weights)
    if not found:
        raise ParameterError("There is no weight to try: give some, as in numpy.geomspace(1, 0.001, 7).")
    for weight in found:
        if isinstance(weight, (bool, str)) or not (0 < float(weight) < np.inf):
            raise parameter("weights", "weight_path", "finite numbers > 0", weight)
        yield float(weight)


def _curve(
    search: Search,
    owner: str,
    seeds: int | Sequence[int],
    jobs: int | None,
    out: str | Path | None,
    progress: bool,
    plugins: Sequence[Path],
) -> Curve:
    chosen = _seeds(seeds, owner)
    if not (isinstance(search.share, float) and 0 < search.share < 1):
        raise parameter("share", owner, "a number between 0 and 1", search.share)
    if jobs is not None and (isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1):
        raise parameter("jobs", owner, "a whole number >= 1", jobs)
    for name in search.parameters:
        if name in TAKEN:
            raise ParameterError(f"{owner} decides on '{name}' by itself: leave it out, and see '{TAKEN[name]}'.")
    if search.variable == RANK and RANK in search.parameters:
        raise ParameterError("The ranks to try are given by 'ranks': leave 'rank' out.")
    search.compose(search.values[-1], chosen[0])  # what is wrong is said before anything is fitted or written
    records = None if out is None else Records.open(Path(out), search.variable, _settings(search))
    jobs = min(jobs or os.cpu_count() or 1, len(chosen))
    fits: dict[tuple[int, float], Fit] = {}
    interrupted = False
    try:
        with watched(progress, len(chosen) * len(search.values), search.variable) as see:
            for fit in _fits(search, chosen, records, jobs, plugins):
                fits[fit.seed, fit.value] = fit
                see(fit, len(fits))
    except KeyboardInterrupt:
        if not fits:
            raise
        interrupted = True
    order = {value: k for k, value in enumerate(search.values)}
    return Curve(
        variable=search.variable,
        values=search.values,
        fits=tuple(fits[key] for key in sorted(fits, key=lambda key: (key[0], order[key[1]]))),
        problem=search.problem,
        share=search.share,
        interrupted=interrupted,
    )


def _seeds(seeds: int | Sequence[int], owner: str) -> list[int]:
    whole = isinstance(seeds, int) and not isinstance(seeds, bool)
    found: list[Any] = list(range(seeds)) if isinstance(seeds, int) and whole else list(np.atleast_1d(seeds).tolist())
    if not found or not all(type(seed) is int and seed >= 0 for seed in found):
        raise parameter("seeds", owner, "a whole number >= 1, or a list of whole numbers >= 0", seeds)
    return list(dict.fromkeys(found))


def _fits(
    search: Search, seeds: Sequence[int], records: Records | None, jobs: int, plugins: Sequence[Path]
) -> Iterator[Fit]:
    """Each fit as it is finished, in processes where that can be; seeds that these leave are fitted here."""
    seen = dict.fromkeys(seeds, 0)
    if records is not None:
        for seed in seeds:
            found = records.finished(seed, search.values, search.warm)
            seen[seed] = len(found)
            yield from found
    open_seeds = [seed for seed in seeds if seen[seed] < len(search.values)]
    if min(jobs, len(open_seeds)) > 1 and sendable(search):
        yield from fits_in_processes(search, open_seeds, records, jobs, plugins)
    else:
        for seed in open_seeds:
            yield from search.fits(seed, records)


def _settings(search: Search) -> dict[str, Any]:
    """What must be the same for fits to be of one curve."""
    return {
        "version": bo.__version__,
        "variable": search.variable,
        "problem": search.problem,
        "data": fingerprint(search.M),
        "parameters": {name: fingerprint(it) for name, it in sorted(search.parameters.items())},
        "H": search.H,
        "blocks": list(search.blocks),
        "share": search.share,
        "method": fingerprint(search.method),
        "warm": search.warm,
        "max_iterations": search.max_iterations,
        "max_seconds": search.max_seconds,
    }
