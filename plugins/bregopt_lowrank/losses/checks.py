"""The checks of a loss: what it says of itself is true, and every form of it is one and the same function."""

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

import bregopt as bo
from bregopt import Array, Blocks
from bregopt.compiled import jit, wanted
from bregopt_lowrank.losses.loss import ColumnLosses, EntrywiseLoss, Tile, spread

if TYPE_CHECKING:
    from bregopt.testing import RandomPoints

Data = tuple[float, ...]
"""m, and the second number of a loss that takes two."""
EPS = float(np.finfo(np.float64).eps)
SCALES = (1e-3, 0.1, 1.0, 10.0, 100.0)
ENTRIES, POINTS = 24, 4
"""So many data are drawn, and so many points of every scale around zero and around each of them."""
STEPS = 10.0 ** np.arange(-1.0, -6.5, -0.5)
H = 1e-5
"""The distance over which e'' is a difference of e'."""
SHAPE, RANK = (9, 7), 2
"""Of the matrices that are passed over."""
ERROR = "part.error(x, *data, *part.parameters)"


def usable(loss: EntrywiseLoss, draw: "RandomPoints") -> None:
    """Data drawn at random fit, and e, e', e'' and the error at them are finite numbers of the right kind."""
    for data, points in _cases(loss, draw):
        if not loss.fits(np.array(data[:1])).all():
            _fail(f"sample_data gives {data[0]:g}, which does not fit", data, "print(part.fits(np.array(data[:1])))")
        for x in points:
            found = [*loss.entry(x, *data, *loss.parameters), loss.error(x, *data, *loss.parameters)]
            if len(found) != 4 or not all(math.isfinite(number) for number in found):
                _fail(f"At x = {x:g} it is {found}", data, f"print(f(x), {ERROR})", x=x)
            if not (found[3] >= 0 if loss.metric == "relative_error" else found[3] in (0, 1)):
                told = f"The error at x = {x:g} is {found[3]:g}, which the metric {loss.metric} has no use for"
                _fail(told, data, f"print({ERROR})", x=x)


def slope(loss: EntrywiseLoss, draw: "RandomPoints") -> None:
    """``e(x + h) − e(x) − h·e'(x)`` falls with the square of h, or is as small as the bound of e'' makes it."""
    for data, points in _cases(loss, draw):
        e = _entry(loss, data)
        for x in points:
            (start, slope, _), left = e(x), []
            for h in STEPS:
                there = e(x + h)[0]
                remainder = abs(there - start - h * slope)
                if remainder > 400 * EPS * (abs(there) + abs(start) + abs(h * slope) + EPS):
                    left.append((h, remainder))
            if len(left) < 2:
                continue
            (h, one), (shorter, two) = left[-2:]
            order = math.log(one / two) / math.log(h / shorter)
            if order < 1.5 and two > loss.bound * shorter**2:
                told = f"The error of first order at x = {x:g} falls with the power {order:.2f} of the step, not 2"
                show = "print(f(x)[1], (f(x + h)[0] - f(x - h)[0]) / (2 * h))"
                _fail(told, data, show, x=x, h=float(shorter))


def curvature(loss: EntrywiseLoss, draw: "RandomPoints") -> None:
    """``e''`` is the derivative of e' where it has one, and at least 0 where e is convex."""
    for data, points in _cases(loss, draw):
        e = _entry(loss, data)
        for x in points:
            here = e(x)[2]
            if loss.convex and here < 0:
                _fail(f"e'' = {here:g} at x = {x:g}, though convex is claimed", data, "print(f(x))", x=x)
            low, middle, high = (e(x + h)[1] for h in (-H, 0.0, H))
            before, after = (middle - low) / H, (high - middle) / H
            slack = 100 * EPS * (abs(low) + abs(high) + loss.bound * abs(x)) / H + 1e-4 * loss.bound
            if abs(after - before) <= slack < abs(here - after):
                show = f"print(f(x)[2], (f(x + {H})[1] - f(x)[1]) / {H})"
                _fail(f"e'' = {here:g} at x = {x:g}, and the derivative of e' is {after:g}", data, show, x=x)


