"""The nonconvex regularizers that the tests go over, and their penalties written a second time."""

import numpy as np
from bregopt_regularizers.capped_l1 import CappedL1
from bregopt_regularizers.exp import Exp
from bregopt_regularizers.l0 import L0
from bregopt_regularizers.l1_minus_l2 import L1MinusL2
from bregopt_regularizers.l1_minus_ridge import L1MinusRidge
from bregopt_regularizers.log import Log
from bregopt_regularizers.lp import Lp
from bregopt_regularizers.mcp import MCP
from bregopt_regularizers.orthonormal import Orthonormal
from bregopt_regularizers.rank_ball import RankBall
from bregopt_regularizers.scad import SCAD
from bregopt_regularizers.unit_norm import UnitColumns, UnitRows
from bregopt_regularizers.with_nonneg import WithNonNegative, l0_nonneg

SEPARABLE = [
    *(L1MinusRidge(0.4, 0.7), L1MinusRidge(2.0, 0.05), L1MinusRidge(0.4, 0.0)),
    *(L0(0.3), L0(20.0), L0(0.0)),
    *(Lp(0.4), Lp(30.0, p=0.5), Lp(0.4, p=2 / 3), Lp(30.0, p="2/3"), Lp(0.0, p="1/2"), Lp(0.0, p=2 / 3)),
    *(MCP(0.5, 0.8), MCP(0.5, 3.0), MCP(4.0, 0.05), MCP(0.0)),
    *(SCAD(0.5, 2.1), SCAD(0.5, 3.7), SCAD(3.0, 9.0), SCAD(0.0)),
    *(Log(0.4, 0.1), Log(2.0, 1.5), Log(0.3, 1e-4), Log(0.0)),
    *(Exp(0.5, 2.0), Exp(2.0, 0.3), Exp(0.2, 50.0), Exp(0.0)),
    *(CappedL1(0.4, 0.2), CappedL1(1.0, 3.0), CappedL1(0.0)),
]
WHOLE = [
    *(L1MinusL2(0.4), L1MinusL2(5.0), L1MinusL2(0.0)),
    *(l0_nonneg(3), l0_nonneg(1, per="row"), l0_nonneg(2, per="column"), l0_nonneg(100)),
    *(RankBall(1), RankBall(2), RankBall(9)),
    *(UnitColumns(), UnitRows(), Orthonormal()),
]
ALL = SEPARABLE + WHOLE
SETS = (WithNonNegative, RankBall, UnitColumns, UnitRows, Orthonormal)


def penalty(H, r):
    """h(r) for r ≥ 0, written a second time."""
    r = np.asarray(r, dtype=float)
    match H:
        case L1MinusRidge(eta1=e1, eta2=e2):
            return e1 * r - e2 / 2 * r**2
        case L0(eta=e):
            return e * (r > 0)
        case Lp(eta=e, p=p):
            return e * r**p
        case MCP(eta=e, gamma=g):
            return np.where(r <= g * e, e * r - r**2 / (2 * g), g * e**2 / 2)
        case SCAD(eta=e, a=a):
            middle = (2 * a * e * r - r**2 - e**2) / (2 * (a - 1))
            return np.where(r <= e, e * r, np.where(r <= a * e, middle, e**2 * (a + 1) / 2))
        case Log(eta=e, eps=eps):
            return e * np.log1p(r / eps)
        case Exp(eta=e, theta=th):
            return -e * np.expm1(-th * r)
        case CappedL1(eta=e, cap=cap):
            return e * np.minimum(r, cap)
    raise AssertionError(H)


def name(H):
    return repr(H).replace(" ", "")
