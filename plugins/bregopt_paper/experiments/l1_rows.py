"""The rows of the paper's l1–l1 table: what it printed, who runs on them here, and what is to be reached."""

from collections.abc import Mapping
from typing import final

from attrs import frozen

from bregopt_paper.experiments.curves import PER_ITERATION

ETA = (0.01, 0.015)
MOST_ITERATIONS, MOST_SECONDS = 1000, 30.0
"""The paper's stop rules (b) and (a)."""
LONGEST = 60.0
"""Seconds after which a run of another method ends, whatever its budget."""
PAPER = {"ppalm": "PPALM", "ippalm": "iPPALM", "apb-paper": "NMD-APB", "aapb-paper": "NMD-AAPB"}
"""The methods of the paper's table, by the names they have here and there."""
OURS = ("aapb", "bella", "ecd", "masked-newton", "hybrid", "auto")
RIVALS = ("ippalm(growing)", "cocain")
"""The strongest methods of others: they run on every row, from both starts."""
MORE = ("palm", "ipalm", "gipalm", "nipalm", "bpg", "bpge", "bpdca", "bpdcae", "dcae", "bmme")
"""Methods of others that run on the rows of the paper's figure."""
SHORT = {"netz4504-dual": "netz", "mycielskian11": "myc", "MNIST": "mnist", "mycielskian7": "tiny-myc"}
RANDOM, TSVD = "random", "tsvd"
STARTS = {RANDOM: "scaled-random", TSVD: "tsvd"}


@final
@frozen(kw_only=True)
class Row:
    """A row of the paper's table, and what is known of it."""

    dataset: str
    called: str
    rank: int
    iterations: int
    """the budget: so many times three products"""
    pace: float
    """seconds of three products, about"""
    most: int = MOST_ITERATIONS
    """the iterations of the paper's stop rule (b)"""
    printed: Mapping[str, float] = {}
    """the paper's relative errors, by method"""
    default: float | None = None
    """the objective that ``aapb`` is to reach from the random start"""
    best: tuple[float, str] | None = None
    """the objective that the best method of ours is to reach, and the start it is reached from"""
    floor: tuple[float, float] | None = None
    """the lowest objective known from longer runs, and the relative error there"""
    in_figure: bool = False
    """whether every method runs, as the paper has a figure of this row"""
    large: bool = False
    """whether slow methods are left out"""

    @property
    def name(self) -> str:
        return f"{SHORT.get(self.called, self.called)}{self.rank}"

    @property
    def products(self) -> float:
        return float(PER_ITERATION * self.iterations)

    def methods(self, start: str) -> list[str]:
        """Who runs from this start."""
        if start == TSVD and self.large:
            return ["ippalm", "aapb-paper", *RIVALS, "aapb", "auto"]
        if start == TSVD:
            return [*PAPER, *RIVALS, "aapb", "masked-newton", "auto"]
        slow = {"hybrid"} if not self.in_figure else set()  # there auto is hybrid, and tells so
        slow |= {"masked-newton"} if self.large else set()
        return [*PAPER, *RIVALS, *(MORE if self.in_figure else ()), *(name for name in OURS if name not in slow)]


def _row(
    called: str,
    rank: int,
    printed: tuple[float, ...],
    default: float,
    best: tuple[float, str],
    floor: tuple[float, float],
) -> Row:
    """A row of the paper, with its targets."""
    dataset, iterations, pace = {
        "netz4504-dual": ("netz4504-dual", 1000, 1.5e-4),
        "mycielskian11": ("mycielskian(11)", 300, 6e-4),
        "MNIST": ("mnist-1000", 150, 1.6e-3),
    }[called]
    return Row(
        dataset=dataset,
        called=called,
        rank=rank,
        iterations=iterations,
        pace=pace * rank,
        printed=dict(zip(PAPER, printed, strict=True)),
        default=default,
        best=best,
        floor=floor,
        in_figure=(called, rank) in (("netz4504-dual", 20), ("mycielskian11", 15)),
        large=called == "MNIST",
    )


ROWS = (
    _row("netz4504-dual", 10, (9.0e-1, 6.2e-1, 1.8e-1, 1.5e-1), 89.3, (87.0, TSVD), (86.2, 2.6e-2)),
    _row("netz4504-dual", 15, (7.2e-1, 1.7e-1, 4.9e-2, 6.2e-3), 80.7, (75.0, TSVD), (73.9, 2.2e-2)),
    _row("netz4504-dual", 20, (4.4e-1, 2.4e-2, 2.1e-2, 5.8e-4), 78.1, (69.3, TSVD), (68.1, 2.1e-2)),
    _row("mycielskian11", 15, (6.0e-1, 2.4e-1, 1.3e-1, 9.3e-2), 253.0, (210.0, TSVD), (193.0, 2.7e-3)),
    _row("mycielskian11", 25, (3.0e-1, 1.3e-1, 8.3e-2, 6.7e-2), 324.0, (219.0, TSVD), (207.5, 3.0e-3)),
    _row("mycielskian11", 35, (2.1e-1, 9.1e-2, 6.2e-1, 4.1e-2), 367.0, (218.0, TSVD), (207.2, 3.0e-3)),
    _row("MNIST", 25, (4.1e-1, 3.5e-1, 3.3e-1, 3.0e-1), 33.5e3, (30.6e3, RANDOM), (30.6e3, 0.253)),
    _row("MNIST", 35, (3.8e-1, 3.0e-1, 2.7e-1, 1.7e-1), 20.3e3, (18.3e3, TSVD), (17.7e3, 0.187)),
    _row("MNIST", 45, (3.3e-1, 2.8e-1, 2.4e-1, 1.1e-1), 14.4e3, (13.3e3, RANDOM), (12.4e3, 0.155)),
)
QUICK = (
    Row(dataset="mycielskian(7)", called="mycielskian7", rank=4, iterations=60, pace=1e-3, most=60, in_figure=True),
    Row(dataset="blocks(80, 8)", called="blocks", rank=6, iterations=60, pace=1e-3, most=60),
)
