"""The experiments ``l1`` and ``synthetic``: the paper's cells, its stop rules, and sentences chosen by the figures."""

import math

import numpy as np
import pytest
from bregopt_paper.experiments.curves import PER_ITERATION, Curve, listed, of
from bregopt_paper.experiments.l1 import L1, identities
from bregopt_paper.experiments.l1_rows import ETA, OURS, PAPER, RANDOM, ROWS, TSVD
from bregopt_paper.experiments.l1_runs import Runs
from bregopt_paper.experiments.synthetic import CASES, UNSCALED, Synthetic
from bregopt_paper.experiments.synthetic import RANDOM as SCALED

import bregopt as bo

PRINTED = """
netz4504-dual 10 9.0e-1 6.2e-1 1.8e-1 1.5e-1
netz4504-dual 15 7.2e-1 1.7e-1 4.9e-2 6.2e-3
netz4504-dual 20 4.4e-1 2.4e-2 2.1e-2 5.8e-4
mycielskian11 15 6.0e-1 2.4e-1 1.3e-1 9.3e-2
mycielskian11 25 3.0e-1 1.3e-1 8.3e-2 6.7e-2
mycielskian11 35 2.1e-1 9.1e-2 6.2e-1 4.1e-2
MNIST 25 4.1e-1 3.5e-1 3.3e-1 3.0e-1
MNIST 35 3.8e-1 3.0e-1 2.7e-1 1.7e-1
MNIST 45 3.3e-1 2.8e-1 2.4e-1 1.1e-1
"""
"""The paper's table: data, rank, PPALM, iPPALM, NMD-APB, NMD-AAPB."""


def record(objective, error, seconds=None, products=None, status="max-products", **more):
    """A run by its columns."""
    steps = np.arange(len(objective), dtype=float)
    columns = {
        "iteration": steps,
        "products": PER_ITERATION * (steps + 1) if products is None else np.asarray(products, float),
        "seconds": 0.01 * steps if seconds is None else np.asarray(seconds, float),
        "objective": np.asarray(objective, float),
        "relative_error": np.asarray(error, float),
    }
    return {"status": status, "reason": "The limit was reached.", "notes": [], "columns": columns, **more}


def falling(end, steps=1001):
    """A record whose objective and error fall to their ends; with what is measured there."""
    curve = np.append(np.geomspace(1.0, end, steps - 1), end)
    at_end = {"error": end, "residual": end, "bound": 0.5 * end, "inner": 1.0, "on_U": 1.0, "on_V": 1.0}
    return {**record(1000 * curve, curve), **at_end}


# ---- the paper's cells and what runs


def test_every_cell_of_the_papers_table_is_there():
    lines = [line.split() for line in PRINTED.strip().splitlines()]
    found = [[row.called, str(row.rank), *(row.printed[name] for name in PAPER)] for row in ROWS]
    assert found == [[called, rank, *map(float, cells)] for called, rank, *cells in lines]


def test_every_row_runs_the_papers_methods_and_ours_from_both_starts():
    for row in ROWS:
        assert set(PAPER) <= set(row.methods(RANDOM))
        assert {"aapb", "bella", "ecd", "auto"} <= set(row.methods(RANDOM))
        assert {"aapb-paper", "ippalm", "aapb", "auto"} <= set(row.methods(TSVD))
    assert set(OURS) <= set(ROWS[2].methods(RANDOM))


@pytest.mark.parametrize("experiment", [L1(), Synthetic()], ids=lambda it: it.name)
def test_quick_tasks_need_no_file_and_tasks_have_names_and_settings_of_their_own(experiment):
    for quick in (True, False):
        tasks = experiment.tasks(quick)
        assert len({task.name for task in tasks}) == len(tasks)
        assert len({str(sorted(task.settings.items())) for task in tasks}) == len(tasks)
        assert all(task.name.startswith(f"{experiment.name}/") and task.seconds > 0 for task in tasks)
    for spec in {spec for task in experiment.tasks(True) for spec in task.datasets}:
        assert min(bo.make("dataset", spec).M.shape) > 10


@pytest.mark.parametrize("experiment", [L1, Synthetic], ids=["l1", "synthetic"])
def test_more_seeds_add_random_starts_and_leave_the_others(experiment):
    one, three = ({task.name for task in experiment(seeds).tasks(False)} for seeds in (1, 3))
    assert one < three
    assert {name.replace("-2/", "-0/") for name in three - one if "-2/" in name} == {
        name for name in one if "-0/" in name
    }
    assert all("-1/" in name or "-2/" in name for name in three - one)


