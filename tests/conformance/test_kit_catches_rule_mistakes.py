"""Planted mistakes in β rules and step rules: each is caught by the check that is there for it."""

from typing import ClassVar

import pytest
from attrs import define, field, frozen
from planted import assert_caught

import bregopt as bo

ASSUMPTION2 = type(bo.make("extrapolation", "assumption2"))
RULE = bo.make("extrapolation", "assumption2")


class Greedy(ASSUMPTION2):
    """β is the cap, whatever the inequality says."""

    def choose(self, move, memory):
        return min(self.cap, 0.9 * move.longest), memory


class OldStep(ASSUMPTION2):
    """The new step on both sides, where the old one belongs on the right."""

    def _budget(self, move, forecast):
        return (self.delta - self.epsilon) / move.step * move.divergence


@frozen
class Beta(bo.Extrapolation):
    """A rule from a function of the move."""

    rule: object

    def choose(self, move, memory):
        return self.rule(move), memory


@define
class Forgetful(bo.Extrapolation):
    """Counts its questions within, where its memory should."""

    asked: int = 0

    def choose(self, move, memory):
        self.asked += 1
        return min(0.9 * move.longest, self.asked / (self.asked + 3)), memory


def nan_at_rest(move):
    return 0.5 * min(1, move.longest) if move.divergence else float("nan")


BETAS = {
    "ignores the inequality": ("beta/inequality", RULE, Greedy()),
    "the wrong step": ("beta/inequality", RULE, OldStep()),
    "too large": ("beta/range", RULE, Beta(lambda move: min(1.2, 0.9 * move.longest))),
    "negative": ("beta/range", RULE, Beta(lambda move: -0.1)),
    "out of the domain": ("beta/range", RULE, Beta(lambda move: 0.6)),
    "nan where nothing moved": ("beta/range", RULE, Beta(nan_at_rest)),
    "hidden memory": ("beta/stateless", RULE, Forgetful()),
}  # fmt: skip


@define
class Step(bo.StepRule):
    """A step rule from two functions."""

    proposed: object = field(default=lambda carried, limit: carried or limit or 1.0)
    judged: object = field(default=lambda trial: (trial.holds, trial.step if trial.holds else 0.5 * trial.step))
    tests: ClassVar[bool] = True
    asked: int = 0

    def propose(self, carried, limit):
        return self.proposed(carried, limit)

    def judge(self, trial):
        return self.judged(trial)


class Growing(Step):
    """Another step each time."""

    def propose(self, carried, limit):
        self.asked += 1
        return 1.0 + 0.1 * self.asked


STEPS = {
    "never accepts": ("step/ends", Step(), Step(judged=lambda trial: (False, trial.step))),
    "never accepts a good step": ("step/accepts", Step(), Step(judged=lambda trial: (False, 0.5 * trial.step))),
    "shrinks too slowly": ("step/ends", Step(), Step(judged=lambda trial: (False, trial.step * (1 - 1e-6)))),
    "accepts everything": ("step/refuses", Step(), Step(judged=lambda trial: (True, trial.step))),
    "longer after a refusal": ("step/refuses", Step(), Step(judged=lambda trial: (trial.holds, 2 * trial.step))),
    "negative": ("step/positive", Step(), Step(proposed=lambda carried, limit: -1.0)),
    "infinite": ("step/positive", Step(), Step(proposed=lambda carried, limit: limit or float("inf"))),
    "hidden memory": ("step/stateless", Step(), Growing()),
}  # fmt: skip


@pytest.mark.parametrize("mistake", BETAS)
def test_a_mistake_in_a_beta_rule_is_caught_by_its_check(mistake):
    assert_caught(*BETAS[mistake])


@pytest.mark.parametrize("mistake", STEPS)
def test_a_mistake_in_a_step_rule_is_caught_by_its_check(mistake):
    assert_caught(*STEPS[mistake])


def test_a_rule_that_does_not_promise_the_inequality_is_not_held_to_it():
    report = bo.testing.check(bo.make("extrapolation", "constant(0.6)"))
    assert report.ok
    assert {outcome.name: outcome.status for outcome in report.outcomes}["beta/inequality"] == "not-applicable"
