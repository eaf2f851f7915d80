"""Every method can be saved and loaded, and the kit catches one that cannot."""

import re

import numpy as np
import pytest
import saved_methods

import bregopt as bo
from bregopt.host.compose import examples

METHODS = [entry.name for entry in bo.catalog("method") if entry.name != "auto"]
VARIANTS = [
    "aapb(0.6, 1)",
    "aapb(kernel=s4)",
    "aapb(beta=restart(nesterov))",
    "apb(step=backtrack)",
    "cocain(restart=true)",
    "hybrid(aapb(kernel=s4), els, 4)",
    "hybrid(els, bella, 3)",
    "hybrid(hybrid(apb, palm, 2), cocain, 4)",
    "ippalm(growing)",
]


@pytest.mark.parametrize("name", [*METHODS, *VARIANTS])
def test_the_states_after_a_loaded_one_are_the_same(name):
    report = bo.testing.check(bo.make("method", name))
    assert report.ok, report.table()
    assert {outcome.status.value for outcome in report.outcomes} == {"passed"}


@pytest.mark.parametrize(
    ("method", "told"),
    [
        (
            saved_methods.WithFunction(),
            r"state\.state\.inner\[1\]\['key'\] cannot be saved: it is a builtins\.function",
        ),
        (saved_methods.WithObjects(), r"state\.state\.inner\[1\] cannot be saved: it is an array of dtype object"),
        (saved_methods.made_in_a_function(), r"Local, which does not stand at the top of a module"),
    ],
    ids=["function", "objects", "local class"],
)
def test_a_method_that_cannot_be_saved_fails_with_the_name_of_the_field(method, told):
    failures = bo.testing.check(method).failures
    assert [outcome.name for outcome in failures] == ["states/saved", "states/same-after-loading"]
    for outcome in failures:
        assert outcome.message.startswith("seed 0: State ")
        assert re.search(told, outcome.message)


def test_a_method_with_a_memory_outside_of_its_states_is_caught():
    failures = bo.testing.check(saved_methods.WithHiddenState()).failures
    assert [outcome.name for outcome in failures] == ["states/same-after-loading"]
    assert "has another step after state 6 was saved and loaded" in failures[0].message


def test_the_command_checks_every_method(tmp_path):
    from bregopt.testing.instances import every_example

    checked = {instance.label for instance in every_example() if instance.kind == "method"}
    assert checked == set(METHODS)


@pytest.mark.parametrize(
    "label", [label for label, _ in examples("regularizer") if not label.startswith(("graph(", "group("))]
)
def test_a_run_with_any_regularizer_goes_on_after_a_break(label, tmp_path):
    M = np.maximum(0, np.random.default_rng(0).standard_normal((12, 9)))
    problem = bo.compose("relu-nmd", M, rank=3, U=dict(examples("regularizer"))[label])

    def cut(state):
        if state.iteration == 5:
            raise EOFError

    with pytest.raises(EOFError):
        bo.solve(problem, method="aapb", max_iterations=9, checkpoint=tmp_path, checkpoint_every=0, observers=[cut])
    result, whole = bo.resume(tmp_path), bo.solve(problem, method="aapb", max_iterations=9)
    np.testing.assert_array_equal(result.Y.flat, whole.Y.flat)
    assert result.certificate == whole.certificate
