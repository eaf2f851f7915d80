"""What a regularizer claims by its traits and its weak convexity."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from bregopt.blocks import Array
from bregopt.parts.regularizer import Regularizer
from bregopt.parts.traits import Trait
from bregopt.testing.outcomes import fail, not_applicable, number, snippet
from bregopt.testing.search.random_points import RandomPoints
from bregopt.testing.search.regularizer_case import RegularizerCase, square


def alike(one: float, other: float, scale: float = 0.0) -> bool:
    """Equal but for rounding; infinities equal themselves."""
    return one == other or (math.isfinite(one - other) and abs(one - other) <= 1e-10 * max(abs(one), abs(other), scale))


def _case_claiming(H: Regularizer, trait: Trait) -> RegularizerCase:
    """The case of H, where it claims the trait."""
    if trait not in H.traits:
        not_applicable(f"It does not claim {trait.name}.")
    return RegularizerCase.of(H)


def convex(H: Regularizer, draw: RandomPoints) -> None:
    """Midpoint convexity, and a firmly nonexpansive prox."""
    case = _case_claiming(H, Trait.CONVEX)
    if H.weak_convexity != 0:
        fail(f"It claims CONVEX, but its weak_convexity is {H.weak_convexity}", snippet("print(part.weak_convexity)"))
    midpoint_convex(case, draw, 0.0)
    for X, step in case.points_and_steps(draw):
        Z = case.prox(X, step)
        for A in (0.7 * X[::-1], -X, X + 1e-3 * np.roll(X, 1), np.zeros_like(X)):
            P = case.prox(A, step)
            inner, distance = float(np.vdot(P - Z, A - X)), square(P - Z)
            if inner < distance * (1 - 1e-9) - 1e-12 * (square(X) + square(A)):
                show = "Z, P = part.prox(X, step), part.prox(A, step)"
                told = f"step {step:g}: ⟨P − Z, A − X⟩ = {number(inner)} < ‖P − Z‖² = {number(distance)}"
                code = snippet(show, "print(np.vdot(P - Z, A - X), np.sum((P - Z) ** 2))", X=X, A=A, step=step)
                fail(f"{told}: no prox of a convex H", code)


def weak_convexity(H: Regularizer, draw: RandomPoints) -> None:
    """``H + (ρ/2)‖X‖²`` is convex."""
    rho = H.weak_convexity
    if rho is None:
        not_applicable("It claims no weak convexity.")
    if not 0 <= rho < math.inf:
        fail(f"weak_convexity must be finite and >= 0. Got {rho!r} instead.", snippet("print(part.weak_convexity)"))
    midpoint_convex(RegularizerCase.of(H), draw, rho)


def midpoint_convex(case: RegularizerCase, draw: RandomPoints, rho: float) -> None:
    """``H + (ρ/2)‖X‖²`` is midpoint convex; fails with a pair whose midpoint lies above."""
    for A, B in pairs(case, draw):
        at_A, at_B = case.value(A), case.value(B)
        if not (math.isfinite(at_A) and math.isfinite(at_B)):
            continue
        at_middle, lift = case.value(0.5 * (A + B)), 0.125 * rho * square(A - B)
        line = 0.5 * (at_A + at_B) + lift
        slack = 1e-12 * (abs(at_A) + abs(at_B) + 0.5 * rho * (square(A) + square(B))) + 1e-9 * lift
        if at_middle > line + slack:
            show = (
                "print(part.value((A + B) / 2), (part.value(A) + part.value(B)) / 2 + rho / 8 * np.sum((A - B) ** 2))"
            )
            told = f"H is {number(at_middle)} between two points, above {number(line)}, what rho = {rho:g} allows"
            fail(told, snippet(f"{show}  # {number(at_middle)}, {number(line)}", A=A, B=B, rho=rho))


def pairs(case: RegularizerCase, draw: RandomPoints) -> Iterator[tuple[Array, Array]]:
    """Pairs that differ in one entry, near and far, and pairs of proximal points."""
    bases = [np.zeros(case.shape), case.feasible(draw.gauss(case.shape))]
    for base in bases:
        index = tuple(int(draw.rng.integers(size)) for size in case.shape)
        for size in np.logspace(-5, 3, 17):
            for low, high in ((1.0, 1.1), (1.0, 2.0), (-1.0, 0.5), (0.0, 1.0)):
                for sign in (-1.0, 1.0):
                    A, B = base.copy(), base.copy()
                    A[index], B[index] = float(f"{sign * size * low:.3e}"), float(f"{sign * size * high:.3e}")
                    yield A, B
    for X, step in case.points_and_steps(draw):
        Z, P = case.prox(X, step), case.prox(-0.7 * X[::-1], step)
        yield from ((Z, P), (Z, 2.0 * Z), (Z, -Z), (Z, np.zeros_like(Z)), (Z, Z + 1e-3 * P), (X, draw.gauss(X.shape)))


def homogeneous(H: Regularizer, draw: RandomPoints) -> None:
    """``H(tX) = t·H(X)`` and ``prox_{ts}(tX) = t·prox_s(X)``."""
    case = _case_claiming(H, Trait.HOMOGENEOUS)
    for X, step in case.points_and_steps(draw):
        Z = case.prox(X, step)
        for t in (0.1, 3.0):
            for point in (Z, X):
                one, other = case.value(t * point), t * case.value(point)
                if not alike(one, other):
                    code = snippet("print(part.value(t * X), t * part.value(X))", X=point, t=t)
                    fail(f"H(tX) = {number(one)}, but t·H(X) = {number(other)} for t = {t:g}", code)
            if t * step < H.step_limit and np.abs(case.prox(t * X, t * step) - t * Z).max() > _slack(t * X):
                code = snippet("print(part.prox(t * X, t * step) - t * part.prox(X, step))", X=X, step=step, t=t)
                fail(f"step {step:g}: prox(tX, t·step) is not t·prox(X, step) for t = {t:g}", code)


def separable(H: Regularizer, draw: RandomPoints) -> None:
    """The value is a sum over entries, no entry of the prox sees another, and each may have its own step."""
    case = _case_claiming(H, Trait.SEPARABLE)
    for X, step in case.points_and_steps(draw):
        Z, P = case.prox(X, step), case.prox(-0.3 * X[::-1], step)
        mask = draw.rng.random(X.shape) < 0.5
        mixed = case.value(np.where(mask, Z, P)) + case.value(np.where(mask, P, Z))
        whole = case.value(Z) + case.value(P)
        if not alike(mixed, whole):
            mix = "C, D = np.where(mask, A, B), np.where(mask, B, A)"
            show = "print(part.value(C) + part.value(D), part.value(A) + part.value(B))"
            told = f"H is no sum over entries: {number(mixed)} is not {number(whole)}"
            fail(told, snippet(mix, show, mask=mask, A=Z, B=P))
        other = case.prox(np.where(mask, X, -2.0 * X), step)
        if np.abs((other - Z)[mask]).max(initial=0.0) > _slack(X):
            show = "print((part.prox(np.where(mask, X, -2 * X), step) - part.prox(X, step))[mask])  # not 0"
            fail(f"step {step:g}: an entry of the prox sees others", snippet(show, mask=mask, X=X, step=step))
        for steps in _arrays_of_steps(X.shape, step):
            each = np.broadcast_to(steps, X.shape)
            wanted = [case.prox(X, float(each[index]))[index] for index in np.ndindex(X.shape)]
            if np.abs(case.prox(X, steps).ravel() - wanted).max() > _slack(X):
                first = f"part.prox(X, {float(each.flat[0])!r}).flat[0]"
                show = f"print(part.prox(X, steps).flat[0] - {first})  # and so on"
                fail("An array of steps is not taken entry by entry", snippet(show, X=X, steps=steps))


def row_wise(H: Regularizer, draw: RandomPoints) -> None:
    """H treats each row on its own, and all of them alike."""
    row_by_row(_case_claiming(H, Trait.ROW_WISE), draw)


def row_by_row(case: RegularizerCase, draw: RandomPoints) -> None:
    """The value is the sum of those of single rows; the prox of some rows, in any order, is these rows of the prox."""
    for X, step in case.points_and_steps(draw):
        Z = case.prox(X, step)
        for point in (Z, X):
            whole, each = case.value(point), [case.value(row[None]) for row in point]
            if not alike(whole, sum(each), sum(map(abs, each))):
                show = "print(part.value(X), sum(part.value(row[None]) for row in X))"
                told = f"H is no sum over rows: {number(whole)} is not {number(sum(each))}"
                fail(told, snippet(show, X=point))
        rows = draw.rng.permutation(len(X))[: draw.rng.integers(1, len(X) + 1)]
        steps: list[float | Array] = [step]
        if Trait.SEPARABLE in case.H.traits:
            steps.append(step * np.linspace(0.1, 1.0, len(X)).reshape(-1, *(1 for _ in X.shape[1:])))
        for given in steps:
            own, written = (given[rows], "step[rows]") if isinstance(given, np.ndarray) else (given, "step")
            if np.abs(case.prox(X[rows], own) - case.prox(X, given)[rows]).max() > _slack(X):
                show = f"print(part.prox(X[rows], {written}) - part.prox(X, step)[rows])  # not 0"
                told = f"step {step:g}: the prox of some rows is not these rows of the prox"
                fail(told, snippet(show, X=X, rows=rows, step=given))


def constant_norm(H: Regularizer, draw: RandomPoints) -> None:
    """H is 0 or ∞, its domain lies on a sphere, and the prox depends on the direction of X only."""
    case = _case_claiming(H, Trait.CONSTANT_NORM)
    radius: float | None = None
    for X, step in case.points_and_steps(draw):
        Z = case.prox(X, step)
        given: dict[str, Any] = {"X": X, "step": step}
        radius = math.sqrt(square(Z)) if radius is None else radius
        if not alike(math.sqrt(square(Z)), radius):
            code = snippet(f"print(np.linalg.norm(part.prox(X, step)))  # elsewhere {radius}", **given)
            fail(f"step {step:g}: ‖Z‖ = {number(math.sqrt(square(Z)))}, elsewhere {number(radius)}", code)
        if case.value(Z) != 0 or case.value(1.1 * Z) != math.inf:
            code = snippet("Z = part.prox(X, step)", "print(part.value(Z), part.value(1.1 * Z))  # not 0, inf", **given)
            fail(f"H is {case.value(Z)} at the prox and {case.value(1.1 * Z)} at 1.1 of it", code)
        if np.abs(case.prox(3.0 * X, step) - Z).max() > _slack(Z):
            code = snippet("print(part.prox(3 * X, step) - part.prox(X, step))", **given)
            fail(f"step {step:g}: the prox of 3X is not that of X", code)


def _arrays_of_steps(shape: tuple[int, ...], step: float) -> Iterator[Array]:
    for part in ((shape[0], *(1 for _ in shape[1:])), shape[-1:], shape):
        yield step * np.linspace(0.1, 1.0, math.prod(part)).reshape(part)


def _slack(X: Array) -> float:
    """What rounding may cost an entry of the prox."""
    return 1e-9 * float(np.abs(X).max()) + 1e-300
