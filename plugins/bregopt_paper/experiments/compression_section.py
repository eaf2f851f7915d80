"""What the compressions of NMF bases say: tables, figures, and sentences chosen by the figures."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from bregopt import Array
from bregopt_paper.experiments.curves import listed, of
from bregopt_paper.experiments.experiment import Figure, Record, Section, Table

Found = Mapping[str, Record | None]
"""The record of each data set, ``None`` where it is missing."""
CALLED = {"yaleb": "YaleB", "orl": "ORL", "tiny-faces": "tiny faces"}
METHODS = {"tsvd": "TSVD", "apb-paper": "APB", "aapb-paper": "AAPB", "aapb": "ours (aapb)"}
OURS = "aapb"
LOOK = {
    "tsvd": ("#8a8a8a", ":"),
    "apb-paper": ("#b5651d", "--"),
    "aapb-paper": ("#b23b3b", "--"),
    "aapb": ("#0f62a8", "-"),
}
PRINTED = {"yaleb": {55: {"tsvd": 0.19, "apb-paper": 0.17, "aapb-paper": 0.16}}}
"""Tol_NMF as the paper prints it, by r'."""
HALF = 0.005
"""Of the last digit that is printed."""
LOSSLESS = 1.01
"""Tol_NMF within so many times the error of the NMF itself loses nothing."""
ELEMENT = 80
"""The element of the basis that the paper draws, counted from 1."""


def compression_section(found: Found) -> Section:
    """The section of what was found; data sets may be missing."""
    there = {dataset: record for dataset, record in found.items() if record is not None}
    text = [_recipe(), *(_told(dataset, record) for dataset, record in there.items())]
    if len(there) < len(found):
        absent = listed([CALLED[dataset] for dataset in found if dataset not in there])
        text.append(f"There are no results on {absent}: their cells are empty.")
    text.append(_verdict(there))
    figures = [
        Figure(
            "compression-error",
            "The error on the basis and Tol_NMF over r'; the dotted line is the error of the NMF itself, and a cross "
            "what the paper prints.",
            partial(_draw_errors, there),
            (8.0, 3.0 * max(len(there), 1) + 0.6),
        )
    ]
    for dataset, record in there.items():
        number = min(ELEMENT, record["rank"])
        figures += [
            Figure(
                f"compression-{dataset}-faces",
                f"{CALLED[dataset]}: faces, their NMF of rank {record['rank']}, and what is left with a basis of rank "
                f"{record['shown']}.",
                partial(_draw_faces, record),
                (8.0, 1.45 * record["faces"].shape[1]),
            ),
            Figure(
                f"compression-{dataset}-basis",
                f"{CALLED[dataset]}: the basis of the NMF, and its compressions of rank {record['shown']}, each with "
                "its Tol_NMF.",
                partial(_draw_bases, record),
                (8.0, 5.6),
            ),
            Figure(
                f"compression-{dataset}-element",
                f"{CALLED[dataset]}: element {number} of the basis, and above how much of it is wrong.",
                partial(_draw_element, record, number - 1),
                (8.0, 2.2),
            ),
        ]
    return Section(
        "Compression of an NMF basis",
        tuple(text),
        tuple(_table(dataset, found[dataset]) for dataset in found),
        tuple(figures),
    )


def _recipe() -> str:
    return (
        "The paper takes an NMF M ≈ ŨṼ of face pictures, one in each column of M, and compresses the sparse basis Ũ to "
        "max(0, UV) of rank r' < r, with at most s = ⌊r/1.2⌋ non-zeros in each row of V. (It sums over columns of Vᵀ "
        "up to r, but there are r' of them, and with s > r' a bound for each column of V would be void.) It measures "
        "the error on Ũ, and `Tol_NMF = min ‖M − max(0, UV)V̂‖/‖M‖` over V̂ ≥ 0. Here one NMF is made, by 300 "
        "iterations of `hals` from seed 0; another seed, or other scales of the columns of Ũ, change the numbers. "
        "Every method starts from the truncated SVD of Ũ, and V̂ is exact. TSVD is the truncated SVD itself, clipped at "
        "zero; it has no bound on V."
    )


def _column(record: Record, method: str, what: str) -> list[float]:
    return [float(run[what]) for run in record["runs"][method]]


