"""What a regularizer refuses: parameters outside of their range, blocks of the wrong shape, steps beyond the limit."""

import math

import numpy as np
import pytest
from bregopt_regularizers.ball import Ball
from bregopt_regularizers.box import Box
from bregopt_regularizers.capped_l1 import CappedL1
from bregopt_regularizers.exp import Exp
from bregopt_regularizers.graph import Graph
from bregopt_regularizers.huber import Huber
from bregopt_regularizers.l0 import L0
from bregopt_regularizers.l0_ball import L0Ball
from bregopt_regularizers.l1 import L1
from bregopt_regularizers.l1_ball import L1Ball
from bregopt_regularizers.l1_minus_l2 import L1MinusL2
from bregopt_regularizers.l1_minus_ridge import L1MinusRidge
from bregopt_regularizers.l21 import L21
from bregopt_regularizers.log import Log
from bregopt_regularizers.lp import Lp
from bregopt_regularizers.mcp import MCP
from bregopt_regularizers.nuclear import Nuclear
from bregopt_regularizers.on_columns import on_columns
from bregopt_regularizers.orthonormal import Orthonormal
from bregopt_regularizers.rank_ball import RankBall
from bregopt_regularizers.scad import SCAD
from bregopt_regularizers.scaled import scaled
from bregopt_regularizers.simplex import Simplex
from bregopt_regularizers.sparse_group import SparseGroup
from bregopt_regularizers.tv import TV
from bregopt_regularizers.unit_norm import UnitColumns, UnitRows
from bregopt_regularizers.with_nonneg import l1_nonneg, l21_nonneg
from bregopt_regularizers.with_ridge import with_ridge
from convex_parts import L
from nonconvex_parts import name

from bregopt.errors import DataError, ParameterError

REFUSED = [
    lambda: L1(-0.1),
    lambda: L1([0.1, -0.1]),
    lambda: L1([0.1, math.nan]),
    lambda: L1("much"),
    lambda: L1(True),
    lambda: L1(None),
    lambda: L1([[1.0], [1.0, 2.0]]),
    lambda: l1_nonneg(math.inf),
    lambda: L21(-1.0),
    lambda: L21(1.0, per="all"),
    lambda: L21(1.0, per=np.ones((4, 3))),
    lambda: L21(1.0, per=3),
    lambda: l21_nonneg(1.0, per=None),
    lambda: SparseGroup(1.0, -1.0),
    lambda: Nuclear(-1.0),
    lambda: Huber(1.0, 0.0),
    lambda: Box(1.0, 0.0),
    lambda: Box(math.nan, 0.0),
    lambda: Box(math.inf, math.inf),
    lambda: Box(0.0, "1"),
    lambda: Box(False, True),
    lambda: Simplex(0.0),
    lambda: Simplex(per="entry"),
    lambda: L1Ball(-1.0),
    lambda: Ball(math.inf),
    lambda: TV(per="all"),
    lambda: Graph(L, -1.0),
    lambda: scaled(L1(), 0.0),
    lambda: with_ridge(L1(), -1.0),
    lambda: on_columns(L1(), []),
    lambda: on_columns(L1(), [0, 0]),
    lambda: on_columns(L1(), [-1]),
    lambda: on_columns(L1(), [0.5]),
]


@pytest.mark.parametrize("build", REFUSED)
def test_a_parameter_of_a_convex_part_outside_its_range_is_refused(build):
    with pytest.raises(ParameterError, match=r"(?s)The '\w+' parameter of \w+ must be .*\. Got .* instead"):
        build()


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        *((kind, {"eta": bad}) for kind in (L0, Lp, MCP, SCAD, Log, Exp, CappedL1, L1MinusL2) for bad in (-1.0, "x")),
        *((L1MinusRidge, {name: bad}) for name in ("eta1", "eta2") for bad in (-0.1, math.inf)),
        *((Lp, {"p": bad}) for bad in (1.0, 0.3, "1/3", "half")),
        *((MCP, {"gamma": bad}) for bad in (0.0, -1.0, math.nan)),
        *((SCAD, {"a": bad}) for bad in (2.0, 1.0)),
        *((kind, {name: 0.0}) for kind, name in ((Log, "eps"), (Exp, "theta"), (CappedL1, "cap"))),
        *((kind, {name: bad}) for kind, name in ((RankBall, "k"), (L0Ball, "s")) for bad in (0, 1.5)),
        (L0Ball, {"per": "rows"}),
    ],
)
def test_a_parameter_of_a_nonconvex_part_outside_its_range_is_refused(kind, arguments):
    with pytest.raises(ParameterError, match=f"The '{next(iter(arguments))}' parameter of {kind.__name__} must be"):
        kind(**arguments)


MISFITS = [
    lambda X: L1(np.ones(5)).prox(X, 1.0),
    lambda X: L1(np.ones((2, 4, 3))).value(X),
    lambda X: L21(1.0, per=[1, 2]).prox(X, 1.0),
    lambda X: L21().prox(X[0], 1.0),
    lambda X: Nuclear().prox(X[0], 1.0),
    lambda X: Simplex().prox(X[0], 1.0),
    lambda X: L1Ball(per="row").value(X[0]),
    lambda X: Ball(per="row").value(X[0]),
    lambda X: TV().value(X[0]),
    lambda X: on_columns(L1(), 3).value(X),
]


@pytest.mark.parametrize("use", MISFITS)
def test_a_block_of_the_wrong_shape_is_refused(use):
    with pytest.raises((ParameterError, DataError)):
        use(np.ones((4, 3)))


def test_blocks_of_any_dimension_are_taken_where_no_line_is_meant():
    for shape in ((5,), (2, 3, 4)):
        X = np.random.default_rng(0).standard_normal(shape)
        for H in (L1(0.4), l1_nonneg(), Huber(), Box(), Simplex(per="all"), L1Ball(), Ball(), L21(0.4, [0, 1] * 9)):
            G = L21(0.4, per=np.arange(X.size).reshape(shape) % 2) if isinstance(H, L21) else H
            Z = G.prox(X, 0.5)
            assert Z.shape == shape
            assert math.isfinite(G.value(Z))


@pytest.mark.parametrize("H", [RankBall(), UnitColumns(), UnitRows(), Orthonormal()], ids=name)
def test_matrix_regularizers_refuse_other_shapes(H):
    for call in (H.value, lambda X: H.prox(X, 1.0)):
        with pytest.raises(DataError, match="two dimensions"):
            call(np.ones(3))


def test_a_step_beyond_the_limit_is_refused():
    H = L1MinusRidge(0.3, 2.0)
    assert H.step_limit == 0.5
    for step in (0.5, 3.0, np.array([[0.1], [0.6]])):
        with pytest.raises(ParameterError, match=r"step.*below 1/eta2 = 0\.5"):
            H.prox(np.ones((2, 3)), step)
