"""Two methods one after the other: who is at work when, what is counted, and what the certificate may claim."""

import numpy as np
import pytest

import bregopt as bo
from bregopt.errors import IncompatibleError, ParameterError


def problem(**H):
    M = np.maximum(0, np.random.default_rng(0).standard_normal((20, 14)))
    return bo.compose("relu-nmd", M, rank=3, **H)


def hybrid(first, second, after):
    return bo.make("method", "hybrid", first, second, after)


def test_the_first_method_runs_alone_and_hands_its_point_to_the_second():
    it = problem(U="l1(0.1)")
    result = bo.solve(it, method=hybrid("apb", "masked-newton", 4), max_iterations=9)
    first = bo.solve(it, method="apb", max_iterations=4)
    second = bo.solve(it, method="masked-newton", start=first.Y, max_iterations=5)
    np.testing.assert_array_equal(result.history["objective"][:5], first.history["objective"])
    np.testing.assert_array_equal(result.history["objective"][5:], second.history["objective"][1:])
    np.testing.assert_array_equal(result.Y.flat, second.Y.flat)
    np.testing.assert_array_equal(result.history["iteration"], np.arange(10))
    before, after = first.history["products"][-1], second.counts.products
    assert result.counts.products == pytest.approx(before + after - 1), "the point in between is evaluated once"


def test_a_run_that_ends_early_is_one_of_the_first_method():
    it = problem(U="l1(0.1)")
    result = bo.solve(it, method=hybrid("apb", "masked-newton", 4), max_iterations=4)
    first = bo.solve(it, method="apb", max_iterations=4)
    assert result.certificate.subgradient == first.certificate.subgradient
    assert result.counts == first.counts


def test_a_guarantee_needs_that_of_both():
    both = bo.solve(problem(), method=hybrid("apb", "aapb-certified", 3), max_iterations=8).certificate
    assert both.guaranteed
    assert {"first: step", "second: step"} <= set(both.assumptions)
    one = bo.solve(problem(), method=hybrid("apb", "a-nmd", 3), max_iterations=8).certificate
    assert not one.guaranteed
    assert not one.assumptions
    assert one.lyapunov == "Φ(Y^k)"
    assert one.monotone
    assert "then" in both.lyapunov
    mixed = bo.solve(problem(), method=hybrid("els", "masked-newton", 3), max_iterations=8).certificate
    assert not mixed.guaranteed
    assert not mixed.assumptions
    assert "observed" in mixed.summary()
    assert "row that would raise Φ" in mixed.summary()
    assert ",," not in mixed.summary()


def test_by_default_coordinate_descent_comes_before_masked_newton():
    result = bo.solve(problem(U="l1(0.1)", V="l1(0.1)"), method="hybrid", max_iterations=40)
    assert result.certificate.monotone
    each = np.diff(result.history["products"])
    assert each[:10].max() <= 6 < each[10:].min(), "three products each, or six where a step is taken again"


def test_what_either_refuses_is_refused():
    with pytest.raises(IncompatibleError, match="not separable"):
        bo.solve(problem(U="l21(0.1)"), method=hybrid("apb", "masked-newton", 3), max_iterations=1)


@pytest.mark.parametrize("after", [0, 2.5, True])
def test_the_switch_comes_after_a_whole_number_of_iterations(after):
    with pytest.raises(ParameterError, match="whole number >= 1"):
        hybrid("apb", "masked-newton", after)


def test_a_member_may_bring_a_kernel_of_its_own():
    it = problem()
    result = bo.solve(it, method="hybrid(aapb(kernel=s4), els, 3)", max_iterations=6)
    first = bo.solve(it, method="aapb(kernel=s4)", max_iterations=3)
    second = bo.solve(it, method="els", start=first.Y, max_iterations=3)
    np.testing.assert_array_equal(result.history["objective"][:4], first.history["objective"])
    np.testing.assert_array_equal(result.Y.flat, second.Y.flat)


def test_members_with_different_kernels_each_use_their_own():
    it = problem(kernel="tight")
    both = bo.solve(it, method="hybrid(aapb(kernel=paper), aapb, 3)", max_iterations=6)
    first = bo.solve(it, method="aapb(kernel=paper)", max_iterations=3)
    second = bo.solve(it, method="aapb", start=first.Y, max_iterations=3)
    np.testing.assert_array_equal(both.Y.flat, second.Y.flat)
    assert not np.array_equal(first.Y.flat, bo.solve(it, method="aapb", max_iterations=3).Y.flat)
    nested = bo.solve(it, method="hybrid(hybrid(aapb(kernel=paper), els, 2), aapb(kernel=s4), 4)", max_iterations=6)
    assert nested.iterations == 6
