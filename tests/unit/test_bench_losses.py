"""``bregopt bench pass --loss``: data that fit the loss, which pass is taken, obvious code that agrees, and tables."""

import json

import numpy as np
import pytest
from bregopt_bench import measuring
from bregopt_bench.speed import pass_rows
from bregopt_bench.speed.losses import TimedLoss, drawn_for, obvious_loss, obvious_sampled, pass_kind, relu_problem
from bregopt_bench.speed.matrices import Size, TimedMatrix
from bregopt_bench.speed.pass_command import print_losses
from bregopt_bench.speed.pass_rows import Row
from scipy import sparse

import bregopt as bo

LOSSES = [entry.name for entry in bo.catalog("loss")]
DENSE, SPARSE = Size(12, 9, 2), Size(12, 9, 2, 0.4)


@pytest.fixture(autouse=True)
def hasty(monkeypatch):
    monkeypatch.setattr(measuring, "PAUSE", 0.0)


@pytest.fixture
def bench(call):
    """Run ``bregopt bench pass`` with one round a figure: what it printed."""

    def run(*args):
        code, out, err = call("bench", "pass", *args, "--repeats", 1)
        assert (code, err) == (0, "")
        return out

    return run


def rows(bench, *args):
    return json.loads(bench(*args, "--dtype", "float64", "--json"))["rows"]


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
@pytest.mark.parametrize("missing", [None, "zeros"])
@pytest.mark.parametrize("size", [DENSE, SPARSE], ids=["dense", "sparse"])
@pytest.mark.parametrize("spec", LOSSES)
def test_the_obvious_code_and_the_pass_of_a_loss_give_the_same_figures(spec, size, missing, weighted):
    timed = drawn_for(spec, size, "float64", missing, weighted)
    problem = timed.problem()
    Y = next(bo.iterate(problem)).Y
    seen = problem.oracle.evaluate(Y, at=Y)
    code = obvious_sampled if pass_kind(problem, timed.loss) == "sampled" else obvious_loss
    value, left, right, error = code(timed, Y.U, Y.V)()
    assert value == pytest.approx(seen.value, rel=1e-10)
    np.testing.assert_allclose(left, seen.gradient.U, atol=1e-10)
    np.testing.assert_allclose(right, seen.gradient.V, atol=1e-10)
    told = seen.metrics[timed.loss.metric]
    M = problem.block.M
    assert told == pytest.approx(error / M.known if timed.loss.metric == "mistakes" else error**0.5 / M.frobenius)


@pytest.mark.parametrize(
    ("spec", "size", "missing", "kind"),
    [
        ("huber(0.5)", DENSE, None, "dense"),
        ("huber(0.5)", DENSE, "zeros", "dense"),
        ("huber(0.5)", SPARSE, None, "sparse"),
        ("huber(0.5)", SPARSE, "zeros", "sampled"),
        ("least-squares", SPARSE, None, "Gram"),
        ("least-squares", SPARSE, "zeros", "sampled"),
        ("logistic", SPARSE, None, "sampled"),
    ],
)
def test_the_row_of_a_loss_says_which_pass_it_is(spec, size, missing, kind, bench):
    absent = ("--missing", missing) if missing else ()
    (row,) = rows(bench, "--loss", spec, "--size", size.spec, *absent)
    assert (row["loss"], row["pass"], row["missing"], row["weights"]) == (spec, kind, missing, False)
    assert row["pass_over_relu"] == row["pass_seconds"] / row["relu_pass_seconds"] > 0
    assert min(row["bare_seconds"], row["obvious_seconds"], row["iteration_over_pass"]) > 0


def test_the_share_of_known_entries_is_that_of_the_size():
    assert drawn_for("relu", SPARSE, "float64", None, False).matrix.density == pytest.approx(0.4, abs=0.01)
    M = drawn_for("least-squares", Size(100, 100, 2), "float64", "zeros", False).matrix.M
    assert np.count_nonzero(M) / M.size == pytest.approx(0.5, abs=0.02)


def test_a_sampled_pass_is_held_against_a_dense_one_and_a_gram_pass_against_a_sparse_one():
    matrix = drawn_for("least-squares", SPARSE, "float64", None, False).matrix
    dense = relu_problem(matrix, "sampled").block.M
    assert dense.source.shape == (12, 9)
    other = relu_problem(matrix, "Gram").block.M
    assert other.source is None
    np.testing.assert_array_equal(other.array(), np.abs(matrix.M.toarray()))


def test_infinite_ends_of_intervals_are_no_data_for_relu():
    M = sparse.csr_array(np.array([[-np.inf, 2.0], [0.0, -3.0]]))
    found = relu_problem(TimedMatrix("M", M, 1, "float64"), "Gram").block.M
    np.testing.assert_array_equal(found.array(), [[1, 2], [0, 3]])


