"""A certificate claims what was tested, and nothing else."""

import itertools
import math

import attrs
import numpy as np
import pytest

import bregopt as bo
from bregopt.engine.certificate import Finding

M = np.maximum(0, np.random.default_rng(0).standard_normal((12, 9)))


def solve(method, iterations=5, **given):
    return bo.solve(bo.compose("relu-nmd", M, rank=2, **given), method=method, max_iterations=iterations)


@attrs.frozen
class Retelling(bo.Method):
    """APB whose states are told in other words."""

    inner: bo.Method = attrs.field(factory=lambda: bo.make("method", "apb"), kw_only=True)

    @property
    def assumptions(self):
        return self.inner.assumptions

    def start(self, problem, Y):
        return self.inner.start(problem, Y)

    def advance(self, problem, state):
        return self.told(self.inner.advance(problem, state))


@attrs.frozen
class Partly(Retelling):
    """Reports the assumptions of the theorem at some iterations only."""

    reported: tuple = ()

    def told(self, state):
        return state if state.iteration in self.reported else attrs.evolve(state, assumptions={})


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


@attrs.frozen
class Retold(Retelling):
    """Has other words in its third state."""

    changes: dict = attrs.field(factory=dict)

    def told(self, state):
        return attrs.evolve(state, **self.changes) if state.iteration == 3 else state


@pytest.mark.parametrize("changes", [{"step": math.nan}, {"step": math.inf}, {"lyapunov": math.nan}])
def test_no_guarantee_is_given_where_a_number_is_not_finite(changes):
    certificate = solve(Retold(changes), iterations=3).certificate
    assert not certificate.guaranteed
    assert "held" not in certificate.summary()
    assert "left the finite numbers" in certificate.summary()


def test_no_guarantee_is_given_with_an_objective_that_is_not_finite():
    result = solve(Retold({"objective": math.inf}), iterations=3)
    assert result.status is bo.Status.NOT_FINITE
    assert not result.certificate.guaranteed


def test_what_is_assumed_of_a_step_is_not_checked_where_there_is_none():
    certificate = solve(Retold({"step": None}), iterations=3).certificate
    assert certificate.assumptions["step"].unchecked_at == (3,)
    assert not certificate.guaranteed


def test_a_rise_and_a_guarantee_are_never_told_together():
    certificate = solve(Retold({"lyapunov": 1e9}), iterations=3).certificate
    assert certificate.assumptions_held
    assert certificate.rises == (3,)
    assert not certificate.guaranteed
    assert "rose at iteration 3" in certificate.summary()
    assert "No guarantee is given" in certificate.summary()


def test_a_rise_that_the_tests_forgave_is_rounding():
    before = solve("apb", iterations=3).history["lyapunov"]
    rise = {"lyapunov": before[2] + 1e-3}
    assert solve(Retold(rise), iterations=3).certificate.rises == (3,)
    assert solve(Retold(rise | {"tolerance": 2e-3}), iterations=3).certificate.guaranteed


def test_only_a_test_that_was_passed_forgives():
    forgiving = bo.Assumption("small", "x ≤ 1", lambda x: x <= 1, lambda x: x)
    states = list(itertools.islice(bo.iterate(bo.compose("relu-nmd", M, rank=2), method="apb"), 2))
    risen = attrs.evolve(states[1], lyapunov=states[0].lyapunov + 1)
    assert risen.forgiven(states[0], [forgiving], 0.5).tolerance == 0.5
    assert risen.forgiven(states[0], [forgiving], 0.5, 2.0).tolerance == 0.5
    assert states[1].forgiven(states[0], [forgiving], 0.5).tolerance == 0, "it fell"


FITTED = np.random.default_rng(1).integers(-3, 4, (8, 2)) / 3, np.random.default_rng(2).integers(-3, 4, (2, 6)) / 3


@pytest.mark.parametrize("method", ["aapb-paper", "aapb-certified", "cocain", "bella", "apb", "palm", "ipalm", "ecd"])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 0.1, 1e3])
def test_no_rise_is_seen_at_a_start_that_meets_the_data_where_all_assumptions_hold(method, scale):
    U, V = (scale * X for X in FITTED)
    problem = bo.compose("relu-nmd", np.maximum(0, U @ V), rank=2)
    result = bo.solve(problem, method=method, start=bo.Blocks(U=U, V=V), max_iterations=40)
    assert result.metrics["relative_error"] < 1e-13
    assert result.certificate.monotone or not result.certificate.assumptions_held


def test_the_distance_to_stationarity_is_not_known_where_the_proximal_map_missed_it():
    exact = bo.compose("relu-nmd", M, rank=2, U="l0(0.05)", V="ridge(0.3)")
    prox = bo.bregman_prox(exact.kernel.pick(True), exact.regularizer)

    def careless(P, step, kernel):
        Y = prox(P, step)
        return Y * (1 + 1e-7)

    def run(**given):
        problem = attrs.evolve(exact, **given)
        return bo.solve(problem, method="apb", max_iterations=5).certificate

    assert run().subgradient > 0
    careful, missed = run(), run(prox=careless)
    assert careful.subgradient_rounding < 1e-10 * careful.subgradient
    assert missed.subgradient is None
    assert "not known" in missed.summary()


def test_the_rounding_of_the_subgradient_is_told_where_it_shows():
    shown = attrs.evolve(solve("apb").certificate, subgradient=1e-12, subgradient_rounding=3e-13)
    assert "|A| = 1.00e-12 + 3e-13 of rounding" in shown.summary()
    assert "of rounding" not in solve("apb").certificate.summary()
