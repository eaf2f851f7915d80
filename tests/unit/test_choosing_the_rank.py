"""Ranks and weights chosen by entries that the fits do not see."""

import json
import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse
from bregopt_selection import Curve, Fit, rank_curve, weight_path
from bregopt_selection import search as module
from bregopt_selection.workers import fits_in_processes

import bregopt as bo
from bregopt.compiled import told_of_compiling
from bregopt.errors import BregoptError, DataError, FaultWarning, FileError, IncompatibleError, ParameterError

FAST = {"jobs": 1, "seeds": 2, "max_iterations": 60, "method": "aapb"}


def noisy(rank=3, shape=(30, 24), noise=0.2, seed=0, relu=False):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((shape[0], rank)) @ rng.standard_normal((rank, shape[1]))
    X = X + noise * X.std() * rng.standard_normal(shape)
    return np.maximum(0.0, X) if relu else X


def curve(errors, values=None, variable="rank", **more):
    """The curve of given errors: a row a value, a column a seed; nan where there is no fit."""
    values = tuple(values or range(2, 2 + len(errors)))
    rest = {"fit_error": 0.5, "zeros": {"U": 0.25}, "iterations": 9, "seconds": 0.1, "converged": True}
    fits = [
        Fit(seed=seed, value=value, held_out_error=error, **rest)
        for value, row in zip(values, errors, strict=True)
        for seed, error in enumerate(row)
        if not np.isnan(error)
    ]
    return Curve(variable=variable, values=values, fits=tuple(fits), problem="low-rank", share=0.1, **more)


# ---- what a curve says


def test_the_choice_is_the_smallest_rank_within_a_standard_error_of_the_least():
    errors = [[0.9, 0.91, 0.92], [0.50, 0.62, 0.69], [0.52, 0.60, 0.68], [0.6, 0.7, 0.8]]
    it = curve(errors)
    gap = np.subtract(errors[1], errors[2])
    assert gap.mean() <= gap.std(ddof=1) / np.sqrt(3)
    assert (it.minimum, it.one_standard_error, it.chosen) == (4, 3, 3)


def test_the_standard_error_is_that_of_the_difference_seed_by_seed():
    """Some entries are hard to predict at every rank, and this is not to hide that a rank is worse each time."""
    it = curve([[0.21, 0.51, 0.81], [0.20, 0.50, 0.80], [0.3, 0.6, 0.9]])
    assert it.standard_error[1] > 0.1
    assert it.chosen == it.minimum == 3


def test_an_outlier_at_a_smaller_rank_does_not_let_it_in():
    assert curve([[0.5, 0.5, 90.0], [0.4, 0.4, 0.4]]).chosen == 3


def test_the_knee_is_farthest_below_the_line_to_the_minimum_and_else_the_minimum():
    assert curve([[1.0], [0.5], [0.45], [0.42], [0.40], [0.6]]).knee == 3
    assert curve([[1.0], [0.9], [0.7], [0.3], [0.5]]).knee == 5
    assert curve([[0.825], [0.673], [0.536], [0.390], [0.233], [0.258]]).knee == 6  # nearly straight
    weights = [100.0, 10.0, 1.0, 0.1]
    assert curve([[1.0], [0.5], [0.45], [0.42]], weights, "weight").knee == 10.0


def test_mean_and_standard_error_are_those_of_the_seeds():
    it = curve([[0.5, 0.7, 0.6], [0.2, 0.2, 0.2]])
    np.testing.assert_allclose(it.mean, [0.6, 0.2])
    np.testing.assert_allclose(it.standard_error, [0.1 / np.sqrt(3), 0.0], atol=1e-15)


def test_a_rank_that_not_every_seed_has_reached_is_not_the_minimum():
    it = curve([[0.5, 0.5], [0.4, 0.4], [0.1, np.nan]], interrupted=True)
    assert it.minimum == 3
    assert "1 of 2 seeds" in it.table()
    assert "after 5 fits" in it.answer()