def bound(loss: EntrywiseLoss, draw: "RandomPoints") -> None:
    """``e'' ≤ bound``, and e' rises by at most bound·h over a distance h."""
    for data, points in _cases(loss, draw):
        e = _entry(loss, data)
        for x in points:
            if e(x)[2] > loss.bound * (1 + 1e-12):
                _fail(f"e'' = {e(x)[2]:g} at x = {x:g}, above {loss.bound:g}", data, "print(f(x)[2], part.bound)", x=x)
        for x, y in pairwise(points):
            rise, most = e(y)[1] - e(x)[1], loss.bound * (y - x)
            if rise > most + _noise(loss, e, x, y):
                told = f"From x = {x:g} to y = {y:g} the slope rises by {rise:g}, and by {most:g} at most by the bound"
                _fail(told, data, "print(f(y)[1] - f(x)[1], part.bound * (y - x))", x=x, y=y)


def convex(loss: EntrywiseLoss, draw: "RandomPoints") -> None:
    """The slope does not fall anywhere, where e is said to be convex."""
    if not loss.convex:
        bo.testing.not_applicable("It does not claim to be convex.")
    for data, points in _cases(loss, draw):
        e = _entry(loss, data)
        for x, y in pairwise(points):
            if e(y)[1] < e(x)[1] - _noise(loss, e, x, y):
                told = f"The slope falls from {e(x)[1]:g} at x = {x:g} to {e(y)[1]:g} at y = {y:g}"
                _fail(told, data, "print(f(x)[1], f(y)[1])", x=x, y=y)


def minimiser(loss: EntrywiseLoss, draw: "RandomPoints") -> None:
    """With L for the bound, ``w(x) = x − e'(x)/L`` is the best w: ``g(w(y)) + (L/2)(w(y) − x)² ≥ e(x)``.

    g(w(y)) is e(y) − e'(y)²/(2L). Where e is not convex, |w| is at most ``largest`` too.
    """
    L = loss.bound
    for data, points in _cases(loss, draw):
        e = _entry(loss, data)
        found = [(x, *e(x)[:2]) for x in points]
        floor = 10 * EPS * max(abs(value) for _, value, _ in found)
        for x, value, _ in found:
            for y, other, slope in found:
                w = y - slope / L
                g, distance = other - slope * slope / (2 * L), 0.5 * L * (w - x) ** 2
                size = abs(other) + slope * slope / L + distance + L * (abs(y) + abs(x)) ** 2
                if g + distance < value - 100 * EPS * (abs(value) + size) - floor:
                    told = f"w of y = {y:g} costs {g + distance:.10g} at x = {x:g}, less than e(x) = {value:.10g}"
                    lines = "(e, s, _), L = f(y), part.bound", "w, g = y - s / L, e - s * s / (2 * L)"
                    _fail(told, data, *lines, "print(g + L / 2 * (w - x) ** 2, f(x)[0])", x=x, y=y)
        most = math.inf if loss.convex else float(loss.largest(np.array(data[:1]))[0])
        for x, _, slope in found:
            w = abs(x - slope / L)
            if w > most + 1e-12 * (most + abs(x)):
                show = "print(x - f(x)[1] / part.bound, part.largest(np.array(data[:1])))"
                _fail(f"|w| = {w:g} at x = {x:g}, above {most:g}, the largest", data, show, x=x)


def arrays(loss: EntrywiseLoss, draw: "RandomPoints") -> None:
    """``arrays`` is ``entry`` and ``error`` of many, and leaves what it is given as it is."""
    if not loss.has_arrays:
        bo.testing.not_applicable("It has no form for NumPy of its own.")
    rows = [(x, *data) for data, points in _cases(loss, draw) for x in points]
    given = [np.array(column) for column in zip(*rows, strict=True)]
    found = loss.arrays(*(column.copy() for column in given))
    lines = "print([it[0] for it in part.arrays(*(np.array([v]) for v in (x, *data)))])", "print(f(x))"
    _same("arrays", loss, rows, found, lines)


def by_torch(loss: EntrywiseLoss, draw: "RandomPoints") -> None:
    """``by_torch`` is ``entry`` and ``error`` of many, where somebody has imported torch."""
    torch = sys.modules.get("torch")
    if torch is None:
        bo.testing.not_applicable("torch is not imported.")
    rows = [(x, *data) for data, points in _cases(loss, draw) for x in points]
    X, *data = (torch.from_numpy(np.array(column)) for column in zip(*rows, strict=True))
    found = loss.by_torch(torch, X, Tile(*data))
    if found is None:
        bo.testing.not_applicable("It has no form for torch.")
    square = found.slope * found.slope
    value, error = 0.5 * square if found.value is None else found.value, square if found.error is None else found.error
    four = value.numpy(), found.slope.numpy(), None, error.numpy()
    tensors = "x, *numbers = (torch.tensor([v], dtype=torch.float64) for v in (x, *data))"
    lines = "import torch", "from bregopt_lowrank import Tile", "print(f(x))", tensors
    _same("by_torch", loss, rows, four, (*lines, "print(part.by_torch(torch, x, Tile(*numbers)))"))


