"""The plain answer of a result: true sentences for every problem and every loss."""

import math
import re

import numpy as np
import pytest

import bregopt as bo
from bregopt.engine.answer import ending
from bregopt.host.compose import examples
from bregopt.rules.stopping import Status

rng = np.random.default_rng(0)
M = np.maximum(0, rng.standard_normal((30, 3)) @ rng.standard_normal((3, 20)))
PROBLEMS = dict(examples("problem"))
LOSSES = dict(examples("loss"))


@pytest.fixture(scope="module")
def result():
    return bo.solve(bo.compose("relu-nmd", M, rank=3, U="l1(0.5)"), method="aapb", max_iterations=30)


def test_the_answer_comes_first_and_is_what_the_numbers_say(result):
    error = 100 * result.metrics["relative_error"]
    zeros = 100 * np.mean(result.Y.U == 0)
    found = re.fullmatch(
        r"max\(0, UV\) reproduces M to ([\d.]+) % \(rank 3\)\. Still improving: it stopped at the limit of 30 "
        r"iterations\. U ([\d.]+) % zeros, V 0 %\.",
        str(result).splitlines()[0],
    )
    assert float(found[1]) == pytest.approx(error, rel=0.05)
    assert float(found[2]) == pytest.approx(zeros, rel=0.05)


@pytest.mark.parametrize("label", PROBLEMS)
def test_every_problem_in_the_box_says_how_well_it_explains_its_data(label):
    problem, Y = PROBLEMS[label]
    result = bo.solve(problem, start=Y, max_iterations=3)
    first = result.answer.split(". ")[0]
    figure = result.metrics.get("relative_error", result.metrics.get("mistakes"))
    assert bo.percent(figure) in first
    assert result.data_model.formula in first or "√b" in first
    assert ("is wrong at" in first) == ("mistakes" in result.metrics)
    assert ("misses" in first) == (result.metrics.get("relative_error", 0) >= 0.5)


@pytest.mark.parametrize("label", LOSSES)
def test_what_a_loss_predicts_is_what_its_error_measures(label):
    loss, x = LOSSES[label], np.linspace(-3, 6, 40)
    if loss.bounds or label.startswith("quantised"):
        assert "reproduces" not in loss.answer
        assert loss.answer
        return
    data = loss.sample_data(np.random.default_rng(1), 40)
    errors = [loss.error(a, m, *loss.parameters) for a, m in zip(x, data, strict=True)]
    lacks = loss.predict(x) - data
    if loss.metric == "mistakes":
        np.testing.assert_array_equal(np.asarray(errors), (lacks != 0).astype(float))
    else:
        np.testing.assert_allclose(errors, np.square(lacks), atol=1e-12)


def test_nothing_is_said_of_data_where_a_problem_has_none():
    from small_parts import HalfSquares

    class Known(bo.ClosedFormBlock):
        def argmin(self, smooth, Y):
            return M

        def value(self, W):
            return 0.0

    start = bo.Blocks(U=np.ones((30, 2)), V=np.ones((2, 20)))
    problem = bo.Problem(smooth=HalfSquares(), block=Known(), kernel="3*psi1 + 90*psi2", name="own problem")
    result = bo.solve(problem, start=start, method="apb(0.9)", max_iterations=3)
    assert result.answer == "Still improving: it stopped at the limit of 3 iterations."
    with pytest.raises(bo.errors.IncompatibleError, match="own problem does not say how its data are made"):
        result.reconstruct()


@pytest.mark.parametrize(
    ("status", "reason", "objectives", "told"),
    [
        (Status.MAX_ITERATIONS, "The limit of 9 iterations was reached.", [9.0, 8, 7, 6, 5], "Still improving: it"),
        (Status.MAX_SECONDS, "The limit of 5 seconds was reached.", [9.0, 1, 1, 1, 1], "Hardly improving any more: it"),
        (Status.MAX_ITERATIONS, "The limit of 0 iterations was reached.", [9.0], "Nothing was tried: it stopped"),
        (Status.PLATEAU, "The objective fell by only 1e-9.", [9.0, 1], "Converged: the objective fell"),
        (Status.NOT_FINITE, "The objective became inf.", [9.0, math.inf], "The run failed: the objective became inf."),
        (Status.INTERRUPTED, "Interrupted by Ctrl-C.", [9.0, 1], "Interrupted by Ctrl-C."),
        (Status.STOPPED, "No row changes.", [9.0, 1], "Stopped: no row changes."),
    ],
)  # fmt: skip
def test_the_end_of_a_run_is_told_for_every_status(status, reason, objectives, told):
    assert ending(status, reason, objectives).startswith(told)


@pytest.mark.parametrize(
    ("share", "text"),
    [(7e-5, "0.007 %"), (0.1449, "14 %"), (0.09, "9 %"), (1.74, "174 %"), (0.0, "0 %"), (1e-9, "1e-07 %")],
)
def test_shares_read_as_people_say_them(share, text):
    assert bo.percent(share) == text


def test_the_certificate_is_told_in_plain_words(result):
    plain = result.certificate.plain()
    assert "step forward, which a theorem guarantees here" in plain
    assert not re.search("[Φλβψ∂|]", plain)
    observed = bo.solve(bo.compose("relu-nmd", M, rank=3), method="els", max_iterations=5).certificate.plain()
    assert "that was observed, and is not guaranteed" in observed


def test_the_command_line_tells_the_theorem_only_if_asked(call, tmp_path):
    np.save(tmp_path / "M.npy", M)
    options = ("solve", tmp_path / "M.npy", "-r", 3, "--method", "aapb", "--max-iterations", 5)
    _, short, _ = call(*options)
    _, full, _ = call(*options, "--certificate")
    assert short.splitlines()[0].startswith("Answer")
    assert "Factors were not saved: add --out DIR." in " ".join(short.split())
    assert "descent theorem" not in short
    assert "Every assumption of the descent theorem held." in " ".join(full.split())
    _, kept, _ = call(*options, "--out", tmp_path / "run")
    assert "not saved" not in " ".join(kept.split())
