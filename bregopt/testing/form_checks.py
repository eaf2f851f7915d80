"""Other forms of H that it offers: weak convexity, split, scalar penalty and piece."""

import math
from collections.abc import Iterator

import numpy as np

from bregopt.blocks import Array
from bregopt.parts.regularizer import Regularizer
from bregopt.parts.traits import Trait
from bregopt.testing.bend import midpoint_convex
from bregopt.testing.code import number, snippet
from bregopt.testing.draw import Draw
from bregopt.testing.rivals import rivals
from bregopt.testing.signals import fail, skip
from bregopt.testing.subject import Subject, square
from bregopt.testing.traits_checks import alike, homogeneous


def weak_convexity(H: Regularizer, draw: Draw) -> None:
    """``H + (ρ/2)‖X‖²`` is convex."""
    rho = H.weak_convexity
    if rho is None:
        skip("It claims no weak convexity.")
    if not 0 <= rho < math.inf:
        fail(f"weak_convexity must be finite and >= 0. Got {rho!r} instead.", snippet("print(part.weak_convexity)"))
    midpoint_convex(Subject.of(H), draw, rho)


def split(H: Regularizer, draw: Draw) -> None:
    """``H = H₀ + (η/2)‖X‖²`` in the value and in the prox, and H₀ is homogeneous."""
    parts = H.split()
    if parts is None:
        skip("It has no split.")
    subject, eta = Subject.of(H), parts[1]
    core = Subject(parts[0], subject.shape)
    if Trait.HOMOGENEOUS not in core.H.traits:
        fail("The H₀ of the split does not claim HOMOGENEOUS", snippet("print(part.split()[0].traits)"))
    for X, step in subject.cases(draw):
        Z = subject.prox(X, step)
        for point in (Z, X):
            one, other, ridge = subject.value(point), core.value(point), 0.5 * eta * square(point)
            if not alike(one, other + ridge, abs(ridge)):
                show = "print(part.value(X), H0.value(X) + eta / 2 * np.sum(X**2))"
                told = f"H(X) = {number(one)}, but its split gives {number(other)} + {number(ridge)}"
                fail(told, snippet("H0, eta = part.split()", show, X=point))
        longer = 1.0 + step * eta
        if longer > 0.05 and np.abs(core.prox(X / longer, step / longer) - Z).max() > 1e-9 * np.abs(X).max() / longer:
            show = "print(H0.prox(X / (1 + step * eta), step / (1 + step * eta)) - part.prox(X, step))"
            told = f"step {step:g}: the prox is not that of the split"
            fail(told, snippet("H0, eta = part.split()", show, X=X, step=step))
    homogeneous(core.H, draw)


def scalar(H: Regularizer, draw: Draw) -> None:
    """``H(X) = Σ h(x_ij)`` in the value and in the prox, and H is infinite where an entry leaves the bounds of h."""
    h = H.scalar()
    if h is None:
        skip("It has no scalar penalty.")
    if Trait.SEPARABLE not in H.traits:
        fail("It has a scalar penalty, but does not claim SEPARABLE", snippet("print(part.traits)"))
    subject = Subject.of(H)
    for X, step in subject.cases(draw):
        Z = subject.prox(X, step)
        if np.abs(h.prox(X, step) - Z).max() > 1e-9 * np.abs(X).max():
            show = "print(part.scalar().prox(X, step) - part.prox(X, step))"
            fail(f"step {step:g}: the prox is not that of {h}", snippet(show, X=X, step=step))
        beyond = np.any((h.low - X > 1e-3 * np.abs(X).max()) | (X - h.high > 1e-3 * np.abs(X).max()))
        for point, wanted in ((Z, float(h.values(Z).sum())), (X, math.inf if beyond else None)):
            one = subject.value(point)
            if wanted is not None and not alike(one, wanted):
                show = "print(part.value(X), part.scalar().values(X).sum(), part.scalar())"
                fail(f"H(X) = {number(one)}, but {h} gives {number(wanted)}", snippet(show, X=point))


def piece(H: Regularizer, draw: Draw) -> None:
    """On the ray of Z the piece is H less a constant, it lies above elsewhere, and it is homogeneous."""
    subject = Subject.of(H)
    for Z in _points(subject, draw):
        part = H.piece(Z)
        if part is None:
            skip("It knows no pieces.")
        if Trait.HOMOGENEOUS not in part.traits:
            fail("A piece does not claim HOMOGENEOUS", snippet("print(part.piece(Z).traits)", Z=Z))
        _above(subject, part, Z, "piece", draw, also=(0.5 * Z, 3.0 * Z))


def _above(subject: Subject, Q: Regularizer, X: Array, form: str, draw: Draw, also: tuple[Array, ...] = ()) -> None:
    """Q + const lies above H and meets it at X, and at ``also``."""
    upper = Subject(Q, subject.shape)
    here, there = subject.value(X), upper.value(X)
    shift = here - there
    show = f"Q = part.{form}(X)\nprint(part.value(Z) - part.value(X), Q.value(Z) - Q.value(X))"
    others = (rival for rival, _ in rivals(subject.prox(X, subject.steps[0]), X, draw.rng))
    for Z in (*also, *others):
        H, bound = subject.value(Z), upper.value(Z) + shift
        room = 1e-10 * (abs(H) + abs(bound) + abs(here) + abs(there))
        apart = any(Z is point for point in also) and abs(H - bound) > room
        if apart or bound + room < H:
            told = f"H(Z) = {number(H)}, but its {form} at X gives {number(bound)}"
            fail(told, snippet(show, X=X, Z=Z))


def _points(subject: Subject, draw: Draw) -> Iterator[Array]:
    """Points of the domain."""
    for scale in (1e-2, 1.0, 1e2):
        X = draw.gauss(subject.shape, scale)
        yield subject.feasible(X)
        yield subject.prox(X, subject.steps[0])