def test_every_loss_and_precision_has_a_row_and_the_table_fits_the_page(bench):
    out = bench("--loss", "epsilon-insensitive(0.25)", "--loss", "logistic", "--size", "3000x20:3:0.02")
    lines = out.splitlines()
    shown = [line.split() for line in lines if "float" in line]
    assert [(row[-7], row[1]) for row in shown] == [
        ("sparse", "3000×20"),
        ("sampled", "3000×20"),
        ("sparse", "3000×20"),
        ("sampled", "3000×20"),
    ]
    assert "pass/relu: " in out
    assert max(map(len, lines)) <= 110


def test_long_names_of_losses_and_files_are_folded_to_fit_the_page(capsys):
    facts = {"matrix": "term-document-counts.mtx.gz 9394×36771", "rank": 100, "density": 0.00375, "dtype": "float64"}
    facts |= {"loss": "epsilon-insensitive(0.25)", "pass": "sampled"}
    print_losses([Row(facts=facts, bare=9.9, seconds=9.9, obvious=99.9, lagged=9.9, iteration=9.9, memory=1)], 7)
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 110
    assert "0.375 %  float64  sampled  9900  9900" in out


def test_without_a_loss_nothing_is_held_against_relu(bench):
    (row,) = rows(bench, "--size", "40x30:3")
    assert not {"loss", "pass", "relu_pass_seconds", "pass_over_relu"} & set(row)
    assert "relu" not in bench("--size", "40x30:3")


def test_weights_or_missing_entries_alone_are_those_of_relu(bench):
    (row,) = rows(bench, "--weights", "--size", "40x30:3")
    assert (row["loss"], row["weights"]) == ("relu", True)
    (row,) = rows(bench, "--missing", "zeros", "--size", "40x30:3:0.1")
    assert (row["loss"], row["pass"]) == ("relu", "sampled")


def test_a_large_sampled_matrix_is_held_against_nothing_that_visits_every_entry(bench, monkeypatch, tmp_path):
    monkeypatch.setattr(pass_rows, "LARGE", 8 * 40 * 30 - 1)
    (row,) = rows(bench, "--loss", "huber", "--missing", "zeros", "--size", "40x30:3:0.1")
    assert (row["bare_seconds"], row["relu_pass_seconds"]) == (None, None)
    assert row["obvious_seconds"] > 0
    assert "–" in bench("--loss", "huber", "--missing", "zeros", "--size", "40x30:3:0.1", "--plot", tmp_path / "p.png")
    (row,) = rows(bench, "--loss", "least-squares", "--size", "40x30:3:0.1")
    assert row["obvious_seconds"] is None
    assert row["relu_pass_seconds"] > 0


@pytest.mark.parametrize("weights", [(), ("--weights",)])
@pytest.mark.parametrize("write", [np.save, sparse.save_npz], ids=["dense", "sparse"])
def test_a_loss_is_measured_on_the_matrix_of_a_file(write, weights, bench, tmp_path):
    path = tmp_path / ("M.npy" if write is np.save else "M.npz")
    write(path, np.eye(12) if write is np.save else sparse.csr_array(np.eye(12)))
    (row,) = rows(bench, "--loss", "least-squares", "--file", path, "-r", 2, *weights)
    assert (row["matrix"], row["pass"]) == (f"{path.name} 12×12", "dense" if write is np.save else "Gram")
    assert row["weights"] is bool(weights)


def test_unknown_entries_of_a_dense_file_are_left_out_of_the_obvious_code():
    M = np.array([[1.0, np.nan, 0.0], [2.0, 3.0, 4.0], [1.0, 1.0, 1.0]])
    timed = TimedLoss("huber(0.5)", TimedMatrix("M", M, 1, "float64"))
    problem = timed.problem()
    Y = next(bo.iterate(problem)).Y
    assert obvious_loss(timed, Y.U, Y.V)()[0] == pytest.approx(problem.oracle.evaluate(Y).value)


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ("--loss hubber --size 40x30:3", "hubber"),
        ("--loss huber(-1) --size 40x30:3", "must be a finite number > 0"),
        ("--loss huber --residual", "--residual and --stored measure the ReLU pass: leave --loss out"),
        ("--missing nan --size 40x30:3", "'nan' is not"),
        ("--plugin nowhere.py --loss mine --size 40x30:3", "nowhere.py"),
    ],
)
def test_a_loss_that_cannot_be_measured_is_refused_in_a_line(args, text, call):
    code, out, err = call("bench", "pass", *args.split())
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert text in err
