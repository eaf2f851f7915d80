"""What any regularizer must stand: rivals of its proximal map, and tests of each of its claims."""

import math

import numpy as np

from bregopt import Trait

SCALES = (1e-3, 1.0, 1e3)
STEPS = (1e-2, 1.0, 10.0)


def cases(shape=(4, 3), seed=0, scales=SCALES, steps=STEPS):
    """(X, step) over the scales and steps; X cannot be written to."""
    rng = np.random.default_rng(seed)
    for scale in scales:
        for step in steps:
            X = scale * rng.standard_normal(shape)
            X.flags.writeable = False
            yield X, step


def rivals(H, X, Z):
    """Coordinates, multiples, zero, the input, segments and feasible perturbations."""
    rng = np.random.default_rng(1)
    size = np.abs(Z).max() + np.abs(X).max() + 1e-9
    raw = [t * Z for t in (0.0, 0.5, 0.9, 0.999, 1.001, 1.1, 2.0)] + [X, 0.5 * (X + Z), 0.9 * Z + 0.1 * X]
    for index in np.ndindex(X.shape):
        for move in (-1e-1, -1e-4, 1e-4, 1e-1):
            rival = Z.copy()
            rival[index] += move * size
            raw.append(rival)
        dropped = Z.copy()
        dropped[index] = 0.0
        raw.append(dropped)
    raw += [Z + 1e-2 * size * rng.standard_normal(X.shape) for _ in range(20)]
    yield from raw
    yield from (H.prox(rival, 1e-12) for rival in raw)


def objective(H, X, Z, step):
    return H.value(Z) + np.sum((Z - X) ** 2) / (2 * step)


def check_prox(H, some=None):
    """The prox is fresh, pure, feasible, and better than every rival."""
    for X, step in some or cases():
        kept = X.copy()
        Z = H.prox(X, step)
        assert np.array_equal(X, kept), "prox wrote into its input"
        assert not np.shares_memory(Z, X), "prox returned its input"
        assert (Z.shape, Z.dtype) == (X.shape, X.dtype), f"prox made {Z.dtype}{Z.shape} of {X.dtype}{X.shape}"
        best = objective(H, X, Z, step)
        assert np.isfinite(best), f"prox is infeasible at step {step}"
        # the rounding of ‖Z − X‖² where Z is nearly X
        rounding = 1e-9 * best + 1e-14 * np.sum(X**2) / step
        for rival in rivals(H, X, Z):
            cost = objective(H, X, rival, step)
            assert cost >= best - rounding, f"at step {step} for X={X!r} a rival {rival!r} has {cost} < {best}"


def check_convex(H, some=None):
    """The prox is firmly nonexpansive and H is convex between points of its domain."""
    assert H.weak_convexity == 0.0
    for X, step in some or cases():
        Z = H.prox(X, step)
        for W in (0.7 * X[::-1], -X, X + 1e-3 * np.roll(X, 1), np.zeros_like(X)):
            P = H.prox(W, step)
            rounding = 1e-12 * np.sum(X**2)
            assert np.sum((P - Z) * (W - X)) >= np.sum((P - Z) ** 2) - rounding
            for t in (0.1, 0.5):
                line = t * H.value(P) + (1 - t) * H.value(Z)
                assert H.value(t * P + (1 - t) * Z) <= line + 1e-12 * abs(line)


def check_homogeneous(H, some=None):
    """H(tX) = tH(X), and the prox scales with X and step."""
    for X, step in some or cases():
        Z = H.prox(X, step)
        for t in (0.1, 3.0):
            np.testing.assert_allclose(H.value(t * Z), t * H.value(Z), rtol=1e-11)
            np.testing.assert_allclose(H.prox(t * X, t * step), t * Z, rtol=1e-11, atol=1e-12 * np.abs(X).max())


def check_separable(H, some=None):
    """The value is a sum over entries, no entry of the prox sees another, and each may have its own step."""
    for X, step in some or cases():
        Z, P = H.prox(X, step), H.prox(-0.3 * X[::-1], step)
        mask = np.indices(X.shape).sum(axis=0) % 2 == 0
        mixed = H.value(np.where(mask, Z, P)) + H.value(np.where(mask, P, Z))
        np.testing.assert_allclose(mixed, H.value(Z) + H.value(P), rtol=1e-12)
        other = H.prox(np.where(mask, X, -2.0 * X), step)
        np.testing.assert_array_equal(other[mask], Z[mask])
        for shape in ((X.shape[0], 1), (X.shape[1],), X.shape):
            steps = step * np.linspace(0.1, 1.0, math.prod(shape)).reshape(shape)
            each = np.broadcast_to(steps, X.shape)
            wanted = [H.prox(X, float(each[index]))[index] for index in np.ndindex(X.shape)]
            np.testing.assert_allclose(H.prox(X, steps).ravel(), wanted, rtol=1e-14)


def check_split(H, some=None):
    """H = H₀ + (η/2)‖X‖², in the value and in the prox; H₀ is homogeneous."""
    H0, eta = H.split()
    assert Trait.HOMOGENEOUS in H0.traits
    for X, step in some or cases():
        Z = H.prox(X, step)
        np.testing.assert_allclose(H0.value(Z) + eta / 2 * np.sum(Z**2), H.value(Z), rtol=1e-12)
        longer = 1 + step * eta
        np.testing.assert_allclose(H0.prox(X / longer, step / longer), Z, rtol=1e-12, atol=1e-14 * np.abs(X).max())
    check_homogeneous(H0, some)


def check_claims(H, some=None):
    """Every trait that H claims, and its split where it has one."""
    some = list(some or cases())
    if Trait.CONVEX in H.traits:
        check_convex(H, some)
    if Trait.HOMOGENEOUS in H.traits:
        check_homogeneous(H, some)
        assert H.split() is not None
    if Trait.SEPARABLE in H.traits:
        check_separable(H, some)
    if H.split() is not None:
        check_split(H, some)


def check_single_precision(H, some=None):
    """float32 stays float32, near the double result and feasible."""
    for X, step in some or cases():
        single = H.prox(X.astype(np.float32), step)
        assert single.dtype == np.float32
        assert np.isfinite(H.value(single))
        room = 1e-5 * (np.abs(X).max() + np.abs(single).max())
        np.testing.assert_allclose(single, H.prox(X, step), rtol=1e-5, atol=room)
        if Trait.SEPARABLE in H.traits:
            assert H.prox(X.astype(np.float32), np.full((X.shape[0], 1), step, np.float32)).dtype == np.float32


def check_memory_order(H, some=None):
    """A block by columns, or a part of a larger one, is treated as its copy by rows is."""
    for X, step in some or cases():
        wide = np.full((X.shape[0], 2 * X.shape[1]), 7.0)
        wide[:, ::2] = X
        Z = H.prox(X, step)
        for same in (np.asfortranarray(X), wide[:, ::2]):
            np.testing.assert_allclose(H.prox(same, step), Z, rtol=1e-12, atol=1e-13 * np.abs(X).max())
            np.testing.assert_allclose(H.value(H.prox(same, step)), H.value(Z), rtol=1e-12)
