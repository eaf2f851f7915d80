"""``bregopt bench race``: what a run reached, who won, tables, JSON, pictures, refusals and Ctrl-C."""

import json
import math
import signal
import sys

import numpy as np
import pytest
from bregopt_bench import measuring
from bregopt_bench.peers.lbfgsb import l_bfgs_b
from bregopt_bench.peers.pyproximal_palm import pyproximal_palm
from bregopt_bench.peers.recorder import Trace
from bregopt_bench.race import cases, entrants
from bregopt_bench.race.comparison import AtBudget, Comparison, against_peers, performance_profile, times_to_target
from bregopt_bench.race.curves import Curve, curve
from scipy.optimize import minimize

import bregopt as bo
from bregopt.matrices import synthetic

PNG = b"\x89PNG\r\n\x1a\n"
SMALL = ("synthetic(20, 15, 3)", "-r", 3, "--products", 12, "--products", 30, "--seeds", 2)
PAIR = ("--method", "aapb", "--method", "ppalm")
LOST = "aapb(step=1e30)"


@pytest.fixture(autouse=True)
def hasty(monkeypatch):
    monkeypatch.setattr(measuring, "PAUSE", 0.0)


@pytest.fixture
def race(call):
    """Run ``bregopt bench race``: what it printed."""

    def run(*args):
        code, out, err = call("bench", "race", *args)
        assert (code, err) == (0, "")
        return out

    return run


@pytest.fixture
def record(race):
    return lambda *args: json.loads(race(*args, "--json"))


def line(out, name):
    """The first line of the output that begins with a name, in words."""
    return next(words for words in map(str.split, out.splitlines()) if words[:1] == [name])


def trace(objective, status=bo.Status.MAX_PRODUCTS, products=None, error=None):
    rows = np.arange(len(objective), dtype=float)
    history = {
        "products": 3 * rows + 1 if products is None else np.asarray(products, float),
        "seconds": rows / 10,
        "objective": np.asarray(objective, float),
        "relative_error": rows if error is None else np.asarray(error, float),
    }
    return Trace(history, status, "a reason")


def comparison(curves, **fields):
    facts = {"matrix": "M", "shape": [4, 4], "density": 1.0, "problem": "nmf", "rank": 1, "start": "tsvd"}
    given = {"skipped": {}, "notes": (), "products": (7.0, 10.0), "given_seconds": (), **fields}
    made = {name: [curve(it, seed) for seed, it in enumerate(traces)] for name, traces in curves.items()}
    return Comparison(facts=facts, curves=made, **given)


def test_a_curve_is_the_lowest_objective_so_far_with_the_error_there():
    found = curve(trace([9, 5, 7, math.nan, 4, 4, 6]), seed=0)
    np.testing.assert_array_equal(found.objective, [9, 5, 5, 5, 4, 4, 4])
    np.testing.assert_array_equal(found.relative_error, [0, 1, 1, 1, 4, 5, 5])


def test_a_budget_takes_the_last_row_within_it_and_at_least_the_start():
    found = curve(trace([9, 5, 4]), seed=0)  # after 1, 4 and 7 products
    assert [found.at("products", budget) for budget in (0.5, 3.9, 4, 6.9, 7, 99)] == [9, 9, 5, 5, 4, 4]
    assert found.at("seconds", 0.1) == 5
    assert found.at("products", 4, "relative_error") == 1


def test_a_run_that_diverged_is_lost_for_the_budgets_beyond():
    found = curve(trace([9, 5, 1e9], bo.Status.DIVERGED), seed=0)
    assert [found.at("products", budget) for budget in (4, 7, 7.1)] == [5, 5, math.inf]
    nothing = curve(trace([], bo.Status.NOT_FINITE), seed=0)
    assert (nothing.at("products", 1), nothing.reached(1.0, "products")) == (math.inf, math.inf)


def test_an_objective_is_reached_at_the_first_row_below_it():
    found = curve(trace([9, 5, 7, 4]), seed=0)
    assert [found.reached(goal, "products") for goal in (9, 6, 5, 4.5, 3)] == [1, 4, 4, 10, math.inf]
    assert found.reached(5, "seconds") == 0.1


