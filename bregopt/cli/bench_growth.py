"""The pass on matrices of growing size, and on one matrix with more threads."""

from collections.abc import Sequence
from typing import Any

from bregopt.cli.bench_case import Case
from bregopt.cli.bench_task import first_look, problem_of


def sides(first: float, last: float, count: int) -> list[int]:
    """Of square matrices, the number of whose entries grows by a constant factor."""
    return [round((first * (last / first) ** (k / (count - 1))) ** 0.5) for k in range(count)]


def growth_row(case: Case, repeats: int) -> dict[str, Any]:
    """The pass, and its speed in multiplications with additions, of which it takes 3·m·n·r."""
    from bregopt.cli.timing import best

    seconds = best({"pass": first_look(problem_of(case.M, case.rank, dtype=case.dtype))}, repeats=repeats)["pass"]
    entries = case.M.shape[0] * case.M.shape[1]
    work = 3 * entries * case.rank
    speed = {"gflops": 2 * work / seconds / 1e9, "picoseconds_per_multiply_add": 1e12 * seconds / work}
    return {**case.facts, "entries": entries, "pass_seconds": seconds, **speed}


def spread(rows: Sequence[dict[str, Any]]) -> float:
    """The slowest against the fastest size."""
    times = [row["picoseconds_per_multiply_add"] for row in rows]
    return float(max(times) / min(times))


def thread_rows(case: Case, counts: Sequence[int], repeats: int) -> list[dict[str, Any]]:
    """The pass with each number of threads, in turn."""
    from bregopt.cli.timing import best

    tasks = {str(count): first_look(problem_of(case.M, case.rank, dtype=case.dtype, threads=count)) for count in counts}
    return speedups(case.facts, "threads", dict(zip(counts, best(tasks, repeats=repeats).values(), strict=True)))


def speedups(facts: dict[str, Any], what: str, seconds: dict[int, float]) -> list[dict[str, Any]]:
    """Seconds by number of ``what``, and how many times more the pass does than with one of them."""
    alone = next(iter(seconds.values()))
    return [{**facts, what: count, "pass_seconds": it, "speedup": alone / it} for count, it in seconds.items()]
