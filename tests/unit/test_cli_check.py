"""``bregopt check``: tables, counterexamples that can be pasted, exit codes."""

import contextlib
import io
import json
import re
from xml.etree import ElementTree

import pytest

import bregopt
from bregopt.cli.badge import badge, unchecked
from bregopt.testing.instances import named

HEAD = """
import numpy as np
import bregopt as bo

class Mine(bo.Regularizer):
    '''A term as pyproximal 0.13.0 has it.'''
    traits = bo.Trait.SEPARABLE
"""
TAIL = """
@bo.hookimpl
def bregopt_register(registry):
    registry.add(bo.Regularizer, "mine", Mine)
"""
WRONG = {
    "L0 with the threshold τσ": """
    def value(self, X):
        return 0.7 * float(np.count_nonzero(X))

    def prox(self, X, step):
        return np.where(np.abs(X) > 0.7 * np.asarray(step, dtype=X.dtype), X, np.zeros_like(X))
""",
    "Huber with the branches of another threshold": """
    def value(self, X):
        return float(np.where(np.abs(X) <= 0.5, X**2 / (2 * 0.5), np.abs(X) - 0.5 / 2).sum())

    def prox(self, X, step):
        step = np.asarray(step, dtype=X.dtype)
        return np.where(np.abs(X) <= 0.5, X / (1 + step / X.dtype.type(0.5)), X - step * np.sign(X))
""",
    "Log1 without the choice of zero": """
    def value(self, X):
        return 0.8 * float(np.log(0.3 + np.abs(X)).sum())

    def prox(self, X, step):
        y, tau = np.abs(X), (0.8 * np.asarray(step)).astype(X.dtype)
        root = (y - X.dtype.type(0.3)) / 2 + np.sqrt(np.maximum((y + X.dtype.type(0.3)) ** 2 / 4 - tau, 0))
        return np.where(y > tau, np.sign(X) * np.maximum(root, 0), np.zeros_like(X))
""",
    "RelaxedMumfordShah with the step forgotten in the jump": """
    def value(self, X):
        return float(np.minimum(0.5 * X**2, 0.9).sum())

    def prox(self, X, step):
        step = np.asarray(step, dtype=X.dtype)
        return np.where(np.abs(X) <= np.sqrt(X.dtype.type(2 * 0.9 / 0.5)), X / (1 + 2 * 0.5 * step), X)
""",
}
RIGHT = """
    def value(self, X):
        return 0.7 * float(np.count_nonzero(X))

    def prox(self, X, step):
        threshold = np.sqrt(2 * 0.7 * np.asarray(step)).astype(X.dtype)
        return np.where(np.abs(X) > threshold, X, np.zeros_like(X))
"""


def printed_by(code):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(code, {})
    return [float(figure) for figure in re.findall(r"-?\d+\.\d+(?:e[+-]\d+)?", out.getvalue())]


def test_a_right_part_passes_with_a_table_and_exit_code_0(call):
    code, out, err = call("check", "l1")
    assert (code, err) == (0, "")
    for text in ("prox/variational", "passed", "not-applicable", "L1(eta=0.4)", "2 parts", "0 failed"):
        assert text in out


