"""Reports, expected failures, and the one-line test file."""

import subprocess
import sys

import numpy as np
import pytest
from planted import printed_by

import bregopt as bo
from bregopt.errors import IncompatibleError, ParameterError
from bregopt.testing import Outcome, Report, Status


class Doubled(bo.Regularizer):
    """``H(X) = Σ |x_ij|`` with a threshold twice too large."""

    def value(self, X):
        return float(np.abs(X).sum())

    def prox(self, X, step):
        return X - np.clip(X, -2 * step, 2 * step)


KNOWN = {
    "prox/variational": "the threshold is known to be wrong",
    "step-limit/respected": "the same",
    "bregman-prox/minimal": "the same",
    "engine/descent": "the same",
}


def by_name(report):
    return {outcome.name: outcome for outcome in report.outcomes}


def test_the_testing_package_is_not_loaded_with_bregopt():
    code = "import sys, bregopt; print('bregopt.testing' in sys.modules, callable(bregopt.testing.check))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


def test_a_report_names_every_check_and_its_failures():
    report = bo.testing.check(Doubled())
    assert not report.ok
    assert {failure.name for failure in report.failures} <= set(KNOWN)
    failure = by_name(report)["prox/variational"]
    assert failure.status == "failed"
    assert "seed 0" in failure.message
    assert "step" in failure.message
    table = report.table()
    for outcome in report.outcomes:
        assert outcome.name in table
    assert "Z = part.prox(X, step)" in table
    assert "It does not claim CONVEX." in table


def test_the_same_seed_gives_the_same_report_and_another_seed_another_counterexample():
    one, two, three = (bo.testing.check(Doubled(), seed=seed).failures[0] for seed in (3, 3, 4))
    assert one == two
    assert one.counterexample != three.counterexample


def test_an_expected_failure_is_not_held_against_a_part():
    failing = {failure.name for failure in bo.testing.check(Doubled()).failures}
    expected = {name: reason for name, reason in KNOWN.items() if name in failing}
    report = bo.testing.check(Doubled(), expected_failures=expected)
    assert report.ok
    assert by_name(report)["prox/variational"].status is Status.EXPECTED
    assert "known to be wrong" in by_name(report)["prox/variational"].message


def test_an_expected_failure_that_passes_is_a_failure():
    report = bo.testing.check(bo.Zero(), expected_failures={"prox/fresh": "it once returned its input"})
    assert [failure.name for failure in report.failures] == ["prox/fresh"]
    assert "it once returned its input" in report.failures[0].message


def test_an_expected_failure_of_an_unknown_check_is_refused():
    with pytest.raises(ParameterError, match="prox/variational"):
        bo.testing.check(bo.Zero(), expected_failures={"prox/varational": "a typing error"})


def test_a_part_that_raises_fails_with_the_call_that_raised():
    class Broken(Doubled):
        def prox(self, X, step):
            return np.zeros(3)[5] * X if step == 1.0 else X.copy()

    failure = by_name(bo.testing.check(Broken()))["traits/convex"]
    assert failure.status is Status.NOT_APPLICABLE
    failure = by_name(bo.testing.check(Broken()))["value/finite-at-prox"]
    assert "IndexError" in failure.message
    with pytest.raises(IndexError):
        exec(failure.counterexample, {"part": Broken()})


def test_a_shape_may_be_refused_but_not_be_met_with_a_crash():
    class Weighted(Doubled):
        """Twice the l1 norm with weights for 5×2 blocks only."""

        def __init__(self, error):
            self.weights, self.error = np.ones((5, 2)), error

        def prox(self, X, step):
            if X.shape != (5, 2):
                raise self.error("The block must be 5×2.")
            return X - np.clip(X, -step, step)

    assert by_name(bo.testing.check(Weighted(bo.errors.DataError)))["prox/variational"].status is Status.PASSED
    failure = by_name(bo.testing.check(Weighted(IndexError)))["prox/shape-dtype"]
    assert "refuse a shape with bregopt.errors.DataError" in failure.message


def test_a_separable_regularizer_is_checked_block_by_block():
    report = bo.testing.check(bo.Separable(U=bo.make("regularizer", "l1(0.1)"), V=Doubled()))
    assert by_name(report)["U: prox/variational"].status is Status.PASSED
    assert by_name(report)["V: prox/variational"].status is Status.FAILED


@pytest.mark.parametrize("H", [bo.Separable(V=Doubled()), bo.Separable(Doubled())], ids=["one block", "every block"])
def test_a_counterexample_of_a_separable_regularizer_begins_with_its_block(H):
    failure = bo.testing.check(H).failures[0]
    at_prox, at_rival = map(float, printed_by(failure.counterexample, H).split())
    assert at_rival < at_prox


@pytest.mark.parametrize("part", [3, bo.Zero, bo.make("smooth", "factorization"), bo.make("method", "auto")])
def test_what_has_no_checks_is_refused(part):
    with pytest.raises(IncompatibleError, match="There are checks for"):
        bo.testing.check(part)


def test_the_counts_add_up():
    outcomes = [Outcome("a", Status.PASSED), Outcome("b", Status.NOT_APPLICABLE, "why"), Outcome("c", Status.PASSED)]
    assert Report("part", outcomes).counts == {"passed": 2, "failed": 0, "expected": 0, "not-applicable": 1}
    assert Report("part", outcomes).table().splitlines()[0] == "part: 2 passed, 1 not-applicable"


test_this_suite_passes = bo.testing.suite([type(bo.make("step", "monotone")), bo.make("step", "monotone(5)")])


def test_a_suite_has_a_case_for_each_check_and_is_strict(tmp_path):
    (tmp_path / "test_mine.py").write_text(
        "import bregopt.testing\n"
        "from test_kit_report import KNOWN, Doubled\n\n"
        "test_wrong = bregopt.testing.suite(Doubled())\n"
        "test_known = bregopt.testing.suite(Doubled, {'prox/variational': 'known', 'prox/fresh': 'not so'})\n"
    )
    code = f"import sys, pytest; sys.path.insert(0, {str(__file__).rpartition('/')[0]!r})\n"
    code += f"sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', '-k', 'variational or fresh', {str(tmp_path)!r}]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "test_wrong[prox/variational]" in done.stdout
    assert "Z = part.prox(X, step)" in done.stdout
    assert "test_known[prox/fresh]" in done.stdout
    assert "2 failed, 1 passed" in done.stdout
    assert "1 xfailed" in done.stdout
