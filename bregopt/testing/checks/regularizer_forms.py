"""Other forms of H that it offers: split, scalar penalty, entry, piece, sparsity, convex parts, a smooth gradient."""

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from bregopt.blocks import Array, Blocks
from bregopt.parts.regularizer import ConvexParts, Regularizer, SmoothRegularizer, Sparsity
from bregopt.parts.traits import Trait
from bregopt.testing.checks.regularizer_prox import variational
from bregopt.testing.checks.regularizer_traits import alike, convex, homogeneous, pairs
from bregopt.testing.outcomes import CheckFailedError, fail, not_applicable, number, snippet
from bregopt.testing.search.bregman_ratio import BregmanDistance, DistanceRatio, starts
from bregopt.testing.search.random_points import RandomPoints
from bregopt.testing.search.regularizer_case import RegularizerCase, square
from bregopt.testing.search.rivals import rivals
from bregopt.testing.search.taylor import wrong_gradient

ENOUGH = 1.0 + 1e-6
ASK = "print(part.convex_parts().subgradient(X))"


def split(H: Regularizer, draw: RandomPoints) -> None:
    """``H = H₀ + (η/2)‖X‖²`` in the value and in the prox, and H₀ is homogeneous."""
    parts = H.split()
    if parts is None:
        not_applicable("It has no split.")
    case, eta = RegularizerCase.of(H), parts[1]
    core = RegularizerCase(parts[0], case.shape)
    if Trait.HOMOGENEOUS not in core.H.traits:
        fail("The H₀ of the split does not claim HOMOGENEOUS", snippet("print(part.split()[0].traits)"))
    for X, step in case.points_and_steps(draw):
        Z = case.prox(X, step)
        for point in (Z, X):
            one, other, ridge = case.value(point), core.value(point), 0.5 * eta * square(point)
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


def scalar(H: Regularizer, draw: RandomPoints) -> None:
    """``H(X) = Σ h(x_ij)`` in the value and in the prox, and H is infinite where an entry leaves the bounds of h."""
    h = H.scalar()
    if h is None:
        not_applicable("It has no scalar penalty.")
    if Trait.SEPARABLE not in H.traits:
        fail("It has a scalar penalty, but does not claim SEPARABLE", snippet("print(part.traits)"))
    case = RegularizerCase.of(H)
    for X, step in case.points_and_steps(draw):
        Z = case.prox(X, step)
        if np.abs(h.prox(X, step) - Z).max() > 1e-9 * np.abs(X).max():
            show = "print(part.scalar().prox(X, step) - part.prox(X, step))"
            fail(f"step {step:g}: the prox is not that of {h}", snippet(show, X=X, step=step))
        beyond = np.any((h.low - X > 1e-3 * np.abs(X).max()) | (X - h.high > 1e-3 * np.abs(X).max()))
        for point, wanted in ((Z, float(h.values(Z).sum())), (X, math.inf if beyond else None)):
            one = case.value(point)
            if wanted is not None and not alike(one, wanted):
                show = "print(part.value(X), part.scalar().values(X).sum(), part.scalar())"
                fail(f"H(X) = {number(one)}, but {h} gives {number(wanted)}", snippet(show, X=point))


def entry(H: Regularizer, draw: RandomPoints) -> None:
    """The functions of one entry add up to H and are its prox."""
    h = H.entry()
    if h is None:
        not_applicable("It has no functions of one entry.")
    if Trait.SEPARABLE not in H.traits:
        fail("It has functions of one entry, but does not claim SEPARABLE", snippet("print(part.traits)"))
    case, p = RegularizerCase.of(H), np.array(h.parameters)
    for X, step in case.points_and_steps(draw):
        Z = case.prox(X, step)
        found = np.reshape([h.prox(float(x), float(step), p) for x in X.flat], X.shape)
        given = "h = part.entry()\np = np.array(h.parameters)"
        if np.abs(found - Z).max() > 1e-9 * np.abs(X).max():
            show = "print(np.reshape([h.prox(x, step, p) for x in X.flat], X.shape) - part.prox(X, step))"
            fail(f"step {step:g}: the prox of an entry is not that of H", snippet(given, show, X=X, step=step))
        one, other = case.value(Z), float(sum(h.value(float(z), p) for z in Z.flat))
        if not alike(one, other):
            show = "print(part.value(X), sum(h.value(x, p) for x in X.flat))"
            fail(f"H(X) = {number(one)}, but its entries add up to {number(other)}", snippet(given, show, X=Z))


