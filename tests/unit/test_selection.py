"""Which method runs, with which kernel, and what the result says of it."""

import numpy as np
import pytest

import bregopt as bo
from bregopt.errors import IncompatibleError, ParameterError

M = np.maximum(0, np.random.default_rng(0).standard_normal((20, 14)))


def solve(method="auto", **given):
    return bo.solve(bo.compose("relu-nmd", M, rank=3, **given), method=method, max_iterations=3)


def test_a_selector_is_asked_before_the_run_and_the_result_names_its_choice():
    result = solve()
    assert isinstance(result.method, bo.Method)
    assert result.notes[0].startswith("auto picked els")
    np.testing.assert_array_equal(result.Y.flat, solve("els").Y.flat)


def test_auto_is_a_selector_and_no_iteration_of_its_own():
    assert isinstance(bo.make("method", "auto"), bo.Selector)
    assert not isinstance(bo.make("method", "auto"), bo.Method)


def test_auto_picks_a_method_that_uses_the_kernel_that_was_asked_for():
    result = solve(kernel="paper")
    assert result.method.uses_kernel
    assert "It uses the kernel that was asked for" in result.notes[0]
    assert not any("not used" in note for note in result.notes)


@pytest.mark.parametrize("method", ["els", "palm", "a-nmd", "ebcd-nmd", "masked-newton", "hybrid", "aals", "ecd"])
def test_a_kernel_that_was_asked_for_and_is_not_used_is_said_to_be_so(method):
    assert any("asked for is not used" in note for note in solve(method, kernel="paper").notes)
    assert not solve(method).notes


def test_a_method_that_brings_its_own_kernel_says_so_where_another_was_asked_for():
    assert "the method brings its own" in solve("aapb(kernel=s4)", kernel="paper").notes[0]
    assert not solve("aapb(kernel=s4)").notes
    assert not solve("aapb", kernel="paper").notes


def test_a_selector_is_no_member_of_a_hybrid():
    with pytest.raises(ParameterError, match="must be a Method"):
        bo.make("method", "hybrid(auto, els, 3)")


class Always(bo.Selector):
    """Chooses what it is told to."""

    def __init__(self, method):
        self.method = method

    def select(self, problem, Y):
        return bo.make("method", self.method), f"{self.method} was asked for"


def test_the_kernels_of_a_chosen_method_are_resolved():
    chosen = solve(Always("aapb(kernel=s4)"))
    np.testing.assert_array_equal(chosen.Y.flat, solve("aapb(kernel=s4)").Y.flat)
    assert chosen.notes == ("aapb(kernel=s4) was asked for",)
    states = bo.iterate(bo.compose("relu-nmd", M, rank=3), method=Always("aapb(kernel=s4)"))
    np.testing.assert_array_equal([next(states).Y.flat for _ in range(4)][-1], chosen.Y.flat)


def test_a_problem_whose_own_kernel_has_no_proximal_map_runs_with_the_kernel_of_the_method():
    problem = bo.compose("relu-nmd", M, rank=3, U="l1(0.1)")
    stated = bo.Problem(
        smooth=problem.smooth,
        block=problem.block,
        regularizer=problem.regularizer,
        kernel=bo.make("kernel", "s4"),
        start=problem.start,
    )
    with pytest.raises(IncompatibleError, match="No plugin solves"):
        bo.solve(stated, method="aapb", max_iterations=1)
    assert bo.solve(stated, method="aapb(kernel=tight)", max_iterations=1).iterations == 1


def test_a_kernel_that_was_not_resolved_is_refused():
    problem = bo.compose("relu-nmd", M, rank=3)
    with pytest.raises(IncompatibleError, match="not resolved for the kernel"):
        problem.using(bo.make("kernel", "psi2"))
