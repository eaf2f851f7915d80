"""The torch expression of every loss is its entry, and a planted mistake is caught. ``python -m pytest -m torch``."""

import pytest
from planted import assert_caught, outcome

from bregopt.host.compose import examples
from bregopt.testing import Status

pytestmark = pytest.mark.torch
EXAMPLES = dict(examples("loss"))


@pytest.fixture(autouse=True)
def torch():
    import torch

    return torch


def wrong(loss, part):
    """The loss with the slope, the value or the error of ``by_torch`` one percent too large."""

    def by_torch(self, torch, X, tile):
        found = loss.by_torch(torch, X, tile)
        square = found.slope * found.slope
        spelt = {"slope": found.slope, "value": 0.5 * square, "error": square}
        spelt |= {name: it for name, it in found._asdict().items() if it is not None}
        return found._replace(**{**spelt, part: 1.01 * spelt[part]})

    kind = type(loss)
    return type(kind.__name__, (kind,), {"by_torch": by_torch})(
        *(getattr(loss, it.name) for it in kind.__attrs_attrs__)
    )


@pytest.mark.parametrize("part", ["slope", "value", "error"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_by_torch_is_the_entry_and_a_part_that_is_off_by_one_percent_is_caught(name, part):
    assert_caught("loss/by-torch", EXAMPLES[name], wrong(EXAMPLES[name], part))


def test_a_loss_without_a_form_for_torch_is_not_judged():
    loss = EXAMPLES["huber(0.3)"]
    without = type("Without", (type(loss),), {"by_torch": lambda self, torch, X, tile: None})(0.3)
    assert outcome("loss/by-torch", without).status is Status.NOT_APPLICABLE