def piece(H: Regularizer, draw: RandomPoints) -> None:
    """On the ray of Z the piece is H less a constant, it lies above elsewhere, and it is homogeneous."""
    case = RegularizerCase.of(H)
    for Z in _points(case, draw):
        part = H.piece(Z)
        if part is None:
            not_applicable("It knows no pieces.")
        if Trait.HOMOGENEOUS not in part.traits:
            fail("A piece does not claim HOMOGENEOUS", snippet("print(part.piece(Z).traits)", Z=Z))
        _above(case, part, Z, draw, also=(0.5 * Z, 3.0 * Z))


def _above(case: RegularizerCase, Q: Regularizer, X: Array, draw: RandomPoints, also: tuple[Array, ...] = ()) -> None:
    """Q + const lies above H and meets it at X, and at ``also``."""
    upper = RegularizerCase(Q, case.shape)
    here, there = case.value(X), upper.value(X)
    shift = here - there
    show = "Q = part.piece(X)\nprint(part.value(Z) - part.value(X), Q.value(Z) - Q.value(X))"
    others = (rival for rival, _ in rivals(case.prox(X, case.steps[0]), X, draw.rng))
    for Z in (*also, *others):
        H, bound = case.value(Z), upper.value(Z) + shift
        slack = 1e-10 * (abs(H) + abs(bound) + abs(here) + abs(there))
        apart = any(Z is point for point in also) and abs(H - bound) > slack
        if apart or bound + slack < H:
            told = f"H(Z) = {number(H)}, but its piece at X gives {number(bound)}"
            fail(told, snippet(show, X=X, Z=Z))


def sparsity(H: Regularizer, draw: RandomPoints) -> None:
    """Allowed places take what H takes, gain no less than those of the prox, grow with the room, and H needs them."""
    found = H.sparsity()
    if found is None:
        not_applicable("It says nothing of the places of non-zeros.")
    h = found.entries.scalar() if isinstance(found, Sparsity) else None
    if h is None:
        told = f"sparsity must be a Sparsity, whose entries have a scalar form. Got {found!r}"
        fail(told, snippet("print(part.sparsity())"))
    case = RegularizerCase.of(H)
    for X, step in case.points_and_steps(draw):
        prox, inside = case.prox(X, step), h.prox(X, step)
        gains = np.square(inside)
        rooms = {room: found.allowed(gains, room) for room in (0.0, 0.3, 0.7, 1.0)}
        shown, given = "print(part.sparsity().allowed(gains, room=0.0))", {"gains": gains}
        if not all(isinstance(it, np.ndarray) and it.dtype == bool and it.shape == X.shape for it in rooms.values()):
            fail("allowed(gains, room) is no array of booleans of the shape of the gains", snippet(shown, **given))
        places = rooms[0.0]
        if any(np.any(fewer & ~more) for fewer, more in pairwise(rooms.values())) or not rooms[1.0].all():
            show = "print(*(part.sparsity().allowed(gains, room) for room in (0.0, 0.3, 0.7, 1.0)))"
            fail("More room does not allow all that less room does, or room = 1 not all places", snippet(show, **given))
        gained, by_prox = float(gains[places].sum()), float(gains[prox != 0].sum())
        if gained < by_prox * (1.0 - 1e-9):
            told = f"The allowed places gain {number(gained)}, and those of the prox {number(by_prox)}"
            fail(told, snippet(shown, "print(part.prox(X, step) != 0)", X=X, step=step, **given))
        for Z in (np.where(places, inside, 0.0), prox):
            one, other = case.value(Z), RegularizerCase(found.entries, case.shape).value(Z)
            if not alike(one, other):
                told = f"At places that are allowed H(X) = {number(one)}, and h of its entries {number(other)}"
                fail(told, snippet("print(part.value(X), part.sparsity().entries.value(X))", X=Z))
        if not places.all() and np.all(inside != 0) and math.isfinite(case.value(inside)):
            told = "H(X) is finite, though not all places of its non-zeros are allowed"
            fail(told, snippet("print(part.value(X))", X=inside))


def convex_parts(H: Regularizer, draw: RandomPoints) -> None:
    """r₁ is convex, with the right prox and finite where H is, and ξ is a subgradient of r₂ = r₁ − H."""
    parts = H.convex_parts()
    if parts is None:
        not_applicable("It has no convex parts.")
    shown = "print(part.convex_parts())"
    if not (isinstance(parts, ConvexParts) and Trait.CONVEX in parts.first.traits):
        fail(f"convex_parts must be ConvexParts with a first part that claims CONVEX. Got {parts!r}", snippet(shown))
    case = RegularizerCase.of(H)
    first = RegularizerCase(parts.first, case.shape)
    for one in (convex, variational) if parts.first is not H else ():
        try:
            one(parts.first, draw)
        except CheckFailedError as failure:
            fail(f"of r₁: {failure.message}", f"part = part.convex_parts().first\n{failure.code}")
    for A, B in pairs(case, draw):
        for X, Z in ((A, B), (B, A)):
            _subgradient_inequality(case, first, parts, X, Z)