def test_a_fit_that_is_worse_than_zeros_counts_as_zeros_and_is_kept_as_it_was():
    it = curve([[0.5, 0.5], [0.4, np.inf], [0.45, 0.45], [0.6, 9.0]])
    assert it.minimum == 4
    np.testing.assert_allclose(it.mean, [0.5, 0.7, 0.45, 0.8])
    assert it.worse_than_zeros == 2
    record = json.loads(json.dumps(it.as_json(), allow_nan=False))
    assert [fit["held_out_error"] for fit in record["fits"][2:4]] == [0.4, None]
    assert Fit.of_json(it.fits[3].as_json()) == it.fits[3]


def test_the_answer_says_when_the_range_was_too_small():
    assert "try larger ones" in curve([[0.5, 0.5], [0.4, 0.4]]).answer()
    assert "try smaller ones" in curve([[0.3, 0.3], [0.4, 0.4]]).answer()
    assert "try" not in curve([[0.3, 0.3], [0.4, 0.4]], [1, 2]).answer()  # as there is no smaller rank
    assert "try smaller ones" in curve([[0.5, 0.5], [0.4, 0.4]], [1.0, 0.1], "weight").answer()


def test_the_answer_says_that_fits_are_worse_than_zeros():
    assert "2 of 6 fits" in curve([[0.5, 0.5], [0.4, 10.0], [0.45, np.inf]]).answer()
    assert "worse than zeros" not in curve([[1.0, 1.0], [0.4, 0.4]]).answer()


def test_one_seed_has_no_standard_error_and_the_answer_says_so():
    it = curve([[0.5], [0.4], [0.6]])
    assert it.chosen == 3
    assert "One seed" in it.answer()
    assert "±" not in it.table()


def test_the_table_has_a_row_a_value_and_marks_the_choice(monkeypatch):
    it = curve([[0.8, 0.8], [0.4, 0.4], [2.0, 2.0]])
    monkeypatch.setenv("COLUMNS", "100")
    lines = it.table().splitlines()
    assert len(lines) == 4
    assert lines[2].endswith("◀ chosen, least, knee")
    assert lines[1].count("█") == 24
    assert lines[2].count("█") == 12
    assert lines[3].endswith("▶")
    monkeypatch.setenv("COLUMNS", "60")
    assert "█" not in it.table()
    assert repr(it) == "Curve(rank 2 to 4, 2 seeds, chosen=3)"


def test_the_picture_is_written_and_what_cannot_be_is_refused(tmp_path, monkeypatch):
    it = curve([[1.0, 1.1], [0.5, 0.6], [2.0, np.inf]])
    assert it.plot(tmp_path / "rank.png").read_bytes().startswith(b"\x89PNG")
    weights = curve([[1.0, 1.1], [0.5, 0.6]], [1.0, 0.1], "weight").plot(str(tmp_path / "w.svg"))
    assert b"<svg" in weights.read_bytes()
    with pytest.raises(FileError, match=r"\.png, \.svg, \.pdf"):
        it.plot(tmp_path / "rank.txt")
    with pytest.raises(FileError, match="does not exist"):
        it.plot(tmp_path / "no" / "rank.png")
    monkeypatch.setattr("bregopt_selection.picture.find_spec", lambda name: None)
    monkeypatch.delitem(sys.modules, "matplotlib")
    with pytest.raises(BregoptError, match=r"bregopt\[plot\]"):
        it.plot(tmp_path / "other.png")


# ---- searches


@pytest.mark.parametrize(("problem", "relu"), [("low-rank", False), ("relu-nmd", True)])
def test_the_rank_of_the_data_is_named(problem, relu):
    M = noisy(3, (36, 30), 0.1, 1, relu)
    assert rank_curve(problem, M, range(1, 6), **FAST | {"max_iterations": 150}).chosen == 3


@pytest.mark.long
@pytest.mark.parametrize(("problem", "relu"), [("low-rank", False), ("relu-nmd", True)])
def test_rank_six_is_named_in_nine_of_ten(problem, relu):
    named = [rank_curve(problem, noisy(6, (60, 50), 0.2, seed, relu), range(2, 13)).chosen for seed in range(10)]
    assert named.count(6) >= 9


