"""Pictures and pages about results: complete, one file, understandable, and refused politely."""

import base64
import json
import re
import sys
from html.parser import HTMLParser

import numpy as np
import pandas
import pytest

import bregopt as bo
from bregopt.reports.components import components

pytest.importorskip("matplotlib")
rng = np.random.default_rng(0)
M = np.maximum(0, rng.standard_normal((12, 3)) @ rng.standard_normal((3, 16)))
NAMES = [f"word {k}" for k in range(16)]
FRAME = pandas.DataFrame(M, index=[f"text {k}" for k in range(12)], columns=NAMES)
PNG = b"\x89PNG"


class Tags(HTMLParser):
    """The tags of a page, with their attributes, and its text."""

    VOID = ("img", "meta", "br")

    def __init__(self, text):
        super().__init__()
        self.open, self.seen, self.text = [], [], []
        self.feed(text)
        assert not self.open, f"{self.open} are not closed"

    def handle_starttag(self, tag, attributes):
        self.seen.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.seen if name == tag]


def solved(data=FRAME, **options):
    return bo.solve(bo.compose("relu-nmd", data, rank=3, **options), max_iterations=15)


@pytest.fixture(scope="module")
def result():
    return solved()


@pytest.fixture(scope="module")
def pictures():
    labels = bo.Labels(rows=[f"face {k}" for k in range(12)], picture_shape=(4, 4))
    from attrs import evolve

    problem = evolve(bo.compose("relu-nmd", M, rank=3), labels=labels)
    return bo.solve(problem, max_iterations=15)


def page_of(result, tmp_path, **options):
    return Tags(bo.report(result, tmp_path / "report.html", **options).read_text(encoding="utf-8"))


# ---- the page


def test_a_page_holds_the_answer_and_every_section(result, tmp_path):
    text = " ".join(page_of(result, tmp_path, settings={"Matrix": "words.csv"}).text)
    for part in (
        result.answer,
        result.certificate.plain(),
        "How the run went",
        "What the components are made of",
        "The factors",
        "The certificate",
        "The settings",
        "words.csv",
        repr(result.method),
        "The versions",
        bo.__version__,
        np.__version__,
    ):
        assert part in text, part


def test_a_page_is_one_file_that_needs_no_network(result, tmp_path):
    tags = page_of(result, tmp_path)
    assert list(tmp_path.iterdir()) == [tmp_path / "report.html"]
    assert not [tag for tag in tags.seen if tag[0] in ("script", "link", "iframe", "object")]
    assert not tags.all("a")
    for image in tags.all("img"):
        kind, data = re.fullmatch(r"data:image/(png|svg\+xml);base64,(.+)", image["src"]).groups()
        start = base64.b64decode(data)[:200]
        assert start.startswith(PNG) if kind == "png" else b"<svg" in start or b"<?xml" in start


def test_every_picture_has_a_caption_for_newcomers(result, pictures, tmp_path):
    for it in (result, pictures):
        tags = page_of(it, tmp_path)
        assert len(tags.all("img")) == len(tags.all("figcaption")) == len(tags.all("figure")) >= 3
        for image in tags.all("img"):
            assert len(image["alt"]) > 60
            assert image["alt"] in tags.text
            assert not re.search("[Φψλβ∂]", image["alt"])


def test_pictures_in_the_data_are_drawn_as_pictures(pictures, tmp_path):
    text = " ".join(page_of(pictures, tmp_path).text)
    assert "V, 3×16: the components as pictures of 4×4 points." in text
    assert "The first 12 pictures of the data as max(0, UV) rebuilds them" in text


def test_a_component_is_drawn_in_its_own_scale(tmp_path, monkeypatch):
    """U·10 and V/10 are the same result, so one component must not make the others pale."""
    from bregopt.reports import page

    drawn, draw = [], page.heat_map
    monkeypatch.setattr(page, "heat_map", lambda X, *names: drawn.append(X) or draw(X, *names))
    Y = bo.Blocks(U=rng.standard_normal((12, 3)) * [1e3, 1.0, 0.0], V=rng.standard_normal((3, 16)))
    result = bo.solve(bo.compose("relu-nmd", FRAME, rank=3), start=Y, max_iterations=0)
    assert "A component has its own scale" in " ".join(page_of(result, tmp_path).text)
    U, V = drawn
    np.testing.assert_allclose(np.abs(U).max(axis=0), [1, 1, 0])
    np.testing.assert_allclose(np.abs(V).max(axis=1), 1)