def _same(form: str, loss: EntrywiseLoss, rows: list[Any], found: Sequence[Any], lines: Sequence[str]) -> None:
    """Fail where a form of the loss for many entries, e, e', e'' and the error, is not ``entry`` and ``error``."""
    x = np.array([row[0] for row in rows])
    names = "e", "e'", "e''", "the error"
    for name, one, column in zip(names, zip(*(_all_four(loss, row) for row in rows), strict=True), found, strict=True):
        if column is None:
            continue
        wanted = np.array(one)
        scale = 1.0 + np.abs(wanted) + loss.bound * np.square(x)
        if np.shape(column) != wanted.shape:
            shapes = f"{np.shape(column)}, not {wanted.shape}"
            bo.testing.fail(f"{form} gives {name} in the shape {shapes}", bo.testing.snippet(f"print(part.{form})"))
        wrong = np.abs(column - wanted) > 1e-12 * scale
        if wrong.any():
            place = int(np.argmax(wrong))
            x, *data = rows[place]
            told = f"{form} gives {column[place]:.10g} for {name} at x = {x:g}, and entry {wanted[place]:.10g}"
            _fail(told, tuple(data), *lines, x=x)


def slope_per_data(loss: EntrywiseLoss, draw: "RandomPoints") -> None:
    """``e'(0; m) = k·m``."""
    k = loss.slope_per_data
    if k is None:
        bo.testing.not_applicable("It claims no such number.")
    if loss.bounds:
        bo.testing.fail(
            "slope_per_data is for losses of one number m", bo.testing.snippet("print(part.slope_per_data)")
        )
    for data, _ in _cases(loss, draw):
        found = _entry(loss, data)(0.0)[1]
        if abs(found - k * data[0]) > 1e-12 * (abs(found) + abs(data[0])):
            told = f"e'(0) = {found:g} for m = {data[0]:g}, which is not {k:g} m"
            _fail(told, data, "print(f(0.0)[1], part.slope_per_data * data[0])")


def zero(loss: EntrywiseLoss, draw: "RandomPoints") -> None:
    """With ``square``, e(x; 0) = ½x² and the error is x²; with ``flat_at_zero``, e(x; 0) is flat where x < 0."""
    if loss.zero != "square" and not loss.flat_at_zero:
        bo.testing.not_applicable("It claims nothing of m = 0.")
    data = (0.0, 0.0) if loss.bounds else (0.0,)
    for x in draw.gauss((20,), 3.0).tolist():
        value, slope, bend, error = _all_four(loss, (x, *data))
        if loss.zero == "square":
            gaps = abs(value - 0.5 * x * x), abs(slope - x), abs(error - x * x)
            if max(gaps) > 1e-12 * (1 + x * x):
                told = (
                    f"zero is 'square', but at m = 0 and x = {x:g} (e, e', error) = ({value:g}, {slope:g}, {error:g})"
                )
                _fail(told, data, f"print(f(x), {ERROR}, x * x / 2)", x=x)
        if loss.flat_at_zero and x < 0 and (slope != 0 or bend != 0):
            _fail(f"It is not flat at m = 0 and x = {x:g}: e' = {slope:g}", data, "print(f(x))", x=x)


