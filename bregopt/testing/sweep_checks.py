"""A special oracle sweeps over both blocks as two plain evaluations do."""

from typing import final

import numpy as np
from attrs import field, frozen

from bregopt.blocks import Array, Blocks
from bregopt.parts.oracle import Oracle, PlainOracle, Sweep
from bregopt.testing.code import snippet
from bregopt.testing.draw import Draw
from bregopt.testing.oracle_checks import HEAD, apart, oracles
from bregopt.testing.signals import fail, skip
from bregopt.testing.smooth_checks import Pair, nearby

MOVES = {True: "G", False: "(G - G.mean(axis=0))"}
"""The direction of the update for a gradient G: row by row, and not so."""


@final
@frozen(eq=False)
class Descent:
    """``X̄ − step·G``, or with the mean over all rows taken off G; it notes the rows it was asked for."""

    X_bar: Array
    step: float
    row_wise: bool
    asked: list[slice] = field(factory=list)

    def __call__(self, rows: slice, G: Array) -> Array:
        self.asked.append(rows)
        return self.X_bar[rows] - self.step * (G if self.row_wise else G - G.mean(axis=0))

    def missed(self) -> str | None:
        """A row that it was not asked for once."""
        times = np.zeros(len(self.X_bar), dtype=int)
        for rows in self.asked:
            times[rows] += 1
        row = int(np.argmax(times != 1))
        return None if times[row] == 1 else f"the update is asked {times[row]} times for row {row}, not once,"


def sweep_equals_plain(pair: Pair, draw: Draw) -> None:
    """The new first block, the gradient for the second and the evaluation are the same; each row is asked for once."""
    problem, start = pair
    oracle, plain = oracles(problem)
    if len(start.names) != 2:
        skip("A sweep is one over two blocks.")
    for Y in (start, nearby(start, draw, 1.0)):
        step = _step(plain, Y)
        for at in (Y, nearby(Y, draw, 0.3)):
            for row_wise in MOVES:
                update = Descent(at[Y.names[0]], step, row_wise)
                one = oracle.sweep(Y, at, update, row_wise=row_wise)
                found = update.missed() or _apart(one, Oracle.sweep(plain, Y, at, update, row_wise=row_wise))
                if found:
                    place = "Y" if at is Y else "at"
                    told = f"{found} in a sweep with at={place}, row_wise={row_wise}"
                    fail(told, _code(Y, at, place, step, row_wise))


def _step(plain: PlainOracle, Y: Blocks) -> float:
    """A step of about a third of the first block."""
    X, G = Y[Y.names[0]], plain.evaluate(Y, at=Y).gradient[Y.names[0]]
    return float(f"{0.3 * (np.linalg.norm(X) or 1.0) / (np.linalg.norm(G) or 1.0):.3g}")


def _apart(one: Sweep, two: Sweep) -> str | None:
    """What differs between two sweeps."""
    for name, called in (("first", "the new first block"), ("gradient", "the gradient for the second block")):
        mine, plain = getattr(one, name), getattr(two, name)
        if np.shape(mine) != plain.shape or not np.abs(mine - plain).max() <= 1e-10 * np.abs(plain).max():
            return f"{called} is another"
    return apart(one.evaluation, two.evaluation)


def _code(Y: Blocks, at: Blocks, place: str, step: float, row_wise: bool) -> str:
    """Python that sweeps with both oracles, and shows the rows that the first one asked for."""
    update = f"update = lambda rows, G: asked.append(rows) or X_bar[rows] - step * {MOVES[row_wise]}"
    lines = (
        f"asked, X_bar = [], {place}[{Y.names[0]!r}]",
        update,
        f"one = oracle.sweep(Y, {place}, update, row_wise={row_wise})",
        "print(asked)",
        f"two = bo.Oracle.sweep(plain, Y, {place}, update, row_wise={row_wise})",
        "for swept in (one, two): print(swept.first, swept.gradient, swept.evaluation)",
    )
    given = {"Y": Y} if at is Y else {"Y": Y, "at": at}
    return snippet(*HEAD, *lines, step=step, **given)
