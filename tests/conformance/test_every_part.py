"""Every example of every plugin stands every check of the kit."""

import pytest

import bregopt as bo
from bregopt.host.compose import examples, kinds
from bregopt.testing.kinds import checkable

PARTS = [
    pytest.param(part, id=f"{kind}: {label}")
    for kind in (it.name for it in kinds())
    for label, part in examples(kind)
    if checkable(part)
]  # fmt: skip


@pytest.mark.parametrize("part", PARTS)
def test_every_check_passes(part):
    report = bo.testing.check(part)
    assert report.ok, report.table()


def test_every_kind_that_has_checks_has_examples():
    for kind in ("kernel", "regularizer", "problem", "extrapolation", "step"):
        assert examples(kind), kind