def test_a_fit_is_that_of_the_problem_without_the_entries_of_its_seed():
    M = noisy()
    found = rank_curve("low-rank", M, [3], **FAST | {"seeds": [4]}, share=0.2).fits[0]
    problem = bo.compose("low-rank", M, rank=3, held_out=0.2, held_out_seed=4)
    result = bo.solve(problem, method="aapb", seed=4, stop="plateau", max_iterations=60)
    tested = problem.block.held_out.matrix().toarray() != 0
    X = result.Y.U @ result.Y.V
    assert found.held_out_error == pytest.approx(np.linalg.norm((M - X)[tested]) / np.linalg.norm(M[tested]), rel=1e-9)
    assert found.fit_error == pytest.approx(np.linalg.norm((M - X)[~tested]) / np.linalg.norm(M[~tested]), rel=1e-9)


def test_warm_starts_go_from_rank_to_rank_and_come_to_the_same_errors_as_random_ones(monkeypatch):
    starts, solve = [], bo.solve
    monkeypatch.setattr(module.bo, "solve", lambda *a, **k: starts.append(k["start"]) or solve(*a, **k))
    options = FAST | {"max_iterations": 200}
    warm = rank_curve("low-rank", noisy(noise=0.3), range(1, 5), **options)
    assert [start is None for start in starts[:7]] == [True, False, True, False, True, False, True]
    assert [start.U.shape[1] for start in starts[1:7:2]] == [2, 3, 4]
    starts.clear()
    cold = rank_curve("low-rank", noisy(noise=0.3), range(1, 5), **options, warm=False)
    assert starts == [None] * 8
    np.testing.assert_allclose(warm.mean[:3], cold.mean[:3], rtol=1e-2)
    assert warm.chosen == cold.chosen == 3


def test_a_warm_start_that_leads_to_a_worse_minimum_does_not_count():
    """From rank 5 on, warm starts alone stay at an error of 0.2 here, where 0.04 can be had."""
    rng = np.random.default_rng(101)
    X = rng.standard_normal((60, 6)) @ rng.standard_normal((6, 50))
    M = np.maximum(0.0, X + 0.05 * X.std() * rng.standard_normal(X.shape))
    found = rank_curve("relu-nmd", M, [4, 5, 6, 7], seeds=[0, 1], jobs=1, max_iterations=150)
    assert found.fit_error[2] < 0.06
    assert found.minimum == 6


def test_zeros_grow_with_the_weight_and_a_path_that_begins_at_zero_leaves_it():
    path = weight_path("low-rank", noisy(), H="l1", weights=[0.1, 1000.0, 3.0], rank=4, **FAST)
    assert path.values == (1000.0, 3.0, 0.1)
    assert path.zeros("U")[0] == path.zeros("V")[0] == 1.0
    assert 1.0 > path.zeros("U")[1] > path.zeros("U")[2]
    assert path.mean[2] < 0.6 * path.mean[0]
    assert "zeros U" in path.table()
    one = weight_path("low-rank", noisy(), H="l1", weights=[3.0], blocks=["V"], U="ridge(0.1)", rank=4, **FAST)
    assert one.zeros("U")[0] == 0.0 < one.zeros("V")[0]


def test_factors_that_are_too_far_apart_to_start_from_are_left_out(monkeypatch):
    """As where H is on one block alone, and the other may grow without end."""
    start = module._warm_start
    monkeypatch.setattr(module, "_warm_start", lambda *a: bo.Blocks(U=1e9 * start(*a).U, V=1e-9 * start(*a).V))
    found = rank_curve("low-rank", noisy(), [2, 3], **FAST)
    np.testing.assert_array_equal(found.errors, rank_curve("low-rank", noisy(), [2, 3], **FAST, warm=False).errors)


@pytest.mark.usefixtures("two_blas_threads")
def test_processes_find_what_one_process_finds():
    M = scipy.sparse.csr_array(noisy(relu=True))
    options = FAST | {"mask": noisy(seed=5) < 2.0, "V": "ridge(0.1)"}
    here = rank_curve("relu-nmd", M, [2, 3], **options)
    there = rank_curve("relu-nmd", M, [2, 3], **options | {"jobs": 2})
    assert [(fit.seed, fit.value) for fit in there.fits] == [(fit.seed, fit.value) for fit in here.fits]
    np.testing.assert_allclose(there.errors, here.errors, rtol=1e-6)


