"""``bregopt bench pass``: the pass of an iteration against the products it is made of and against plain NumPy."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

import bregopt
from bregopt_bench.display import (
    megabytes,
    milliseconds,
    plugin_option,
    print_machine,
    print_table,
    ratio,
    shape_columns,
    status_line,
    timing_options,
)
from bregopt_bench.measuring import machine
from bregopt_bench.speed.losses import TimedLoss, drawn_for, random_weights
from bregopt_bench.speed.matrices import DTYPES, Size, TimedMatrix, drawn, in_file, size_flag, size_type
from bregopt_bench.speed.pass_rows import RESIDUAL_SIZE, Row, measure, measure_loss, residual_row
from bregopt_bench.speed.plots import plot_pass
from bregopt_bench.speed.stored import STORED_SIZE, stored_row

GRID = (
    Size(10000, 784, 45),
    Size(6000, 8000, 30, 0.004),
    Size(2856, 1024, 68),
    Size(1440, 1024, 20),
    Size(1535, 1535, 25, 0.05),
    Size(1500, 500, 12),
)
"""Shapes and ranks of the matrices that ReLU-NMD is tried on: MNIST, a graph, faces and objects."""

PASS_NOTE = (
    "pass/bare: the pass gives value, gradient and relative error in so many times the time of the three products "
    "UV, XVᵀ and UᵀX alone, which it contains; below 1 it is faster than they are, as its tiles stay in cache. "
    "obvious/pass: how much longer the same figures take in plain NumPy. iteration/pass: an iteration of the paper's "
    "method against the pass inside of it. memory: what the pass takes at its peak. Times are the best of {repeats} "
    "rounds, in ms."
)
LOSS_NOTE = (
    "by: the pass goes over all entries of a dense or of a sparse M, over the known entries alone (sampled), or over "
    "the non-zeros, with Gram matrices for the zeros (Gram). pass/bare: against the three products UV, XVᵀ and UᵀX "
    "alone. pass/relu: against the ReLU pass in the same rounds, over the same sparse M, or over a dense M of that "
    "shape where M is dense or sampled. obvious/pass: how much longer the same figures take in plain NumPy. "
    "iteration/pass: an iteration of the paper's method against the pass inside of it. Times are the best of {repeats} "
    "rounds, in ms."
)
DEVICE_NOTE = (
    "on {device}: the same figures by torch, M lying on that device, with the factors sent there and the sums brought "
    "back. {device}/pass: below 1 it is faster than the pass without torch, in the same rounds. Times are the best of "
    "{repeats} rounds, in ms."
)
RESIDUAL_NOTE = (
    "How much a pass gains where the residual UV − W is zero nearly everywhere: its products then take the non-zeros "
    "alone. Times are the best of {repeats} rounds, in ms."
)
STORED_NOTE = (
    "Iterations of the paper's method on a memory map of a file that was just written, so that much of it may still be "
    "in the file cache. memory: how far the process grew, from composing the problem to the end."
)


@click.command("pass", short_help="The pass of an iteration, against bare products and plain NumPy.")
@click.option(
    "--size", "sizes", metavar="MxN:r[:density]", type=size_type(), multiple=True, help="A random M; repeat for more."
)
@click.option("--file", metavar="FILE", type=click.Path(path_type=Path), help="The matrix in a file, as for 'solve'.")
@click.option("-r", "--rank", metavar="N", type=click.IntRange(1), default=10, show_default=True, help="With --file.")
@click.option(
    "--loss", "losses", metavar="SPEC", multiple=True, help="The pass of this loss, as 'huber(0.5)'; repeat for more."
)
@click.option("--missing", type=click.Choice(["zeros"]), help="The zeros of M are unknown. For --loss.")
@click.option("--weights", "weighted", is_flag=True, help="Give every entry a weight. For --loss.")
@plugin_option
@click.option("--dtype", type=click.Choice(DTYPES), help="Of M and of the products.  [default: one after the other]")
@click.option("--device", metavar="NAME", help="Also by torch on this device, as cuda, mps or cpu.")
@size_flag("--residual", RESIDUAL_SIZE, "Residuals with few non-zeros against dense ones.")
@size_flag("--stored", STORED_SIZE, "A float32 matrix on disk, in a temporary folder.")
@timing_options
def pass_(
    sizes: Sequence[Size],
    file: Path | None,
    rank: int,
    losses: Sequence[str],
    missing: str | None,
    weighted: bool,
    plugins: Sequence[Path],
    dtype: str | None,
    device: str | None,
    residual: Size | None,
    stored: Size | None,
    repeats: int,
    as_json: bool,
    plot: Path | None,
) -> None:
    """Time the pass over M that makes up nearly all of an iteration.

    It is held against the three matrix products it contains, and against plain NumPy code for the same figures, in
    rounds that alternate. Without --size, --file, --residual and --stored a grid of sizes is measured.

    The loss is ReLU. --loss measures others, held against it. Their data are drawn at random. With --missing zeros
    only the entries that a sparse M has are known; of a dense M it is half of them.

    \b
    Examples:
      bregopt bench pass --size 2000x3000:20 --size 6000x8000:30:0.004
      bregopt bench pass --file counts.mtx -r 30 --plot speed.png
      bregopt bench pass --loss logistic --loss 'huber(0.5)' --size 2000x3000:20
      bregopt bench pass --loss least-squares --missing zeros --size 3000x2000:20:0.01
      bregopt bench pass --device cuda --dtype float32
    """
    others = residual is not None or stored is not None
    if others and (losses or missing or weighted):
        raise click.UsageError("--residual and --stored measure the ReLU pass: leave --loss out.")
    if others and device is not None:
        raise click.UsageError("--device measures the table of sizes: leave --residual and --stored out.")
    losses = losses or (("relu",) if missing or weighted else ())
    for path in plugins:
        bregopt.load_plugin(path)
    for spec in losses:
        bregopt.make("loss", spec)  # refused before anything is measured
    sizes = sizes or (() if file or others else GRID)
    if plot is not None and not (sizes or file):
        raise click.UsageError("--plot draws the table of sizes: give --size or --file as well.")
    dtypes = DTYPES if dtype is None else (dtype,)
    facts = machine() if device is None else with_device(machine(), device)
    with status_line(not as_json) as show:
        rows = []
        if losses:
            for timed in _losses(sizes, file, rank, dtypes, losses, missing, weighted):
                matrix = timed.matrix
                show(f"measuring {timed.spec}, {matrix.name}, rank {matrix.rank}, {matrix.dtype}")
                rows.append(measure_loss(timed, repeats, device))
        else:
            for matrix in _matrices(sizes, file, rank, dtypes):
                show(f"measuring {matrix.name}, rank {matrix.rank}, {matrix.dtype}")
                rows.append(measure(matrix, repeats, device))
        residuals = []
        for kind in dtypes:
            if residual:
                show(f"measuring residuals, {residual}, {kind}")
                residuals.append(residual_row(residual, kind, repeats))
        on_disk = stored_row(stored, show) if stored else None
    if plot is not None:
        plot_pass(plot, rows, facts)
    if as_json:
        record = {"machine": facts, "repeats": repeats, "rows": [row.as_json() for row in rows]}
        click.echo(json.dumps({**record, "residual": residuals, "stored": on_disk}, indent=2, allow_nan=False))
        return
    print_machine(facts)
    if rows:
        (print_losses if losses else print_rows)(rows, repeats)
    if device is not None:
        print_device(rows, repeats, device)
    if residuals:
        print_residual(residuals, repeats)
    if on_disk:
        print_stored(on_disk)


def _matrices(sizes: Sequence[Size], file: Path | None, rank: int, dtypes: Sequence[str]) -> Iterator[TimedMatrix]:
    """One at a time: together they may not fit in memory."""
    for size in sizes:
        yield from (drawn(size, dtype) for dtype in dtypes)
    if file is not None:
        yield from in_file(file, rank, dtypes)


def _losses(
    sizes: Sequence[Size],
    file: Path | None,
    rank: int,
    dtypes: Sequence[str],
    losses: Sequence[str],
    missing: str | None,
    weighted: bool,
) -> Iterator[TimedLoss]:
    """Every loss on data drawn for it, or on those of the file."""
    for size in sizes:
        for dtype in dtypes:
            yield from (drawn_for(spec, size, dtype, missing, weighted) for spec in losses)
    if file is not None:
        for matrix in in_file(file, rank, dtypes):
            yield from (TimedLoss(spec, matrix, missing, random_weights(matrix, weighted)) for spec in losses)


def with_device(facts: dict[str, Any], name: str) -> dict[str, Any]:
    """The machine with torch and its device, if they are there."""
    from bregopt_torch import on_device

    M = on_device(np.ones((1, 1), np.float32), name)
    torch = sys.modules["torch"]
    told = torch.cuda.get_device_name(M.device) if M.is_cuda else str(M.device)
    return {**facts, "device": told, "versions": {**facts["versions"], "torch": torch.__version__}}


def print_rows(rows: Sequence[Row], repeats: int) -> None:
    shown = [
        {
            **shape_columns(row.facts),
            "bare": milliseconds(row.bare),
            "pass": milliseconds(row.seconds),
            "obvious": milliseconds(row.obvious),
            "pass\n/bare": ratio(row.against_bare),
            "obvious\n/pass": ratio(row.gain),
            "iteration\n/pass": ratio(row.overhead),
            "memory": megabytes(row.memory),
        }
        for row in rows
    ]
    print_table(shown, PASS_NOTE.format(repeats=repeats))


def print_losses(rows: Sequence[Row], repeats: int) -> None:
    shown = [
        {
            "loss": row.facts["loss"],
            **shape_columns(row.facts),
            "by": row.facts["pass"],
            "bare": milliseconds(row.bare),
            "pass": milliseconds(row.seconds),
            "pass\n/bare": ratio(row.against_bare),
            "pass\n/relu": ratio(row.against_relu),
            "obvious\n/pass": ratio(row.gain),
            "iteration\n/pass": ratio(row.overhead),
        }
        for row in rows
    ]
    print_table(shown, LOSS_NOTE.format(repeats=repeats), close=True)


def print_device(rows: Sequence[Row], repeats: int, device: str) -> None:
    shown = [
        {
            **({"loss": row.facts["loss"]} if "loss" in row.facts else {}),
            **shape_columns(row.facts),
            "pass": milliseconds(row.seconds),
            f"on {device}": milliseconds(row.on_device),
            f"{device}/pass": ratio(row.device_over_pass),
        }
        for row in rows
    ]
    print_table(shown, DEVICE_NOTE.format(device=device, repeats=repeats))


def print_residual(rows: Sequence[Mapping[str, Any]], repeats: int) -> None:
    shown = [
        {
            **shape_columns(row),
            f"residual {row['few_share']:.0%}": milliseconds(row["few_seconds"]),
            f"residual {row['many_share']:.0%}": milliseconds(row["many_seconds"]),
            "ratio": ratio(row["many_over_few"]),
        }
        for row in rows
    ]
    print_table(shown, RESIDUAL_NOTE.format(repeats=repeats))


def print_stored(row: Mapping[str, Any]) -> None:
    shown = {
        **shape_columns(row),
        "on disk": megabytes(row["bytes"]),
        "s per iteration": f"{row['iteration_seconds']:.3f}",
        "memory": megabytes(row["memory_bytes"]),
    }
    print_table([shown], STORED_NOTE)
