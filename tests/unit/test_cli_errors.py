"""Wrong input: one line on stderr, nothing on stdout, exit code 2 and no traceback."""

import importlib.metadata

import numpy as np
import pytest
from scipy import io

from bregopt.host import loading

GOOD = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])
MTX = "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1.0\n"


def assert_one_line(outcome, *texts):
    code, out, err = outcome
    assert (code, out) == (2, "")
    assert err.startswith("bregopt: error: ")
    assert err.count("\n") == 1
    for text in texts:
        assert text in err


def saved(array):
    return lambda path: np.save(path, array)


def half(write):
    def cut(path):
        write(path)
        path.write_bytes(path.read_bytes()[:200])

    return cut


FILES = {
    "damaged.npz": (half(lambda path: np.savez(path, M=GOOD)), "damaged"),
    "damaged.mat": (half(lambda path: io.savemat(path, {"M": GOOD})), "damaged"),
    "damaged.mtx": (lambda path: path.write_text(MTX), "announces 2 entries"),
    "text.csv": (lambda path: path.write_text("1,2\n3,x\n"), "line 2, column 2 holds 'x'"),
    "nan.npy": (saved(np.array([[1.0, np.nan], [1.0, 1.0]])), "finite. Got 1 entries"),
    "infinite.csv": (lambda path: path.write_text("1,inf\n3,4\n"), "finite"),
    "negative.npy": (saved(-GOOD), "non-negative. Got a smallest entry of -3"),
    "cube.npy": (saved(np.ones((2, 2, 2))), "two dimensions. Got shape (2, 2, 2)"),
    "complex.npy": (saved(GOOD * 1j), "real numbers. Got dtype complex128"),
    "zero.npy": (saved(0 * GOOD), "zero everywhere"),
    "hollow.npy": (saved(np.ones((0, 3))), "empty"),
    "what.json": (lambda path: path.write_text("[[1]]"), ".npy, .npz, .mtx"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_bad_file_is_one_line_and_exit_code_2(name, call, tmp_path):
    write, reason = FILES[name]
    write(tmp_path / name)
    assert_one_line(call("solve", tmp_path / name), reason)


def test_a_missing_file_is_one_line_and_exit_code_2(call, tmp_path):
    assert_one_line(call("solve", tmp_path / "nowhere.npy"), "nowhere.npy", "does not exist")


OPTIONS = [
    (["--rank", "0"], "from 1 to 2, as M is 2×3. Got 0"),
    (["--rank", "-1"], "Got -1"),
    (["-r", "3"], "from 1 to 2, as M is 2×3. Got 3"),
    (["--rank", "many"], "'many' is not a valid integer. Try 'bregopt solve --help'."),
    (["--rank", "1.5"], "'1.5' is not a valid integer"),
    (["-U", "l11"], "no regularizer named 'l11'. Did you mean 'l1'"),
    (["-V", "nonegative"], "Did you mean 'nonneg' (nonnegative)?"),
    (["-U", "l1(0.1"], "The spec 'l1(0.1' cannot be read"),
    (["-U", "0.1"], "write 'l1(0.1)' or 'ridge(0.1)'. Got 0.1"),
    (["-U", ""], "A spec is a name with arguments"),
    (["-U", "l1(-1)"], "'eta' parameter of L1 must be a finite number >= 0. Got -1"),
    (["-V", "l1(weight=2)"], "It takes eta=1.0"),
    (["--kernel", "papre"], "no kernel named 'papre'. Did you mean 'paper'?"),
    (["--method", "aabp"], "no method named 'aabp'. Did you mean 'aapb'?"),
    (["--start", "tsv"], "no start named 'tsv'. Did you mean 'tsvd'"),
    (["--stop", "plato"], "no stop named 'plato'"),
    (["--stop", "plateau(patience=0)"], "'patience'"),
    (["--seed", "-1"], "-1 is not in the range x>=0"),
    (["--max-iterations", "-1"], "-1 is not in the range"),
    (["--max-seconds", "soon"], "'soon' is not a valid float"),
    (["--tolerance", "nan"], "tolerance"),
    (["--plugin", "nowhere.py"], "'nowhere.py' does not exist"),
    (["--colour", "red"], "No such option"),
]


@pytest.mark.parametrize(("options", "reason"), OPTIONS)
def test_a_wrong_option_is_one_line_and_exit_code_2(options, reason, call, tmp_path):
    np.save(tmp_path / "M.npy", GOOD)
    assert_one_line(call("solve", tmp_path / "M.npy", *options), reason)


def test_a_misspelt_spec_is_told_before_the_file_is_read(call, tmp_path):
    assert_one_line(call("solve", tmp_path / "nowhere.npy", "-U", "l11"), "Did you mean 'l1'")


def test_a_folder_that_cannot_be_written_is_told_before_the_file_is_read(call, tmp_path):
    (tmp_path / "file").touch()
    assert_one_line(call("solve", "nowhere.npy", "--out", tmp_path / "file" / "out"), "--out", "cannot be written")


def test_an_unknown_command_is_one_line_and_exit_code_2(call):
    assert_one_line(call("slove"), "No such command 'slove'", "Try 'bregopt --help'")


@pytest.mark.parametrize("source", ["def broken(:", "raise ValueError('two\\nlines')", "x = 1"])
@pytest.mark.usefixtures("fresh_host")
def test_a_broken_plugin_file_is_one_line_and_exit_code_2(source, call, tmp_path):
    (tmp_path / "mine.py").write_text(source)
    for command in ("solve", "plugins"):
        assert_one_line(call(command, "--plugin", tmp_path / "mine.py"), "mine.py", "cannot be loaded")


@pytest.fixture
def broken_entry_point(fresh_host, monkeypatch):
    found = [*loading._entry_points(), importlib.metadata.EntryPoint("broken", "no_such_module", "bregopt")]
    monkeypatch.setattr(loading, "_entry_points", lambda: iter(found))


@pytest.mark.usefixtures("broken_entry_point")
def test_an_installed_plugin_that_fails_is_one_line_of_warning_and_the_run_goes_on(call, tmp_path):
    np.save(tmp_path / "M.npy", GOOD)
    code, out, err = call("solve", tmp_path / "M.npy", "--max-iterations", 1)
    assert code == 0
    assert "Objective" in out
    assert err.startswith("bregopt: warning: The plugin 'broken'")
    assert err.count("\n") == 1


@pytest.mark.usefixtures("broken_entry_point")
def test_quiet_leaves_warnings_out(call, tmp_path):
    np.save(tmp_path / "M.npy", GOOD)
    assert call("solve", tmp_path / "M.npy", "--max-iterations", 1, "-q") == (0, "", "")


@pytest.mark.usefixtures("broken_entry_point")
def test_the_list_of_plugins_shows_which_failed_and_why(call):
    code, out, _ = call("plugins")
    assert code == 0
    row = next(line for line in out.splitlines() if "broken" in line)
    assert "failed" in row
    assert "No module named 'no_such_module'" in row


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), MemoryError("Unable to allocate 7 TiB")])
def test_what_ends_the_reading_of_a_file_is_one_line(failure, call, monkeypatch):
    def fail(path, **options):
        raise failure

    monkeypatch.setattr("bregopt.cli.problem.read", fail)
    code, out, err = call("solve", "M.npy")
    assert (code, out) == ((130 if isinstance(failure, KeyboardInterrupt) else 2), "")
    assert err.strip().count("\n") == 0
    assert err.strip().startswith("bregopt: ")