def test_what_a_worker_fails_at_is_done_here(tmp_path):
    """Here a plugin that it cannot load."""
    with pytest.warns(FaultWarning, match="A worker failed"):
        found = rank_curve("low-rank", noisy(), [2], **FAST | {"jobs": 2}, plugins=[tmp_path / "no.py"])
    assert len(found.fits) == 2


def test_what_a_worker_compiles_is_told_here(monkeypatch):
    said = [sys.executable, "-c", "print('compiling walk')"]
    start = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda command, **options: start(said, **options))
    told = []
    with told_of_compiling(told.append), warnings.catch_warnings():
        warnings.simplefilter("error")
        search = module.Search(problem="low-rank", M=noisy(), parameters={}, values=(2,), share=0.1)
        assert list(fits_in_processes(search, [0], None, 1, ())) == []
    assert told == ["walk"]


def test_what_cannot_be_told_to_a_process_is_done_here():
    H = bo.make("regularizer", "ridge(0.1)")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(rank_curve("low-rank", noisy(), [2], **FAST | {"jobs": 2}, U=H).fits) == 2


def test_a_notebook_shows_each_fit_in_one_line_and_the_curve_as_a_table(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "ipykernel", json)
    found = rank_curve("low-rank", noisy(), [2, 3], **FAST, progress=True)
    told = capsys.readouterr().err
    assert "\r1/4  rank 2 of seed 0: held-out error 0." in told
    assert told.endswith(" \r")
    assert "\n" not in told
    assert found.answer() in found._repr_html_()
    assert "held-out error ± s.e." in found._repr_html_()


# ---- folders and Ctrl-C


def counted(monkeypatch, after=10**9):
    """How many fits are made; Ctrl-C instead of the one after so many."""
    made, fit = [], module.Search._fit

    def press_or_fit(*args):
        if len(made) == after:
            raise KeyboardInterrupt
        made.append(1)
        return fit(*args)

    monkeypatch.setattr(module.Search, "_fit", press_or_fit)
    return made


def test_a_search_goes_on_from_its_folder_and_ends_as_one_without_a_break(tmp_path, monkeypatch):
    whole = rank_curve("low-rank", noisy(), range(2, 5), **FAST)
    with monkeypatch.context() as patch:
        counted(patch, after=4)
        half = rank_curve("low-rank", noisy(), range(2, 5), **FAST, out=tmp_path / "o")
    assert half.interrupted
    assert len(half.fits) == 4
    made = counted(monkeypatch)
    again = rank_curve("low-rank", noisy(), range(2, 5), **FAST, out=tmp_path / "o")
    assert len(made) == 2
    np.testing.assert_array_equal(again.errors, whole.errors)
    assert rank_curve("low-rank", noisy(), range(2, 5), **FAST, out=tmp_path / "o").fits == again.fits
    assert len(made) == 2
    rank_curve("low-rank", noisy(), range(2, 6), **FAST, out=tmp_path / "o")
    assert len(made) == 4
    names = sorted(path.name for path in (tmp_path / "o").iterdir())
    assert [name for name in names if name.endswith(".npz")] == ["seed-0-rank-5.npz", "seed-1-rank-5.npz"]
    assert not any("draft" in name for name in names)


def test_damaged_and_missing_records_are_made_again(tmp_path, monkeypatch):
    first = rank_curve("low-rank", noisy(), [2, 3], **FAST, out=tmp_path)
    (tmp_path / "seed-0-rank-2.json").write_text("{")
    (tmp_path / "seed-1-rank-3.json").unlink()
    made = counted(monkeypatch)
    np.testing.assert_array_equal(rank_curve("low-rank", noisy(), [2, 3], **FAST, out=tmp_path).errors, first.errors)
    assert len(made) == 4