def _told(dataset: str, record: Record) -> str:
    """A data set in numbers."""
    m, n = record["shape"]
    place = record["ranks"].index(record["shown"])
    told = listed(
        [
            f"{_column(record, method, 'error')[place]:.4f} and {_column(record, method, 'tol')[place]:.4f} with {name}"
            for method, name in METHODS.items()
        ]
    )
    text = (
        f"**{CALLED[dataset]}** ({m}×{n}, r = {record['rank']}): the NMF has the error {record['nmf_error']:.4f}, and "
        f"{record['zeros']:.0%} of its basis are zeros. With r' = {record['shown']} and {record['iterations']} "
        f"iterations the error on the basis and Tol_NMF are {told}."
    )
    lossless = _lossless(record)
    if lossless is not None:
        text += f" From r' = {lossless} on ours loses less than {LOSSLESS - 1:.0%} of the NMF's error."
    return text


def _lossless(record: Record) -> int | None:
    """The least r' from which on Tol_NMF of ours is that of the NMF."""
    good = [tol <= LOSSLESS * record["nmf_error"] for tol in _column(record, OURS, "tol")]
    first = len(good) - (good[::-1].index(False) if False in good else len(good))
    return int(record["ranks"][first]) if first < len(good) else None


def _verdict(there: Mapping[str, Record]) -> str:
    """What was and what was not reproduced."""
    if not there:
        return "**Nothing was run**, so nothing can be said of the paper's figures."
    cells = [(record, k) for record in there.values() for k in range(len(record["ranks"]))]

    def below(method: str, other: str, *measures: str) -> str:
        """In how many cells a method is below another in all of these measures."""
        count = sum(
            all(_column(record, method, what)[k] < _column(record, other, what)[k] for what in measures)
            for record, k in cells
        )
        return of(count, len(cells), "cells of the tables")

    ordered = of(_ordered(cells), len(cells), "cells of the tables")
    parts = [
        f"The paper's order, TSVD above APB above AAPB, is to be seen in Tol_NMF in {ordered}.",
        f"Its AAPB has a smaller error on the basis than TSVD in {below('aapb-paper', 'tsvd', 'error')}.",
        f"Ours is below its AAPB in both measures in {below(OURS, 'aapb-paper', 'error', 'tol')}{_factor(cells)}.",
    ]
    parts += [part for dataset, record in there.items() if (part := _printed(dataset, record))]
    return " ".join(["**What was reproduced.**", *parts])


def _ordered(cells: Sequence[tuple[Record, int]]) -> int:
    order = ("tsvd", "apb-paper", "aapb-paper")
    tols = [[_column(record, method, "tol")[k] for method in order] for record, k in cells]
    return sum(a > b > c for a, b, c in tols)


def _factor(cells: Sequence[tuple[Record, int]]) -> str:
    """By how much the error on the basis is smaller."""
    ratios = [
        _column(record, "aapb-paper", "error")[k] / error
        for record, k in cells
        if (error := _column(record, OURS, "error")[k]) > 0
    ]
    return f"; AAPB's error on the basis is {min(ratios):.2f} to {max(ratios):.0f} times ours" if ratios else ""


def _printed(dataset: str, record: Record) -> str:
    """The paper's numbers beside those found."""
    told = []
    met = total = 0
    for rank, row in PRINTED.get(dataset, {}).items():
        if rank not in record["ranks"]:
            continue
        for method, printed in row.items():
            tol = _column(record, method, "tol")[record["ranks"].index(rank)]
            met, total = met + (abs(tol - printed) <= HALF), total + 1
            told.append(f"{METHODS[method]} {printed:.2f} (here {tol:.3f})")
    if not told:
        return ""
    own = record["nmf_error"]
    lowest = min(_column(record, OURS, "tol"))
    return (
        f"On {CALLED[dataset]} the paper prints Tol_NMF {listed(told)}: {of(met, total, 'numbers')} come out with its "
        f"settings. No basis can be expected below the {own:.3f} of the NMF itself, and ours gets to {lowest:.3f}."
    )


def _table(dataset: str, record: Record | None) -> Table:
    ranks: list[int] = [] if record is None else record["ranks"]
    printed = PRINTED.get(dataset, {})

    def row(method: str, name: str) -> tuple[Any, ...]:
        if record is None:
            return (name,)
        cells = zip(_column(record, method, "error"), _column(record, method, "tol"), strict=True)
        shown = [f"{error:.4f} / {tol:.4f}" for error, tol in cells]
        return (name, *shown, *(row.get(method) for row in printed.values()))

    columns = ("method", *(f"r' = {rank}" for rank in ranks))
    if record is not None:
        columns += tuple(f"paper, r' = {rank}" for rank in printed)
    own = "" if record is None else f" The NMF itself has the error {record['nmf_error']:.4f}."
    return Table(
        f"compression-{dataset}",
        f"{CALLED[dataset]}: the error on the basis / Tol_NMF, and Tol_NMF as the paper prints it.{own}",
        columns,
        tuple(row(method, name) for method, name in METHODS.items()),
    )


