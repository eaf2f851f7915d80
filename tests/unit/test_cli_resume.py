"""``bregopt resume``: a run of the command line goes on from its folder."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from bregopt.cli import solve as solve_module
from bregopt.cli.run import FILES
from bregopt.engine.checkpoint import checkpoints_in, read_last

RNG = np.random.default_rng(0)
M = np.maximum(0, RNG.standard_normal((14, 11)))


@pytest.fixture
def interrupted(tmp_path, monkeypatch, call):
    """The folder of a run that Ctrl-C has ended at iteration 5."""
    np.save(tmp_path / "M.npy", M)
    out = tmp_path / "out"
    args = ("solve", tmp_path / "M.npy", "-r", "3", "--method", "aapb", "--max-iterations", "12")
    remember = solve_module.Saving.remember_command

    def press(self, state):
        remember(self, state)
        if state.iteration == 5:
            signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with monkeypatch.context() as patch:
        patch.setattr(solve_module.Saving, "remember_command", press)
        code, printed, _ = call(*args, "--out", out)
    signal.signal(signal.SIGINT, before)
    assert code == 130
    assert f"bregopt resume {out}" in " ".join(printed.split())
    assert call(*args, "--out", tmp_path / "whole", "-q")[0] == 0
    return out


def factors(folder):
    with np.load(folder / "factors.npz", allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def history(folder):
    return [line.split(",")[:1] + line.split(",")[2:] for line in (folder / "history.csv").read_text().splitlines()]


def test_an_interrupted_run_goes_on_to_the_same_end(interrupted, tmp_path, call):
    assert read_last(interrupted).iteration == 5
    code, printed, err = call("resume", interrupted)
    assert (code, err) == (0, "")
    assert "The limit of 12 iterations was reached." in printed
    assert sorted(path.name for path in interrupted.iterdir()) == sorted(FILES)
    for name, X in factors(tmp_path / "whole").items():
        np.testing.assert_array_equal(factors(interrupted)[name], X)
    assert history(interrupted) == history(tmp_path / "whole")


def test_resuming_a_finished_run_prints_its_summary_and_changes_nothing(interrupted, tmp_path, call):
    whole = tmp_path / "whole"
    before = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in whole.iterdir()}
    code, printed, _ = call("resume", whole)
    assert code == 0
    assert "Objective" in printed
    assert "The limit of 12 iterations was reached." in printed
    assert {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in whole.iterdir()} == before
    assert call("resume", whole, "-q") == (0, "", "")


def test_a_folder_with_a_run_that_has_not_ended_is_not_overwritten(interrupted, tmp_path, call):
    code, _, err = call("solve", tmp_path / "M.npy", "--out", interrupted)
    assert code == 2
    assert "holds a run that has not ended, at iteration 5" in err
    assert "bregopt resume" in err


def test_other_data_are_refused(interrupted, tmp_path, call):
    np.save(tmp_path / "M.npy", 2 * M)
    code, _, err = call("resume", interrupted)
    assert code == 2
    assert "other data: block.M.frobenius was" in err
    (tmp_path / "M.npy").unlink()
    code, _, err = call("resume", interrupted)
    assert code == 2
    assert "does not exist" in err
    assert read_last(interrupted).iteration == 5


def test_a_missing_plugin_is_refused(tmp_path, interrupted, call):
    record = json.loads((interrupted / "command.json").read_text())
    record["plugin"] = [str(tmp_path / "gone.py")]
    (interrupted / "command.json").write_text(json.dumps(record))
    code, _, err = call("resume", interrupted)
    assert code == 2
    assert "gone.py' does not exist" in err
    (interrupted / "command.json").write_text("{")
    code, _, err = call("resume", interrupted)
    assert code == 2
    assert "command.json" in err
    (interrupted / "command.json").write_text(json.dumps({"spaceship": 1}))
    code, _, err = call("resume", interrupted)
    assert code == 2
    assert "spaceship" in err


def test_it_goes_on_in_python_too(interrupted, tmp_path):
    import bregopt as bo

    result = bo.resume(interrupted)
    np.testing.assert_array_equal(result.Y.U, factors(tmp_path / "whole")["U"])


def test_a_run_that_ended_before_it_was_written_is_written(interrupted, tmp_path, call):
    import bregopt as bo

    bo.resume(interrupted)
    assert read_last(interrupted).finished
    assert call("resume", interrupted, "-q") == (0, "", "")
    assert sorted(path.name for path in interrupted.iterdir()) == sorted(FILES)
    assert history(interrupted) == history(tmp_path / "whole")


def test_a_run_starts_from_the_folder_of_another(interrupted, tmp_path, call):
    code, printed, _ = call("solve", tmp_path / "M.npy", "-r", "3", "--start", tmp_path / "whole", "--json")
    assert code == 0
    first = json.loads((tmp_path / "whole" / "run.json").read_text())["objective"]
    assert json.loads(printed)["objective"] <= first


@pytest.mark.parametrize("folder", ["nothing", "."])
def test_a_folder_without_a_run_is_refused(folder, tmp_path, call):
    code, _, err = call("resume", tmp_path / folder)
    assert code == 2
    assert "There is no checkpoint" in err


def test_a_link_that_leads_nowhere_is_refused_before_the_run(tmp_path, call):
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for place in ("link", "link/out"):
        code, _, err = call("solve", "--out", tmp_path / place)
        assert code == 2
        assert "is a link to a place that does not exist" in err


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_signal_of_the_system_leaves_a_run_that_can_go_on(name, code, tmp_path):
    out = tmp_path / "out"
    process = subprocess.Popen(
        [sys.executable, "-m", "bregopt", "solve", "--stop", "max-iterations(1000000)", "--out", str(out), "-q"],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        preexec_fn=lambda: signal.signal(getattr(signal, name), signal.SIG_DFL),
    )
    while not checkpoints_in(out):
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(getattr(signal, name))
    assert process.wait(timeout=60) == code
    assert not read_last(out).finished
    assert json.loads((out / "run.json").read_text(encoding="utf-8"))["status"] == "interrupted"
