"""``bregopt solve``: what it prints, what it writes, and with which code it ends."""

import json
import math

import numpy as np
import pytest

import bregopt
from bregopt.host.api import iteration_limit
from bregopt.host.defaults import MAX_ITERATIONS

M = np.maximum(0.0, np.random.default_rng(0).standard_normal((12, 9)))

PLUGIN = """
import math
from attrs import frozen
import bregopt


@frozen
class Odd(bregopt.Regularizer):
    '''H(X) = 0 three times, then nan.'''

    asked = []

    def value(self, X):
        self.asked.append(X)
        return 0.0 if len(self.asked) < 4 else math.nan

    def prox(self, X, step):
        return X.copy()


@bregopt.hookimpl
def bregopt_register(registry):
    registry.add(bregopt.Regularizer, "odd", Odd)
"""


PROBLEMS = """
import attrs
import numpy as np
import bregopt as bo


def few(M, rank):
    '''One that leaves nothing but the rank to choose.'''
    return bo.compose("relu-nmd", M, rank=rank, U="nonneg")


def many(M, U="l1(0.1)", V=None, kernel="paper", rank=2):
    '''One with defaults of its own.'''
    return bo.compose("relu-nmd", M, rank=rank, U=U, V=V or "none", kernel=kernel)


@attrs.frozen
class Distance(bo.SmoothPart):
    '''½‖x − W‖².'''

    def value(self, Y, W):
        return 0.5 * float(np.sum((Y.x - W) ** 2))

    def value_and_gradient(self, Y, W):
        return self.value(Y, W), bo.Blocks(x=Y.x - W)


@attrs.frozen(eq=False)
class Given(bo.ClosedFormBlock):
    '''W = M.'''

    M: bo.Array

    def argmin(self, smooth, Y):
        return self.M

    def value(self, W):
        return 0.0


def other(M):
    '''One of other blocks.'''
    kernel = bo.make("kernel", "psi2")
    return bo.Problem(smooth=Distance(), block=Given(M), kernel=kernel, start=bo.Blocks(x=np.zeros(M.shape)))


@bo.hookimpl
def bregopt_register(registry):
    for factory in (few, many, other):
        registry.add(bo.Problem, factory.__name__, factory)
"""


@pytest.fixture
def file(tmp_path):
    np.save(tmp_path / "M.npy", M)
    return tmp_path / "M.npy"


def test_without_a_file_the_built_in_matrix_is_solved(call):
    code, out, err = call("solve", "--max-iterations", 2)
    assert (code, err) == (0, "")
    assert "mycielskian9 (built in), 383×383, 9.91 % non-zeros" in out
    assert "rank 10" in out


def test_the_summary_says_what_was_solved_how_well_and_why_it_ended(call, file):
    code, out, err = call("solve", file, "-r", 3, "-U", "l1(0.01)", "--kernel", "paper", "--max-iterations", 5)
    result = bregopt.solve(bregopt.compose("relu-nmd", M, rank=3, U="l1(0.01)", kernel="paper"), max_iterations=5)
    assert (code, err) == (0, "")
    for text in (
        "M.npy, 12×9, ",
        "rank 3, H on U: l1(0.01), H on V: none",
        "auto, paper kernel",
        f"{result.objective:.8g}",
        f"{result.metrics['relative_error']:.4g}",
        "The limit of 5 iterations was reached.",
        f"5 iterations, {result.counts.products:g} products",
        result.answer,
        "Factors were not saved: add --out DIR.",
        result.certificate.plain(),
    ):
        assert " ".join(text.split()) in " ".join(out.split())


def test_json_is_one_object_on_stdout_with_the_numbers_of_the_library(call, file):
    code, out, err = call("solve", file, "--rank", 3, "--json", "--seed", 4, "--max-iterations", 6, "-V", "nonneg")
    record = json.loads(out)
    result = bregopt.solve(bregopt.compose("relu-nmd", M, rank=3, V="nonneg"), seed=4, max_iterations=6)
    assert (code, err) == (0, "")
    assert record["problem"] == {
        "name": "relu-nmd",
        "matrix": "M.npy",
        "shape": [12, 9],
        "nonzeros": int(np.count_nonzero(M)),
        "missing": 0,
        "rank": 3,
        "U": "none",
        "V": "nonneg",
        "kernel": "auto",
        "parameters": {},
    }
    assert (record["version"], record["method"], record["seed"]) == (bregopt.__version__, "auto", 4)
    assert record["objective"] == result.objective
    assert record["relative_error"] == result.metrics["relative_error"]
    assert record["model_residual"] == result.metrics["model_residual"]
    assert (record["status"], record["converged"], record["iterations"]) == ("max-iterations", False, 6)
    assert (record["reason"], record["products"]) == (result.reason, result.counts.products)
    assert record["seconds"] > 0
    assert set(record["certificate"]) >= {"lyapunov", "rises", "guaranteed", "stationarity", "subgradient", "notes"}
    assert record["certificate"]["relative_subgradient"] == result.certificate.relative_subgradient
    assert all(found["failed_at"] == [] for found in record["certificate"]["assumptions"].values())


