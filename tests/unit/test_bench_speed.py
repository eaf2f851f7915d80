"""``bregopt bench``: tables, JSON, pictures, what is refused, and that nothing is left behind."""

import functools
import io
import json
import shutil
import sys
import tempfile
from types import SimpleNamespace

import numpy as np
import pytest
from bregopt_bench import display, measuring
from bregopt_bench.display import status_line
from bregopt_bench.speed import pass_rows, stored
from bregopt_bench.speed.matrices import Size, drawn
from bregopt_bench.speed.pass_command import print_rows
from bregopt_bench.speed.pass_rows import Row, bare_products, obvious_code, point_with_residual
from bregopt_bench.speed.scale import side_lengths
from rich.console import Console
from scipy import sparse

import bregopt as bo

PNG = b"\x89PNG\r\n\x1a\n"
RATIOS = ("pass_over_bare", "obvious_over_pass", "iteration_over_pass")


@pytest.fixture(autouse=True)
def hasty(monkeypatch):
    monkeypatch.setattr(measuring, "PAUSE", 0.0)


@pytest.fixture
def temporary(monkeypatch, tmp_path):
    """The folder that temporary files are written to."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def bench(call):
    """Run ``bregopt bench`` with one round a figure: what it printed."""

    def run(*args):
        code, out, err = call("bench", *args, "--repeats", 1)
        assert (code, err) == (0, "")
        return out

    return run


def refused(outcome, *texts):
    code, out, err = outcome
    assert (code, out, err.count("\n")) == (2, "", 1)
    for text in texts:
        assert text in err


def test_without_a_sub_command_it_lists_them(call):
    code, out, err = call("bench")
    assert (code, err) == (0, "")
    assert "pass" in out
    assert "scale" in out


def test_a_table_has_a_row_for_every_size_and_type_and_fits_the_page(bench):
    out = bench("pass", "--size", "40x30:3", "--size", "30x50:2:0.1")
    first, *lines = out.splitlines()
    assert "core" in first
    assert "numpy" in first
    rows = [line.split()[:4] for line in lines if "float" in line]
    assert rows == [
        ["40×30", "3", "dense", "float64"],
        ["40×30", "3", "dense", "float32"],
        ["30×50", "2", "10", "%"],
        ["30×50", "2", "10", "%"],
    ]
    assert "pass/bare: " in out
    assert max(map(len, lines)) <= 110


def test_a_long_name_is_folded_to_fit_the_page(capsys):
    facts = {"matrix": "term-document-counts.mtx.gz 9394×36771", "rank": 100, "density": 0.00375, "dtype": "float64"}
    print_rows([Row(facts=facts, bare=9.9, seconds=9.9, obvious=99.9, lagged=9.9, iteration=9.9, memory=10**9)], 7)
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 110
    assert "0.375 %   float64   9900   9900" in out


def test_json_holds_the_times_the_ratios_and_the_machine(bench):
    record = json.loads(bench("pass", "--size", "40x30:3:0.2", "--dtype", "float32", "--json"))
    assert list(record) == ["machine", "repeats", "rows", "residual", "stored"]
    assert {"cores", "blas", "versions"} <= set(record["machine"])
    assert {"numpy", "numba"} <= set(record["machine"]["versions"])
    (row,) = record["rows"]
    assert [row[key] for key in ("matrix", "rows", "columns", "rank", "density", "dtype")] == [
        *("40×30", 40, 30, 3, 0.2, "float32")
    ]
    assert all(value > 0 for key, value in row.items() if key.endswith("_seconds") or key in RATIOS)
    assert row["pass_over_bare"] == row["pass_seconds"] / row["bare_seconds"]
    assert row["obvious_over_pass"] == row["obvious_seconds"] / row["pass_seconds"]
    assert row["iteration_over_pass"] == row["iteration_seconds"] / row["lagged_pass_seconds"]


@pytest.mark.parametrize("density", [None, 0.2])
def test_the_obvious_code_and_the_pass_give_the_same_figures(density):
    matrix = drawn(Size(40, 30, 3, density), "float64")
    problem = bo.compose("relu-nmd", matrix.M, rank=3)
    Y = next(bo.iterate(problem)).Y
    evaluation = problem.oracle.evaluate(Y, at=Y)
    dense = matrix.M if density is None else matrix.M.toarray()
    value, left, right, error = obvious_code(dense, Y.U, Y.V)()
    assert value == pytest.approx(evaluation.value)
    assert error == pytest.approx(evaluation.metrics["relative_error"])
    np.testing.assert_allclose(left, evaluation.gradient.U, atol=1e-12)
    np.testing.assert_allclose(right, evaluation.gradient.V, atol=1e-12)


@pytest.mark.parametrize("height", [7, 40, 100])
def test_the_bare_products_are_the_same_in_blocks_of_any_height(height):
    rng = np.random.default_rng(0)
    U, V = rng.standard_normal((40, 3)), rng.standard_normal((3, 30))
    products = bare_products(U, V, height)
    for _ in range(2):
        left, right = products()
        np.testing.assert_allclose(left, U @ V @ V.T)
        np.testing.assert_allclose(right, U.T @ U @ V)


def test_a_large_matrix_is_measured_without_the_obvious_code(bench, monkeypatch):
    monkeypatch.setattr(pass_rows, "LARGE", 100)
    out = bench("pass", "--size", "40x30:3")
    assert all(" – " in line for line in out.splitlines() if "float" in line)


@pytest.mark.parametrize("write", [np.save, sparse.save_npz], ids=["dense", "sparse"])
def test_a_file_takes_the_place_of_the_grid(write, bench, tmp_path):
    path = tmp_path / ("M.npy" if write is np.save else "M.npz")
    write(path, np.eye(12) if write is np.save else sparse.csr_array(np.eye(12)))
    rows = json.loads(bench("pass", "--file", path, "-r", 2, "--json"))["rows"]
    assert [(row["matrix"], row["rank"], row["dtype"]) for row in rows] == [
        (f"{path.name} 12×12", 2, "float64"),
        (f"{path.name} 12×12", 2, "float32"),
    ]
    assert rows[0]["density"] == (None if write is np.save else pytest.approx(1 / 12))


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5])
def test_the_residual_has_the_share_of_non_zeros_it_is_said_to_have(share):
    size = Size(200, 1000, 4, 0.004)
    M, Y = drawn(size, "float64").M.toarray(), point_with_residual(size, share)
    X = Y.U @ Y.V
    S = np.where(M > 0, M, np.minimum(0, X)) - X
    assert np.count_nonzero(S) / S.size == pytest.approx(share, rel=0.01)


def test_residuals_are_a_table_of_their_own(bench):
    args = ("pass", "--residual", "40x300:3:0.004", "--dtype", "float64")
    assert "residual 1%   residual 50%   ratio" in bench(*args)
    record = json.loads(bench(*args, "--json"))
    assert record["rows"] == []
    (row,) = record["residual"]
    assert row["many_over_few"] == row["many_seconds"] / row["few_seconds"] > 0


def test_a_stored_matrix_is_iterated_on_and_removed(bench, temporary):
    record = json.loads(bench("pass", "--stored", "60x50:3", "--json"))
    row = record["stored"]
    assert (row["bytes"], row["dtype"], len(row["seconds"])) == (60 * 50 * 4, "float32", 3)
    assert row["iteration_seconds"] == pytest.approx(sum(row["seconds"]) / 3)
    assert record["rows"] == []
    assert list(temporary.iterdir()) == []
    assert "s per iteration" in bench("pass", "--stored", "60x50:3")


def test_a_stored_matrix_is_random_in_every_block_of_rows(monkeypatch, tmp_path):
    monkeypatch.setattr(stored, "WRITE_ENTRIES", 200)
    stored._write(tmp_path / "M", Size(61, 50, 3))
    M = np.fromfile(tmp_path / "M", np.float32).reshape(61, 50)
    assert M.min() >= 0
    assert np.unique(M, axis=0).shape == (61, 50)


def test_ctrl_c_removes_the_stored_matrix(call, monkeypatch, temporary):
    calls = []

    def pressed(M, rank, show):
        calls.append([path.stat().st_size for path in temporary.rglob("M")])
        if len(calls) == 2:
            raise KeyboardInterrupt
        return [1.0]

    monkeypatch.setattr(stored, "_iterate", pressed)
    code, out, err = call("bench", "pass", "--stored", "60x50:3")
    assert calls == [[], [60 * 50 * 4]]
    assert (code, out) == (130, "")
    assert "interrupted" in err
    assert list(temporary.iterdir()) == []


def test_a_full_disk_is_noticed_before_anything_is_written(call, monkeypatch, temporary):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=10**8))
    refused(call("bench", "pass", "--stored", "20000x5000:3"), "needs 0.4 GB", "where 0.1 GB are free", "TMPDIR")
    assert list(temporary.iterdir()) == []


BAD = {
    "--size 12x": "'12x' is not of the form ROWSxCOLUMNS:RANK[:DENSITY], as in 6000x8000:30",
    "--size 30x40": "'30x40' is not of the form",
    "--size 0x40:1": "'0x40:1' is not of the form",
    "--size 30x40:-1": "'30x40:-1' is not of the form",
    "--size 3x4:5": "has rank 5; for 3×4 it must be from 1 to 3",
    "--size 30x40:5:0": "has the density 0; it must be from 1/1200 to 1",
    "--size 30x40:5:1.5": "has the density 1.5",
    "--residual 30x40:5": "'30x40:5' is not of the form ROWSxCOLUMNS:RANK:DENSITY",
    "--stored 30x40:5:0.1": "'30x40:5:0.1' is not of the form ROWSxCOLUMNS:RANK, as in",
    "--dtype float16": "'float16' is not one of 'float64', 'float32'",
    "--repeats 0": "0 is not in the range",
    "--file nowhere.npy": "does not exist",
    "--plot speed.svg": "'speed.svg' must end in .png",
    "--plot nowhere/speed.png": "The folder of 'nowhere/speed.png' does not exist",
    "--residual --plot speed.png": "give --size or --file as well",
}


@pytest.mark.parametrize("args", BAD)
def test_what_cannot_be_measured_is_refused_in_a_line(args, call):
    refused(call("bench", "pass", *args.split()), BAD[args])


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ("--entries 1e6 1e5", "FROM must be below TO. Got 1e+06 100000"),
        ("--entries 100 1e4 --rank 11", "11 is too large for a 10×10 matrix"),
        ("--entries 5 1e4", "5.0 is not in the range"),
        ("--workers 30x40", "'30x40' is not of the form"),
    ],
)
def test_sizes_that_cannot_be_compared_are_refused_in_a_line(args, text, call):
    refused(call("bench", "scale", *args.split()), text)


@pytest.mark.parametrize("args", ["pass --size 40x30:3", "pass --size 40x30:3 --dtype float32", "scale"])
def test_a_picture_is_a_png(args, bench, tmp_path):
    small = ["--entries", 400, 900, "--steps", 2, "--rank", 3] if args == "scale" else []
    bench(*args.split(), *small, "--plot", tmp_path / "speed.png")
    assert (tmp_path / "speed.png").read_bytes().startswith(PNG)


def test_a_picture_needs_matplotlib(call, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    refused(call("bench", "pass", "--size", "40x30:3", "--plot", "speed.png"), "--plot needs matplotlib")


def test_a_picture_that_cannot_be_written_is_a_line(call, tmp_path):
    (tmp_path / "speed.png").mkdir()
    refused(call("bench", "pass", "--size", "40x30:3", "--plot", tmp_path / "speed.png"), "is a directory")


def test_sides_grow_by_a_constant_factor_from_end_to_end():
    assert side_lengths(1e4, 1e8, 5) == [100, 316, 1000, 3162, 10000]


def test_scale_measures_sizes_and_threads(bench):
    args = ("scale", "--entries", 400, 10000, "--steps", 3, "--rank", 3)
    record = json.loads(bench(*args, "--json"))
    assert [row["matrix"] for row in record["rows"]] == ["20×20", "45×45", "100×100"]
    for row in record["rows"]:
        assert row["gflops"] * row["pass_seconds"] == pytest.approx(6 * row["entries"] * 3 / 1e9)
        assert row["gflops"] * row["picoseconds_per_multiply_add"] == pytest.approx(2000)
    assert record["spread"] >= 1
    assert [row["threads"] for row in record["threads"]][:2] == [1, 2]
    assert record["threads"][0]["speedup"] == 1
    assert record["workers"] == []
    out = bench(*args)
    assert "GFlop/s" in out
    assert "speedup" in out
    assert max(map(len, out.splitlines())) <= 110


def test_scale_measures_workers_where_they_are_asked_for(bench, monkeypatch):
    import distributed

    within = functools.partial(distributed.LocalCluster, processes=False)  # threads start sooner than processes
    monkeypatch.setattr(distributed, "LocalCluster", within)
    small = ("--entries", 400, 900, "--steps", 2, "--rank", 3)
    workers = json.loads(bench("scale", *small, "--workers", "40x30:3", "--json"))["workers"]
    assert [row["workers"] for row in workers] == [1, 2]
    assert workers[1]["speedup"] == workers[0]["pass_seconds"] / workers[1]["pass_seconds"]


def test_workers_need_dask(call, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    refused(call("bench", "scale", "--workers"), "--workers needs dask and distributed")


def test_a_terminal_is_told_what_is_measured(monkeypatch):
    console = Console(file=io.StringIO(), force_terminal=True, width=80, color_system=None)
    monkeypatch.setattr(display, "_terminal", lambda: console)
    with status_line() as show:
        show("measuring 40×30")
    assert "measuring 40×30" in console.file.getvalue()
    console.file.truncate(0)
    with status_line(wanted=False) as show:
        show("measuring 40×30")
    assert console.file.getvalue() == ""