@pytest.mark.parametrize("experiment", [L1(), Synthetic()], ids=lambda it: it.name)
def test_quick_tasks_run_and_make_a_section(experiment):
    wanted = ("/ppalm", "/ippalm", "/apb-paper", "/aapb-paper", "/aapb", "/auto", "kernel s4")
    tasks = [task for task in experiment.tasks(True) if task.name.endswith(wanted)]
    records = {task.name: task.run() for task in tasks}
    for made in records.values():
        assert made["columns"]["objective"][-1] < made["columns"]["objective"][0]
        assert made["columns"]["products"][-1] >= PER_ITERATION * 60
    section = experiment.section(records, True)
    assert all(len(row) == len(table.columns) for table in section.tables for row in table.rows)
    assert "small generated matri" in section.text[-1]
    for figure in section.figures:
        draw(figure)


def draw(figure):
    from matplotlib.figure import Figure

    figure.draw(Figure(figure.size, layout="constrained"))


def test_the_papers_methods_run_by_its_rules_and_the_others_for_the_budget():
    stops = {task.name: task.settings["stop"] for task in L1().tasks(False)}
    assert stops["l1/myc15/random-0/aapb-paper"] == "900 products, and 1000 iterations or 30 s"
    assert stops["l1/myc15/random-0/aapb"] == "900 products, or 60 s"
    assert stops["l1/mnist45/random-0/ppalm"] == "450 products, and 1000 iterations or 30 s"
    assert stops["l1/netz10/tsvd/auto"] == "3000 products, or 60 s"


# ---- what is read off a run


def test_a_curve_keeps_the_lowest_objective_and_the_error_there():
    rng = np.random.default_rng(0)
    objective, error = rng.uniform(1, 9, 40), rng.uniform(size=40)
    curve = Curve.of(record(objective, error))
    for budget in (0, 3, 50, 119, 120, 1e9):
        best, there = objective[0], error[0]
        for k in range(40):
            if 3 * (k + 1) <= budget and objective[k] < best:
                best, there = objective[k], error[k]
        assert curve.at("products", budget) == best
        assert curve.at("products", budget, "relative_error") == there
    assert curve.reached(float(error[7]), "iteration") == np.flatnonzero(error <= error[7])[0]
    assert curve.reached(0.0, "seconds") == math.inf


def test_a_run_that_diverged_counts_as_infinite_beyond_its_end_only():
    curve = Curve.of(record([5.0, 4.0, math.nan], [0.5, 0.4, math.nan], status="not-finite"))
    assert curve.at("products", 9) == 4.0
    assert curve.at("products", 10) == math.inf


def runs(start=RANDOM, row=ROWS[0], **records):
    names = {name.replace("_", "-"): [Curve.of(made)] for name, made in records.items()}
    return Runs(row, start, names)


def test_the_papers_rules_end_a_run_by_seconds_iterations_or_the_smallest_error():
    long = np.linspace(1, 0.5, 1201)
    found = runs(
        ppalm=record(long, long, seconds=0.1 * np.arange(1201)),  # 30 s after 300 iterations
        ippalm=record(long, long, seconds=0.001 * np.arange(1201)),  # 1000 iterations after 1 s
        apb_paper=record(long[:101], long[:101]),  # the products ran out
        aapb_paper=record([1, 0.2, 0.3], [1, 0.2, 0.3]),  # the smallest error, and then a larger one
    )
    assert found.least_error() == (0.2, "aapb-paper")
    assert found.stopped("ppalm") == (pytest.approx(long[300]), "a")
    assert found.stopped("ippalm") == (pytest.approx(long[1000]), "b")
    assert found.stopped("apb-paper") == (pytest.approx(long[100]), "p")
    assert found.stopped("aapb-paper") == (0.2, "c")


# ---- the bound at stationary points