def test_the_default_rank_is_ten_or_the_smaller_side(call, file):
    assert json.loads(call("solve", file, "--json", "--max-iterations", 1)[1])["problem"]["rank"] == 9


def test_quiet_prints_nothing(call, file):
    assert call("solve", file, "-q", "--max-iterations", 3) == (0, "", "")


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ([], "plateau"),
        (["--max-iterations", 4], "max-iterations"),
        (["--max-seconds", 0], "max-seconds"),
        (["--tolerance", 0.9], "relative-error"),
        (["--tolerance", 0, "--max-iterations", 2], "max-iterations"),
        (["--stop", "target(1e9)"], "target"),
        (["--stop", "target(0)", "--stop", "max-products(9)"], "max-products"),
        (["--stop", "target(0)", "--max-iterations", 3], "max-iterations"),
        (["--stop", "target(0)"], "max-iterations"),
    ],
)
def test_a_run_ends_by_the_rules_that_were_given_and_by_sensible_ones_otherwise(options, status, call, tmp_path):
    np.save(tmp_path / "small.npy", np.eye(4) + 0.1)
    code, out, _ = call("solve", tmp_path / "small.npy", "-r", 2, "--json", *options)
    assert (code, json.loads(out)["status"]) == (0, status)


@pytest.mark.parametrize("method", ["aapb", "auto"])
def test_the_command_and_solve_stop_at_the_same_iteration(method, call, tmp_path):
    np.save(tmp_path / "small.npy", np.eye(4) + 0.1)
    problem = bregopt.compose("relu-nmd", np.eye(4) + 0.1, rank=2)
    for limit in (None, 7, 400):
        options = [] if limit is None else ["--max-iterations", limit]
        _, out, _ = call("solve", tmp_path / "small.npy", "-r", 2, "--method", method, "--json", *options)
        record, result = json.loads(out), bregopt.solve(problem, method=method, max_iterations=limit)
        assert (record["iterations"], record["status"]) == (result.iterations, result.status.value)
        assert record["objective"] == result.objective
        assert result.status is (bregopt.Status.MAX_ITERATIONS if limit == 7 else bregopt.Status.PLATEAU)


def test_a_stop_rule_that_is_given_replaces_the_plateau():
    problem = bregopt.compose("relu-nmd", np.eye(4) + 0.1, rank=2)
    end = bregopt.solve(problem, method="aapb").iterations
    assert end < 900
    assert bregopt.solve(problem, method="aapb", stop="max-iterations(900)").iterations == 900
    assert bregopt.solve(problem, method="aapb", tolerance=0.0, max_iterations=900).iterations == 900


def test_a_finished_run_is_replaced_only_where_that_is_said(call, file, tmp_path):
    args = ("solve", file, "--max-iterations", 3, "--out", tmp_path / "run", "-q")
    assert call(*args)[0] == 0
    before = (tmp_path / "run" / "run.json").read_text(encoding="utf-8")
    code, _, err = call(*args, "--seed", 1)
    assert (code, "holds a run already" in err, "--overwrite" in err) == (2, True, True)
    assert (tmp_path / "run" / "run.json").read_text(encoding="utf-8") == before
    assert call(*args, "--seed", 1, "--overwrite")[0] == 0
    assert json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))["seed"] == 1


def test_the_record_says_which_method_was_used_and_what_was_tried(call, file):
    record = json.loads(call("solve", file, "-r", 2, "--max-iterations", 30, "--json")[1])
    result = bregopt.solve(bregopt.compose("relu-nmd", M, rank=2), max_iterations=30)
    assert record["method"] == "auto"
    assert record["method_used"] == repr(result.method)
    assert record["notes"] == list(result.notes)
    assert record["notes"][0].startswith("auto picked ")


def test_the_bar_knows_the_limit_of_iterations():
    def limit(stop="plateau", iterations=None, seconds=None):
        return iteration_limit(bregopt.make("stop", stop), iterations, seconds)

    assert limit() == limit("target(0)") == MAX_ITERATIONS
    assert limit(iterations=7) == 7
    assert limit(seconds=1.0) is limit("max-products(9)") is None


