"""``bregopt bench loop``: the library's iterates are those of plain NumPy, for every loss and for one's own."""

import json
import sys

import numpy as np
import pytest
from bregopt_bench import measuring
from bregopt_bench.speed import loop, plain_loop
from bregopt_bench.speed.losses import drawn_for
from bregopt_bench.speed.matrices import Size
from bregopt_bench.speed.plain_loop import cubic_root, numpy_code

import bregopt as bo

LOSSES = [entry.name for entry in bo.catalog("loss")]
SMALL = ("--size", "40x30:3", "--iterations", 5, "--repeats", 1)
OWN = '''
import bregopt
import numpy as np
from attrs import frozen
from bregopt_lowrank import EntrywiseLoss


@frozen
class SoftRoot(EntrywiseLoss):
    """``e(x; m) = √(1 + (x − m)²) − 1``."""

    @staticmethod
    def entry(x, m):
        root = (1.0 + (x - m) * (x - m)) ** 0.5
        return root - 1.0, (x - m) / root, 1.0 / root**3


@frozen
class Branched(EntrywiseLoss):
    """``e(x; m) = ½(x − m)²``, written for numbers alone."""

    @staticmethod
    def entry(x, m):
        s = x - m if x > m else x - m
        return 0.5 * s * s, s, 1.0


@frozen
class Rooted(SoftRoot):
    """The first, with NumPy code."""

    def arrays(self, X, M, upper=None):
        return *self.entry(X, M), np.square(X - M)


@bregopt.hookimpl
def bregopt_register(registry):
    registry.add(EntrywiseLoss, "soft-root", SoftRoot)
    registry.add(EntrywiseLoss, "branched", Branched)
    registry.add(EntrywiseLoss, "rooted", Rooted)
'''


@pytest.fixture(autouse=True)
def hasty(monkeypatch):
    monkeypatch.setattr(measuring, "PAUSE", 0.0)


@pytest.fixture
def own(tmp_path, fresh_host):
    path = tmp_path / "own_loss.py"
    path.write_text(OWN, encoding="utf-8")
    return path


def rows(call, *args):
    code, out, err = call("bench", "loop", *args, *SMALL, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)["rows"]


@pytest.mark.parametrize("eta", [0, 0.01])
def test_the_library_takes_the_iterates_of_plain_numpy_for_every_loss(eta, call):
    found = rows(call, *(word for name in LOSSES for word in ("--loss", name)), "--l1", eta)
    assert [row["loss"] for row in found] == LOSSES
    for row in found:
        assert row["apart"] < 1e-10
        assert row["library_over_plain"] == row["library_seconds"] / row["plain_seconds"] > 0


@pytest.mark.parametrize("name", LOSSES)
def test_what_is_written_down_for_a_loss_is_its_value_and_slope(name):
    timed = drawn_for(name, Size(12, 9, 2), "float64", None, False)
    X = np.random.default_rng(1).standard_normal((12, 9))
    given = (timed.matrix.M,) if timed.upper is None else (timed.matrix.M, timed.upper)
    value, slope, *_ = timed.loss.arrays(X, *given)
    found = numpy_code(timed)(X, timed.matrix.M)
    assert found[0] == pytest.approx(value.sum())
    np.testing.assert_allclose(found[1], slope, atol=1e-12)


def test_a_loop_that_differs_is_an_error(call, monkeypatch):
    monkeypatch.setitem(plain_loop.WRITTEN, "huber", lambda X, M, d: (0.0, 1.0001 * np.clip(X - M, -d, d)))
    code, out, err = call("bench", "loop", "--loss", "huber", *SMALL)
    assert (code, out) == (2, "")
    assert "The loops differ by" in err


@pytest.mark.parametrize("method", ["apb", "palm"])
def test_other_methods_take_the_iterates_of_plain_numpy_too(method, call):
    found = rows(
        call, "--method", method, *(word for loss in ("relu", "huber(0.5)", "logistic") for word in ("--loss", loss))
    )
    assert [row["method"] for row in found] == [method] * 3
    assert all(row["apart"] < 1e-12 for row in found)


def test_a_table_has_a_row_for_every_loss_and_size(call):
    code, out, err = call("bench", "loop", "--loss", "relu", "--loss", "huber(0.5)", "--size", "30x20:2", *SMALL)
    assert (code, err) == (0, "")
    shown = [line.split()[:3] for line in out.splitlines() if "float64" in line]
    assert shown == [["aapb", loss, size] for size in ("30×20", "40×30") for loss in ("relu", "huber(0.5)")]
    assert max(map(len, out.splitlines())) <= 110


@pytest.mark.parametrize("name", ["soft-root", "rooted"])
def test_a_loss_of_ones_own_is_written_by_its_entry_or_by_its_arrays(name, own, call):
    (row,) = rows(call, "--plugin", own, "--loss", name)
    assert row["apart"] < 1e-10


def test_a_loss_without_numpy_code_is_refused_in_a_line(own, call):
    code, out, err = call("bench", "loop", "--plugin", own, "--loss", "branched", *SMALL)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "There is no NumPy code for the loss 'branched'" in err


def test_a_loss_of_ones_own_has_a_pass_but_no_obvious_code(own, call):
    args = ("--plugin", own, "--loss", "branched", "--size", "40x30:3", "--dtype", "float64")
    code, out, err = call("bench", "pass", *args, "--repeats", 1, "--json")
    assert (code, err) == (0, "")
    (row,) = json.loads(out)["rows"]
    assert row["obvious_seconds"] is None
    assert row["pass_over_relu"] > 0


def test_without_a_loss_those_with_a_claim_are_measured(call):
    assert [row["loss"] for row in rows(call)] == list(loop.LOSSES)


@pytest.mark.parametrize(("a", "b"), [(0.0, 2.0), (1e-12, 3.0), (2.0, 3.0), (1e12, 1e-3)])
def test_the_cubic_has_its_root(a, b):
    t = cubic_root(a, b)
    assert a * t**3 + b * t == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize(("method", "most"), [("apb", 300), ("aapb(beta=0.6, step=1)", 380), ("palm", 300)])
def test_an_iteration_on_a_small_matrix_makes_few_calls(method, most):
    timed = drawn_for("relu", Size(60, 40, 4), "float64", None, False)
    kernel = "paper" if method.startswith("aapb") else "auto"
    problem = bo.compose("relu-nmd", timed.matrix.M, rank=4, U="l1(0.01)", V="l1(0.01)", kernel=kernel)
    states, calls, iterations = bo.iterate(problem, method=method), 0, 20
    for _ in range(5):
        next(states)

    def count(frame, event, argument):
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        for _ in range(iterations):
            next(states)
    finally:
        sys.setprofile(before)
    assert 0 < calls / iterations <= most
