"""Runs that are saved while they go on, and go on after a break."""

import json
import os
import signal
import stat

import attrs
import numpy as np
import pytest
import scipy.sparse

import bregopt as bo
from bregopt.engine import checkpoint as checkpoint_module
from bregopt.engine.checkpoint import Checkpoints, checkpoints_in, read_last
from bregopt.errors import CheckpointWarning, FileError, IncompatibleError, InterruptedWarning, ParameterError
from bregopt.host import resume as resume_module

M = np.maximum(0, np.random.default_rng(0).standard_normal((14, 11)))
H = {"U": "l1(0.1)", "V": "l1(0.1)"}


class CrashError(Exception):
    """What ends a run in the middle."""


def crash_at(iteration):
    def watch(state):
        if state.iteration == iteration:
            raise CrashError

    return watch


def crashed(problem, folder, at=7, **options):
    """A run that ended in the middle, with a checkpoint after each iteration."""
    with pytest.raises(CrashError):
        bo.solve(problem, checkpoint=folder, checkpoint_every=0, observers=[crash_at(at)], **options)


def assert_same(one, other):
    np.testing.assert_array_equal(one.Y.flat, other.Y.flat)
    assert one.history.keys() == other.history.keys()
    for column in set(one.history) - {"seconds"}:
        np.testing.assert_array_equal(one.history[column], other.history[column], err_msg=column)
    assert one.certificate == other.certificate
    assert (one.counts, one.status, one.reason) == (other.counts, other.status, other.reason)
    assert (one.objective, one.metrics, one.method) == (other.objective, other.metrics, other.method)


# ---- going on


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("method", ["aapb", "bella", "cocain", "ippalm", "auto"])
def test_a_run_that_goes_on_ends_like_one_without_a_break(method, form, tmp_path):
    problem = bo.compose("relu-nmd", form(M), rank=3, **H)
    whole = bo.solve(problem, method=method, max_iterations=20)
    crashed(problem, tmp_path / "run", method=method, max_iterations=20)
    assert_same(bo.resume(tmp_path / "run"), whole)


def test_two_breaks_are_as_good_as_one(tmp_path):
    problem = bo.compose("relu-nmd", M, rank=3, **H)
    crashed(problem, tmp_path, at=5, method="aapb", max_iterations=20)
    with pytest.raises(CrashError):
        bo.resume(tmp_path, observers=[crash_at(11)], checkpoint_every=0)
    assert read_last(tmp_path).iteration == 10
    assert_same(bo.resume(tmp_path), bo.solve(problem, method="aapb", max_iterations=20))


@pytest.mark.parametrize("stop", ["stationarity(1e-3)", "tolerance(1e-3)", "plateau(1e-3)"])
@pytest.mark.parametrize("method", ["aapb", "ebcd-nmd"])
def test_a_stop_rule_sees_what_it_would_have_seen(method, stop, tmp_path):
    problem = bo.compose("relu-nmd", M, rank=2)
    whole = bo.solve(problem, method=method, stop=stop, max_iterations=400)
    crashed(problem, tmp_path, at=whole.iterations - 1, method=method, stop=stop, max_iterations=400)
    assert_same(bo.resume(tmp_path), whole)