def test_out_writes_the_run_and_says_where(call, file, tmp_path):
    code, out, _ = call("solve", file, "--max-iterations", 3, "--out", tmp_path / "run", "--start", "tsvd")
    record = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))
    assert code == 0
    assert "Written" in out
    assert str(tmp_path / "run") in out
    assert record["options"]["file"] == str(file)
    assert record["options"]["max_iterations"] == 3
    start = bregopt.solve(bregopt.compose("relu-nmd", M, rank=9), start="tsvd", max_iterations=3)
    assert (record["start"], record["objective"]) == ("tsvd", start.objective)


def test_a_result_that_cannot_be_written_is_shown_all_the_same(call, file, tmp_path, monkeypatch):
    def fail(*_):
        raise bregopt.errors.FileError("The disk is full.")

    monkeypatch.setattr("bregopt.cli.solve.write_run", fail)
    code, out, err = call("solve", file, "--max-iterations", 3, "--out", tmp_path / "run")
    assert (code, err) == (2, "bregopt: error: The disk is full.\n")
    assert "Objective" in out
    assert "Written" not in out


@pytest.mark.usefixtures("fresh_host")
def test_a_run_that_is_not_finite_ends_with_code_1_and_null_in_json(call, file, tmp_path):
    (tmp_path / "odd.py").write_text(PLUGIN)
    code, out, _ = call("solve", file, "--plugin", tmp_path / "odd.py", "-U", "odd", "--json")
    record = json.loads(out, parse_constant=pytest.fail)
    assert (code, record["status"], record["objective"]) == (1, "not-finite", None)
    assert math.isfinite(record["relative_error"])


def test_sparse_and_dense_files_give_the_same_result(call, file, tmp_path):
    from scipy import sparse

    sparse.save_npz(tmp_path / "M.npz", sparse.coo_array(M))
    dense, thin = (
        json.loads(call("solve", path, "--json", "--max-iterations", 5)[1]) for path in (file, tmp_path / "M.npz")
    )
    assert dense["objective"] == pytest.approx(thin["objective"], rel=1e-12)
    assert dense["problem"]["nonzeros"] == thin["problem"]["nonzeros"]


@pytest.fixture
def problems(fresh_host, tmp_path):
    """More problems than the default one."""
    (tmp_path / "problems.py").write_text(PROBLEMS, encoding="utf-8")
    return ("--plugin", tmp_path / "problems.py", "--max-iterations", 3, "--problem")


def asked(outcome):
    """The problem in the record of a run."""
    code, out, err = outcome
    assert (code, err) == (0, "")
    return json.loads(out)["problem"]


def test_another_problem_is_composed_with_the_options_it_takes(call, file, problems):
    record = json.loads(call("solve", file, *problems, "few", "-r", 3, "--json")[1])
    result = bregopt.solve(bregopt.compose("few", M, rank=3), max_iterations=3)
    assert record["objective"] == result.objective
    assert [record["problem"][key] for key in ("name", "rank", "U", "V", "kernel")] == ["few", 3, None, None, None]
    out = call("solve", file, *problems, "few")[1]
    assert "few, rank 9\n" in out
    assert "auto, default start, seed 0\n" in out


def test_the_defaults_of_a_problem_are_its_own_and_the_record_has_them(call, file, problems):
    found = asked(call("solve", file, *problems, "many", "--json"))
    assert [found[key] for key in ("rank", "U", "V", "kernel")] == [2, "l1(0.1)", None, "paper"]
    found = asked(call("solve", file, *problems, "many(rank=4)", "-V", "nonneg", "--kernel", "tight", "--json"))
    assert [found[key] for key in ("name", "rank", "U", "V", "kernel")] == [
        *("many(rank=4)", 4, "l1(0.1)", "nonneg", "tight")
    ]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["few", "--kernel", "paper"], "The problem 'few' takes no kernel: leave --kernel out. It takes M, rank."),
        (["few", "-U", "l1"], "The problem 'few' takes no U: leave -U out."),
        (["other", "-r", 3], "The problem 'other' takes no rank: leave --rank out. It takes M."),
        (["manny"], "There is no problem named 'manny'. Did you mean 'many'?"),
        (["many(3"], "The spec 'many(3' cannot be read"),
    ],
)
def test_a_problem_that_cannot_be_composed_is_told_before_the_file_is_read(options, reason, call, problems):
    code, out, err = call("solve", "nowhere.npy", *problems, *options)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert reason in err


def test_factors_are_written_whatever_their_names(call, file, problems, tmp_path):
    code, out, _ = call("solve", file, *problems, "other", "--method", "bpg(L=1.1)", "--out", tmp_path / "run")
    assert code == 0
    assert "Model           other\n" in out
    with np.load(tmp_path / "run" / "factors.npz") as factors:
        assert factors.files == ["x"]
        np.testing.assert_allclose(factors["x"], M, atol=0.5)