@pytest.mark.usefixtures("fresh_host")
@pytest.mark.parametrize("mistake", WRONG)
def test_a_wrong_operator_of_a_neighbour_is_flagged_with_a_counterexample_that_shows_it(mistake, call, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(HEAD + WRONG[mistake] + TAIL)
    code, out, err = call("check", file)
    assert (code, err) == (1, "")
    assert "FAILED mine  prox/variational" in out
    part = json.loads(call("check", file, "--json")[1])["parts"][0]
    failure = next(outcome for outcome in part["outcomes"] if outcome["name"] == "prox/variational")
    assert failure["status"] == "failed"
    assert len(failure["counterexample"]) < 600
    at_prox, at_rival = printed_by(f"import bregopt as bo\n{part['setup']}\n{failure['counterexample']}")
    told = re.search(r"= (\S+) at the prox, but (\S+) at a rival", failure["message"])
    assert (at_prox, at_rival) == pytest.approx((float(told[1]), float(told[2])), rel=1e-8)
    assert at_rival < at_prox


@pytest.mark.usefixtures("fresh_host")
def test_a_plugin_file_is_checked_with_its_own_examples(call, tmp_path):
    answer = "[('mine again', Mine())] if kind == 'regularizer' else None"
    examples = f"\n@bo.hookimpl\ndef bregopt_examples(kind):\n    return {answer}\n"
    (tmp_path / "mine.py").write_text(HEAD + RIGHT + TAIL + examples)
    code, out, _ = call("check", tmp_path / "mine.py", "--json", "--seed", 3)
    found = json.loads(out)
    assert (code, found["seed"]) == (0, 3)
    assert [part["label"] for part in found["parts"]] == ["mine", "mine again"]
    assert all(part["ok"] for part in found["parts"])
    for part in found["parts"]:
        exec(f"import bregopt as bo\n{part['setup']}\nassert type(part).__name__ == 'Mine'", {})


def test_a_kind_and_a_name_choose_one_part_of_many(call):
    kinds = [{part["kind"] for part in json.loads(call("check", name, "--json")[1])["parts"]}
             for name in ("constant", "step:constant", "paper")]  # fmt: skip
    assert kinds == [{"extrapolation", "step"}, {"step"}, {"kernel"}]


def test_the_names_of_longer_parts_are_not_taken_for_a_shorter_one(call):
    labels = [part["label"] for part in json.loads(call("check", "regularizer:ridge", "--json")[1])["parts"]]
    assert labels[0] == "ridge"
    assert all(label.startswith("ridge(") for label in labels[1:])


def test_everything_is_told_in_one_line_a_part(call, monkeypatch):
    from bregopt.testing import instances

    few = [instance for instance in instances.every_example() if instance.kind == "step"]
    monkeypatch.setattr(instances, "every_example", lambda: few)
    code, out, _ = call("check", "--all")
    assert code == 0
    assert all(
        any(line.split()[:1] == ["step"] and instance.label in line for line in out.splitlines()) for instance in few
    )


@pytest.mark.parametrize("as_json", [False, True])
def test_a_badge_says_how_many_checks_passed_and_with_which_version(as_json, call, tmp_path):
    file = tmp_path / "my badge.svg"
    code, out, _ = call("check", "l1", "--badge", file, *(["--json"] if as_json else []))
    found = [outcome["status"] for part in json.loads(call("check", "l1", "--json")[1])["parts"]
             for outcome in part["outcomes"]]  # fmt: skip
    said = f"bregopt {bregopt.__version__}: {found.count('passed')} of {found.count('passed')} checks passed"
    assert code == 0
    assert ElementTree.parse(file).getroot().get("aria-label") == said
    markdown = json.loads(out)["badge"] if as_json else out.splitlines()[-1].strip()
    assert markdown == f"![{said}](my%20badge.svg)"


@pytest.mark.usefixtures("fresh_host")
def test_a_badge_of_a_part_that_fails_is_another_one_and_replaces_the_old(call, tmp_path):
    file, mine = tmp_path / "badge.svg", tmp_path / "mine.py"
    mine.write_text(HEAD + RIGHT + TAIL)
    assert call("check", mine, "--badge", file)[0] == 0
    good = file.read_text(encoding="utf-8")
    mine.write_text(HEAD + next(iter(WRONG.values())) + TAIL)
    assert call("check", mine, "--badge", file)[0] == 1
    bad = file.read_text(encoding="utf-8")
    passed, applicable = re.search(r"(\d+) of (\d+) checks", bad).groups()
    assert int(passed) < int(applicable)
    assert set(re.findall('fill="(#[0-9a-f]{6})"', good)).isdisjoint(re.findall('fill="(#[0-9a-f]{6})"', bad))


def test_a_check_that_fails_as_its_author_says_is_counted_but_not_as_passed():
    assert "3 of 4 checks passed" in badge(3, 0, 1).svg()
    assert len({badge(3, 0).colour, badge(3, 0, 1).colour, badge(3, 1).colour, unchecked().colour}) == 4


@pytest.mark.parametrize(("file", "text"), [("badge.png", "must end in .svg"), ("nowhere/badge.svg", "does not exist")])
def test_a_badge_that_cannot_be_written_is_refused_before_anything_is_checked(file, text, call, tmp_path, monkeypatch):
    monkeypatch.setattr("bregopt.testing.instances.named", lambda target: pytest.fail("it was checked"))
    code, out, err = call("check", "l1", "--badge", tmp_path / file)
    assert (code, out) == (2, "")
    assert text in err


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ([], "--all"),
        (["l1", "--all"], "--all"),
        (["nonsense"], "nonneg"),
        (["kernel:l1"], "There is no kernel named 'l1'"),
        (["sort:l1"], "There is no kind of part"),
        (["auto"], "There are no checks"),
        (["missing.py"], "does not exist"),
        (["l1", "--seed", "-1"], "--seed"),
        (["block:nonsense"], "no block"),
    ],
)
def test_wrong_input_is_one_line_and_exit_code_2(args, text, call):
    code, out, err = call("check", *args)
    assert (code, out) == (2, "")
    assert err.startswith("bregopt: error: ")
    assert err.count("\n") == 1
    assert text in err


@pytest.mark.usefixtures("fresh_host")
def test_a_part_that_needs_arguments_and_has_no_example_is_told_so(call, tmp_path):
    init = "\n    def __init__(self, weights):\n        self.weights = weights\n"
    (tmp_path / "mine.py").write_text(HEAD + RIGHT + init + TAIL)
    code, _, err = call("check", tmp_path / "mine.py")
    assert code == 2
    assert "bregopt_examples" in err


def test_a_smooth_part_is_checked_within_the_problems_it_is_part_of():
    found = named("factorization")
    assert found
    assert all(instance.kind == "problem" for instance in found)