def test_the_identities_hold_at_a_stationary_point_and_bound_the_error():
    M = bo.make("dataset", "mycielskian(5)").M
    problem = bo.compose("relu-nmd", M, rank=4, U=f"l1({ETA[0]})", V=f"l1({ETA[1]})")
    result = bo.solve(problem, method="aapb", stop="stationarity(1e-9)", max_iterations=20000)
    assert result.converged
    found = identities(M, result)
    dense, U, V = M.toarray(), result.Y.U, result.Y.V
    inner = residual = active = size = error = 0.0
    for i in range(dense.shape[0]):
        for j in range(dense.shape[1]):
            x, m = float(U[i] @ V[:, j]), dense[i, j]
            r = m - x if m > 0 else min(0.0, x) - x
            inner, residual, size, error = inner + r * x, residual + r * r, size + m * m, error + (m - max(0.0, x)) ** 2
            active += x * x if m > 0 or x > 0 else 0.0
    assert found["inner"] == pytest.approx(inner, rel=1e-9)
    assert found["residual"] == pytest.approx(math.sqrt(residual / size), rel=1e-9)
    assert found["error"] == pytest.approx(math.sqrt(error / size), rel=1e-9)
    assert found["inner"] == pytest.approx(found["on_U"], rel=1e-5)
    assert found["on_U"] == pytest.approx(found["on_V"], rel=1e-5)
    H = 0.01 * np.abs(U).sum() + 0.015 * np.abs(V).sum()
    assert found["bound"] == pytest.approx(H / (2 * math.sqrt(size) * math.sqrt(active)), rel=1e-9)
    assert found["residual"] >= found["bound"] * (1 - 1e-6)
    assert result.objective == pytest.approx(0.5 * residual + H, rel=1e-9)


# ---- sentences and tables by the figures


def full(**ends):
    """Records of every task of the full run, by where their method ends; 0.9 for the others."""
    return {task.name: falling(ends.get(task.settings["method"].replace("-", "_"), 0.9)) for task in L1().tasks(False)}


def test_the_verdict_says_that_the_ranking_is_reproduced_only_where_it_is():
    worse = L1().section(full(aapb_paper=0.8, apb_paper=0.85, ippalm=0.1, ppalm=0.2, aapb=0.05), False)
    assert "The paper's ranking is not reproduced" in worse.text[-1]
    assert "NMD-AAPB has the smallest error of its four methods in none of the 15 cells" in worse.text[-1]
    assert "NMD-AAPB is ahead of NMD-APB in all 15 cells" in worse.text[-1]
    assert "a lower objective than every rival that ran there, in all 18 cells" in worse.text[-1]
    better = L1().section(full(aapb_paper=0.01, apb_paper=0.02, ippalm=0.1, ppalm=0.2, aapb=0.05), False)
    assert "The paper's ranking is reproduced" in better.text[-1]
    assert "a lower objective than every rival that ran there, in none of the 18 cells" in better.text[-1]
    records = full(aapb_paper=0.8, apb_paper=0.7, ippalm=0.1, ppalm=0.2)
    records["l1/netz10/tsvd/aapb-paper"] = falling(0.001)
    mixed = L1().section(records, False)
    assert "The paper's ranking is reproduced in part" in mixed.text[-1]
    assert "in 1 of the 15 cells" in mixed.text[-1]


def test_a_target_is_reached_up_to_three_percent_and_no_further():
    records = full(aapb=0.5)
    records["l1/netz10/random-0/aapb"] = falling(1.0299 * 89.3 / 1000)
    records["l1/netz15/random-0/aapb"] = falling(1.0301 * 80.7 / 1000)
    table = next(it for it in L1().section(records, False).tables if it.name == "l1-targets")
    verdicts = {(row[0], row[1]): row[-1] for row in table.rows if row[3] == "Bregman default"}
    assert verdicts["netz4504-dual", 10] == "reached"
    assert verdicts["netz4504-dual", 15] == "not reached"
    assert len(table.rows) == 18


def test_the_papers_table_shows_what_was_printed_beside_what_came_out():
    section = L1().section(full(aapb_paper=0.8, apb_paper=0.85, ippalm=0.1, ppalm=0.2), False)
    table = next(it for it in section.tables if it.name == "l1-paper")
    first = dict(zip(table.columns, table.rows[0], strict=True))
    assert first["NMD-AAPB: paper"] == "1.5e-1"
    assert first["NMD-AAPB: random"] == "8.0e-1 b"
    assert first["iPPALM: TSVD"] == "1.0e-1 c"
    assert table.rows[8][table.columns.index("PPALM: TSVD")] is None


def test_printed_errors_below_the_floor_are_counted_from_the_runs():
    section = L1().section(full(aapb=0.16), False)
    (told,) = (text for text in section.text if text.startswith("**Printed errors below the floor"))
    below = [row for row in ROWS if row.printed["aapb-paper"] < 0.16]
    under = [row for row in ROWS if row.printed["aapb-paper"] < 0.08]
    assert told.startswith(f"**Printed errors below the floor.** {len(below)} of the errors")
    assert f"In {len(under)} of the {len(below)} rows the printed error is below that bound" in told
    assert "and 0.16 at the least in any iteration of any run" in told
    assert "elsewhere the bound is lower, and excludes nothing" in told
    low = L1().section(full(aapb=1e-5), False)
    assert not any(text.startswith("**Printed errors below the floor") for text in low.text)


