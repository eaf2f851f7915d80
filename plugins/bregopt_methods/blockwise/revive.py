"""Columns of U whose product with their row of V is zero, started anew without a change of Φ."""

import math

import numpy as np

from bregopt import Blocks, ResolvedProblem


def revived(problem: ResolvedProblem, Y: Blocks, Y_prev: Blocks, iteration: int) -> tuple[Blocks, Blocks]:
    """Y with a new u_p ≥ 0 and v_p = 0 where u_p or v_p is zero, and Y_prev with the same; both as they are else.

    Where both are zero no coordinate step leaves zero, and where one is zero after a step, that was the best for the
    other one. UV stays as it is, and so does F; where H would rise, nothing is done. The exact steps on V that follow
    make v_p the best row for this u_p, which is an indicator of some rows: other ones for each p and each iteration.
    """
    if not problem.smooth.of_product or len(Y.names) != 2:
        return Y, Y_prev
    U, V = (Y[name] for name in Y.names)
    left, right = U.any(axis=0), V.any(axis=1)
    dead = np.flatnonzero(~(left & right) if iteration else ~(left | right))
    if not len(dead):
        return Y, Y_prev
    chosen = (np.arange(len(U))[:, None] + np.arange(len(dead)) + iteration) % (len(dead) + 1) == 0
    size = float(np.linalg.norm(U)) / math.sqrt(U.size) or 1.0

    def anew(point: Blocks) -> Blocks:
        U, V = (np.array(point[name]) for name in Y.names)
        U[:, dead], V[dead] = size * chosen, 0.0
        return point.replaced(**dict(zip(Y.names, (U, V), strict=True)))

    new, H = anew(Y), problem.regularizer
    return (new, anew(Y_prev)) if H.value(new) <= H.value(Y) else (Y, Y_prev)


def buried(problem: ResolvedProblem, Y: Blocks) -> Blocks:
    """Y with u_p = 0 where v_p = 0, where H stays as it is: what could not be revived leaves no trace."""
    if not problem.smooth.of_product or len(Y.names) != 2:
        return Y
    U, V = (Y[name] for name in Y.names)
    dead = U.any(axis=0) & ~V.any(axis=1)
    if not dead.any():
        return Y
    new, H = Y.replaced(**{Y.names[0]: np.where(dead, 0.0, U)}), problem.regularizer
    return new if H.value(new) == H.value(Y) else Y