def sparse(loss: EntrywiseLoss, draw: "RandomPoints") -> None:
    """A sparse M gives what the same M gives as a dense array: its zeros as the loss takes them, and as missing."""
    from scipy.sparse import csr_array

    M, upper, known = _matrices(loss, draw)
    Y, at = (Blocks(U=draw.gauss((SHAPE[0], RANK)), V=draw.gauss((RANK, SHAPE[1]))) for _ in range(2))
    stored, holes = np.where(known, M, 0.0), np.where(known, M, math.nan)
    high = {} if upper is None else {"upper": np.where(known, upper, 0.0)}
    ways = {"zeros": holes}
    if loss.zero == "missing" or bool(loss.fits(np.zeros(1)).all()):
        ways |= {"": holes if loss.zero == "missing" else stored}
    for missing, dense in ways.items():
        rest = {"missing": missing or None, **high}
        problems = (
            bo.compose("low-rank", dense, RANK, loss, **high),
            bo.compose("low-rank", csr_array(stored), RANK, loss, **rest),
        )
        told = _difference(*problems, Y, at)
        if told:
            off = "np.nan" if dense is holes else "0.0"
            lines = (
                "from scipy.sparse import csr_array",
                f"rest = {{'missing': {missing or None!r}}}",
                "high = {'upper': np.where(known, upper, 0.0)} if part.bounds else {}",
                f"one = bo.compose('low-rank', np.where(known, M, {off}), {RANK}, part, **high)",
                f"two = bo.compose('low-rank', csr_array(np.where(known, M, 0.0)), {RANK}, part, **rest, **high)",
                "for problem in (one, two): print(problem.oracle.evaluate(Y, at=at, value_at=True))",
            )
            code = bo.testing.snippet(*lines, M=M, upper=upper, known=known, Y=Y, at=at)
            bo.testing.fail(f"A sparse M gives another {told} than a dense one", code)
    if "" in ways and loss.zero != "missing" and type(loss).sparse_residual is not EntrywiseLoss.sparse_residual:
        _own_sparse_form(loss, M, upper, known, draw)


def _own_sparse_form(loss: EntrywiseLoss, M: Array, upper: Array | None, known: Any, draw: "RandomPoints") -> None:
    """``sparse_residual`` gives what ``residual`` does: no pass over a small M asks for it, as that is dense there."""
    X, places = draw.gauss(SHAPE, 2.0), (np.nonzero(known)[0], np.nonzero(known)[1])
    values = Tile(M[known], None if upper is None else upper[known], None, complete=True)
    one, two = X.copy(), X.copy()
    c, dense = loss.bound, spread(SHAPE, places, values)
    sums = loss.sparse_residual(one, places, values, c), loss.residual(two, dense, c)
    if not (np.allclose(one, two, rtol=1e-12, atol=1e-12) and np.allclose(*sums, rtol=1e-10, atol=1e-12)):
        lines = (
            "from bregopt_lowrank.losses.loss import Tile, spread",
            "places, X = np.nonzero(known), np.array(X)",
            "values = Tile(M[known], upper[known] if part.bounds else None, None, True)",
            "print(part.sparse_residual(X.copy(), places, values, part.bound))",
            "print(part.residual(X.copy(), spread(X.shape, places, values), part.bound))",
        )
        code = bo.testing.snippet(*lines, M=M, upper=upper, known=known, X=X)
        bo.testing.fail("sparse_residual gives something else than residual", code)


def compiled(loss: EntrywiseLoss, draw: "RandomPoints") -> None:
    """numba compiles the loss, and its loop over a tile gives what NumPy gives."""
    if not wanted():
        bo.testing.not_applicable("Nothing is compiled here.")
    M, upper, known = _matrices(loss, draw)
    X, weights = draw.gauss(SHAPE, 2.0), np.abs(draw.gauss(SHAPE))
    tiles = [(True, Tile(np.where(known, M, math.nan), upper, weights))]
    if type(loss).residual is not EntrywiseLoss.residual or type(loss).loops is not EntrywiseLoss.loops:
        tiles.append((False, Tile(M, upper, None, complete=True)))
    for general, tile in tiles:
        c = loss.bound * (float(weights.max()) if general else 1.0)
        by_numpy, by_loop, sums = X.copy(), X.copy(), np.zeros(5)
        wanted_sums = loss.residual(by_numpy, tile, c)
        loop = jit(loss.loops(general, general).dense)
        held = (tile.M, M if upper is None else upper, weights)
        numbers = ColumnLosses.one(loss, SHAPE[1]).numbers(c, False)[0]
        loop(by_loop, *held, 0, 0, 0, SHAPE[1], numbers, sums)
        named = dict(zip(("‖S‖²", "the error", "the sum over W", "the value"), wanted_sums, strict=True))
        for (name, wanted_sum), place in zip(named.items(), (0, 1, 2, 4), strict=True):
            if abs(sums[place] - wanted_sum) > 1e-11 * (abs(wanted_sum) + float(np.vdot(X, X))):
                told = f"The loop that numba compiles gives {sums[place]:.10g} for {name}, and NumPy {wanted_sum:.10g}"
                bo.testing.fail(told, bo.testing.snippet("print(bo.testing.check(part).table())"))
        gaps = np.abs(by_loop - by_numpy)
        if gaps.max() > 1e-12 * (1 + np.abs(by_numpy).max()):
            i, j = np.unravel_index(np.argmax(gaps), SHAPE)
            told = (
                f"The loop that numba compiles gives {by_loop[i, j]:.10g} for a slope, and NumPy {by_numpy[i, j]:.10g}"
            )
            bo.testing.fail(told, bo.testing.snippet("print(bo.testing.check(part).table())"))