def test_the_result_of_a_run_that_has_ended_is_the_same_again(tmp_path):
    problem = bo.compose("relu-nmd", M, rank=3, **H)
    whole = bo.solve(problem, method="aapb", max_iterations=6, checkpoint=tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert_same(bo.resume(tmp_path), whole)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_the_seconds_go_on_and_do_not_count_the_break(tmp_path):
    problem = bo.compose("relu-nmd", M, rank=3)
    crashed(problem, tmp_path, method="aapb", max_iterations=20)
    seconds = bo.resume(tmp_path).history["seconds"]
    assert (np.diff(seconds) >= 0).all()


def test_a_new_stop_rule_may_be_given(tmp_path):
    problem = bo.compose("relu-nmd", M, rank=3, **H)
    crashed(problem, tmp_path, method="aapb", max_iterations=20)
    result = bo.resume(tmp_path, stop=bo.make("stop", "max-iterations(31)"))
    assert_same(result, bo.solve(problem, method="aapb", max_iterations=31))


class Quartic(bo.SmoothPart):
    """½(w − u⁴)² as a person writes it, without attrs."""

    def value(self, Y, W):
        return 0.5 * float((W - Y.u**4) ** 2)

    def value_and_gradient(self, Y, W):
        r = Y.u**4 - W
        return 0.5 * float(r**2), bo.Blocks(u=4 * r * Y.u**3)


class Given(bo.ClosedFormBlock):
    def argmin(self, smooth, Y):
        return 2.0

    def value(self, W):
        return 0.0


def test_a_problem_that_cannot_be_saved_is_given_again(tmp_path):
    problem = bo.Problem(
        smooth=Quartic(), block=Given(), kernel=bo.make("kernel", "psi2"), start=bo.Blocks(u=np.array(1.1))
    )
    crashed(problem, tmp_path, method="aapb", max_iterations=12)
    with pytest.raises(FileError, match=r"does not hold the problem .*Quartic.* bregopt\.resume\(folder, problem\)"):
        bo.resume(tmp_path)
    assert_same(bo.resume(tmp_path, problem), bo.solve(problem, method="aapb", max_iterations=12))


def test_large_data_are_not_written_beside_the_checkpoints(tmp_path, monkeypatch):
    monkeypatch.setattr(resume_module, "LARGEST", 100)
    problem = bo.compose("relu-nmd", M, rank=3)
    crashed(problem, tmp_path, method="aapb", max_iterations=12)
    assert not (tmp_path / "problem.npz").exists()
    with pytest.raises(FileError, match="Its data take"):
        bo.resume(tmp_path)
    assert bo.resume(tmp_path, problem).iterations == 12


# ---- what is refused


def test_other_data_are_refused_with_what_differs(tmp_path):
    crashed(bo.compose("relu-nmd", M, rank=3, **H), tmp_path, method="aapb", max_iterations=12)
    other = M.copy()
    other[M > 0] *= 1 + 1e-9
    with pytest.raises(FileError, match=r"other data: block\.M\.frobenius was .* and is .*source\.checksum"):
        bo.resume(tmp_path, bo.compose("relu-nmd", other, rank=3, **H))
    with pytest.raises(FileError, match=r"H on U\.eta was 0\.1 and is 0\.2"):
        bo.resume(tmp_path, bo.compose("relu-nmd", M, rank=3, U="l1(0.2)", V="l1(0.1)"))
    with pytest.raises(FileError, match=r"block\.rank was 3 and is 2"):
        bo.resume(tmp_path, bo.compose("relu-nmd", M, rank=2, **H))
    with pytest.raises(FileError, match=r"kernel\.class"):
        bo.resume(tmp_path, bo.compose("relu-nmd", M, rank=3, kernel="paper", **H))
    assert bo.resume(tmp_path, bo.compose("relu-nmd", M, rank=3, threads=1, **H)).iterations == 12


def test_another_version_and_a_missing_plugin_are_refused(tmp_path, monkeypatch):
    crashed(bo.compose("relu-nmd", M, rank=3), tmp_path, method="aapb", max_iterations=12)
    with monkeypatch.context() as patch:
        patch.setattr(bo, "__version__", "9.9")
        with pytest.raises(FileError, match=r"bregopt was .* and is 9\.9"):
            bo.resume(tmp_path)
    with monkeypatch.context() as patch:
        known = resume_module._active_plugins()
        patch.setattr(resume_module, "_active_plugins", lambda: {k: v for k, v in known.items() if k != "relu"})
        with pytest.raises(FileError, match="the plugin 'relu' is missing"):
            bo.resume(tmp_path)


def test_a_folder_with_a_run_that_has_not_ended_is_not_written_over(tmp_path):
    problem = bo.compose("relu-nmd", M, rank=3)
    crashed(problem, tmp_path, method="aapb", max_iterations=12)
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(FileError, match="holds a run that has not ended, at iteration 6"):
        bo.solve(problem, checkpoint=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    bo.resume(tmp_path)
    assert bo.solve(problem, checkpoint=tmp_path, max_iterations=2).iterations == 2


@pytest.mark.parametrize("every", [-1, "often", True, float("nan")])
def test_a_bad_interval_is_refused(every, tmp_path):
    with pytest.raises(ParameterError, match="checkpoint_every"):
        bo.solve(bo.compose("relu-nmd", M, rank=3), checkpoint=tmp_path, checkpoint_every=every)


def test_a_folder_without_a_checkpoint_is_refused(tmp_path):
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(FileError, match="There is no checkpoint"):
            bo.resume(folder)


# ---- files


def test_the_last_two_checkpoints_are_kept_and_nothing_else(tmp_path):
    crashed(bo.compose("relu-nmd", M, rank=3), tmp_path, method="aapb", max_iterations=12)
    assert [path.name for path in checkpoints_in(tmp_path)] == ["checkpoint-000006.npz", "checkpoint-000007.npz"]
    assert sorted(path.name for path in tmp_path.iterdir())[2:] == ["problem.npz"]


def test_a_checkpoint_is_plain_arrays_and_json(tmp_path):
    crashed(bo.compose("relu-nmd", M, rank=3), tmp_path, method="aapb", max_iterations=12)
    with np.load(checkpoints_in(tmp_path)[-1], allow_pickle=False) as arrays:
        content = json.loads(arrays["json"].tobytes())
        assert all(arrays[name].dtype.kind in "fiub" for name in arrays.files)
    assert content["format"] == 1
    assert content["iteration"] == 6
    assert content["versions"]["bregopt"] == bo.__version__
    assert set(content["plugins"]) >= {"relu", "lowrank", "methods"}
    assert content["problem"]["block"]["M"]["nonzeros"] == np.count_nonzero(M)


def test_where_the_last_one_is_damaged_the_one_before_it_is_taken(tmp_path):
    problem = bo.compose("relu-nmd", M, rank=3)
    crashed(problem, tmp_path, method="aapb", max_iterations=12)
    first, last = checkpoints_in(tmp_path)
    last.write_bytes(last.read_bytes()[:-200])
    assert read_last(tmp_path).iteration == 5
    assert_same(bo.resume(tmp_path), bo.solve(problem, method="aapb", max_iterations=12))
    for path in checkpoints_in(tmp_path):
        path.write_bytes(b"PK garbage")
    with pytest.raises(FileError, match=r"damaged.*damaged"):
        bo.resume(tmp_path)
    assert first != last


@pytest.mark.parametrize("seed", range(30))
def test_a_damaged_checkpoint_is_one_error_or_the_same_run(seed, tmp_path):
    problem = bo.compose("relu-nmd", M, rank=3)
    crashed(problem, tmp_path, method="aapb", max_iterations=9)
    first, last = checkpoints_in(tmp_path)
    first.unlink()
    rng, data = np.random.default_rng(seed), bytearray(last.read_bytes())
    for place in rng.integers(0, len(data), 3):
        data[place] ^= int(rng.integers(1, 256))
    last.write_bytes(data)
    try:
        result = bo.resume(tmp_path)
    except FileError as error:
        assert str(last) in str(error)  # noqa: PT017 (either outcome is right)
    else:
        assert_same(result, bo.solve(problem, method="aapb", max_iterations=9))


def test_a_file_makes_no_classes_but_those_of_the_library_and_its_plugins(tmp_path):
    crashed(bo.compose("relu-nmd", M, rank=3), tmp_path, method="aapb", max_iterations=12)
    path = checkpoints_in(tmp_path)[-1]
    content, arrays = checkpoint_module.read_archive(path)
    content["objects"][-1] = {"class": f"{__name__}:Boom", "fields": {}}
    checkpoint_module.write_file(
        path, lambda handle: checkpoint_module.write_archive(handle, content, list(arrays.values()))
    )
    with pytest.raises(FileError, match="it needs the class"):
        bo.resume(tmp_path)


def test_a_method_that_cannot_be_saved_is_given_again(tmp_path):
    class Mine(bo.Method):
        """Not an attrs class, and inside of a function."""

        def start(self, problem, Y):
            return bo.State.at(problem.oracle.evaluate(Y), 0.0)

        def advance(self, problem, state):
            Y = state.Y * 0.9
            return bo.State.at(problem.oracle.evaluate(Y), 0.0, iteration=state.iteration + 1)

    problem = bo.compose("relu-nmd", M, rank=3)
    crashed(problem, tmp_path, method=Mine(), max_iterations=9)
    with pytest.raises(FileError, match=r"Give the method too: bregopt\.resume\(folder, method=\.\.\.\)"):
        bo.resume(tmp_path)
    result = bo.resume(tmp_path, method=Mine(), stop="max-iterations(11)")
    np.testing.assert_array_equal(result.Y.flat, bo.solve(problem, method=Mine(), max_iterations=11).Y.flat)


@pytest.mark.parametrize("lost", ["plugins", "run", "objects", "method", "iteration"])
def test_a_checkpoint_that_lacks_something_is_one_error(lost, tmp_path):
    crashed(bo.compose("relu-nmd", M, rank=3), tmp_path, method="aapb", max_iterations=9)
    for path in checkpoints_in(tmp_path):
        content, arrays = checkpoint_module.read_archive(path)
        del content[lost]
        checkpoint_module.write_file(
            path,
            lambda handle: checkpoint_module.write_archive(handle, content, list(arrays.values())),  # noqa: B023  (called at once)
        )
    with pytest.raises(FileError, match=f"is no checkpoint: it lacks {lost}"):
        bo.resume(tmp_path)


@attrs.frozen
class Boom:
    def __attrs_post_init__(self):
        raise AssertionError("a file may not make this")


def test_a_failed_save_is_a_warning_that_names_the_reason_and_leaves_the_older_one(tmp_path, monkeypatch):
    problem = bo.compose("relu-nmd", M, rank=3)
    write, calls = checkpoint_module.write_archive, []

    def full(handle, *args):
        calls.append(1)
        if len(calls) > 4:  # the problem, and the first three
            raise OSError(28, "No space left on device")
        write(handle, *args)

    monkeypatch.setattr(checkpoint_module, "write_archive", full)
    monkeypatch.setattr(resume_module, "write_archive", full)
    with pytest.warns(CheckpointWarning, match="No checkpoint was written after iteration 3: .*No space left"):
        result = bo.solve(problem, method="aapb", max_iterations=5, checkpoint=tmp_path, checkpoint_every=0)
    assert result.iterations == 5
    monkeypatch.undo()
    assert read_last(tmp_path).iteration == 2
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []
    assert_same(bo.resume(tmp_path), bo.solve(problem, method="aapb", max_iterations=5))


@pytest.mark.parametrize("failure", [ValueError("odd"), MemoryError("no room"), FileError("gone")])
def test_no_failure_of_a_checkpoint_costs_the_run(failure, tmp_path, monkeypatch):
    def fail(*_):
        raise failure

    monkeypatch.setattr(checkpoint_module, "write_archive", fail)
    with pytest.warns(CheckpointWarning, match=str(failure)):
        result = bo.solve(bo.compose("relu-nmd", M, rank=3), max_iterations=3, checkpoint=tmp_path)
    assert result.iterations == 3


def test_a_folder_that_is_removed_during_the_run_costs_no_run(tmp_path):
    import shutil

    def remove(state):
        if state.iteration == 2:
            shutil.rmtree(tmp_path / "run")

    with pytest.warns(CheckpointWarning, match="No such file or directory"):
        result = bo.solve(
            bo.compose("relu-nmd", M, rank=3),
            max_iterations=4,
            checkpoint=tmp_path / "run",
            checkpoint_every=0,
            observers=[remove],
        )
    assert result.iterations == 4


def test_a_folder_that_cannot_be_made_costs_no_run(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.warns(CheckpointWarning, match="cannot be written: Not a directory"):
        result = bo.solve(bo.compose("relu-nmd", M, rank=3), max_iterations=3, checkpoint=tmp_path / "file" / "run")
    assert result.iterations == 3


def test_a_run_that_is_refused_leaves_no_folder(tmp_path):
    with pytest.raises(IncompatibleError):
        bo.solve(bo.compose("relu-nmd", M, rank=3, U="l1(1)"), method="els", checkpoint=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_drafts_of_killed_runs_are_removed(tmp_path):
    problem = bo.compose("relu-nmd", M, rank=3)
    crashed(problem, tmp_path, method="aapb", max_iterations=12)
    (tmp_path / ".checkpoint-000008.npz.123.draft").write_text("half")
    bo.resume(tmp_path)
    assert not list(tmp_path.glob(".*"))


def test_checkpoints_are_written_when_it_is_time(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(checkpoint_module.time, "monotonic", lambda: now[0])
    saved = []
    checkpoints = Checkpoints(tmp_path, dict, every=30.0, next=0.0)
    monkeypatch.setattr(Checkpoints, "write", lambda self, snapshot, places: saved.append(now[0]))
    for now[0] in (0.0, 1.0, 29.9, 30.0, 31.0, 60.0, 61.0):
        checkpoints.offer(lambda: None, None)
    assert saved == [0.0, 30.0, 60.0]


# ---- starts


def test_a_run_starts_from_what_another_has_saved(tmp_path):
    problem = bo.compose("relu-nmd", M, rank=3)
    result = bo.solve(problem, method="aapb", max_iterations=9, checkpoint=tmp_path / "run")
    for start in (tmp_path / "run", str(tmp_path / "run")):
        assert next(bo.iterate(problem, start=start)).objective == pytest.approx(result.objective, rel=1e-12)
    np.savez(tmp_path / "mine.npz", U=result.Y.U, V=result.Y.V)
    assert next(bo.iterate(problem, start=tmp_path / "mine.npz")).objective == pytest.approx(
        result.objective, rel=1e-12
    )
    np.savez(tmp_path / "mine.npz", U=result.Y.U[:3], V=result.Y.V)
    with pytest.raises(bo.errors.DataError, match="The factors must be U: 14×3"):
        bo.solve(problem, start=tmp_path / "mine.npz")
    (tmp_path / "bad.npz").write_bytes(b"PK\x03\x04 garbage")
    for bad in ("bad.npz", "none.npz"):
        with pytest.raises(FileError, match="start"):
            bo.solve(problem, start=tmp_path / bad)


# ---- Ctrl-C


def press_at(iteration):
    def press(state):
        if state.iteration == iteration:
            signal.raise_signal(signal.SIGINT)

    return press


@pytest.fixture
def python_handler():
    """As in a terminal, even if the tests themselves run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("python_handler")
def test_ctrl_c_leaves_a_checkpoint_and_is_raised_where_asked(tmp_path):
    problem = bo.compose("relu-nmd", M, rank=3)
    with pytest.raises(KeyboardInterrupt, match=r"The run is saved in .*bregopt\.resume"):
        bo.solve(
            problem,
            method="aapb",
            max_iterations=12,
            checkpoint=tmp_path,
            observers=[press_at(5)],
            on_interrupt="raise",
        )
    assert read_last(tmp_path).iteration == 5
    assert_same(bo.resume(tmp_path), bo.solve(problem, method="aapb", max_iterations=12))


@pytest.mark.usefixtures("python_handler")
@pytest.mark.parametrize("saved", [True, False])
def test_ctrl_c_returns_the_best_result_so_far(saved, tmp_path):
    problem = bo.compose("relu-nmd", M, rank=3)
    kept = {"checkpoint": tmp_path} if saved else {}
    with pytest.warns(InterruptedWarning, match=r"Ctrl-C after 5 iterations.*on_interrupt='raise'"):
        result = bo.solve(problem, max_iterations=12, observers=[press_at(5)], **kept)
    assert result.status is bo.Status.INTERRUPTED
    assert result.iterations == 5
    assert bool(checkpoints_in(tmp_path)) is saved
    with pytest.raises(ParameterError, match="on_interrupt"):
        bo.solve(problem, on_interrupt="ignore")


@pytest.mark.usefixtures("python_handler")
def test_without_a_checkpoint_ctrl_c_is_raised_at_once_where_asked():
    seen = []
    watching = [press_at(5), lambda state: seen.append(state.iteration)]
    with pytest.raises(KeyboardInterrupt):
        bo.solve(bo.compose("relu-nmd", M, rank=3), observers=watching, on_interrupt="raise")
    assert seen == [0, 1, 2, 3, 4]


def test_files_are_readable_like_any_other(tmp_path):
    bo.solve(bo.compose("relu-nmd", M, rank=3), max_iterations=1, checkpoint=tmp_path)
    mask = os.umask(0)
    os.umask(mask)
    for path in tmp_path.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask


def test_rounding_makes_no_other_problem():
    from bregopt.engine.description import differences

    then = {"norm": 51.41019243344688, "list": [1, 2], "n": 3}
    assert list(differences(then, {"norm": 51.41019243344689, "list": [1, 2], "n": 3})) == []
    found = list(differences(then, {"norm": 51.4101925, "list": [1, 3], "extra": None}))
    assert found == [
        "norm was 51.41019243344688 and is 51.4101925",
        "list was [1, 2] and is [1, 3]",
        "n was 3 and is None",
    ]