def test_methods_within_a_thousandth_are_level():
    it = AtBudget("products", 9, {"a": 100.0, "b": 100.05, "c": 100.2, "d": math.inf}, floor=0.0)
    assert it.winners == ["a", "b"]
    assert it.ratio("c") == pytest.approx(1.002)
    assert it.ratio("d") == math.inf


def test_objectives_that_differ_by_rounding_are_level():
    it = AtBudget("products", 9, {"a": 1e-27, "b": 1e-25, "c": 1e-9}, floor=1e-24)
    assert it.winners == ["a", "b"]
    assert it.ratio("c") > 1e12


def test_where_all_diverged_nobody_is_best():
    it = AtBudget("products", 9, {"aapb": math.inf, "palm": math.inf}, floor=1.0)
    assert it.winners == []
    assert against_peers([it], ["aapb"]) == {"aapb": {"ahead": 0, "level": 1, "behind": 0}}


def test_the_profile_counts_cells_by_ratio_to_the_best():
    found = [AtBudget("products", 9, {"a": 1.0, "b": b}, floor=0.0) for b in (1.0, 1.4, 1.9, 50.0)]
    assert performance_profile(found)["b"] == {
        **{"cells": 4, "best": 1, "within_1.1": 1, "within_1.5": 2, "within_2": 3, "within_10": 3}
    }
    assert performance_profile(found)["a"]["best"] == 4


def test_ours_are_counted_against_peers_only():
    values = [
        {"aapb": 2.0, "ecd": 1.0, "palm": 3.0},
        {"aapb": 3.0, "ecd": 1.0, "palm": 3.0},
        {"aapb": 4.0, "palm": 3.0},
    ]
    found = [AtBudget("products", 9, value, floor=0.0) for value in values]
    assert against_peers(found, ["aapb", "ecd"]) == {
        "aapb": {"ahead": 1, "level": 1, "behind": 1},
        "ecd": {"ahead": 2, "level": 0, "behind": 0},
    }


def test_medians_are_taken_over_seeds_and_a_majority_that_diverged_is_lost():
    bad = trace([9], bo.Status.DIVERGED)
    found = comparison({"a": [trace([9, 6, 5]), trace([9, 4, 3]), bad], "b": [trace([9, 5, 5]), bad, bad]})
    assert [it.objective["a"] for it in found.at_budgets[:2]] == [5, 5]
    assert [it.objective["b"] for it in found.at_budgets[:2]] == [math.inf, math.inf]
    assert found.diverged("b", "products", 7.0) == 2


def test_equal_seconds_are_those_of_the_method_that_was_first_through():
    slow = trace([9, 8, 7, 6, 5], products=[2, 4, 6, 8, 10])
    found = comparison({"slow": [slow], "fast": [trace([9, 8, 7, 6])], "lost": [trace([9], bo.Status.DIVERGED)]})
    assert found.seconds == [pytest.approx(0.3)]
    assert found.at_budgets[-1].objective == {"slow": 6, "fast": 6, "lost": math.inf}
    assert comparison({"slow": [slow]}, given_seconds=(0.1, 0.2)).at_budgets[-1].objective == {"slow": 7}


def test_ours_are_held_against_the_last_objective_of_the_best_peer_seed_by_seed():
    found = comparison(
        {
            "aapb": [trace([9, 4, 1, 1]), trace([90, 30, 20, 10])],
            "palm": [trace([9, 8, 7, 5]), trace([90, 80, 70, 30])],
            "ppalm": [trace([9, 9, 9, 9]), trace([90, 90, 90, 90])],
            "ecd": [trace([9, 9, 9, 9]), trace([90, 90, 90, 90])],
        }
    )
    aapb, ecd = times_to_target(found, ["aapb", "ecd"])
    assert (aapb.peer, aapb.products, aapb.peer_products, aapb.gain("products")) == ("palm", 4, 10, 2.5)
    assert aapb.gain("seconds") == pytest.approx(3.0)
    assert (ecd.products, ecd.gain("seconds")) == (math.inf, None)
    assert times_to_target(comparison({"aapb": [trace([1])]}), ["aapb"]) == []


