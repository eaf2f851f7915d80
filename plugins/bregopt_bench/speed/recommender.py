"""``bregopt bench recommender``: many users, many items and few known ratings, as large as memory allows."""

import json
import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, final

import click
import numpy as np
from attrs import frozen

import bregopt
from bregopt_bench.display import Show, gigabytes, json_option, print_machine, print_table, status_line
from bregopt_bench.measuring import machine, peak_memory
from bregopt_bench.speed.matrices import SEED

Out = TypeVar("Out")

DTYPE = "float32"
METHOD = "aapb"
RIDGE = "ridge(1)"
NOISE = 0.5
"""The standard deviation of what is added to ratings whose own is 1."""
BLOCK = 2**18
"""Known ratings that are made at a time."""
NOTE = (
    "{users:.3g} users, {items:.3g} items, {known:.3g} known ratings, rank {rank}, {dtype}. The ratings are a product "
    "of random factors plus noise. An iteration costs {products_per_iteration:.2g} products of 2·m·n·r flops, as only "
    "known ratings are visited. The error ‖M − UV‖/‖M‖ over them fell from {first_error:.4f} to {error:.4f} in "
    "{iterations} iterations; the noise alone is {noise:.2f}. peak: the most memory that the process had held by then."
)


def _count(value: Any) -> int:
    """A whole number, as 1000 or as 1e3."""
    try:
        number = float(value)
        if number >= 1 and number.is_integer():
            return int(number)
    except ValueError:
        pass
    raise click.BadParameter(f"{value!r} is not a whole number from 1 on, as 100000 or 1e5.")


@click.command(short_help="A synthetic recommender: seconds, products and peak memory.")
@click.option("--users", metavar="N", type=_count, default="1e5", show_default=True, help="Rows of M.")
@click.option("--items", metavar="N", type=_count, default="1e4", show_default=True, help="Columns of M.")
@click.option("--known", metavar="N", type=_count, default="5e6", show_default=True, help="Ratings that are known.")
@click.option("-r", "--rank", metavar="N", type=click.IntRange(1), default=16, show_default=True, help="Of U and V.")
@click.option("--iterations", metavar="N", type=click.IntRange(1), default=3, show_default=True, help="To take.")
@json_option
def recommender(users: int, items: int, known: int, rank: int, iterations: int, as_json: bool) -> None:
    """Complete a matrix of ratings of which few are known, in single precision.

    Every user has rated as many items as any other, popular items more often than others. The default size takes some
    seconds. The second example has 10⁸ known ratings, as many as a large service: it takes some minutes and 5 GB.

    \b
    Examples:
      bregopt bench recommender
      bregopt bench recommender --users 1e6 --items 1e5 --known 1e8
    """
    if known >= users * items:
        text = f"{known} is too many: some of the {users}×{items} ratings must be unknown."
        raise click.BadParameter(text, param_hint="'--known'")
    if rank > min(users, items):
        raise click.BadParameter(f"{rank} is more than {min(users, items)}.", param_hint="'--rank'")
    facts = machine()
    with status_line(not as_json) as show:
        row = measure(Ratings(users, items, known, rank), iterations, show)
    if as_json:
        click.echo(json.dumps({"machine": facts, **row}, indent=2, allow_nan=False))
        return
    print_machine(facts)
    print_row(row)