def test_a_folder_of_other_data_or_settings_is_refused(tmp_path):
    rank_curve("low-rank", noisy(), [2], **FAST, out=tmp_path)
    with pytest.raises(FileError, match="another share"):
        rank_curve("low-rank", noisy(), [2], **FAST, out=tmp_path, share=0.2)
    with pytest.raises(FileError, match="another data"):
        rank_curve("low-rank", noisy(seed=1), [2], **FAST, out=tmp_path)
    (tmp_path / "settings.json").write_text("{")
    with pytest.raises(FileError, match="damaged"):
        rank_curve("low-rank", noisy(), [2], **FAST, out=tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="cannot be used"):
        rank_curve("low-rank", noisy(), [2], **FAST, out=tmp_path / "file")


def test_ctrl_c_before_the_first_fit_is_ctrl_c(monkeypatch):
    counted(monkeypatch, after=0)
    with pytest.raises(KeyboardInterrupt):
        rank_curve("low-rank", noisy(), [2], **FAST)


# ---- bad input


BAD = {
    "no rank": ({"ranks": []}, ParameterError, "There is no rank to try"),
    "a rank that is no number": ({"ranks": ["2"]}, ParameterError, "whole numbers >= 1"),
    "a rank of 0": ({"ranks": [0]}, ParameterError, "whole numbers >= 1"),
    "a rank too large": ({"ranks": [2, 99]}, ParameterError, "from 1 to 24, as M is 30×24"),
    "no seed": ({"seeds": 0}, ParameterError, "'seeds'"),
    "a negative seed": ({"seeds": [-1]}, ParameterError, "'seeds'"),
    "a share of 1": ({"share": 1.0}, ParameterError, "'share'"),
    "no job": ({"jobs": 0}, ParameterError, "'jobs'"),
    "its own share": ({"held_out": 0.1}, ParameterError, "see 'share'"),
    "a rank besides": ({"rank": 3}, ParameterError, "leave 'rank' out"),
    "too few entries": ({"M": np.ones((2, 2)), "ranks": [1], "share": 0.01}, DataError, "nothing to test"),
    "a symmetric one": ({"problem": "symmetric", "M": np.eye(9)}, IncompatibleError, "m_ji tells m_ij"),
    "no such entries": ({"problem": "kl-nmf", "M": np.eye(9)}, BregoptError, "cannot be held out"),
    "no such problem": ({"problem": "low-rnk"}, BregoptError, "Did you mean 'low-rank'"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_before_anything_is_written(case, tmp_path):
    given, kind, words = BAD[case]
    with pytest.raises(kind, match=words):
        rank_curve(**{"problem": "low-rank", "M": noisy(), "ranks": [2, 3], **FAST, **given}, out=tmp_path / "o")
    assert not (tmp_path / "o").exists()


def test_bad_weights_are_refused():
    for weights, words in ([], "no weight to try"), ([0.0], "finite numbers > 0"), ([np.inf], "finite numbers > 0"):
        with pytest.raises(ParameterError, match=words):
            weight_path("low-rank", noisy(), weights=weights, rank=2, **FAST)
    with pytest.raises(ParameterError, match="'U' is given too"):
        weight_path("low-rank", noisy(), weights=[1.0], U="l1(1)", rank=2, **FAST)
    with pytest.raises(BregoptError, match="l1"):
        weight_path("low-rank", noisy(), weights=[1.0], H="l1x", rank=2, **FAST)


# ---- the command line

QUICK = ("--problem", "low-rank", "--seeds", 2, "--jobs", 1, "--max-iterations", 60, "--method", "aapb")


@pytest.fixture
def file(tmp_path):
    np.save(tmp_path / "M.npy", noisy())
    return tmp_path / "M.npy"


def test_the_command_names_the_rank_and_shows_the_curve(call, file, tmp_path):
    code, shown, _ = call("rank", file, "-r", "2:4", *QUICK, "--plot", tmp_path / "rank.png", "--out", tmp_path / "o")
    assert code == 0
    assert shown.startswith("Rank 3 has the least held-out error")
    assert "◀ chosen" in shown
    assert (tmp_path / "rank.png").exists()
    code, shown, _ = call("rank", file, "-r", "2:4", *QUICK, "--out", tmp_path / "o", "--json")
    record = json.loads(shown)
    assert (code, record["chosen"], record["values"], len(record["fits"])) == (0, 3, [2, 3, 4], 6)


def test_the_command_for_weights_shows_the_zeros(call, file):
    code, shown, _ = call("weights", file, "-w", "10:0.1:3", "-r", 3, "--blocks", "V", *QUICK)
    assert code == 0
    assert "zeros V" in shown
    assert [line.split()[0] for line in shown.splitlines()[3:]] == ["10", "1", "0.1"]


def test_the_options_of_the_problem_are_those_of_solve(call, file, tmp_path):
    np.save(tmp_path / "known.npy", noisy(seed=7) < 3)
    more = ("-V", "ridge(0.5)", "--set", f"mask={tmp_path / 'known.npy'}", "--json", "--cold")
    found = json.loads(call("rank", file, "-r", "3", *QUICK, *more)[1])
    mask = np.load(tmp_path / "known.npy")
    same = rank_curve("low-rank", noisy(), [3], **FAST, V="ridge(0.5)", mask=mask, warm=False)
    assert found["mean"] == same.as_json()["mean"]


def test_labels_of_a_text_file_are_no_data(call, tmp_path):
    M = noisy()
    lines = [",".join(["", *(f"gene{j}" for j in range(24))])]
    lines += [",".join([str(i), *map(repr, row)]) for i, row in enumerate(M.tolist())]
    (tmp_path / "M.csv").write_text("\n".join(lines))
    errors = rank_curve("low-rank", M, [3], **FAST).as_json()["mean"]
    assert json.loads(call("rank", tmp_path / "M.csv", "-r", "3", *QUICK, "--json")[1])["mean"] == errors
    assert rank_curve("low-rank", tmp_path / "M.csv", [3], **FAST).as_json()["mean"] == errors
    with_index = ("--header", "--no-index", "--json")
    assert json.loads(call("rank", tmp_path / "M.csv", "-r", "3", *QUICK, *with_index)[1])["mean"] != errors


def test_a_data_frame_is_taken_by_processes_too():
    import pandas

    M = noisy()
    found = rank_curve("low-rank", pandas.DataFrame(M), [3], **FAST | {"jobs": 2})
    np.testing.assert_allclose(found.errors, rank_curve("low-rank", M, [3], **FAST).errors, rtol=1e-6)


def test_ctrl_c_keeps_what_is_done(call, file, tmp_path, monkeypatch):
    counted(monkeypatch, after=3)
    code, shown, said = call("rank", file, "-r", "2:4", *QUICK, "--out", tmp_path / "o")
    assert code == 130
    assert "after 3 fits" in shown
    assert "the same command goes on" in said


MISTAKES = {
    ("rank", "no.npy", "-r", "2:4"): "no.npy' does not exist",
    ("rank", "M.npy", "-r", "4:2"): "-r '4:2' names no ranks: write '2:30'",
    ("rank", "M.npy", "-r", "two"): "names no ranks",
    ("rank", "M.npy", "-r", "2:99"): "from 1 to 24",
    ("rank", "M.npy", "-r", "2:3", "--set", "held_out=0.2"): "see 'share'",
    ("rank", "M.npy", "-r", "2:3", "--plot", "rank.jpeg"): ".png, .svg, .pdf",
    ("rank", "M.npy", "-r", "2:3", "--method", "aapbb"): "aapbb",
    ("weights", "M.npy", "-w", "0:1"): "-w '0:1' names no weights",
    ("weights", "M.npy", "-w", "1:0.1", "-H", "l1l"): "l1l",
}


@pytest.mark.parametrize("args", MISTAKES, ids=" ".join)
def test_a_mistake_is_one_line(args, call, file, monkeypatch):
    monkeypatch.chdir(file.parent)
    code, _, said = call(*args, *QUICK[:6])
    assert code == 2
    assert MISTAKES[args] in said
    assert said.count("\n") == 1