def _draw_errors(there: Mapping[str, Record], figure: Any) -> None:
    if not there:
        return
    grid = figure.subplots(len(there), 2, squeeze=False)
    for (dataset, record), panels in zip(there.items(), grid, strict=True):
        for what, title, panel in zip(("error", "tol"), ("error on the basis", "Tol_NMF"), panels, strict=True):
            for method, name in METHODS.items():
                color, dash = LOOK[method]
                panel.plot(
                    record["ranks"], _column(record, method, what), dash, color=color, marker="o", ms=3, label=name
                )
            panel.set_title(f"{CALLED[dataset]}: {title}")
            panel.set_xlabel("r'")
            panel.set_xticks(record["ranks"])
            panel.grid(True, color="#ececec")
        panels[0].set_yscale("log")
        panels[1].axhline(record["nmf_error"], color="#111111", ls=":", lw=0.8)
        for rank, row in PRINTED.get(dataset, {}).items():
            for method, printed in row.items():
                panels[1].plot(rank, printed, "x", color=LOOK[method][0], ms=7)
    handles, names = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=4, frameon=False)


def _kept(record: Record) -> dict[str, Record]:
    """The runs that are drawn, by the names of their methods."""
    place = record["ranks"].index(record["shown"])
    return {name: record["runs"][method][place] for method, name in METHODS.items()}


def picture(column: Array) -> Array:
    """A square picture from a column, which goes down the picture first."""
    side = math.isqrt(column.size)
    return column.reshape(side, side).T


def _draw_faces(record: Record, figure: Any) -> None:
    columns = {"original": record["faces"], "NMF": record["nmf_faces"]}
    columns |= {name: run["faces"] for name, run in _kept(record).items()}
    count = record["faces"].shape[1]
    grid = figure.subplots(count, len(columns), squeeze=False)
    for (name, faces), panels in zip(columns.items(), grid.T, strict=True):
        panels[0].set_title(name)
        for k, panel in enumerate(panels):
            top = float(record["faces"][:, k].max())
            panel.imshow(picture(faces[:, k]), cmap="gray", vmin=0, vmax=top)
            panel.set_axis_off()


def _draw_bases(record: Record, figure: Any) -> None:
    bases = {"NMF": record["basis"]} | {name: run["basis"] for name, run in _kept(record).items()}
    grid = figure.subplots(2, 3)
    for panel in grid.flat:
        panel.set_axis_off()
    tols = {name: run["tol"] for name, run in _kept(record).items()} | {"NMF": record["nmf_error"]}
    scale = record["basis"].max(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    for (name, basis), panel in zip(bases.items(), grid.flat, strict=False):
        panel.set_title(f"{name}: {tols[name]:.3f}")
        panel.imshow(mosaic(basis / scale), cmap="gray_r", vmin=0, vmax=1)


def mosaic(basis: Array) -> Array:
    """The elements of a basis as pictures in a square, those that fill it, with a grey line between them."""
    side, across = math.isqrt(basis.shape[0]), math.isqrt(basis.shape[1])
    wall = np.full((across * (side + 1) + 1,) * 2, 0.3)
    for k in range(across * across):
        row, column = divmod(k, across)
        top, left = row * (side + 1) + 1, column * (side + 1) + 1
        wall[top : top + side, left : left + side] = picture(basis[:, k])
    return wall


def _draw_element(record: Record, k: int, figure: Any) -> None:
    bases = {"NMF": record["basis"]} | {name: run["basis"] for name, run in _kept(record).items()}
    whole = record["basis"][:, k]
    panels = figure.subplots(1, len(bases), squeeze=False)[0]
    for (name, basis), panel in zip(bases.items(), panels, strict=True):
        wrong = float(np.linalg.norm(basis[:, k] - whole) / max(float(np.linalg.norm(whole)), 1e-300))
        panel.imshow(picture(basis[:, k]), cmap="gray_r", vmin=0, vmax=float(whole.max()) or 1.0)
        panel.set_title(name if name == "NMF" else f"{name}: {wrong:.2g}")
        panel.set_axis_off()