CHECKS: dict[str, Callable[[EntrywiseLoss, "RandomPoints"], None]] = {
    "loss/usable": usable,
    "loss/slope": slope,
    "loss/curvature": curvature,
    "loss/bound": bound,
    "loss/convex": convex,
    "loss/minimiser": minimiser,
    "loss/arrays": arrays,
    "loss/by-torch": by_torch,
    "loss/slope-per-data": slope_per_data,
    "loss/zero": zero,
    "passes/sparse": sparse,
    "passes/compiled": compiled,
}


def _entry(loss: EntrywiseLoss, data: Data) -> Callable[[float], tuple[float, float, float]]:
    """``x -> (e, e', e'')`` for these data."""
    parameters = loss.parameters
    return lambda x: loss.entry(x, *data, *parameters)


def _all_four(loss: EntrywiseLoss, row: tuple[float, ...]) -> tuple[float, float, float, float]:
    value, slope, bend = loss.entry(*row, *loss.parameters)
    return value, slope, bend, loss.error(*row, *loss.parameters)


def _cases(loss: EntrywiseLoss, draw: "RandomPoints") -> Iterator[tuple[Data, list[float]]]:
    """Data, each with points of every scale around zero and around it, in order."""
    for data in _data(loss, draw, ENTRIES):
        centres = [0.0, *(number for number in data if math.isfinite(number))]
        points = [centre + scale * draw.rng.standard_normal(POINTS) for centre in centres for scale in SCALES]
        yield data, sorted(set(np.concatenate(points).tolist()))


def _data(loss: EntrywiseLoss, draw: "RandomPoints", count: int) -> list[Data]:
    m = np.asarray(loss.sample_data(draw.rng, count), dtype=float)
    columns = (m, np.maximum(m, draw.gauss((count,)))) if loss.bounds else (m,)
    return [tuple(row) for row in np.stack(columns, axis=1).tolist()]


def _matrices(loss: EntrywiseLoss, draw: "RandomPoints") -> tuple[Array, Array | None, Any]:
    """M, the second numbers where there are such, and which entries are to be known: about a half."""
    data = np.array(_data(loss, draw, SHAPE[0] * SHAPE[1])).T.reshape(-1, *SHAPE)
    data = np.where(np.isfinite(data), data, -9.0)
    M, upper = data[0], data[1] if loss.bounds else None
    return M, upper, (draw.rng.random(SHAPE) < 0.5) & (M != 0)


def _noise(loss: EntrywiseLoss, e: Callable[[float], tuple[float, float, float]], x: float, y: float) -> float:
    """The rounding of a difference of slopes."""
    return 200 * EPS * (abs(e(x)[1]) + abs(e(y)[1]) + loss.bound * (abs(x) + abs(y)))


def _difference(one: Any, two: Any, Y: Blocks, at: Blocks) -> str | None:
    """What differs between two problems that should be the same."""
    for place in (Y, at):
        mine, other = (problem.oracle.evaluate(Y, at=place, value_at=True) for problem in (one, two))
        figures = {name: (mine.metrics[name], other.metrics[name]) for name in mine.metrics}
        figures |= {"value": (mine.value, other.value), "value at another point": (mine.value_at, other.value_at)}
        for name, (a, b) in figures.items():
            if abs(a - b) > 1e-9 * (abs(a) + abs(mine.value)):
                return f"{name} ({b!r}, not {a!r})"
        if (mine.gradient - other.gradient).norm() > 1e-9 * (mine.gradient.norm() + abs(mine.value)):
            return "gradient"
    return None


def _fail(told: str, data: Data, *lines: str, **values: float) -> NoReturn:
    """End the check, with code that has the data and the entry as a function f of x."""
    given = f"data = [float(number) for number in {[repr(number) for number in data]!r}]"
    f = "f = lambda x: part.entry(x, *data, *part.parameters)"
    bo.testing.fail(f"{told}; the data are {data}", bo.testing.snippet(given, f, *lines, **values))