def test_the_table_has_a_row_for_every_method_and_marks_the_best(race):
    out = race(*SMALL, *PAIR, "-U", "l1(0.01)")
    assert "synthetic(20, 15, 3), 20×15, " in out
    assert "rank 3, scaled-random start, 2 seeds" in out
    aapb, ppalm = line(out, "aapb"), line(out, "ppalm")
    assert (aapb[1], ppalm[1]) == ("ours", "peer")
    assert ("*" in aapb) or ("*" in ppalm)
    assert "The best peer is ppalm" in out
    assert "At equal products: cells (row × budget) of 2" in out
    assert "At equal seconds: cells (row × budget) of 1" in out
    assert "aapb against every peer: ahead in" in out
    assert "peers run at their defaults" in out
    assert max(map(len, out.splitlines())) <= 110


def test_many_budgets_fill_more_than_one_table(race):
    budgets = [part for number in range(3, 33, 3) for part in ("--products", number)]
    out = race("synthetic(20, 15, 3)", "-r", 3, *PAIR, "--seeds", 1, *budgets)
    heads = [words for words in map(str.split, out.splitlines()) if words[:2] == ["method", "side"]]
    assert [word for words in heads for word in words if word.startswith("@")][:6] == [
        *("@3", "@6", "@9", "@30", "@30", "@12")
    ]
    assert len(heads) == 3
    assert max(map(len, out.splitlines())) <= 110


def test_json_holds_the_curves_and_the_cells_made_of_them(record):
    found = record(*SMALL, *PAIR)
    assert list(found) == ["version", "machine", "asked", "interrupted", "rows", "standing"]
    (row,) = found["rows"]
    assert [row[key] for key in ("matrix", "rows", "columns", "rank", "start")] == [
        *("synthetic(20, 15, 3)", 20, 15, 3, "scaled-random")
    ]
    assert [(cell["axis"], cell["budget"]) for cell in row["cells"][:2]] == [("products", 12), ("products", 30)]
    for cell in row["cells"]:
        for name, it in cell["methods"].items():
            reached = []
            for run in row["methods"][name]["curves"]:
                spent = np.array(run[cell["axis"]])
                assert run["objective"] == sorted(run["objective"], reverse=True)
                reached.append(run["objective"][max(np.count_nonzero(spent <= cell["budget"]) - 1, 0)])
            assert it["objective"] == pytest.approx(np.median(reached), rel=1e-12)
    assert {"aapb", "ppalm"} == set(found["standing"]["products"]["profile"])
    assert set(found["standing"]["seconds"]["ours_against_peers"]) == {"aapb"}
    assert found["rows"][0]["best_peer_reached"][0]["peer"] == "ppalm"


def test_every_method_starts_from_the_same_point_of_a_seed(record):
    methods = record(*SMALL, *PAIR, "--method", "l-bfgs-b", "--method", "pyproximal-palm")["rows"][0]["methods"]
    first = {tuple(round(run["objective"][0], 8) for run in it["curves"]) for it in methods.values()}
    assert len(methods) == 4
    assert len(first) == 1
    assert len(set(first.pop())) == 2


def test_a_run_is_that_of_solve(record):
    (row,) = record(*SMALL, *PAIR)["rows"]
    problem = bo.compose("relu-nmd", synthetic(20, 15, 3), rank=3)
    for seed, run in enumerate(row["methods"]["aapb"]["curves"]):
        history = bo.solve(problem, method="aapb", seed=seed, stop="max-products(30)").history
        np.testing.assert_allclose(run["objective"], np.minimum.accumulate(history["objective"]), rtol=1e-9)
        assert run["products"] == history["products"].tolist()


def test_every_rank_and_start_makes_a_row_and_a_start_that_draws_nothing_is_run_once(record):
    rows = record(*SMALL, "-r", 2, *PAIR, "--start", "tsvd", "--start", "scaled-random")["rows"]
    assert [(row["rank"], row["start"]) for row in rows] == [
        *((3, "tsvd"), (3, "scaled-random"), (2, "tsvd"), (2, "scaled-random"))
    ]
    assert [len(row["methods"]["aapb"]["curves"]) for row in rows] == [1, 2, 1, 2]


def test_a_tie_has_two_winners(race, record):
    args = (*SMALL, "--method", "ppalm", "--method", "ppalm(1)")
    assert all(cell["best"] == ["ppalm", "ppalm(1)"] for cell in record(*args)["rows"][0]["cells"][:2])
    out = race(*args)
    assert line(out, "ppalm").count("*") >= 2
    assert line(out, "ppalm(1)").count("*") >= 2


