"""``bregopt reproduce``: what is finished is kept, what is missing is told, and the report needs nothing else."""

import csv
import json
import math
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from attrs import frozen
from bregopt_paper.experiments.experiment import Experiment, Figure, Section, Table, Task
from bregopt_paper.reproduce import command as reproduce_command
from bregopt_paper.reproduce.command import reproduce
from bregopt_paper.reproduce.records import Records, write_whole
from bregopt_paper.reproduce.report import Chapter, write_report
from bregopt_paper.reproduce.runner import Outcome, _Work, duration, run_tasks
from click.testing import CliRunner

import bregopt
from bregopt.errors import DataError, FileError

RECORD = {
    "numbers": [1, 2.5, True, None, math.inf, -math.inf],
    "text": "ψ1 + ‖W‖_F ψ2",
    "deep": {"curve": np.array([0.1, np.nan, 3e-300]), "counts": np.arange(4), "of": [np.eye(2), "x"]},
    "scalar": np.float64(0.1),
    "pair": (1, 2),
}


def quiet(text, share):
    """Shows nothing."""


def same(a, b):
    """Equal to the bit, arrays and nan included; a tuple equals a list."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


class Counted:
    """A task's function that counts its calls."""

    def __init__(self, record):
        self.calls, self.record = 0, record

    def __call__(self):
        self.calls += 1
        if isinstance(self.record, BaseException):
            raise self.record
        return self.record


@pytest.mark.parametrize("record", [RECORD, {"a": 1.5, "b": ["x", {"c": math.inf}]}], ids=["npz", "json"])
def test_a_finished_task_is_not_run_again_and_its_record_is_the_same_to_the_bit(tmp_path, record):
    work = Counted(record)
    task = Task("l1/row/aapb(0.6)", work, settings={"rank": 3, "eta": (0.1, 0.2)})
    first = run_tasks([task], Records(tmp_path), quiet)
    again = run_tasks([task], Records(tmp_path), quiet)
    assert work.calls == 1
    assert same(first.records["l1/row/aapb(0.6)"], again.records["l1/row/aapb(0.6)"])
    assert same(again.records["l1/row/aapb(0.6)"], {**record, **({"scalar": 0.1} if "scalar" in record else {})})
    (path,) = (path for path in tmp_path.rglob("*") if path.is_file())
    assert path == tmp_path / "l1" / "row" / f"aapb(0.6).{'npz' if 'deep' in record else 'json'}"


def test_no_record_needs_pickle(tmp_path):
    Records(tmp_path).keep(Task("a/b", Counted(RECORD)), RECORD, 1.0)
    with np.load(tmp_path / "a" / "b.npz", allow_pickle=False) as members:
        assert all(members[name].dtype != object for name in members.files)
        assert json.loads(members["json"].tobytes())["version"] == bregopt.__version__


def test_other_settings_or_another_version_make_a_record_anew_and_say_so(tmp_path, monkeypatch):
    kept, work = Records(tmp_path), Counted({"x": 1})
    run_tasks([Task("a/b", work, settings={"rank": 3})], kept, quiet)
    other = run_tasks([Task("a/b", work, settings={"rank": 4})], kept, quiet)
    assert work.calls == 2
    assert "a/b is made anew: its record was made with other settings" in other.notes[0]
    monkeypatch.setattr(bregopt, "__version__", "9.9")
    newer = run_tasks([Task("a/b", work, settings={"rank": 4})], kept, quiet)
    assert work.calls == 3
    assert "version 0.1.0" in newer.notes[0]


def test_a_record_that_changes_its_form_leaves_one_file(tmp_path):
    kept = Records(tmp_path)
    kept.keep(Task("a/b", Counted({})), {"x": np.ones(2)}, 1.0)
    kept.keep(Task("a/b", Counted({})), {"x": 1}, 1.0)
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["b.json"]


