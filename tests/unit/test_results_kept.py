"""Results that people keep: rebuilt data, data frames, files, reprs, pickles, progress."""

import io
import pickle
import sys

import numpy as np
import pandas
import polars
import pytest

import bregopt as bo
from bregopt.host import progress
from bregopt.host.compose import examples, resolve

rng = np.random.default_rng(0)
M = np.maximum(0, rng.standard_normal((30, 3)) @ rng.standard_normal((3, 20)))
FRAME = pandas.DataFrame(M, index=[f"row {k}" for k in range(30)], columns=[f"column {k}" for k in range(20)])
PROBLEMS = dict(examples("problem"))


@pytest.fixture(scope="module")
def result():
    return bo.solve(bo.compose("relu-nmd", FRAME, rank=3, U="l1(0.5)"), max_iterations=20)


# ---- the data rebuilt


def test_the_rebuilt_data_are_those_whose_error_is_told(result):
    X = result.reconstruct()
    whole = np.asarray(X)
    np.testing.assert_allclose(whole, np.maximum(0, result.Y.U @ result.Y.V), atol=1e-12)
    error = np.linalg.norm(whole - M) / np.linalg.norm(M)
    assert error == pytest.approx(result.metrics["relative_error"], rel=1e-9)
    assert (X.shape, X.ndim, len(X), repr(X)) == ((30, 20), 2, 30, "Reconstruction(max(0, UV), 30×20)")


@pytest.mark.parametrize(
    "key", [3, -1, slice(4, 9), slice(None, None, 7), slice(40, 50), (slice(2, 5), slice(0, 3)), (5, 6), [1, 4]]
)
def test_some_rows_are_those_of_the_whole(result, key):
    X = result.reconstruct()
    np.testing.assert_allclose(X[key], np.asarray(X)[key], atol=1e-12)


def test_rows_that_there_are_not_are_refused(result):
    with pytest.raises(IndexError, match="There is no row 30: there are 30"):
        result.reconstruct()[30]
    with pytest.raises(bo.errors.DataError, match="from the first to the last"):
        result.reconstruct().rows(slice(9, 2, -1))


def test_only_the_rows_asked_for_are_made(result, monkeypatch):
    asked, model = [], type(result.data_model)
    rows = model.rows
    monkeypatch.setattr(model, "rows", lambda self, Y, part: asked.append(part) or rows(self, Y, part))
    assert result.reconstruct().rows(slice(3, 5)).shape == (2, 20)
    assert asked == [slice(3, 5)]


@pytest.mark.parametrize("label", PROBLEMS)
def test_every_problem_in_the_box_rebuilds_its_data_by_rows(label):
    problem, Y = PROBLEMS[label]
    X = bo.solve(problem, start=Y, max_iterations=2).reconstruct()
    whole = np.asarray(X)
    assert whole.shape == X.shape
    np.testing.assert_allclose(X.rows(slice(1, 3)), whole[1:3], atol=1e-12)


def test_a_tensor_is_rebuilt_in_its_own_shape():
    A, B, C = (rng.standard_normal((n, 2)) for n in (4, 5, 6))
    T = np.einsum("ip,jp,kp->ijk", A, B, C)
    result = bo.solve(bo.compose("cp", T, rank=2), start=bo.Blocks(U1=A, U2=B, U3=C), max_iterations=1)
    np.testing.assert_allclose(np.asarray(result.reconstruct()), T, atol=1e-6)


def test_columns_with_losses_of_their_own_are_rebuilt_each_by_its_own():
    data = np.where(rng.random((12, 8)) < 0.5, 1.0, -1.0)
    problem = bo.compose("low-rank", data, rank=2, loss={"0:4": "one-bit", "4:": "least-squares"})
    X = np.asarray(bo.solve(problem, max_iterations=3).reconstruct())
    assert set(np.unique(X[:, :4])) <= {-1.0, 1.0}
    assert len(np.unique(X[:, 4:])) > 10


# ---- frames


def test_the_history_is_a_data_frame_of_either_package(result):
    for package, kind in (("pandas", pandas.DataFrame), ("polars", polars.DataFrame), (None, pandas.DataFrame)):
        frame = result.to_frame(package=package)
        assert isinstance(frame, kind)
        np.testing.assert_array_equal(frame["objective"].to_numpy(), result.history["objective"])


def test_a_factor_is_a_data_frame_with_its_labels(result):
    U, V = result.to_frame("U"), result.to_frame("V", package="polars")
    assert list(U.index[:2]) == ["row 0", "row 1"]
    assert list(U.columns) == ["component 1", "component 2", "component 3"]
    assert V.columns[:3] == ["", "column 0", "column 1"]
    np.testing.assert_array_equal(V["column 1"].to_numpy(), result.Y.V[:, 1])


