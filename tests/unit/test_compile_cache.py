"""What is compiled is kept on disk; where that fails, the loops are compiled, and it is said once."""

import importlib.util
import os
import pickle
import subprocess
import sys
import tempfile

import numba
import numpy as np
import pytest

from bregopt import compile_cache, compiled
from bregopt.errors import FaultWarning

SOURCE = """
def double(x, out):
    for i in range(x.size):
        out[i] = 2.0 * x[i]
    return x.size
"""
X = np.arange(3.0)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty folder for what is compiled."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(compile_cache, "_told", set())
    return tmp_path / "cache"


def load(path, source=SOURCE):
    path.write_text(source)
    return run_file(path).double


def run_file(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def double(tmp_path):
    return load(tmp_path / "loops.py")


def by_jit(double):
    """Compile it and run it: whether its compiled form was on disk."""
    loop, out = compiled.jit(double), np.empty(3)
    assert loop(X, out) == 3
    np.testing.assert_array_equal(out, 2 * X)
    return sum(loop.stats.cache_hits.values()) == 1


def by_first_class(double):
    return compiled.first_class(double, X, np.empty(3), returns=0).cache_hits == 1


BOTH = pytest.mark.parametrize("compile_and_run", [by_jit, by_first_class])


@BOTH
def test_a_loop_is_compiled_once_and_then_found(double, compile_and_run):
    assert [compile_and_run(double) for _ in range(3)] == [False, True, True]


def test_another_version_of_a_loop_is_compiled_anew_and_leaves_nothing_of_the_first(tmp_path, folder):
    for factor in ("2.0", "4.0 / 2.0"):
        double = load(tmp_path / "loops.py", SOURCE.replace("2.0", factor))
        assert [by_jit(double), by_jit(double)] == [False, True]
    assert sorted(path.suffix for path in folder.rglob("*.nb?")) == [".nbc", ".nbi"]


ENCLOSING = """
def made_of(part, power):
    def loop(x, out):
        for i in range(x.size):
            out[i] = part(x[i]) ** power
        return x.size
    return loop
"""


def test_loops_of_one_code_are_kept_for_each_of_the_functions_that_they_enclose(tmp_path, folder, monkeypatch):
    def imported(name, source):
        path = tmp_path / f"{name}.py"
        if not path.exists() or path.read_text() != source:
            path.write_text(source)
        monkeypatch.setitem(sys.modules, name, run_file(path))
        return sys.modules[name]

    made_of = imported("enclosing", ENCLOSING).made_of

    def run(name, factor, power):
        """What the loop makes of X, and whether its compiled form was on disk."""
        part = imported(name, f"def part(x):\n    return {factor} * x\n").part
        loop, out = compiled.jit(made_of(compiled.jit(part, kept=False), power)), np.empty(3)
        loop(X, out)
        return out.tolist(), sum(loop.stats.cache_hits.values()) == 1

    for found in (False, True):
        assert run("one", 2.0, 1) == ([0, 2, 4], found)
        assert run("two", 3.0, 1) == ([0, 3, 6], found)
        assert run("one", 2.0, 2) == ([0, 4, 16], found)
    assert run("one", 2.25, 1) == ([0, 2.25, 4.5], False), "a part that was written anew"
    assert len(list(folder.rglob("*.nbc"))) == 4, "the parts are in the loops that enclose them"


def truncated(content):
    return content[: len(content) // 2]


def one_bit_wrong(content):
    return content[:-100] + bytes([content[-100] ^ 1]) + content[-99:]


def without_checksum(content):
    return pickle.dumps("as another program may have written it")


def empty(content):
    return b""


@BOTH
@pytest.mark.parametrize("kind", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", [truncated, one_bit_wrong, without_checksum, empty])
def test_a_damaged_file_is_named_once_and_replaced(double, folder, compile_and_run, kind, damage):
    compile_and_run(double)
    (file,) = folder.rglob(f"*.{kind}")
    file.write_bytes(damage(file.read_bytes()))
    with pytest.warns(FaultWarning, match=f"cannot be read: .*{kind} is damaged. They are compiled and kept again"):
        assert not compile_and_run(double)
    assert compile_and_run(double)


def test_machine_code_whose_index_is_there_may_be_missing(double, folder):
    by_jit(double)
    (file,) = folder.rglob("*.nbc")
    file.unlink()
    assert [by_jit(double), by_jit(double)] == [False, True]


@pytest.fixture
def full_disk(monkeypatch):
    def fail(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(compile_cache.CheckedFiles, "_save_data", fail)


@BOTH
@pytest.mark.usefixtures("full_disk")
def test_a_full_disk_is_said_once_and_leaves_nothing_behind(double, folder, compile_and_run):
    with pytest.warns(FaultWarning, match=r"cannot be kept: .*No space left on device. Free some space") as told:
        assert [compile_and_run(double) for _ in range(2)] == [False, False]
    assert len(told) == 1
    assert list(folder.rglob("*.nb?")) == []


def test_a_file_that_cannot_be_removed_does_not_end_a_run(double, folder, monkeypatch):
    by_jit(double)
    for file in folder.rglob("*.nb?"):
        file.write_bytes(b"garbage")
    monkeypatch.setattr(compile_cache.CheckedFiles, "remove", lambda self: os.unlink("/"))
    with pytest.warns(FaultWarning) as told:
        assert not by_jit(double)
    assert len(told) == 2  # neither read nor kept


@pytest.fixture
def no_folder(tmp_path, monkeypatch):
    """None of numba's folders can be written; the one for temporary files is here."""
    (tmp_path / "file").touch()
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "file"))
    known = numba.core.caching.CompileResultCacheImpl._locator_classes  # the first is the folder that a user names
    monkeypatch.setattr(numba.core.caching.CompileResultCacheImpl, "_locator_classes", known[:1])
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    return temporary


@BOTH
def test_without_a_folder_that_lasts_a_temporary_one_is_taken_and_it_is_said_once(double, no_folder, compile_and_run):
    with pytest.warns(FaultWarning, match="cannot be kept in a folder that lasts: they are kept in .* Set NUM") as told:
        assert [compile_and_run(double) for _ in range(3)] == [False, True, True]
    assert len(told) == 1
    assert str(no_folder) in str(told[0].message)
    (private,) = no_folder.iterdir()
    assert private.stat().st_mode & 0o077 == 0, "machine code is read from it"


def shared(place):
    place.mkdir()
    place.chmod(0o777)


def elsewhere(place):
    place.with_name("elsewhere").mkdir(mode=0o700)
    place.symlink_to(place.with_name("elsewhere"))


@BOTH
@pytest.mark.skipif(os.name == "nt", reason="the temporary folder belongs to the user there")
@pytest.mark.parametrize("made", [shared, elsewhere])
def test_a_temporary_folder_that_others_may_write_into_is_not_trusted(double, no_folder, compile_and_run, made):
    made(no_folder / f"bregopt-{os.getuid()}")
    with pytest.warns(FaultWarning, match=r"cannot be kept: others may write into .*Set NUMBA_CACHE_DIR") as told:
        assert [compile_and_run(double) for _ in range(2)] == [False, False]
    assert len(told) == 1
    assert list(no_folder.rglob("*.nb?")) == []


@BOTH
def test_a_named_folder_that_cannot_be_written_is_said_once(double, tmp_path, monkeypatch, compile_and_run):
    (tmp_path / "file").touch()
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "file"))
    with pytest.warns(FaultWarning, match="in .*file, the folder of NUMBA_CACHE_DIR: they are kept in .*__py") as told:
        assert [compile_and_run(double) for _ in range(2)] == [False, True]
    assert len(told) == 1


