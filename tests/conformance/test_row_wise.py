"""A regularizer that goes row by row says so: it is what spares a block-wise method a product."""

import numpy as np
import pytest
from bregopt_regularizers.ball import Ball
from bregopt_regularizers.box import Box
from bregopt_regularizers.l0 import OnSupport
from bregopt_regularizers.l0_ball import L0Ball
from bregopt_regularizers.l1 import L1
from bregopt_regularizers.l1_ball import L1Ball
from bregopt_regularizers.l21 import L21
from bregopt_regularizers.nuclear import Nuclear
from bregopt_regularizers.on_columns import on_columns
from bregopt_regularizers.scaled import scaled
from bregopt_regularizers.simplex import Simplex
from bregopt_regularizers.sparse_group import SparseGroup
from bregopt_regularizers.unit_norm import UnitColumns, UnitRows
from bregopt_regularizers.with_nonneg import l0_nonneg, l21_nonneg, with_nonneg
from bregopt_regularizers.with_ridge import with_ridge

from bregopt import Trait
from bregopt.host.compose import examples
from bregopt.testing import CheckFailedError, RandomPoints
from bregopt.testing.checks.regularizer_traits import row_by_row
from bregopt.testing.search.regularizer_case import RegularizerCase

WEIGHTS = np.linspace(0.1, 1.2, 12).reshape(4, 3)
LABELS = np.array([0, 1, 0, 1])
SINGLE = np.arange(4)
"""Each row a group of its own: the same function, but for four rows only."""

BY_ROW = {
    "l1 by column": L1(WEIGHTS[0]),
    "l1 by column, one row": L1(WEIGHTS[:1]),
    "l1, one number in an array": L1(np.array(0.3)),
    "box open above": Box(0.2, None),
    "l0-nonneg": l0_nonneg(2, per="row"),
    "l1-ball": L1Ball(0.7, per="row"),
    "scaled": scaled(Simplex(1.0, per="row"), 3.0),
    "ridge": with_ridge(L0Ball(1, per="row"), 0.5),
    "orthant": with_nonneg(L21(0.4)),
    "orthant and combination": with_nonneg(scaled(with_ridge(on_columns(L21(0.4), [0, 2]), 0.3), 2.0)),
    "columns": on_columns(Ball(0.5, per="row"), [2, 0]),
    "columns of unit rows": on_columns(UnitRows(), [0, 1]),
    "columns of l1 by column": on_columns(L1(WEIGHTS[0, :2]), [2, 0]),
}
NOT_BY_ROW = {
    "l1 by entry": L1(WEIGHTS),
    "l1 by row": L1(WEIGHTS[:, :1]),
    "l1 by entry, all the same": L1(np.full((4, 3), 0.3)),
    "l21 by labels": L21(0.4, per=LABELS),
    "l21 by labels of a row each": L21(0.4, per=SINGLE),
    "l21-nonneg by column": l21_nonneg(0.4, per="column"),
    "sparse-group by labels": SparseGroup(0.2, 0.4, per=LABELS),
    "l0-nonneg by column": l0_nonneg(2, per="column"),
    "simplex of all": Simplex(1.0, per="all"),
    "support": OnSupport(WEIGHTS > 0.5),
    "scaled": scaled(Nuclear(0.4), 2.0),
    "ridge": with_ridge(L1(WEIGHTS), 0.5),
    "orthant": with_nonneg(L1(WEIGHTS[:, :1])),
    "columns": on_columns(L0Ball(2), [0, 1]),
    "columns of unit columns": on_columns(UnitColumns(), [0, 1]),
    "columns of l1 by row": on_columns(L1(WEIGHTS[:, :1]), [0, 1]),
}
EXAMPLES = dict(examples("regularizer"))


def goes_by_row(H):
    """Whether H stands the check of ROW_WISE on several draws, claimed or not."""
    try:
        for seed in range(3):
            row_by_row(RegularizerCase.of(H), RandomPoints.of(seed, "traits/row-wise"))
    except CheckFailedError:
        return False
    return True


@pytest.mark.parametrize("H", EXAMPLES.values(), ids=EXAMPLES)
def test_every_example_that_goes_by_row_claims_it(H):
    claimed = Trait.ROW_WISE in H.traits
    assert claimed == goes_by_row(H), f"{H!r} claims {H.traits}, which should {'not ' * claimed}have ROW_WISE"


@pytest.mark.parametrize("H", BY_ROW.values(), ids=BY_ROW)
def test_what_has_one_function_for_every_row_claims_it(H):
    assert Trait.ROW_WISE in H.traits
    assert goes_by_row(H)


@pytest.mark.parametrize("H", NOT_BY_ROW.values(), ids=NOT_BY_ROW)
def test_what_is_tied_to_places_or_sees_other_rows_does_not_claim_it(H):
    assert Trait.ROW_WISE not in H.traits
    assert not goes_by_row(H)
