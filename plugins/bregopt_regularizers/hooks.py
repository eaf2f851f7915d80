"""What this plugin registers."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bregopt import Registrar, Regularizer, Zero, hookimpl, make
from bregopt_regularizers.ball import Ball
from bregopt_regularizers.box import Box
from bregopt_regularizers.capped_l1 import CappedL1
from bregopt_regularizers.elastic_net import ElasticNet
from bregopt_regularizers.exp import Exp
from bregopt_regularizers.graph import Graph
from bregopt_regularizers.huber import Huber
from bregopt_regularizers.l0 import L0
from bregopt_regularizers.l0_ball import L0Ball
from bregopt_regularizers.l1 import L1
from bregopt_regularizers.l1_ball import L1Ball
from bregopt_regularizers.l1_minus_l2 import L1MinusL2
from bregopt_regularizers.l1_minus_ridge import L1MinusRidge
from bregopt_regularizers.l21 import L21, group
from bregopt_regularizers.log import Log
from bregopt_regularizers.lp import Lp
from bregopt_regularizers.mcp import MCP
from bregopt_regularizers.nonneg import NonNegative
from bregopt_regularizers.nuclear import Nuclear
from bregopt_regularizers.on_columns import on_columns
from bregopt_regularizers.orthonormal import Orthonormal
from bregopt_regularizers.rank_ball import RankBall
from bregopt_regularizers.ridge import Ridge
from bregopt_regularizers.scad import SCAD
from bregopt_regularizers.scaled import scaled
from bregopt_regularizers.simplex import Simplex
from bregopt_regularizers.sparse_group import SparseGroup
from bregopt_regularizers.tv import TV
from bregopt_regularizers.unit_norm import UnitColumns, UnitRows
from bregopt_regularizers.with_nonneg import l0_nonneg, l1_nonneg, l21_nonneg, with_nonneg
from bregopt_regularizers.with_ridge import with_ridge

PARTS: dict[str, Callable[..., Regularizer]] = {
    "none": Zero,
    "ridge": Ridge,
    "l1": L1,
    "nonneg": NonNegative,
    "l1-nonneg": l1_nonneg,
    "elastic-net": ElasticNet,
    "l1-minus-ridge": L1MinusRidge,
    "l21": L21,
    "group": group,
    "l21-nonneg": l21_nonneg,
    "sparse-group": SparseGroup,
    "nuclear": Nuclear,
    "rank-ball": RankBall,
    "l1-minus-l2": L1MinusL2,
    "l0-ball": L0Ball,
    "l0-nonneg": l0_nonneg,
    "l0": L0,
    "lp": Lp,
    "mcp": MCP,
    "scad": SCAD,
    "log": Log,
    "exp": Exp,
    "capped-l1": CappedL1,
    "huber": Huber,
    "tv": TV,
    "box": Box,
    "simplex": Simplex,
    "l1-ball": L1Ball,
    "ball": Ball,
    "unit-columns": UnitColumns,
    "unit-rows": UnitRows,
    "orthonormal": Orthonormal,
    "graph": Graph,
    "scaled": scaled,
    "with-ridge": with_ridge,
    "with-nonneg": with_nonneg,
    "on-columns": on_columns,
}

ALIASES: dict[str, tuple[str, ...]] = {
    "none": ("zero",),
    "ridge": ("l2", "tikhonov", "squared-l2", "frobenius"),
    "l1": ("lasso",),
    "nonneg": ("nonnegative", "positive"),
    "elastic-net": ("enet",),
    "l21": ("group-lasso", "row-lasso"),
    "sparse-group": ("sparse-group-lasso",),
    "nuclear": ("nuclear-norm", "trace-norm"),
    "l0-ball": ("cardinality", "top-k"),
    "log": ("log-sum",),
    "tv": ("tv1d", "total-variation"),
    "box": ("bounds",),
    "simplex": ("probability-simplex",),
    "ball": ("l2-ball",),
    "orthonormal": ("orthogonal", "stiefel"),
    "graph": ("laplacian", "graph-laplacian"),
}
"""Other names that people know them by."""

EXAMPLES = [
    "none", "ridge(0.7)", "l1(0.4)", "nonneg", "l1-nonneg(0.3)", "elastic-net(0.4, 0.7)", "l1-minus-ridge(0.5, 0.02)",
    "l21(0.6)", "l21(0.6, per=column)", "l21-nonneg(0.5)", "sparse-group(0.2, 0.4)", "nuclear(0.5)", "rank-ball(1)",
    "l1-minus-l2(0.4)", "l0-ball(3)", "l0-ball(1, per=row)", "l0-ball(2, per=column)", "l0-nonneg(3)", "l0(0.3)",
    "lp(0.4)", "lp(0.3, p='2/3')", "mcp(0.4, 3)", "scad(0.4, 3.7)", "log(0.5, 0.7)", "exp(0.6, 1.5)",
    "capped-l1(0.7, 0.8)", "huber(0.5, 0.4)", "tv(0.3)", "tv(0.3, per=row)", "box(-0.5, 0.8)", "simplex(1.5)",
    "simplex(0.7, per=row)", "l1-ball(1.2)", "l1-ball(0.6, per=column)", "ball(0.9)", "ball(0.5, per=row)",
    "unit-columns", "unit-rows", "orthonormal", "scaled(l1(0.2), 3)", "with-ridge(l21(0.3), 0.5)",
    "with-nonneg(huber(0.5))", "on-columns(l1(0.5), 0)",
]  # fmt: skip


@hookimpl
def bregopt_register(registry: Registrar) -> None:
    for name, part in PARTS.items():
        registry.add(Regularizer, name, part, ALIASES.get(name, ()))


@hookimpl
def bregopt_examples(kind: str) -> Sequence[tuple[str, Any]]:
    if kind != "regularizer":
        return []
    triangle = 3.0 * np.eye(3) - np.ones((3, 3))
    return [
        *((spec, make(kind, spec)) for spec in EXAMPLES),
        ("graph(L)", Graph(triangle, mu=0.5)),
        ("group([0, 0, 1], 0.5)", group([0, 0, 1], 0.5)),
    ]
