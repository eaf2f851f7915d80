"""Planted mistakes: the check that is there for one catches it, and passes what is right."""

import contextlib
import io

import numpy as np
from attrs import frozen

from bregopt import Regularizer, Trait
from bregopt.testing import Status
from bregopt.testing.check import run
from bregopt.testing.kinds import checks_of


def outcome(name, part, seed=0):
    """What one check finds."""
    return run(name, checks_of(part)[name], seed)


def printed_by(code, part):
    """What a counterexample prints."""
    with contextlib.redirect_stdout(io.StringIO()) as out, np.errstate(all="ignore"):
        exec(code, {"part": part})
    return out.getvalue()


def assert_caught(name, right, wrong):
    """The check fails for what is wrong, with its numbers and a counterexample that runs, and passes what is right."""
    good, bad = outcome(name, right), outcome(name, wrong)
    assert good.status is Status.PASSED, good
    assert bad.status is Status.FAILED, name
    assert bad.message.startswith("seed 0: ")
    assert "it raised" not in bad.message, "The check broke down before it could compare anything."
    assert printed_by(bad.counterexample, wrong)


@frozen
class Planted(Regularizer):
    """H with another prox, and with claims of its own."""

    H: Regularizer
    wrong: object
    traits: Trait = Trait.NONE

    def value(self, X):
        return self.H.value(X)

    def prox(self, X, step):
        return self.wrong(X, step)
