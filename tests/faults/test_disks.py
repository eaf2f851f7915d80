"""Disks that are full or read-only: for results one line of error, for what is compiled a warning."""

import json
import resource

import pytest
from children import DISKS, disks_can_be_made, on_a_disk, run

pytestmark = pytest.mark.skipif(not disks_can_be_made(), reason="needs unshare and mounts of its own")
WORK = ("-r", 3, "--method", "aapb", "--max-iterations", 3)
NO_TREE = {"NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator,UserWideCacheLocator"}
"""Nothing is kept beside the sources."""


def objective(done):
    assert done.code == 0, done.err
    return json.loads(done.out)["objective"]


@pytest.fixture(scope="module")
def expected(large_file):
    return objective(run("solve", large_file, "--json", *WORK, env={"BREGOPT_COMPILE": "0"}))


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("kind", DISKS)
def test_results_that_cannot_be_written_are_one_error(kind, there, large_file, tmp_path):
    out = tmp_path if there else tmp_path / "out"
    args = ("solve", large_file, "-r", 40, "--method", "aapb", "--max-iterations", 1, "--out", out, "-q")
    message = run(*args, before=on_a_disk(kind, tmp_path)).failed_in_one_line()
    assert message.startswith("--out: ")
    assert {"full": "No space left on device", "read-only": "Read-only file system"}[kind] in message


def test_a_file_that_may_not_grow_is_one_error_and_leaves_nothing(large_file, tmp_path):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    args = ("solve", large_file, *WORK, "--out", tmp_path / "out", "-q")
    done = run(*args, preexec_fn=limit, env={"BREGOPT_COMPILE": "0"})
    assert "File too large" in done.failed_in_one_line()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", DISKS)
def test_compiled_loops_that_cannot_be_kept_are_one_warning(kind, large_file, expected, tmp_path, tmp_path_factory):
    args = ("solve", large_file, "--json", *WORK)
    env = NO_TREE | {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path)}
    env |= {"TMPDIR": str(tmp_path_factory.mktemp("temporary"))}
    done = run(*args, before=on_a_disk(kind, tmp_path), env=env)
    assert objective(done) == pytest.approx(expected, rel=1e-9)
    assert len(done.err.splitlines()) == 1
    where = {"full": ": ", "read-only": f" in a folder that lasts: they are kept in {env['TMPDIR']}"}[kind]
    assert done.err.startswith(f"bregopt: warning: Compiled loops cannot be kept{where}")


@pytest.mark.parametrize("home", ["/proc/nowhere", "/dev/null", ""])
def test_a_home_that_cannot_be_written_is_no_error(home, large_file, expected, tmp_path):
    env = NO_TREE | {"NUMBA_CACHE_DIR": str(tmp_path / "new"), "HOME": home, "MPLCONFIGDIR": ""}
    done = run("solve", large_file, "--json", *WORK, env=env)
    assert done.err == ""
    assert objective(done) == pytest.approx(expected, rel=1e-9)
    assert list(tmp_path.rglob("*.nbc"))


def test_a_folder_for_compiled_loops_that_is_missing_is_made(large_file, expected, tmp_path):
    folder = tmp_path / "not" / "there"
    for _ in range(2):
        done = run("solve", large_file, "--json", *WORK, env={"NUMBA_CACHE_DIR": str(folder)})
        assert done.err == ""
        assert objective(done) == pytest.approx(expected, rel=1e-9)
    assert list(folder.rglob("*.nbc"))


@pytest.mark.parametrize("switch", ["NUMBA_DISABLE_JIT=1", "BREGOPT_COMPILE=0", "NUMBA_NUM_THREADS=1"])
def test_a_switch_of_the_compiler_changes_nothing_but_speed(switch, large_file, expected, tmp_path):
    env = dict([switch.split("=")]) | {"NUMBA_CACHE_DIR": str(tmp_path)}  # nothing is compiled yet
    done = run("solve", large_file, "--json", *WORK, env=env)
    assert done.err == ""
    assert objective(done) == pytest.approx(expected, rel=1e-9)