@final
@frozen
class Ratings:
    """``M = AB/√r + noise`` at known places; A, B Gaussian of rank r, so that entries of AB/√r have variance 1."""

    users: int
    items: int
    known: int
    rank: int

    def draw(self) -> Any:
        """The known entries as CSR, made by blocks of rows: nothing large is held besides."""
        from scipy.sparse import csr_array

        rng = np.random.default_rng(SEED)
        A = rng.standard_normal((self.users, self.rank), dtype=np.float32)
        B = rng.standard_normal((self.items, self.rank), dtype=np.float32) / np.float32(np.sqrt(self.rank))
        order = rng.permutation(self.items).astype(np.int32)
        starts = self._starts()
        values, columns = np.empty(self.known, np.float32), np.empty(self.known, np.int32)
        for rows in self._blocks():
            span, each = slice(starts[rows.start], starts[rows.stop]), int(starts[rows.start + 1] - starts[rows.start])
            places = np.sort(order[popular(self.items, each, rows.stop - rows.start, rng)], axis=1)
            ratings = np.einsum("ur,ukr->uk", A[rows], B[places])
            ratings += np.float32(NOISE) * rng.standard_normal(ratings.shape, dtype=np.float32)
            values[span], columns[span] = ratings.ravel(), places.ravel()
        return csr_array((values, columns, starts), shape=(self.users, self.items))

    def _starts(self) -> Any:
        """Where the ratings of each user begin: the first users have one more than the others, where it must be.

        As int32 where it will do: with int64 here, scipy would make the columns int64 too.
        """
        each, more = divmod(self.known, self.users)
        starts = np.concatenate([[0], np.cumsum(each + (np.arange(self.users) < more))])
        return starts.astype(np.int32 if self.known < 2**31 else np.int64)

    def _blocks(self) -> list[slice]:
        """Users with equally many ratings."""
        each, more = divmod(self.known, self.users)
        height = max(1, BLOCK // (each + 1))
        spans = ((0, more), (more, self.users))
        return [slice(top, min(top + height, end)) for begin, end in spans for top in range(begin, end, height)]


def popular(items: int, each: int, users: int, rng: np.random.Generator) -> Any:
    """So many different items for each of the users; item j is taken with a probability that falls like 1/√j.

    One item is drawn from each of ``each`` ranges, whose lengths grow linearly.
    """
    k = np.arange(each + 1)
    ends = np.maximum(k, items * k**2 // max(each, 1) ** 2)
    return ends[:-1] + (rng.random((users, each), dtype=np.float32) * np.diff(ends)).astype(np.int64)


def measure(ratings: Ratings, iterations: int, show: Show) -> dict[str, Any]:
    """Seconds of every stage, with the peak of the memory so far."""
    stages: dict[str, dict[str, Any]] = {}

    def timed(stage: str, work: Callable[[], Out]) -> Out:
        show(stage)
        begin = time.perf_counter()
        found = work()
        stages[stage] = {"seconds": time.perf_counter() - begin, "peak_bytes": peak_memory()}
        return found

    parts = {"U": RIDGE, "V": RIDGE, "missing": "zeros", "dtype": DTYPE}
    M = timed("making the ratings", ratings.draw)
    problem = timed("composing the problem", partial(bregopt.compose, "completion", M, rank=ratings.rank, **parts))
    del M  # the problem has its own
    run = bregopt.iterate(problem, method=METHOD)
    first = state = timed("evaluating the start", run.__next__)
    for k in range(iterations):
        state = timed(f"iteration {k + 1}", run.__next__)
    seconds = [stages[f"iteration {k + 1}"]["seconds"] for k in range(iterations)]
    return {
        **{"users": ratings.users, "items": ratings.items, "known": ratings.known, "rank": ratings.rank},
        "dtype": DTYPE,
        "iterations": iterations,
        "iteration_seconds": sum(seconds) / iterations,
        "products_per_iteration": (state.counts.products - first.counts.products) / iterations,
        "first_error": first.metrics["relative_error"],
        "error": state.metrics["relative_error"],
        "noise": NOISE / math.hypot(1.0, NOISE),
        "peak_bytes": peak_memory(),
        "stages": stages,
    }


def print_row(row: dict[str, Any]) -> None:
    shown = [
        {"stage": name, "seconds": f"{stage['seconds']:.2f}", "peak": gigabytes(stage["peak_bytes"])}
        for name, stage in row["stages"].items()
    ]
    print_table(shown, NOTE.format(**row))
