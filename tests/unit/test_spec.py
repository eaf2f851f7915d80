"""Spec strings and what is made from them."""

import re

import numpy as np
import pytest

import bregopt as bo
from bregopt.errors import BregoptError, ParameterError, SpecError, UnknownNameError
from bregopt.host.spec import Spec, parse


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("l1", Spec("l1")),
        ("l1()", Spec("l1")),
        (" l1 ( 0.01 ) ", Spec("l1", (0.01,))),
        ("l0-ball(5, per=row)", Spec("l0-ball", (5,), {"per": "row"})),
        ("max-iterations(1000)", Spec("max-iterations", (1000,))),
        ("x(-1e-3, +2, .5)", Spec("x", (-0.001, 2, 0.5))),
        ("x(true, none, 'a b', inf)", Spec("x", (True, None, "a b", float("inf")))),
        ("a(beta=b2(cap=0.9), step=1)", Spec("a", (), {"beta": Spec("b2", (), {"cap": 0.9}), "step": 1})),
        ("3b-nmd(0.5)", Spec("3b-nmd", (0.5,))),
        ("x(3b-nmd(1), 3b-nmd)", Spec("x", (Spec("3b-nmd", (1,)), "3b-nmd"))),
        ("x(y(z(1)))", Spec("x", (Spec("y", (Spec("z", (1,)),)),))),
    ],
)
def test_specs_are_read(text, spec):
    assert parse(text) == spec


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "l1(",
        "l1)",
        "l1(0.1",
        "l1(0.1))",
        "(1)",
        "1",
        "l1(,)",
        "l1(1 2)",
        "l1(a=)",
        "l1(a=1, 2)",
        "l1;",
        "l1(0.1.2)",
        "3b",
        "l1(1e-5x)",
    ],
)
def test_a_spec_that_cannot_be_read_says_where(text):
    with pytest.raises(SpecError, match=r"name\(value|a name with arguments|cannot be read"):
        parse(text)


def test_an_argument_given_twice_is_refused():
    with pytest.raises(SpecError, match="'a' twice"):
        parse("x(a=1, a=2)")


def test_parts_are_made_from_specs_numbers_and_objects():
    l1 = bo.make("regularizer", "l1(0.01)")
    assert l1.eta == 0.01
    assert bo.make("regularizer", l1) is l1
    assert bo.make("extrapolation", 0.6).beta == 0.6
    assert bo.make("step", 1).step == 1
    method = bo.make("method", "aapb(beta=assumption2(cap=0.5), step=0.3, w=Ybar)")
    assert (method.beta.cap, method.step.step, method.w) == (0.5, 0.3, "Ybar")


@pytest.mark.parametrize(
    ("kind", "spec", "error", "message"),
    [
        ("regularizer", "l11", UnknownNameError, "Did you mean 'l1'"),
        ("regularizer", "zzzzzz", UnknownNameError, "'bregopt plugins' lists the 37 that there are"),
        ("regulariser", "l1", UnknownNameError, "Did you mean 'regularizer'"),
        (
            "regularizer",
            "l1(-1)",
            ParameterError,
            "The 'eta' parameter of L1 must be a finite number >= 0. Got -1 instead.",
        ),
        ("regularizer", "l1(nan)", ParameterError, "Got 'nan'"),
        ("regularizer", "l1(1, 2)", ParameterError, "It takes eta=1.0"),
        ("regularizer", "l1(weight=1)", ParameterError, "'weight'"),
        ("regularizer", "l0-ball(0)", ParameterError, "a whole number >= 1"),
        ("regularizer", "l0-ball(2.5)", ParameterError, "a whole number >= 1"),
        ("regularizer", "l0-ball(2, per=diagonal)", ParameterError, "one of 'all', 'row', 'column'"),
        ("regularizer", "ridge(inf)", ParameterError, "finite"),
        ("method", None, SpecError, "by a spec such as"),
        ("extrapolation", "constant(1.5)", ParameterError, "< 1"),
        ("extrapolation", "assumption2(delta=0.1, epsilon=0.2)", ParameterError, "epsilon < delta"),
        ("step", "constant(0)", ParameterError, "> 0"),
        ("stop", "target", ParameterError, "objective"),
        ("stop", 3, SpecError, "write 'max-iterations(3)' or 'tolerance(3)'"),
        ("method", "aapb(w=Z)", ParameterError, "one of 'Y', 'Ybar'"),
        ("kernel", "block-quadratic(U=-1)", ParameterError, ">= 0"),
        ("kernel", "block-quadratic", ParameterError, "a weight for a block"),
    ],
)
def test_what_cannot_be_made_gives_one_clear_error(kind, spec, error, message):
    with pytest.raises(error) as caught:
        bo.make(kind, spec)
    assert message in str(caught.value)
    assert isinstance(caught.value, BregoptError)


def assert_same(kernel, wanted):
    Y = bo.Blocks(U=np.arange(1.0, 5.0).reshape(2, 2), V=np.ones((2, 1)))
    assert repr(kernel) == repr(wanted)
    assert kernel.value(Y) == wanted.value(Y)


@pytest.mark.parametrize("spec", ["3*psi1 + 2*psi2", "3*psi1+2*psi2", "  3.0 * psi1 + psi2 + psi2"])
def test_kernels_are_added_and_scaled_in_a_spec(spec):
    assert_same(bo.make("kernel", spec), 3.0 * bo.make("kernel", "psi1") + 2.0 * bo.make("kernel", "psi2"))


def test_a_kernel_of_other_terms_and_parameters_is_a_sum_too():
    wanted = bo.make("kernel", "psi1") + 0.5 * bo.make("kernel", "power(6)")
    assert_same(bo.make("kernel", "psi1 + 0.5*power(6)"), wanted)
    assert_same(bo.make("kernel", "block-quadratic(U=1e+2, V=1)"), bo.make("kernel", "block-quadratic", U=100.0, V=1.0))


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("3*psi1 +", "expected a name"),
        ("3 psi1", "expected"),
        ("*psi1", "expected a name"),
        ("psi1 * 3", "expected the end"),
        ("-2*psi1 + psi2", "a number > 0"),
        ("0*psi1 + psi2", "a number > 0"),
        ("2*paper", "depends on W"),
        ("psi1 + psi3", "There is no kernel named 'psi3'"),
    ],
)
def test_a_sum_of_kernels_that_cannot_be_made_is_refused_in_one_sentence(spec, told):
    with pytest.raises(BregoptError, match=re.escape(told)):
        bo.make("kernel", spec)


def test_a_problem_takes_a_sum_of_kernels():
    M = np.maximum(0, np.random.default_rng(0).standard_normal((12, 9)))
    result = bo.solve(bo.compose("relu-nmd", M, rank=2, kernel="psi1 + 30*psi2"), method="apb", max_iterations=5)
    assert result.certificate.monotone
