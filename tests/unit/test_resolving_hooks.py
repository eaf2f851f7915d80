"""The hooks that resolve: the first plugin that answers is taken, and one that returns None is passed over."""

import numpy as np
import pytest
from attrs import frozen
from small_parts import Given, HalfSquares

import bregopt as bo
from bregopt.host.compose import resolve

M = np.maximum(0, np.random.default_rng(0).standard_normal((8, 6)))
pytestmark = pytest.mark.usefixtures("fresh_host")


@frozen(eq=False)
class Counting(bo.Oracle):
    """The plain oracle, which says that an evaluation costs a product."""

    plain: bo.PlainOracle

    def evaluate(self, Y, at=None, *, value_at=False):
        found = self.plain.evaluate(Y, at, value_at=value_at)
        gradient = (found.at, found.gradient) if found.has_gradient else (None, None)
        return bo.Evaluation(Y, found.W, found.value, *gradient, found.value_at, products=1.0)


class OracleForGiven:
    """A plugin for the W block ``Given``, and for no other."""

    @bo.hookimpl
    def bregopt_resolve_oracle(self, smooth, block):
        return Counting(bo.PlainOracle(smooth, block)) if isinstance(block, Given) else None


class Doubled:
    """A plugin that reads a matrix in place of its name."""

    def __init__(self, name, factor):
        self.name, self.factor = name, factor

    @bo.hookimpl
    def bregopt_resolve_data(self, data):
        return self.factor * M if isinstance(data, str) and data == self.name else None


def stated():
    rng = np.random.default_rng(1)
    start = bo.Blocks(U=rng.standard_normal((8, 2)), V=rng.standard_normal((2, 6)))
    kernel = bo.make("kernel", "psi1") + 20.0 * bo.make("kernel", "psi2")
    return bo.Problem(smooth=HalfSquares(), block=Given(M), kernel=kernel, start=start)


def test_an_oracle_of_a_plugin_takes_the_place_of_the_plain_one():
    assert isinstance(resolve(stated()).oracle, bo.PlainOracle)
    plain = bo.solve(stated(), method="apb(1)", max_iterations=4)
    bo.load_plugin(OracleForGiven())
    assert isinstance(resolve(stated()).oracle, Counting)
    special = bo.solve(stated(), method="apb(1)", max_iterations=4)
    np.testing.assert_array_equal(special.Y.flat, plain.Y.flat)
    assert special.counts.products == special.counts.evaluations < plain.counts.products


def test_an_oracle_that_is_passed_over_leaves_others_alone():
    bo.load_plugin(OracleForGiven())
    assert not isinstance(bo.compose("relu-nmd", M, rank=2).oracle, (Counting, bo.PlainOracle))


def test_data_are_read_by_the_plugin_that_was_loaded_last_and_knows_them():
    assert bo.resolve_data("mine") == "mine"
    bo.load_plugin(Doubled("mine", 2.0))
    np.testing.assert_array_equal(bo.resolve_data("mine"), 2.0 * M)
    assert bo.resolve_data("other") == "other"
    assert bo.compose("relu-nmd", "mine", rank=2).block.M.frobenius == pytest.approx(2 * np.linalg.norm(M))
