"""The folder of ``--out``: complete, exact, and never half written."""

import csv
import json

import numpy as np
import pytest

import bregopt
from bregopt.cli import run as run_module
from bregopt.cli.run import FILES, AskedProblem, Run, check_folder, write_run
from bregopt.errors import FileError

M = np.maximum(0.0, np.random.default_rng(0).standard_normal((6, 5)))


@pytest.fixture(scope="module")
def run():
    problem = bregopt.compose("relu-nmd", M, rank=2)
    facts = {"matrix": "M", "shape": (6, 5), "nonzeros": 14}
    asked = AskedProblem(name="relu-nmd", **facts, rank=2, U="none", V="none", kernel="auto")
    result = bregopt.solve(problem, max_iterations=7)
    return Run(problem=asked, method="aapb", start=None, seed=0, result=result)


def files(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_factors_load_without_pickle(run, tmp_path):
    write_run(tmp_path / "out", run, {})
    with np.load(tmp_path / "out" / "factors.npz", allow_pickle=False) as factors:
        np.testing.assert_array_equal(factors["U"], run.result.Y.U)
        np.testing.assert_array_equal(factors["V"], run.result.Y.V)


def test_the_history_gives_back_every_column_to_the_last_bit(run, tmp_path):
    write_run(tmp_path / "out", run, {})
    with (tmp_path / "out" / "history.csv").open(newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert len(rows) == 8
    assert set(rows[0]) == set(run.result.history)
    for name, column in run.result.history.items():
        np.testing.assert_array_equal([float(row[name]) for row in rows], column)


def test_the_record_tells_what_is_needed_to_run_it_again(run, tmp_path):
    write_run(tmp_path / "out", run, {"file": tmp_path / "M.npy", "stop": ("plateau",), "max_seconds": float("inf")})
    record = json.loads((tmp_path / "out" / "run.json").read_text(encoding="utf-8"))
    assert record["options"] == {"file": str(tmp_path / "M.npy"), "stop": ["plateau"], "max_seconds": None}
    assert set(record["versions"]) == {"bregopt", "python", "numpy", "scipy"}
    assert record["seed"] == 0
    assert {key: record[key] for key in run.as_json()} == run.as_json()


def test_a_folder_is_made_with_those_above_it(run, tmp_path):
    write_run(tmp_path / "a" / "b" / "out", run, {})
    assert files(tmp_path / "a" / "b" / "out") == sorted(FILES)
    assert files(tmp_path / "a" / "b") == ["out"]


def test_an_existing_folder_keeps_its_other_files_and_gets_new_ones_of_ours(run, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "run.json").write_text("old")
    write_run(tmp_path, run, {})
    assert files(tmp_path) == sorted([*FILES, "notes.txt"])
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))["iterations"] == 7


@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_leaves_nothing_half_written(failure, run, tmp_path, monkeypatch):
    def fail(path, *_):
        path.write_text("half")
        raise failure

    monkeypatch.setattr(run_module, "_write_record", fail)
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "factors.npz").write_text("old")
    expected = FileError if isinstance(failure, OSError) else KeyboardInterrupt
    for folder in (tmp_path / "new", tmp_path / "old"):
        with pytest.raises(expected):
            write_run(folder, run, {})
    assert files(tmp_path) == ["old"]
    assert files(tmp_path / "old") == ["factors.npz"]
    assert (tmp_path / "old" / "factors.npz").read_text() == "old"


def test_the_check_before_the_run_leaves_no_trace(tmp_path):
    check_folder(tmp_path / "a" / "b")
    check_folder(tmp_path)
    assert files(tmp_path) == []


@pytest.mark.parametrize("place", ["file", "file/out", "file/deep/out"])
def test_a_place_below_a_file_is_refused_before_the_run(place, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(FileError, match="cannot be written: Not a directory"):
        check_folder(tmp_path / place)


def test_a_folder_in_the_place_of_a_file_is_refused_before_the_run(tmp_path):
    (tmp_path / "run.json").mkdir()
    with pytest.raises(FileError, match="is a folder"):
        check_folder(tmp_path)