@BOTH
def test_a_folder_that_can_only_be_read_is_read(double, tmp_path, folder, monkeypatch, compile_and_run):
    compile_and_run(double)
    monkeypatch.setattr(compile_cache.GIVEN, "from_function", classmethod(lambda *given: None))
    monkeypatch.setattr(os, "access", lambda path, mode: not path.startswith(str(folder)))
    assert compile_and_run(double), "without a word"
    assert list((tmp_path / "__pycache__").glob("*.nb?")) == []


def test_a_folder_that_is_named_gets_what_another_has_already(double, folder, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    assert [by_jit(double), by_jit(double)] == [False, True]
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(folder))
    assert [by_jit(double), by_jit(double)] == [False, True], "an image that is made takes all with it"


def test_without_a_home_no_folder_of_that_name_is_made(double, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setattr(compile_cache, "_home", lambda: "~/.cache/numba")
    monkeypatch.setattr(compile_cache.BESIDE, "from_function", classmethod(lambda *given: None))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.warns(FaultWarning, match="in a folder that lasts"):
        by_jit(double)
    assert not (tmp_path / "~").exists()


LOSSES = """
import sys
import numpy as np
import bregopt as bo

rng = np.random.default_rng(0)
X = rng.standard_normal((500, 3)) @ rng.standard_normal((3, 420))  # large enough for compiled loops
start = bo.Blocks(U=rng.standard_normal((500, 2)), V=rng.standard_normal((2, 420)))
for name in sys.argv[1:]:
    loss = bo.make("loss", name)
    M = np.where(X > 0, 1.0, -1.0) if name == "logistic" else X
    found = next(bo.iterate(bo.compose("low-rank", M, rank=2, loss=loss), method="apb", start=start)).objective
    meant = float(loss.arrays(start.U @ start.V, M)[0].sum())
    assert abs(found - meant) <= 1e-9 * meant, f"{name}: {found}, and not {meant}"
"""


def test_losses_that_several_processes_have_kept_stay_apart_in_one(tmp_path):
    """numba numbers loops within a process: two had one name, and one loss was taken for another."""
    env = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    for names in (
        ["huber(0.5)"],
        ["logistic"],
        ["quantile(0.7, 0.2)"],
        ["quantile(0.7, 0.2)", "logistic", "huber(0.5)"],
    ):
        done = subprocess.run(
            [sys.executable, "-c", LOSSES, *names], capture_output=True, text=True, env=env, check=False
        )
        assert done.returncode == 0, done.stderr[-500:]
