"""A pass whose residual is zero nearly everywhere against one with a dense residual, in the same run."""

from typing import Any

from bregopt.cli.bench_case import SEED, drawn
from bregopt.cli.bench_size import Size
from bregopt.cli.bench_task import look, problem_of

DEFAULT = Size(6000, 8000, 30, 0.004)
FEW, MANY = 0.01, 0.5
"""Shares of non-zeros in the residual."""


def residual_row(size: Size, dtype: str, repeats: int) -> dict[str, Any]:
    """Seconds of both passes."""
    from bregopt.cli.timing import best

    case = drawn(size, dtype)
    problem = problem_of(case.M, case.rank, dtype=case.dtype)
    seconds = best({str(share): look(problem, point(size, share)) for share in (FEW, MANY)}, repeats=repeats)
    few, many = seconds[str(FEW)], seconds[str(MANY)]
    shares = {"few_share": FEW, "many_share": MANY}
    return {**case.facts, **shares, "few_seconds": few, "many_seconds": many, "many_over_few": many / few}


def point(size: Size, share: float) -> Any:
    """U ≥ 0 and V ≤ 0, whose residual is zero off the support of M, but for columns of V that are turned positive."""
    import numpy as np

    import bregopt

    rng = np.random.default_rng(SEED)
    U, V = (np.abs(rng.standard_normal(shape)) for shape in ((size.m, size.rank), (size.rank, size.n)))
    support = size.density or 0.0
    turned = round(size.n * max(0.0, share - support) / (1 - support)) if support < 1 else 0
    V[:, rng.permutation(size.n)[turned:]] *= -1
    return bregopt.Blocks(U=U, V=V)