def test_a_method_that_diverges_says_so_and_there_is_no_nan(race, record, tmp_path):
    args = (*SMALL, "--method", "ppalm", "--method", LOST)
    out = race(*args, "--plot", tmp_path / "race.png")
    assert "diverged" in line(out, LOST)
    assert "nan" not in out.lower()
    assert "inf" not in out.lower()
    assert (tmp_path / "race.png").read_bytes().startswith(PNG)
    cell = record(*args)["rows"][0]["cells"][1]
    assert cell["methods"][LOST] == {
        **{"objective": None, "relative_error": None, "diverged_runs": 2, "cut_short": False}
    }


def test_a_run_that_the_limit_on_seconds_cut_short_is_marked(race, record):
    args = (*SMALL, *PAIR, "--max-seconds", 1e-6)
    assert "…" in " ".join(line(race(*args), "aapb"))
    row = record(*args)["rows"][0]
    assert all(it["cut_short"] for it in row["cells"][0]["methods"].values())
    assert row["methods"]["ppalm"]["curves"][0]["status"] == "max-seconds"


def test_budgets_by_the_clock_may_be_given(record):
    row = record(*SMALL, *PAIR, "--seconds", 0.02, "--seconds", 0.01)["rows"][0]
    assert [cell["budget"] for cell in row["cells"]] == [12, 30, 0.01, 0.02]
    for it in row["methods"].values():
        for run in it["curves"]:
            assert run["products"][-1] >= 30
            assert run["seconds"][-1] >= 0.02