def _subgradient_inequality(
    case: RegularizerCase, first: RegularizerCase, parts: ConvexParts, X: Array, Z: Array
) -> None:
    """``r₂(Z) ≥ r₂(X) + ⟨ξ, Z − X⟩`` where H is finite at both."""
    ends = [(first.value(Y), case.value(Y)) for Y in (X, Z)]
    for Y, (r1, value) in zip((X, Z), ends, strict=True):
        if math.isfinite(r1) != math.isfinite(value):
            show = "print(part.convex_parts().first.value(X), part.value(X))"
            fail(f"r₁ = {r1} where H = {value}", snippet(show, X=Y))
    if not all(math.isfinite(value) for _, value in ends):
        return
    kept, xi = X.copy(), parts.subgradient(X)
    if np.shape(xi) != X.shape or xi.dtype != X.dtype or not np.isfinite(xi).all() or np.shares_memory(xi, X):
        fail("the subgradient is no fresh array of finite numbers, of the shape and dtype of X", snippet(ASK, X=kept))
    if not np.array_equal(X, kept):
        fail("subgradient wrote into its input", snippet(ASK, X=kept))
    (here, H_here), (there, H_there) = ends
    rise, linear = (there - H_there) - (here - H_here), float(np.vdot(xi, Z - X))
    slack = 1e-12 * sum(map(abs, (here, H_here, there, H_there))) + 1e-9 * abs(linear)
    if rise < linear - slack:
        r2 = "parts = part.convex_parts()\nr2 = lambda Y: parts.first.value(Y) - part.value(Y)"
        show = "print(r2(Z) - r2(X), np.vdot(parts.subgradient(X), Z - X))"
        told = f"r₂(Z) − r₂(X) = {number(rise)} is below ⟨ξ, Z − X⟩ = {number(linear)}"
        fail(f"{told}: ξ is no subgradient of r₂ = r₁ − H at X", snippet(r2, show, X=X, Z=Z))


def _points(case: RegularizerCase, draw: RandomPoints) -> Iterator[Array]:
    """Points of the domain."""
    for scale in (1e-2, 1.0, 1e2):
        X = draw.gauss(case.shape, scale)
        yield case.feasible(X)
        yield case.prox(X, case.steps[0])


def _smooth(H: Regularizer) -> SmoothRegularizer:
    if not isinstance(H, SmoothRegularizer):
        not_applicable("It has no gradient.")
    return H


def gradient(H: Regularizer, draw: RandomPoints) -> None:
    """``∇H`` is the derivative of the value, in a fresh array like X."""
    smooth, case = _smooth(H), RegularizerCase.of(H)
    for scale in (0.1, 1.0, 10.0):
        X = draw.gauss(case.shape, scale)
        kept, slope = X.copy(), smooth.gradient(X)
        if not np.array_equal(X, kept) or np.shares_memory(slope, X):
            fail("gradient wrote into its input, or returned a view of it", snippet("print(part.gradient(X))", X=kept))
        wrong = wrong_gradient(lambda Y: smooth.value(Y["X"]), Blocks(X=slope), Blocks(X=X), draw)
        if wrong:
            show = "print(np.vdot(part.gradient(X), D), (part.value(X + h * D) - part.value(X - h * D)) / (2 * h))"
            fail(f"gradient: {wrong.told}", snippet(show, X=X, D=wrong.D["X"], h=wrong.h))


def curvature(H: Regularizer, draw: RandomPoints) -> None:
    """``D_H(Y, Z) ≤ ½ Σ c·(y − z)²``."""
    smooth, X = _smooth(H), draw.gauss(RegularizerCase.of(H).shape)
    c = smooth.curvature(X)

    def bounded(Y: Blocks, Z: Blocks) -> tuple[float, float]:
        return 0.5 * float(np.sum(c * (Y - Z)["X"] ** 2)), 0.0

    above = BregmanDistance.of_function(lambda Y: (smooth.value(Y["X"]), Blocks(X=smooth.gradient(Y["X"]))))
    bound = BregmanDistance(lambda Y: Blocks(X=c * Y["X"]), bounded)
    largest = DistanceRatio(above, lambda Z: bound, lambda Y: True).largest(starts(Blocks(X=X), draw), ENOUGH)
    if largest is not None and largest.ratio > ENOUGH:
        Y, Z = largest.Y["X"], largest.Z["X"]
        D = "D = part.value(Y) - part.value(Z) - np.vdot(part.gradient(Z), Y - Z)"
        show = "print(D, np.sum(part.curvature(Y) * (Y - Z) ** 2) / 2)"
        fail(f"D_H(Y, Z) is {number(largest.ratio)} times what curvature allows", snippet(D, show, Y=Y, Z=Z))