def test_without_a_package_for_frames_the_error_says_what_to_install(result, monkeypatch):
    for name in ("pandas", "polars"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(bo.errors.IncompatibleError, match=r"needs pandas or polars.*pip install pandas"):
        result.to_frame()
    with pytest.raises(bo.errors.ParameterError, match="'pandas' or 'polars'"):
        result.to_frame(package="arrow")


def test_the_share_of_zeros_is_counted_by_block(result):
    assert result.sparsity == {name: float(np.mean(result.Y[name] == 0)) for name in ("U", "V")}


# ---- files


def same(one, other):
    for name in one.Y.names:
        np.testing.assert_array_equal(one.Y[name], other.Y[name])
    for name in one.history:
        np.testing.assert_array_equal(one.history[name], other.history[name])
    assert (one.objective, dict(one.metrics), one.status) == (other.objective, dict(other.metrics), other.status)
    assert (one.reason, one.iterations, one.seconds) == (other.reason, other.iterations, other.seconds)
    assert one.certificate == other.certificate
    assert (one.counts, one.labels, one.problem) == (other.counts, other.labels, other.problem)
    assert (repr(one.method), str(one)) == (repr(other.method), str(other))


def test_a_result_comes_back_from_its_file_to_the_last_bit(result, tmp_path):
    path = result.save(tmp_path / "fit")
    assert path == tmp_path / "fit.npz"
    back = bo.load(path)
    same(result, back)
    assert back.W is None
    np.testing.assert_array_equal(back.reconstruct().rows(slice(0, 4)), result.reconstruct().rows(slice(0, 4)))
    with np.load(path, allow_pickle=False) as arrays:
        np.testing.assert_array_equal(arrays["U"], result.Y.U)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("label", PROBLEMS)
def test_a_result_of_every_problem_in_the_box_can_be_kept(label, tmp_path):
    problem, Y = PROBLEMS[label]
    result = bo.solve(problem, start=Y, max_iterations=2)
    back = bo.load(result.save(tmp_path / "fit.npz"))
    same(result, back)
    np.testing.assert_allclose(np.asarray(back.reconstruct()), np.asarray(result.reconstruct()))


def test_a_factor_that_was_fixed_is_kept_with_the_result(result, tmp_path):
    fixed = bo.solve(bo.compose("relu-nmd", M, V=bo.Fixed(result.Y.V)), max_iterations=3)
    back = bo.load(fixed.save(tmp_path / "fit"))
    assert back.Y.names == ("U",)
    np.testing.assert_array_equal(np.asarray(back.reconstruct()), np.asarray(fixed.reconstruct()))


def test_several_starts_are_kept_with_the_result(tmp_path):
    best = bo.solve(bo.compose("relu-nmd", M, rank=3), starts=3, max_iterations=6)
    assert bo.load(best.save(tmp_path / "fit")).starts == best.starts


def test_a_kept_result_is_a_start_for_another_run(result, tmp_path):
    path = result.save(tmp_path / "fit.npz")
    again = bo.solve(bo.compose("relu-nmd", M, rank=3, U="l1(0.5)"), start=path, max_iterations=0)
    np.testing.assert_array_equal(again.Y.U, result.Y.U)


def test_the_folder_of_a_command_is_loaded_too(call, tmp_path):
    FRAME.to_csv(tmp_path / "data.csv")
    call("solve", tmp_path / "data.csv", "-r", 2, "--max-iterations", 4, "--out", tmp_path / "run")
    result = bo.load(tmp_path / "run")
    assert result.iterations == 4
    assert result.labels.columns[1] == "column 1"
    with np.load(tmp_path / "run" / "factors.npz") as arrays:
        assert set(arrays.files) == {"U", "V", "rows", "columns"}


def test_a_method_whose_class_cannot_be_saved_is_kept_as_text(tmp_path):
    class Odd(type(bo.make("method", "aapb")).__mro__[1]):
        """A method that is no attrs class."""

        def start(self, problem, Y):
            return bo.State.at(problem.oracle.evaluate(Y), 0.0)

        def advance(self, problem, state):
            return bo.State.at(problem.oracle.evaluate(state.Y), 0.0, iteration=state.iteration + 1)

        def __repr__(self):
            return "Odd(7)"

    result = bo.solve(bo.compose("relu-nmd", M, rank=3), method=Odd(), max_iterations=1)
    back = bo.load(result.save(tmp_path / "odd"))
    assert repr(back.method) == "Odd(7)"
    with pytest.raises(bo.errors.IncompatibleError, match=r"Odd\(7\) was not saved"):
        bo.solve(bo.compose("relu-nmd", M, rank=3), method=back.method, max_iterations=1)


def test_what_is_no_result_is_refused_with_what_to_do(result, tmp_path):
    np.savez(tmp_path / "blocks.npz", U=M, V=M)
    (tmp_path / "text.npz").write_text("no archive")
    whole = result.save(tmp_path / "whole.npz").read_bytes()
    (tmp_path / "half.npz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "empty").mkdir()
    (tmp_path / "older").mkdir()
    np.savez(tmp_path / "older" / "factors.npz", U=M, V=M)
    for name, told in [
        ("blocks.npz", "holds blocks, and no result"),
        ("older", "factors.npz' holds blocks, and no result"),
        ("text.npz", "cannot be read"),
        ("half.npz", "cannot be read"),
        ("empty", "There is no result in"),
        ("nowhere", "There is no result in"),
    ]:
        with pytest.raises(bo.errors.FileError, match=told):
            bo.load(tmp_path / name)
    (tmp_path / "folder.npz").mkdir()
    with pytest.raises(bo.errors.FileError, match="is a folder"):
        result.save(tmp_path / "folder.npz")


def test_a_run_that_has_not_ended_is_no_result(tmp_path):
    def stop(state):
        if state.iteration == 3:
            raise KeyboardInterrupt

    problem = bo.compose("relu-nmd", M, rank=3)
    with pytest.raises(KeyboardInterrupt):
        bo.solve(problem, observers=[stop], checkpoint=tmp_path / "run", checkpoint_every=0, max_iterations=9)
    with pytest.raises(bo.errors.FileError, match="has not ended: go on with it"):
        bo.load(tmp_path / "run")


# ---- how they look, and whether they pickle


def test_every_repr_is_short_and_shows_no_code(result):
    problem = bo.compose("relu-nmd", FRAME, rank=3, U="l1(0.5)")
    for value in (problem, result, result.certificate, result.Y):
        assert len(repr(value)) < 200
        assert "lambda" not in repr(value)
        assert "\n" not in repr(value)
    assert str(problem).splitlines() == [
        "ReLU-NMD problem",
        "  Data: 30×20, as max(0, UV)",
        "  H on U: L1(eta=0.5)",
        "  Labels: Labels(30 rows, 20 columns)",
    ]


def test_a_notebook_shows_tables_and_a_curve_that_need_nothing_from_outside(result):
    problem = bo.compose("relu-nmd", FRAME, rank=3)
    for value in (problem, result, result.certificate, result.Y):
        html = value._repr_html_()
        assert html.count("<table") == html.count("</table>") == 1
        assert "src=" not in html
        assert "href=" not in html
    assert "<polyline" in result._repr_html_()
    assert "<svg" not in bo.solve(problem, max_iterations=0)._repr_html_()


def test_texts_in_a_notebook_are_escaped(result):
    from bregopt.notebook import curve, table

    assert "<b>" not in table({"<b>": "<b>"}, "<b>")
    assert "<b>" not in curve([3.0, 2.0, 1.0], "<b>")
    assert curve([float("nan"), 1.0], "x") == ""


def test_completion_offers_the_blocks(result):
    assert {"U", "V"} <= set(dir(result.Y))


@pytest.mark.parametrize("label", PROBLEMS)
def test_problems_and_results_pickle(label):
    problem, Y = PROBLEMS[label]
    whole = resolve(problem)
    back = pickle.loads(pickle.dumps(whole))
    here, there = (bo.solve(it, start=Y, max_iterations=2) for it in (whole, back))
    np.testing.assert_allclose(here.Y.flat, there.Y.flat, rtol=1e-12)
    again = pickle.loads(pickle.dumps(here))
    assert dict(again.metrics) == dict(here.metrics)


def test_help_on_compose_names_what_is_given_and_shows_an_example():
    text = bo.compose.__doc__
    for part in ("Parameters", "rank : int", "Returns", "Examples", ">>> "):
        assert part in text


def test_the_history_shows_its_columns_and_not_its_numbers(result):
    shown = repr(result.history)
    assert shown.startswith(f"History({result.iterations + 1} states: iteration, seconds, objective")
    assert len(shown) < 200
    assert repr(pickle.loads(pickle.dumps(result)).history) == shown


# ---- progress in Python


def test_progress_in_a_log_is_a_line_now_and_then(monkeypatch, capsys):
    monkeypatch.setattr(progress, "SELDOM", 0.0)
    bo.solve(bo.compose("relu-nmd", M, rank=3), max_iterations=3, progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert [line.split("  ")[0] for line in err.splitlines()] == [f"iteration {k}/3" for k in range(4)]


def test_progress_in_a_notebook_is_one_line_that_goes(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(progress, "EVERY", 0.0)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    bo.solve(bo.compose("relu-nmd", M, rank=3), max_iterations=3, progress=True)
    text = stream.getvalue()
    assert "\n" not in text
    assert text.count("\riteration") == 4
    assert text.rsplit("\r", 2)[1].strip() == ""


def test_progress_is_shown_for_several_starts_too(capsys, monkeypatch):
    monkeypatch.setattr(progress, "SELDOM", 0.0)
    bo.solve(bo.compose("relu-nmd", M, rank=3), starts=2, max_iterations=3, progress=True)
    assert "iteration 3/3" in capsys.readouterr().err


def test_without_progress_nothing_is_shown(capsys):
    bo.solve(bo.compose("relu-nmd", M, rank=3), max_iterations=3)
    assert capsys.readouterr() == ("", "")