def test_defaults_that_refuse_the_model_are_left_out_with_the_reason(race, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyproximal.optimization.palm", None)
    out = race("synthetic(20, 15, 3)", "-r", 3, "-U", "ridge(0.1)", "--products", 6, "--seeds", 1)
    assert "a-nmd refuses: The method a-nmd solves the unregularised model only" in out
    assert "pyproximal-palm refuses: pyproximal is not installed." in out
    assert "auto picked" in out
    for name in ("aapb", "auto", "ippalm(growing)", "l-bfgs-b", "aapb-paper"):
        assert line(out, name)


def test_methods_for_smooth_models_are_no_defaults_of_others(record, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyproximal.optimization.palm", None)
    row = record("synthetic(20, 15, 3)", "-r", 3, "-U", "l1(0.1)", "--products", 6, "--seeds", 1)["rows"][0]
    assert "a-nmd" not in {*row["methods"], *row["skipped"]}
    assert list(row["skipped"]) == ["pyproximal-palm", "l-bfgs-b"]
    assert row["skipped"]["l-bfgs-b"].startswith("l-bfgs-b needs a smooth objective")


BAD = {
    "-U l1(0.1) --method l-bfgs-b": "l-bfgs-b needs a smooth objective: H = 0 or Tikhonov (ridge). Got L1",
    "-U l1(0.1) --method a-nmd": "solves the unregularised model only",
    "--method nonsense": "no method named 'nonsense'",
    "--method aapb --ours palm": "--ours 'palm' is not in the race. Its methods are aapb.",
    "--start nonsense": "no start named 'nonsense'",
    "--problem nonsense": "no problem named 'nonsense'",
    "--problem nmf --set d=3": "The problem 'nmf' takes no d: leave --set d=… out. It takes M, rank",
    "--problem nmf --on a=l1": "The problem 'nmf' takes no a",
    "-V nonsense": "no regularizer named 'nonsense'",
    "-r 5 -r 50": "from 1 to 5, as M is 5×5",
    "-r 0": "0 is not in the range",
    "--products 0": "0.0 is not in the range",
    "--seconds 2 --max-seconds 1": "--seconds 2 is beyond --max-seconds 1",
    "--plot race.svg": "'race.svg' must end in .png",
    "nowhere.npy": "does not exist",
    "nowhere": "no built-in matrix 'nowhere', only mycielskian and synthetic, and no file 'nowhere'",
    "mycielskian(1)": "'order' parameter of mycielskian must be a whole number >= 2 and <= 20. Got 1",
    "mycielskian(3": "The spec 'mycielskian(3' cannot be read",
    "synthetic(9,9,10)": "'rank' parameter of synthetic must be a whole number >= 1 and <= 9. Got 10",
    "synthetic(9,9,2,0,0)": "'synthetic' takes m=1500, n=500, rank=10, seed=0: too many positional arguments",
}


@pytest.mark.parametrize("args", BAD)
def test_what_cannot_be_raced_is_refused_in_a_line(args, call):
    code, out, err = call("bench", "race", "mycielskian(3)", *args.split())
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert BAD[args] in err


def test_a_method_that_refuses_the_problem_is_listed_beside_those_that_take_it(race, record):
    args = ("synthetic(20, 15, 3)", "-r", 3, "-U", "l1(0.1)", "--products", 6, "--seeds", 1, *PAIR)
    args += ("--method", "l-bfgs-b", "--method", "a-nmd")
    out = race(*args)
    assert line(out, "aapb")
    assert "l-bfgs-b refuses: l-bfgs-b needs a smooth objective" in out
    assert list(record(*args)["rows"][0]["skipped"]) == ["l-bfgs-b", "a-nmd"]


def test_methods_that_refuse_for_the_same_reason_share_a_line(race, tmp_path):
    np.save(tmp_path / "M.npy", np.eye(6))
    asked = [part for name in ("aapb", "palm", "ipalm") for part in ("--method", name)]
    out = race(tmp_path / "M.npy", "--problem", "symmetric", "-r", 2, *asked, "--products", 6, "--seeds", 1)
    assert "palm, ipalm refuse: A PALM-type method needs the Lipschitz constant of ∇F in block 'U'" in out


def test_a_race_without_a_method_that_takes_the_problem_is_refused(call):
    options = ("-U", "l1(0.1)", "--method", "a-nmd", "--method", "l-bfgs-b")
    code, out, err = call("bench", "race", "mycielskian(3)", *options)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "No method of the race takes the ReLU-NMD problem. a-nmd refuses: " in err
    assert "l-bfgs-b refuses: " in err


def test_another_problem_is_raced_from_its_own_start(race, record, tmp_path):
    M = np.abs(np.random.default_rng(0).standard_normal((9, 7)))
    np.save(tmp_path / "M.npy", M)
    args = (tmp_path / "M.npy", "--problem", "nmf", "-U", "l1(0.1)", "-r", 2, *PAIR, "--products", 30, "--seeds", 2)
    out = race(*args)
    assert "M.npy, 9×7, 100 % non-zeros, nmf, rank 2, absolute-random start, 2 seeds" in out
    (row,) = record(*args)["rows"]
    assert [row[key] for key in ("problem", "shape", "rank", "start")] == ["nmf", [9, 7], 2, "absolute-random"]
    problem = bo.compose("nmf", M, rank=2, U="l1(0.1)")
    for seed, run in enumerate(row["methods"]["aapb"]["curves"]):
        history = bo.solve(problem, method="aapb", seed=seed, stop="max-products(30)").history
        np.testing.assert_allclose(run["objective"], np.minimum.accumulate(history["objective"]), rtol=1e-9)


def test_a_problem_without_a_relative_error_has_no_such_column(race, record, tmp_path):
    M = np.where(np.random.default_rng(0).standard_normal((9, 7)) > 0, 1.0, -1.0)
    np.save(tmp_path / "M.npy", M)
    args = (tmp_path / "M.npy", "--problem", "one-bit", "--set", "held_out=0.1", "-r", 2, *PAIR)
    args += ("--method", "l-bfgs-b", "--products", 30, "--seeds", 1)
    out = race(*args)
    assert "error" not in out
    assert line(out, "l-bfgs-b")[1] == "peer"
    cell = record(*args)["rows"][0]["cells"][0]
    assert all(it["relative_error"] is None and it["objective"] > 0 for it in cell["methods"].values())


RELU = {
    "relu-nmd": True,
    "nmf": True,  # UV ≥ 0 there, so that max(0, UV) is UV
    "semi-nmf": False,
    "completion(missing=zeros)": False,
    "robust-pca(d=0.1)": False,
    "symmetric": False,
}


@pytest.mark.parametrize("name", RELU)
def test_pyproximal_takes_part_only_where_its_operator_is_the_problem(name):
    M = np.maximum(0, np.random.default_rng(0).standard_normal((8, 8)))
    problem = bo.compose(name, M=M + M.T, rank=2)
    Y = problem.first_point(None, np.random.default_rng(0))
    assert entrants.is_relu_nmd(problem, Y) is RELU[name]


def test_weights_make_another_problem_of_relu_nmd():
    M = synthetic(9, 7, 2)
    for weights, same in ((None, True), (np.full(M.shape, 2.0), False)):
        problem = bo.compose("relu-nmd", M, rank=2, weights=weights)
        assert entrants.is_relu_nmd(problem, problem.first_point(None, np.random.default_rng(0))) is same


def test_a_run_that_does_not_move_comes_to_an_end():
    rest = cases.AtRest()
    problem, Y = first_point(synthetic(9, 7, 3))
    run = bo.solve(problem, method="aapb", start=Y, stop=rest | bo.make("stop", "max-products(60)"))
    assert run.status is bo.Status.MAX_PRODUCTS

    def progress(products):
        return bo.Progress(
            len(products), bo.Blocks(U=0.0), 0.0, products[-1], 0.0, {}, None, {"products": products}, lambda: None
        )

    assert rest.judge(progress([3.0] * cases.PATIENCE)) is None
    assert rest.judge(progress([1.0, *[3.0] * cases.PATIENCE])) is None
    assert rest.judge(progress([3.0] * (cases.PATIENCE + 1))).status is bo.Status.STATIONARY


def test_a_file_may_be_raced_on(record, tmp_path):
    np.save(tmp_path / "M.npy", np.eye(6))
    row = record(tmp_path / "M.npy", *PAIR, "--products", 6, "--seeds", 1)["rows"][0]
    assert (row["matrix"], row["rank"], row["density"]) == (str(tmp_path / "M.npy"), 6, pytest.approx(1 / 6))


@pytest.mark.usefixtures("fresh_host")
def test_a_plugin_may_bring_a_method_of_ours(race, tmp_path):
    plugin = tmp_path / "own.py"
    plugin.write_text(
        "from bregopt import Method, hookimpl, make\n"
        "@hookimpl\n"
        "def bregopt_register(registry):\n"
        "    registry.add(Method, 'mine', lambda: make('method', 'apb'))\n",
        encoding="utf-8",
    )
    out = race(*SMALL, "--plugin", plugin, "--method", "mine", "--method", "aapb", "--ours", "mine")
    assert (line(out, "mine")[1], line(out, "aapb")[1]) == ("ours", "peer")


def test_a_picture_has_panels_for_every_row(race, tmp_path):
    race(*SMALL, "-r", 2, *PAIR, "-U", "l1(0.1)", "--plot", tmp_path / "race.png")
    picture = (tmp_path / "race.png").read_bytes()
    width, height = (int.from_bytes(picture[at : at + 4], "big") for at in (16, 20))
    assert picture.startswith(PNG)
    assert 0.6 < height / width < 1.0  # a single row is flat


@pytest.fixture
def press_after(monkeypatch):
    """Ctrl-C is pressed once so many runs are complete."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def press(count):
        done = []

        def counted(found, seed):
            done.append(seed)
            if len(done) == count:
                signal.raise_signal(signal.SIGINT)
            return curve(found, seed)

        monkeypatch.setattr(cases, "curve", counted)

    yield press
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(("runs", "methods"), [(1, ["aapb"]), (3, ["aapb", "ppalm"])])
def test_ctrl_c_leaves_the_seeds_that_every_method_has_run(runs, methods, call, press_after):
    press_after(runs)
    code, out, err = call("bench", "race", *SMALL, *PAIR, "--json")
    assert code == 130
    assert "Ctrl-C ended the race" in err
    found = json.loads(out)
    assert found["interrupted"]
    curves = {name: it["curves"] for name, it in found["rows"][0]["methods"].items()}
    assert list(curves) == methods
    assert all([run["seed"] for run in it] == [0] for it in curves.values())


def test_ctrl_c_before_a_run_is_complete_leaves_nothing(call, monkeypatch, press_after):
    def pressed(self):
        signal.raise_signal(signal.SIGINT)
        return bo.make("stop", "max-products(30)")

    press_after(0)
    monkeypatch.setattr(cases.Budgets, "rule", pressed)
    code, out, err = call("bench", "race", *SMALL, *PAIR)
    assert (code, out) == (130, "")
    assert "interrupted" in err


def dense(M, U, V, eta):
    """Value and gradients of the reduced function with a ridge."""
    X = U @ V
    S = X - np.where(M > 0, M, np.minimum(X, 0))
    value = 0.5 * np.vdot(S, S) + 0.5 * eta * (np.vdot(U, U) + np.vdot(V, V))
    return value, S @ V.T + eta * U, U.T @ S + eta * V


def first_point(M, **model):
    problem = bo.compose("relu-nmd", M, rank=3, **model)
    return problem, next(bo.iterate(problem, method="aapb")).Y


@pytest.mark.parametrize("eta", [0.0, 0.3])
def test_l_bfgs_b_is_that_of_scipy_on_the_reduced_function(eta):
    M = synthetic(20, 15, 3)
    problem, Y = first_point(M, U=f"ridge({eta})", V=f"ridge({eta})")
    found = l_bfgs_b(problem, Y, bo.make("stop", "max-products(45)"))
    seen = []

    def function(flat):
        value, U, V = dense(M, flat[:60].reshape(20, 3), flat[60:].reshape(3, 15), eta)
        seen.append(value)
        return value, np.concatenate([U.ravel(), V.ravel()])

    minimize(function, Y.flat, jac=True, method="L-BFGS-B", options={"maxfun": 15, "ftol": 0, "gtol": 0})
    np.testing.assert_allclose(found.history["objective"], seen[:15], rtol=1e-6)
    np.testing.assert_array_equal(found.history["products"], 3.0 * np.arange(1, 16))
    assert found.status is bo.Status.MAX_PRODUCTS


def test_l_bfgs_b_that_ends_by_itself_keeps_its_reason():
    problem, Y = first_point(np.zeros((6, 5)) + np.eye(6, 5))
    found = l_bfgs_b(problem, Y, bo.make("stop", "max-products(1e6)"))
    assert found.status is bo.Status.STOPPED
    assert found.reason.startswith("scipy ended: ")
    assert found.history["objective"].min() < 1e-12


def test_palm_of_pyproximal_takes_the_steps_it_documents():
    M = synthetic(20, 15, 3)
    problem, Y = first_point(M, U="l1(0.2)", V="nonneg")
    Y = bo.Blocks(U=Y.U, V=np.abs(Y.V))
    found = pyproximal_palm(problem, Y, bo.make("stop", "max-iterations(8)"))
    U, V, seen = Y.U, Y.V, []
    for _ in range(9):
        X = U @ V
        W = np.where(M > 0, M, np.minimum(X, 0))
        error = np.linalg.norm(M - np.maximum(X, 0)) / np.linalg.norm(M)
        seen.append((0.5 * np.linalg.norm(W - X) ** 2 + 0.2 * np.abs(U).sum(), error))
        step = 1 / np.linalg.norm(V @ V.T)
        U = U - step * (X - W) @ V.T
        U = np.sign(U) * np.maximum(np.abs(U) - 0.2 * step, 0)
        V = np.maximum(V - U.T @ (U @ V - W) / np.linalg.norm(U.T @ U), 0)
    np.testing.assert_allclose(found.history["objective"], [value for value, _ in seen], rtol=1e-9)
    np.testing.assert_allclose(found.history["relative_error"], [error for _, error in seen], rtol=1e-9)
    np.testing.assert_array_equal(found.history["products"], 3.0 * np.arange(9) + 1)


def test_a_matrix_too_large_for_dense_arrays_is_refused_by_pyproximal(monkeypatch):
    monkeypatch.setattr("bregopt_bench.peers.pyproximal_palm.LARGE", 100)
    problem, Y = first_point(synthetic(20, 15, 3))
    with pytest.raises(bo.errors.IncompatibleError, match="dense arrays, and M is 20×15"):
        pyproximal_palm(problem, Y, bo.make("stop", "max-iterations(1)"))


def test_a_curve_says_how_far_it_went():
    found = curve(trace([9, 5, 4]), seed=3)
    assert isinstance(found, Curve)
    assert (found.used("products", 7), found.used("products", 8), found.as_json()["seed"]) == (True, False, 3)
