"""The checks of a model: its factors, the gradient by blocks, and the kernel that it lifts."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

import bregopt as bo
from bregopt import Array, Blocks
from bregopt_lowrank.models import Model, Shape, Sided, quartic

if TYPE_CHECKING:
    from bregopt.testing import RandomPoints

RANK = 2
SCALES = (0.1, 1.0, 10.0)
AB = ((1.0, 0.0), (1.0, 3.0), (0.2, 1.0))
"""The a and b of the kernels that are tried."""
POINTS = 6


def shapes(model: Model, draw: "RandomPoints") -> None:
    """L is m×k and R is k×n, both made of the blocks of their own side where sides are named, and affine if so said."""
    model, shape = model.unfolded(model.typical)
    for Y, Z in _pairs(model, shape, draw):
        (L, R), (L_Z, R_Z), (L_mid, R_mid) = (model.factors(point) for point in (Y, Z, (Y + Z) * 0.5))
        show = "print([factor.shape for factor in part.factors(Y)])"
        if L.shape[0] != shape[0] or R.shape[1] != shape[1] or L.shape[1] != R.shape[0]:
            found = f"The factors are {_times(L)} and {_times(R)}, for an M that is {shape[0]}×{shape[1]}"
            bo.testing.fail(found, _snippet(show, Y=Y))
        for name, whole, half in (("L", (L + L_Z) / 2, L_mid), ("R", (R + R_Z) / 2, R_mid)):
            if model.affine and not np.allclose(whole, half, rtol=0, atol=1e-12 * (1 + np.abs(whole).max())):
                lines = "print(part.factors((Y + Z) * 0.5))", "print(part.factors(Y), part.factors(Z))"
                bo.testing.fail(f"{name} is not affine in the blocks", _snippet(*lines, Y=Y, Z=Z))
        for number, side in enumerate(model.sides if isinstance(model, Sided) else ()):
            other = Blocks(**{name: (Y if name in side else Z)[name] for name in Y.names})
            if not np.array_equal(model.factors(other)[number], (L, R)[number]):
                show = f"print(part.factors(Y)[{number}], part.factors(Z)[{number}])"
                told = f"{'LR'[number]} depends on more than the blocks {', '.join(side)}, which sides gives for it"
                bo.testing.fail(told, _snippet(show, Y=Y, Z=other))


def pull(model: Model, draw: "RandomPoints") -> None:
    """``⟨pull(SRᵀ, LᵀS), D⟩`` is the derivative of ``⟨S, A(Y)⟩`` along D.

    A is of second order at most in one block, so that a central difference is the derivative, whatever the step.
    """
    model, shape = model.unfolded(model.typical)
    for Y, D in _pairs(model, shape, draw):
        S = draw.gauss(shape)
        L, R = model.factors(Y)
        found = model.pull(Y, S @ R.T, L.T @ S)
        code = "found = part.pull(Y, S @ part.factors(Y)[1].T, part.factors(Y)[0].T @ S)"
        for name in Y.names:
            if name not in found or found[name].shape != Y[name].shape:
                told = f"pull gives no gradient like the block {name}"
                bo.testing.fail(told, _snippet(code, "print(found)", Y=Y, S=S))
            step = Blocks(**{block: (block == name) * D[block] for block in Y.names})
            ends = [float(np.vdot(S, _matrix(model, Y.plus(t, step)))) for t in (1.0, -1.0)]
            slope, wanted = float(np.vdot(found[name], D[name])), 0.5 * (ends[0] - ends[1])
            if abs(slope - wanted) > 1e-10 * (abs(ends[0]) + abs(ends[1]) + abs(slope)):
                lines = (
                    "A = lambda Y: part.factors(Y)[0] @ part.factors(Y)[1]",
                    f"print(np.vdot(found[{name!r}], D[{name!r}]), np.vdot(S, A(Y + D) - A(Y - D)) / 2)",
                )
                told = f"block {name}: the slope along D is {slope:.10g} by pull, and {wanted:.10g} by differences"
                bo.testing.fail(told, _snippet(code, *lines, Y=Y, S=S, D=step))


def lift(model: Model, draw: "RandomPoints") -> None:
    """``lift(a, b)`` has the divergence of ``aψ1 + bψ2`` at the factors, or a larger one."""
    if model.convex or not model.affine:
        bo.testing.not_applicable("Only a model with affine factors has the kernel of its factors.")
    model, shape = model.unfolded(model.typical)
    for Y, Z in _pairs(model, shape, draw):
        for a, b in AB:
            kernel = model.lift(a, b, shape)
            below = quartic(a, b).divergence(_factors(model, Y), _factors(model, Z))
            found = kernel.divergence(Y, Z)
            if found < below - 1e-10 * (below + abs(kernel.value(Y)) + abs(kernel.value(Z))):
                lines = (
                    "from bregopt_lowrank import quartic",
                    "LR = lambda Y: bo.Blocks(**dict(zip('LR', part.factors(Y))))",
                    f"print(part.lift({a}, {b}, {shape}).divergence(Y, Z), quartic({a}, {b}).divergence(LR(Y), LR(Z)))",
                )
                told = f"The divergence of lift({a}, {b}) is {found:.10g}, below that at the factors, {below:.10g}"
                bo.testing.fail(told, _snippet(*lines, Y=Y, Z=Z))


def smad(model: Model, draw: "RandomPoints") -> None:
    """``D_f ≤ D_ψ`` with ψ = lift(1, ‖M‖₂) for the loss ``f = ½‖A(Y) − M‖²``."""
    model, shape = model.unfolded(model.typical)
    for Y, Z in _pairs(model, shape, draw):
        M = draw.gauss(shape)
        if shape[0] == shape[1]:
            M = M + M.T
        kernel = model.lift(1.0, float(np.linalg.norm(M, 2)), shape)
        X, X_Z = _matrix(model, Y), _matrix(model, Z)
        L, R = model.factors(Z)
        slope = model.pull(Z, (X_Z - M) @ R.T, L.T @ (X_Z - M))
        rise = sum(float(np.vdot(slope[name], (Y - Z)[name])) for name in Y.names)
        ends = [0.5 * float(np.vdot(P - M, P - M)) for P in (X, X_Z)]
        distance, most = ends[0] - ends[1] - rise, kernel.divergence(Y, Z)
        if distance > most + 1e-10 * (sum(ends) + abs(rise)):
            lines = (
                "A = lambda Y: part.factors(Y)[0] @ part.factors(Y)[1]",
                "f = lambda Y: 0.5 * np.sum((A(Y) - M) ** 2)",
                "S = A(Z) - M",
                "slope = part.pull(Z, S @ part.factors(Z)[1].T, part.factors(Z)[0].T @ S)",
                "rise = sum(np.vdot(slope[name], (Y - Z)[name]) for name in Y.names)",
                f"print(f(Y) - f(Z) - rise, part.lift(1.0, np.linalg.norm(M, 2), {shape}).divergence(Y, Z))",
            )
            told = f"D_f is {distance:.10g} for ½‖A(Y) − M‖², above that of its kernel, {most:.10g}"
            bo.testing.fail(told, _snippet(*lines, Y=Y, Z=Z, M=M))


def gram(model: Model, draw: "RandomPoints") -> None:
    """For an E in one block ``‖A(Y + E) − A(Y)‖²`` is ⟨EG, E⟩, or ⟨GE, E⟩, and at most block_curvature·‖E‖²."""
    model, shape = model.unfolded(model.typical)
    names = model.shapes(shape, RANK)
    for Y, D in _pairs(model, shape, draw):
        for name in names:
            G, most, E = model.gram(Y, name), model.block_curvature(Y, name), D[name]
            if G is None and most is None:
                continue
            moved = _matrix(model, Y.replaced(**{name: Y[name] + E})) - _matrix(model, Y)
            square, size = float(np.vdot(moved, moved)), float(np.vdot(E, E))
            lines = (
                "A = lambda Y: part.factors(Y)[0] @ part.factors(Y)[1]",
                f"print(part.gram(Y, {name!r}), part.block_curvature(Y, {name!r}))",
                f"print(np.sum((A(Y.replaced({name}=Y[{name!r}] + E)) - A(Y)) ** 2), np.sum(E * E))",
            )
            code = _snippet(*lines, Y=Y, E=E)
            if most is not None and square > (1 + 1e-8) * most * size:
                bo.testing.fail(f"block {name}: ‖A(Y + E) − A(Y)‖²/‖E‖² is above block_curvature, {most:.10g}", code)
            if G is None:
                continue
            found = float(np.vdot(G @ E if model.by_columns(name) else E @ G, E))
            if abs(found - square) > 1e-8 * (found + square):
                bo.testing.fail(f"block {name}: gram gives {found:.10g} for ‖A(Y + E) − A(Y)‖² = {square:.10g}", code)


CHECKS: dict[str, Callable[[Model, "RandomPoints"], None]] = {
    "model/shapes": shapes,
    "model/pull": pull,
    "model/lift": lift,
    "model/smad": smad,
    "model/gram": gram,
}


def _snippet(*lines: str, **given: object) -> str:
    """Python that shows it, with the model as it was checked."""
    return bo.testing.snippet("part, shape = part.unfolded(part.typical)", *lines, **given)


def _pairs(model: Model, shape: Shape, draw: "RandomPoints") -> Iterator[tuple[Blocks, Blocks]]:
    """Pairs of points, of every two scales."""
    sizes = model.shapes(shape, RANK)
    for scale in SCALES:
        for other in SCALES:
            for _ in range(POINTS):
                Y, Z = (Blocks(**{name: draw.gauss(size) for name, size in sizes.items()}) for _ in range(2))
                yield Y * scale, Z * other


def _factors(model: Model, Y: Blocks) -> Blocks:
    L, R = model.factors(Y)
    return Blocks(L=L, R=R)


def _matrix(model: Model, Y: Blocks) -> Array:
    L, R = model.factors(Y)
    return np.asarray(L @ R)


def _times(X: Array) -> str:
    return "×".join(map(str, X.shape))
