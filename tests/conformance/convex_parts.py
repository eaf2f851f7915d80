"""The convex regularizers and the combinations of regularizers that the tests go over."""

import math

import numpy as np
import scipy.sparse
from bregopt_regularizers.ball import Ball
from bregopt_regularizers.box import Box
from bregopt_regularizers.elastic_net import ElasticNet
from bregopt_regularizers.graph import Graph, laplacian
from bregopt_regularizers.huber import Huber
from bregopt_regularizers.l0_ball import L0Ball
from bregopt_regularizers.l1 import L1
from bregopt_regularizers.l1_ball import L1Ball
from bregopt_regularizers.l21 import L21
from bregopt_regularizers.nonneg import NonNegative
from bregopt_regularizers.nuclear import Nuclear
from bregopt_regularizers.on_columns import on_columns
from bregopt_regularizers.ridge import Ridge
from bregopt_regularizers.scaled import scaled
from bregopt_regularizers.simplex import Simplex
from bregopt_regularizers.sparse_group import SparseGroup
from bregopt_regularizers.tv import TV
from bregopt_regularizers.with_nonneg import l1_nonneg, l21_nonneg, with_nonneg
from bregopt_regularizers.with_ridge import with_ridge

from bregopt import Zero

WEIGHTS = np.array([[0.0, 0.3, 2.0], [1.0, 0.1, 0.4], [0.2, 0.2, 0.2], [5.0, 0.0, 0.7]])
ENTRIES = np.array([[7, 7, -1], [0, 7, -1], [0, 0, -1], [3, 0, 3]])
ROWS = np.array([4, 9, 4, 4])
AFFINITY = np.array([[0.0, 2.0, 0.0, 0.5], [2.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.5, 0.0, 0.0, 3.0]])
L = laplacian(AFFINITY)
DEGREES = np.array([2.5, 3.0, 1.0, 0.5])
PARTS = {
    "l1": L1(0.4),
    "l1 of no weight": L1(0.0),
    "l1 by entry": L1(WEIGHTS),
    "l1 by row": L1(WEIGHTS[:, :1]),
    "l1 by column": L1(WEIGHTS[1]),
    "l1-nonneg": l1_nonneg(0.4),
    "l1-nonneg of no weight": l1_nonneg(0),
    "l21": L21(0.4),
    "l21 by column": L21(0.4, per="column"),
    "l21 by entry labels": L21(0.4, per=ENTRIES),
    "l21 by row labels": L21(0.4, per=ROWS),
    "l21 of no weight": L21(0.0),
    "l21-nonneg": l21_nonneg(0.4),
    "l21-nonneg by column": l21_nonneg(0.4, "column"),
    "l21-nonneg by labels": l21_nonneg(0.4, ENTRIES),
    "sparse-group": SparseGroup(0.3, 0.4),
    "sparse-group by column": SparseGroup(0.1, 0.9, per="column"),
    "sparse-group by labels": SparseGroup(0.3, 0.4, per=ROWS),
    "nuclear": Nuclear(0.4),
    "nuclear of no weight": Nuclear(0),
    "huber": Huber(0.7, 0.3),
    "huber of a wide core": Huber(2.0, 50.0),
    "box": Box(-0.5, 0.7),
    "box off zero": Box(0.1, 0.3),
    "box open above": Box(low=0.2, high=math.inf),
    "box open below": Box(low=-math.inf, high=-1.0),
    "box that is a cone": Box(0.0, math.inf),
    "box that is the other cone": Box(-math.inf, 0),
    "box that is a point": Box(0.1, 0.1),
    "simplex": Simplex(),
    "simplex by row": Simplex(0.3, per="row"),
    "simplex of all": Simplex(20.0, per="all"),
    "l1-ball": L1Ball(2.0),
    "l1-ball by column": L1Ball(0.7, per="column"),
    "l1-ball by row": L1Ball(1.3, per="row"),
    "ball": Ball(1.5),
    "ball by column": Ball(0.7, per="column"),
    "ball by row": Ball(1.1, per="row"),
    "tv": TV(0.4),
    "tv by row": TV(0.4, per="row"),
    "tv of no weight": TV(0.0),
    "graph": Graph(L, 0.7),
    "graph, sparse": Graph(scipy.sparse.csr_array(L), 0.7),
    "graph of no weight": Graph(L, 0.0),
}
COMBINED = {
    "scaled l1": scaled(L1(0.4), 3.0),
    "scaled simplex": scaled(Simplex(), 3.0),
    "scaled elastic net": scaled(ElasticNet(0.4, 0.7), 0.5),
    "scaled l0-ball": scaled(L0Ball(2, per="row"), 2.0),
    "ridge and l1 by entry": with_ridge(L1(WEIGHTS), 0.3),
    "ridge and l21": with_ridge(L21(0.4), 2.0),
    "ridge and elastic net": with_ridge(ElasticNet(0.4, 0.7), 2.0),
    "ridge and l1-ball": with_ridge(L1Ball(2.0), 0.5),
    "ridge and tv": with_ridge(TV(0.4), 0.5),
    "ridge and l0-ball": with_ridge(L0Ball(3), 0.5),
    "no ridge": with_ridge(L1(0.4), 0.0),
    "orthant and nothing": with_nonneg(Zero()),
    "orthant and ridge": with_nonneg(Ridge(0.4)),
    "orthant and l1 by entry": with_nonneg(L1(WEIGHTS)),
    "orthant and elastic net": with_nonneg(ElasticNet(0.4, 0.7)),
    "orthant and huber": with_nonneg(Huber(0.7, 0.3)),
    "orthant and l21 by labels": with_nonneg(L21(0.4, per=ENTRIES)),
    "orthant and sparse group": with_nonneg(SparseGroup(0.3, 0.4)),
    "orthant and ball": with_nonneg(Ball(0.7, per="column")),
    "orthant and l1-ball": with_nonneg(L1Ball(1.3)),
    "orthant and l0-ball": with_nonneg(L0Ball(2, per="column")),
    "orthant and a combination": with_nonneg(scaled(with_ridge(on_columns(L21(0.4), [0, 2]), 0.3), 2.0)),
    "orthant and box": with_nonneg(Box(-0.5, 0.7)),
    "columns of l1": on_columns(L1(0.4), [0, 2]),
    "columns of l1 by entry": on_columns(L1(WEIGHTS[:, :2]), (2, 0)),
    "columns of simplex": on_columns(Simplex(), 1),
    "columns of ridge": on_columns(Ridge(0.4), [1]),
    "columns of nuclear": on_columns(Nuclear(0.4), range(2)),
    "columns of the orthant": on_columns(NonNegative(), np.array([1, 2])),
}
ALL = PARTS | COMBINED