def test_a_section_is_made_of_whatever_is_there():
    empty = L1().section({}, False)
    assert "not all there yet" in empty.text[-1]
    assert Synthetic().section({}, False).figures == ()
    records = full()
    for kept in (["l1/netz10/random-0/aapb"], ["l1/myc15/tsvd/ppalm"], list(records)[::7]):
        section = L1().section({name: records[name] for name in kept}, False)
        floor = [row for table in section.tables if table.name == "l1-floor" for row in table.rows]
        assert bool(floor) is any(name.endswith(tuple(f"/{ours}" for ours in OURS)) for name in kept)
        for figure in section.figures:
            draw(figure)


def test_a_method_that_refuses_the_problem_or_diverges_is_told():
    records = full()
    empty = record([], [], status="refused")
    records["l1/netz20/random-0/palm"] = {**empty, "reason": "palm needs a spell."}
    records["l1/netz20/random-0/cocain"] = record([1.0, math.nan], [1.0, math.nan], status="not-finite")
    section = L1().section(records, False)
    assert any("`palm` does not take this problem: palm needs a spell." in text for text in section.text)
    table = next(it for it in section.tables if it.name == "l1-budget-random")
    rows = {row[0]: row for row in table.rows}
    assert rows["cocain"][3] == "diverged"
    assert rows["palm"][3] is None


def test_counts_are_told_as_a_person_would():
    assert [of(k, 9, "rows") for k in (0, 4, 9)] == ["none of the 9 rows", "4 of the 9 rows", "all 9 rows"]
    assert [of(k, 1, "rows") for k in (0, 1)] == ["no row", "the one row"]
    assert of(2, 2, "rows") == "both rows"
    assert [listed(["a", "b", "c"][:k]) for k in (1, 2, 3)] == ["a", "a and b", "a, b and c"]


# ---- the synthetic matrix


def synthetic(**ends):
    tasks = Synthetic().tasks(False)
    return {task.name: falling(ends.get(task.settings["method"].replace("-", "_"), 0.9)) for task in tasks}


def test_the_synthetic_setting_is_the_papers():
    M = bo.make("dataset", CASES[0].dataset).M
    assert M.shape == (1500, 500)
    assert 0.3 < np.count_nonzero(M) / M.size < 0.5  # half of UV is positive, but for the zeros of the factors
    assert {(case.rank, case.start) for case in CASES if case.model == "l1"} == {
        (9, SCALED),
        (12, SCALED),
        (12, UNSCALED),
    }
    task = next(it for it in Synthetic().tasks(False) if it.name == "synthetic/l1-r9/random-0/aapb-paper")
    assert task.settings["stop"] == "3000 products, and 1000 iterations, or 20 s"
    assert (task.settings["U"], task.settings["V"]) == ("l1(0.01)", "l1(0.015)")


def test_the_synthetic_verdict_is_chosen_by_the_figures():
    worse = Synthetic().section(synthetic(aapb_paper=0.3, apb_paper=0.4, ppalm=1e-3, ippalm=2e-3), False)
    assert "is not reproduced: it is ahead of both at none of the 2 ranks" in worse.text[-1]
    assert sum("are behind PPALM and iPPALM" in text for text in worse.text) == 2
    better = Synthetic().section(synthetic(aapb_paper=1e-4, apb_paper=1e-3, ppalm=1e-2, ippalm=2e-2), False)
    assert "is reproduced: it is ahead of both at both ranks" in better.text[-1]
    assert sum("As the paper says" in text for text in better.text) == 2


def test_synthetic_errors_stand_beside_those_measured_before():
    section = Synthetic().section(synthetic(aapb_paper=0.3, aapb=5e-5), False)
    table = next(it for it in section.tables if it.name == "synthetic-l1-r12-random")
    rows = {row[0]: dict(zip(table.columns, row, strict=True)) for row in table.rows}
    assert rows["NMD-AAPB"]["before @250"] == 0.161
    assert rows["NMD-AAPB"]["ended by"] == "(b)"
    falls = falling(5e-5)["columns"]["relative_error"]
    first = next(k for k in range(1001) if falls[k] <= 1e-4)
    assert rows["aapb"]["ended by"].startswith(f"(c) after {first} iterations")
    without = next(it for it in section.tables if it.name == "synthetic-without-h-r12-random")
    assert {"before @100", "before @300"} <= set(without.columns)