@pytest.mark.parametrize("damage", ["cut", "empty", "noise", "other task"])
@pytest.mark.parametrize("record", [{"x": np.ones(3)}, {"x": 1}], ids=["npz", "json"])
def test_a_damaged_record_is_made_anew_with_a_note(tmp_path, damage, record):
    kept, work = Records(tmp_path), Counted(record)
    run_tasks([Task("a/b", work)], kept, quiet)
    (path,) = (path for path in tmp_path.rglob("b.*") if path.is_file())
    data = path.read_bytes()
    if damage == "other task":
        kept.keep(Task("a/c", work), record, 1.0)
        path.write_bytes(path.with_name(f"c{path.suffix}").read_bytes())
    else:
        path.write_bytes({"cut": data[: len(data) // 2], "empty": b"", "noise": b"\x93" * 300}[damage])
    outcome = run_tasks([Task("a/b", work)], kept, quiet)
    assert work.calls == 2
    assert len(outcome.notes) == 1
    assert outcome.notes[0].startswith("a/b is made anew: its record")
    assert kept.find(Task("a/b", work))[0] is not None


KILLED = """
import os, signal, sys
from pathlib import Path
from bregopt_paper.experiments.experiment import Task
from bregopt_paper.reproduce.records import Records
from bregopt_paper.reproduce.runner import run_tasks

tasks = [
    Task("a/first", lambda: {"by": os.getpid()}),
    Task("a/second", lambda: os.kill(os.getpid(), signal.SIGKILL)),
]
run_tasks(tasks, Records(Path(sys.argv[1])), lambda text, share: None)
"""


def test_a_killed_run_goes_on_where_it_was(tmp_path):
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    first, second = Counted({}), Counted({"x": 2})
    outcome = run_tasks([Task("a/first", first), Task("a/second", second)], Records(tmp_path), quiet)
    assert (first.calls, second.calls) == (0, 1)
    assert outcome.records["a/first"]["by"] > 0
    assert outcome.records["a/second"] == {"x": 2}


def test_a_write_that_fails_leaves_the_old_file_and_no_draft(tmp_path):
    path = tmp_path / "a.csv"
    write_whole(path, lambda handle: handle.write(b"old"))

    def half(handle):
        handle.write(b"ne")
        raise OSError(28, "No space left on device")

    with pytest.raises(FileError, match="No space left"):
        write_whole(path, half)
    assert path.read_bytes() == b"old"
    assert [it.name for it in tmp_path.iterdir()] == ["a.csv"]


@pytest.mark.parametrize(
    ("record", "found"), [({"x": {1, 2}}, "set"), ({"x": {3: 1}}, "dict"), ({"x": np.array(["a"])}, "ndarray")]
)
def test_a_record_that_cannot_be_kept_is_refused_in_one_sentence(tmp_path, record, found):
    with pytest.raises(DataError, match=rf"The record of a/b cannot be kept: {found} found, where numbers"):
        Records(tmp_path).keep(Task("a/b", Counted({})), record, 1.0)
    with pytest.raises(DataError, match="The settings of a/b cannot be kept: ndarray"):
        Records(tmp_path).keep(Task("a/b", Counted({}), settings={"start": np.ones(2)}), {}, 1.0)


def test_one_task_that_fails_does_not_cost_the_others(tmp_path):
    tasks = [Task("a/bad", Counted(ZeroDivisionError("by zero"))), Task("a/good", Counted({"x": 1}))]
    outcome = run_tasks(tasks, Records(tmp_path), quiet)
    assert outcome.failed == {"a/bad": "ZeroDivisionError: by zero"}
    assert outcome.records == {"a/good": {"x": 1}}


def test_ctrl_c_keeps_what_is_finished(tmp_path):
    tasks = [Task("a/1", Counted({"x": 1})), Task("a/2", Counted(KeyboardInterrupt())), Task("a/3", Counted({}))]
    outcome = run_tasks(tasks, Records(tmp_path), quiet)
    assert outcome.interrupted
    assert list(outcome.records) == ["a/1"]


def test_the_time_left_goes_by_the_speed_that_was_seen():
    work = _Work(100.0)
    assert work.left == 100.0
    slow = work.after(Task("a", Counted({}), seconds=50.0), 100.0)
    assert slow.share == 0.5
    assert slow.left == pytest.approx(50 * 105 / 55)
    assert [duration(seconds) for seconds in (0.2, 89, 600, 7200)] == [
        "about 1 s",
        "about 89 s",
        "about 10 min",
        "about 2.0 h",
    ]


# ---- the command


@frozen
class Small(Experiment):
    """Two tasks, one of which may lack its data."""

    name: str
    works: tuple
    dataset: str = "identity(3)"

    def tasks(self, quick):
        return [
            Task(f"{self.name}/{k}", work, (self.dataset,) if k else (), settings={"quick": quick})
            for k, work in enumerate(self.works)
        ]

    def section(self, records, quick):
        rows = tuple((name, record["x"], "reached") for name, record in records.items())
        return Section(
            f"The experiment {self.name}",
            (
                "**What the paper printed.** Nothing & <b>.",
                f"**Reproduced?** {len(rows)} of `{len(self.works)}` records.",
            ),
            (Table(f"{self.name}-table", "All <records>.", ("task", "x", "verdict"), rows),),
            (Figure(f"{self.name}-figure", "A line.", lambda figure: figure.subplots().plot([1, 2])),),
        )


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs the command with the experiments given, each by its name."""

    def invoke(*args, **experiments):
        made = {name: (lambda it=it: it) for name, it in experiments.items()}
        monkeypatch.setattr(reproduce_command, "experiments", lambda seeds: made)
        return CliRunner().invoke(reproduce, [*args, "--out", str(tmp_path / "out")])

    return invoke


def small(name, *records, **more):
    return Small(name, tuple(Counted(record) for record in records), **more)


def page(tmp_path):
    return (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_the_command_writes_records_tables_figures_and_a_report(tmp_path, run):
    done = run("l1", l1=small("l1", {"x": 1.23456789}, {"x": np.ones(2)}))
    assert done.exit_code == 0, done.output
    written = {str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert written == {
        *("records/l1/0.json", "records/l1/1.npz", "report.html"),
        *("tables/l1-table.csv", "tables/l1-table.md", "figures/l1-figure.png", "figures/l1-figure.svg"),
    }
    with (tmp_path / "out" / "tables" / "l1-table.csv").open(newline="") as handle:
        assert list(csv.reader(handle))[:2] == [["task", "x", "verdict"], ["l1/0", "1.23456789", "reached"]]
    assert "| l1/0 | 1.235 | reached |" in (tmp_path / "out" / "tables" / "l1-table.md").read_text(encoding="utf-8")
    assert "1 of 2: l1/0" in done.output


def test_the_report_needs_nothing_else_and_reads_in_light_and_dark(tmp_path, run):
    run("l1", l1=small("l1", {"x": 1.0}))
    text = page(tmp_path)
    assert not re.findall(r"<script|<link|@import|url\(|src=\"(?!data:)|href=\"(?!#)", text)
    assert 'src="data:image/png;base64,iVBOR' in text
    assert "prefers-color-scheme: dark" in text


def test_the_report_escapes_what_it_tells_and_begins_with_what_was_reproduced(tmp_path, run):
    run("l1", l1=small("l1", {"x": "<script>alert(1)</script>"}))
    text = page(tmp_path)
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "<b>What the paper printed.</b> Nothing &amp; &lt;b&gt;." in text
    summary = text[text.index("In short") : text.index("<h2 id=")]
    assert '<a href="#l1"><b>The experiment l1</b></a>. 1 of <code>1</code> records.' in summary
    assert '<td class="text good">reached</td>' in text


def test_missing_data_are_named_the_others_run_and_the_command_exits_with_3(tmp_path, run, monkeypatch):
    monkeypatch.setenv("BREGOPT_DATA", str(tmp_path / "nothing"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    lacking = small("l1", {"x": 1}, {"x": 2}, dataset="netz4504-dual")
    other = small("clustering", {"x": 3}, {"x": 4})
    done = run("all", l1=lacking, clustering=other)
    assert done.exit_code == 3
    assert [work.calls for work in (*lacking.works, *other.works)] == [1, 0, 1, 1]
    for told in (done.output, page(tmp_path)):
        assert "netz4504_dual/netz4504_dual.mat" in told
        assert str(tmp_path / "nothing") in told


def test_a_failure_is_told_in_the_report_and_the_command_exits_with_1(tmp_path, run):
    done = run("l1", l1=small("l1", {"x": 1}, RuntimeError("lost <it>")))
    assert done.exit_code == 1
    assert "RuntimeError: lost <it>" in done.output
    assert "RuntimeError: lost &lt;it&gt;" in page(tmp_path)
    assert "l1/1" in page(tmp_path)


def test_a_section_that_fails_leaves_the_others_and_the_records(tmp_path, run):
    done = run("all", l1=small("l1", {"y": 1}), clustering=small("clustering", {"x": 3}))
    assert done.exit_code == 1
    assert "KeyError: 'x'" in page(tmp_path)
    assert "The experiment clustering" in page(tmp_path)
    assert (tmp_path / "out" / "records" / "l1" / "0.json").exists()


def test_ctrl_c_writes_the_report_of_what_is_there_and_exits_with_130(tmp_path, run):
    works = small("l1", {"x": 1}, KeyboardInterrupt(), {"x": 3})
    done = run("all", l1=works, clustering=small("clustering", {"x": 4}))
    assert done.exit_code == 130
    assert "The experiment l1" in page(tmp_path)
    assert "Not run yet" in page(tmp_path)
    again = run("all", l1=small("l1", {"x": 9}, {"x": 2}, {"x": 3}), clustering=small("clustering", {"x": 4}))
    assert again.exit_code == 0
    with (tmp_path / "out" / "tables" / "l1-table.csv").open(newline="") as handle:
        assert [row[1] for row in csv.reader(handle)] == ["x", "1", "2", "3"]


def test_an_earlier_experiment_stays_in_the_report_and_is_not_run(tmp_path, run):
    run("l1", l1=small("l1", {"x": 1}), clustering=small("clustering", {"x": 2}))
    assert "The experiment clustering" not in page(tmp_path)
    later = small("l1", {"x": 5})
    run("clustering", l1=later, clustering=small("clustering", {"x": 2}))
    assert later.works[0].calls == 0
    assert "The experiment l1" in page(tmp_path)
    assert "The experiment clustering" in page(tmp_path)


def test_a_quick_run_leaves_the_records_of_a_full_one(tmp_path, run):
    full, quick = small("l1", {"x": 1}), small("l1", {"x": 2})
    run("l1", l1=full)
    run("l1", "--quick", l1=quick)
    assert "This is a quick run" in page(tmp_path)
    run("l1", l1=full)
    assert "This is a quick run" not in page(tmp_path)
    assert (full.works[0].calls, quick.works[0].calls) == (1, 1)


def test_records_made_anew_are_told_a_few_by_name(tmp_path, run):
    run("l1", l1=small("l1", *({"x": k} for k in range(5))))
    for path in (tmp_path / "out" / "records" / "l1").iterdir():
        path.write_bytes(b"")
    done = run("l1", l1=small("l1", *({"x": k} for k in range(5))))
    assert done.exit_code == 0
    assert done.output.count("is damaged") == 3
    assert "2 more records were made anew." in done.output


def test_a_figure_that_cannot_be_drawn_is_told_and_costs_nothing_else(tmp_path):
    def fails(figure):
        raise ValueError("no data")

    section = Section(
        "T", ("text",), (), (Figure("bad", "Bad.", fails), Figure("good", "Good.", lambda it: it.subplots()))
    )
    faults = write_report(tmp_path, [Chapter("l1", section, (), {})], {}, False)
    assert faults == ["The figure bad could not be drawn: ValueError: no data"]
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert faults[0] in text
    assert text.count("<img") == 1


@pytest.mark.parametrize(("module", "package"), [("matplotlib", "matplotlib"), ("sklearn", "scikit-learn")])
def test_without_a_package_there_is_one_error_that_names_the_extra(run, monkeypatch, module, package):
    monkeypatch.setitem(sys.modules, module, None)
    work = small("l1", {"x": 1})
    done = run("l1", l1=work)
    assert done.exit_code == 1
    assert done.output.strip().endswith(
        f"'bregopt reproduce' needs {package}, not installed here. Install 'bregopt[paper]'."
    )
    assert work.works[0].calls == 0


@pytest.mark.parametrize("args", [[], ["nonsense"], ["l1", "--seeds", "0"]])
def test_wrong_input_is_refused_before_anything_is_run(args):
    assert CliRunner().invoke(reproduce, args).exit_code == 2


def test_what_lacks_a_record_is_what_is_missing_and_what_failed():
    outcome = Outcome(missing={"a": "no file"}, failed={"b": "error"})
    assert outcome.lacking == {"a": "no file", "b": "error"}


def test_the_command_is_one_of_bregopts(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "bregopt", "reproduce", "--help"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "3 data are" in done.stdout
    assert Path("reproduced").name in done.stdout
