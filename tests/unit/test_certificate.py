"""A certificate claims what was tested, and nothing else."""

import attrs
import numpy as np
import pytest

import bregopt as bo
from bregopt.engine.certificate import Finding

M = np.maximum(0, np.random.default_rng(0).standard_normal((12, 9)))


def solve(method, iterations=5, **given):
    return bo.solve(bo.compose("relu-nmd", M, rank=2, **given), method=method, max_iterations=iterations)


@attrs.frozen
class Partly(bo.Method):
    """APB that reports the assumptions of the theorem at some iterations only."""

    reported: tuple = ()
    inner: bo.Method = attrs.field(factory=lambda: bo.make("method", "apb"))

    @property
    def assumptions(self):
        return self.inner.assumptions

    def start(self, problem, Y):
        return self.inner.start(problem, Y)

    def advance(self, problem, state):
        after = self.inner.advance(problem, state)
        return after if after.iteration in self.reported else attrs.evolve(after, assumptions={})


def test_an_assumption_that_is_never_reported_is_not_checked():
    certificate = solve(Partly()).certificate
    assert {it.finding for it in certificate.assumptions.values()} == {Finding.NOT_CHECKED}
    assert not certificate.guaranteed
    assert certificate.assumptions["step"].unchecked_at == (1, 2, 3, 4, 5)
    assert "not checked" in certificate.summary()
    assert "held" not in certificate.summary()


def test_an_assumption_that_is_reported_now_and_then_is_not_held():
    certificate = solve(Partly((1, 2, 4))).certificate
    assert certificate.assumptions["step"].unchecked_at == (3, 5)
    assert not certificate.assumptions["step"].held
    assert not certificate.guaranteed
    assert solve(Partly((1, 2, 3, 4, 5))).certificate.guaranteed


@pytest.mark.parametrize("method", ["aapb", "palm", "els", "bella", "hybrid(apb, aapb, 2)"])
def test_a_run_of_no_iterations_certifies_nothing(method):
    certificate = solve(method, iterations=0).certificate
    assert not certificate.guaranteed
    assert not any(it.held for it in certificate.assumptions.values())
    assert certificate.summary().startswith("No iteration was made")


@pytest.mark.parametrize("method", ["ecd", "els", "aals", "masked-newton", "ebcd-nmd"])
def test_where_no_theorem_stands_behind_it_a_descent_is_called_observed(method):
    certificate = solve(method).certificate
    assert certificate.monotone
    assert not certificate.guaranteed
    assert not certificate.assumptions
    assert "This descent was observed" in certificate.summary()


def test_the_assumptions_of_a_member_that_is_not_at_work_are_not_due():
    early = solve("hybrid(apb, aapb-certified, 3)", iterations=2).certificate
    assert early.assumptions["first: step"].held
    assert early.assumptions["second: step"].finding is Finding.NOT_DUE
    assert early.guaranteed
    late = solve("hybrid(apb, aapb-certified, 3)", iterations=6).certificate
    assert late.assumptions["first: step"].held_at == 3
    assert late.assumptions["second: step"].held_at == 3
    assert late.guaranteed


def test_a_failed_assumption_names_its_iterations():
    certificate = solve("aapb(beta=0.9, step=50)").certificate
    assert certificate.assumptions["step"].finding is Finding.FAILED
    assert "not met at iterations 1, 2" in certificate.summary()


def test_an_assumption_is_its_statement_and_its_test():
    method = bo.make("method", "apb")
    assert [it.name for it in method.assumptions] == ["step", "extrapolation", "convexity", "proximal map"]
    assert bo.Assumption("small", "x ≤ 1", lambda x: x <= 1).holds(0.5)