def test_cells_of_the_table_say_what_they_are_where_a_phone_has_no_room_for_its_head(result, tmp_path):
    cells = [cell.get("title") for cell in page_of(result, tmp_path).all("td") if "title" in cell]
    assert cells[:4] == ["Component", "Share", "Strongest columns", "Strongest rows"]


def test_the_strongest_labels_of_a_component_are_those_of_its_largest_entries(result):
    found = components(result.Y, result.labels)
    assert sum(it.share for it in found) == pytest.approx(1.0)
    assert [it.share for it in found] == sorted((it.share for it in found), reverse=True)
    for it in found:
        v = result.Y.V[it.number - 1]
        order = np.argsort(-np.abs(v))
        assert [name for name, _ in it.columns] == [NAMES[j] for j in order[:8]]
        np.testing.assert_allclose([w for _, w in it.columns], v[order[:8]] / np.abs(v).max())


def test_a_component_that_is_zero_has_no_strongest_label():
    Y = bo.Blocks(U=np.zeros((2, 1)), V=np.zeros((1, 3)))
    (only,) = components(Y, bo.Labels(columns=["a", "b", "c"]))
    assert (only.columns, only.rows, only.share) == ((), (), 0.0)


def test_labels_are_escaped(tmp_path):
    frame = pandas.DataFrame(M, columns=[f"<b>{k}&" for k in range(16)])
    page = bo.report(solved(frame), tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<b>" not in page
    assert "&lt;b&gt;3&amp;" in page


@pytest.mark.parametrize("label", ["cp", "poisson", "blind-deconvolution", "binary", "kl-nmf", "symmetric"])
def test_results_of_every_shape_have_a_page(label, tmp_path):
    from bregopt.host.compose import examples

    problem, Y = dict(examples("problem"))[label]
    result = bo.solve(problem, start=Y, max_iterations=3)
    text = " ".join(page_of(result, tmp_path).text)
    assert result.answer in text
    for name in Y.names:
        assert f"{name}, {'×'.join(map(str, Y[name].shape))}" in text


def test_a_run_without_an_iteration_has_a_page(tmp_path):
    result = bo.solve(bo.compose("relu-nmd", FRAME, rank=3), max_iterations=0)
    assert "Nothing was tried" in " ".join(page_of(result, tmp_path).text)


def test_a_page_is_not_half_written(result, tmp_path, monkeypatch):
    from bregopt.reports import page

    monkeypatch.setattr(page, "_blocks", lambda result: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        bo.report(result, tmp_path / "report.html")
    assert not list(tmp_path.iterdir())


# ---- the picture


@pytest.mark.parametrize(("suffix", "start"), [("png", PNG), ("pdf", b"%PDF"), ("svg", b"<?xml")])
def test_a_picture_is_written_in_the_format_of_its_name(result, tmp_path, suffix, start):
    bo.plot(result, tmp_path / f"curve.{suffix}")
    assert (tmp_path / f"curve.{suffix}").read_bytes().startswith(start)


def test_one_run_is_drawn_by_iterations_and_several_by_seconds(result):
    one, two = bo.plot(result), bo.plot({"a": result, "b": result})
    assert [axes.get_xlabel() for axes in one.axes] == ["iterations"] * 2
    assert [axes.get_xlabel() for axes in two.axes] == ["seconds"] * 2
    np.testing.assert_array_equal(one.axes[0].lines[0].get_ydata(), result.history["objective"])
    assert [text.get_text() for text in two.axes[1].get_legend().get_texts()] == ["a", "b"]


def test_runs_without_names_are_called_after_their_methods(result):
    other = bo.solve(bo.compose("relu-nmd", FRAME, rank=3), method="aapb", max_iterations=5)
    same = bo.plot([other, other]).axes[1].get_legend().get_texts()
    assert [text.get_text() for text in same] == ["AAPB 1", "AAPB 2"]


# ---- what is refused


def test_what_cannot_be_drawn_is_refused_with_one_sentence(result, tmp_path):
    for call, told in [
        (lambda: bo.plot(3), "Results are drawn"),
        (lambda: bo.plot([]), "Got none"),
        (lambda: bo.plot([M]), "Got a ndarray"),
        (lambda: bo.plot(result, tmp_path / "x.gif"), "must end with .png or .svg or .pdf"),
        (lambda: bo.plot(result, tmp_path / "no" / "x.png"), "a folder that does not exist"),
        (lambda: bo.report(result, tmp_path / "x.pdf"), "must end with .html"),
        (lambda: bo.report(M, tmp_path / "x.html"), "about a Result"),
        (lambda: bo.report(tmp_path, tmp_path / "x.html"), "There is no result in"),
    ]:
        with pytest.raises(bo.errors.BregoptError, match=told):
            call()
    assert not list(tmp_path.iterdir())


def test_without_matplotlib_the_error_says_what_to_install_before_the_run(call, result, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(bo.errors.IncompatibleError, match=r"pip install 'bregopt\[plot\]'"):
        bo.report(result, tmp_path / "report.html")
    code, out, err = call("solve", "--max-iterations", 1, "--report", tmp_path / "report.html")
    assert (code, out) == (2, "")
    assert "bregopt[plot]" in err


# ---- the command line


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    from bregopt.cli.main import main

    folder = tmp_path_factory.mktemp("runs")
    FRAME.to_csv(folder / "data.csv")
    for name, method in (("one", "aapb"), ("two", "els")):
        arguments = ["solve", folder / "data.csv", "-r", 3, "--method", method, "--max-iterations", 9, "-q"]
        with pytest.raises(SystemExit):
            main([str(it) for it in [*arguments, "--out", folder / name]])
    return folder


def test_report_writes_a_page_into_the_folder_of_a_run(call, runs):
    code, out, err = call("report", runs / "one")
    page = (runs / "one" / "report.html").read_text(encoding="utf-8")
    assert (code, out.strip(), err) == (0, str(runs / "one" / "report.html"), "")
    assert "data.csv, 12×16" in page
    assert "aapb, auto kernel" in page


def test_compare_prints_a_table_and_draws_the_runs(call, runs, tmp_path):
    code, out, _ = call("compare", runs / "one", runs / "two", "--plot", tmp_path / "runs.png")
    lines = out.splitlines()
    assert code == 0
    assert lines[0].split()[:4] == ["run", "problem", "method", "objective"]
    assert [line.split()[0] for line in lines[1:3]] == ["one", "two"]
    assert (tmp_path / "runs.png").read_bytes().startswith(PNG)


def test_compare_as_json_holds_the_numbers(call, runs):
    _, out, _ = call("compare", runs / "one", runs / "two", "--json")
    rows = json.loads(out)
    assert [row["objective"] for row in rows] == [bo.load(runs / name).objective for name in ("one", "two")]


def test_compare_says_if_runs_cannot_be_compared(call, runs, tmp_path):
    call("solve", "--max-iterations", 1, "-q", "--out", tmp_path / "other")
    _, out, _ = call("compare", runs / "one", tmp_path / "other")
    assert "different problems or data" in out
    code, _, err = call("compare", runs / "one", runs / "one")
    assert (code, err.strip()) == (2, "bregopt: error: A run is named twice: give each folder once.")


def test_solve_draws_what_it_is_asked_for(call, tmp_path):
    code, out, _ = call(
        "solve", "--max-iterations", 2, "--plot", tmp_path / "run.svg", "--report", tmp_path / "run.html"
    )
    assert code == 0
    assert "mycielskian9" in (tmp_path / "run.html").read_text(encoding="utf-8")
    assert "run.svg" in "".join(out.split())


@pytest.mark.parametrize("options", [("--plot", "x.gif"), ("--report", "x.txt"), ("--plot", "nowhere/x.png")])
def test_a_picture_that_cannot_be_written_is_refused_before_the_run(call, options):
    code, out, err = call("solve", "--max-iterations", 1, *options)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1


def test_a_notebook_shows_a_plot_without_any_setting(result):
    assert bo.plot(result)._repr_png_().startswith(PNG)
