"""Every registered regularizer: value and prox agree, and what it claims is so."""

import numpy as np
import pytest

import bregopt as bo

SPECS = {
    "none": ["none"],
    "ridge": ["ridge(0.7)", "ridge(0)"],
    "l1": ["l1(0.4)", "l1(0)"],
    "nonneg": ["nonneg"],
    "elastic-net": ["elastic-net(0.4, 0.7)"],
    "l0-ball": ["l0-ball(3)", "l0-ball(1, per=row)", "l0-ball(2, per=column)", "l0-ball(100)"],
}
ALL = [spec for specs in SPECS.values() for spec in specs]


def test_every_registered_regularizer_is_checked_here():
    first_party = {e.name for e in bo.catalog("regularizer") if "plugin 'regularizers'" in e.provider}
    assert first_party == set(SPECS)


def cases():
    rng = np.random.default_rng(0)
    for scale in (1e-3, 1.0, 1e3):
        for step in (1e-2, 1.0, 10.0):
            yield scale * rng.standard_normal((4, 3)), step


def rivals(H, X, Z):
    """Coordinates, multiples, zero, the input, segments and feasible perturbations."""
    rng = np.random.default_rng(1)
    size = np.abs(Z).max() + np.abs(X).max() + 1e-9
    raw = [t * Z for t in (0.0, 0.5, 0.9, 1.1, 2.0)] + [X, 0.5 * (X + Z), 0.9 * Z + 0.1 * X]
    for index in np.ndindex(X.shape):
        for move in (1e-4, 1e-1):
            for sign in (-1, 1):
                rival = Z.copy()
                rival[index] += sign * move * size
                raw.append(rival)
        dropped = Z.copy()
        dropped[index] = 0.0
        raw.append(dropped)
    raw += [Z + 1e-2 * size * rng.standard_normal(X.shape) for _ in range(20)]
    return raw + [H.prox(rival, 1e-12) for rival in raw]


@pytest.mark.parametrize("spec", ALL)
def test_the_prox_beats_every_rival(spec):
    H = bo.make("regularizer", spec)
    for X, step in cases():
        kept = X.copy()
        Z = H.prox(X, step)
        assert np.array_equal(X, kept), "prox wrote into its input"
        assert Z is not X
        assert Z.shape == X.shape
        best = H.value(Z) + np.sum((Z - X) ** 2) / (2 * step)
        assert np.isfinite(best)
        for rival in rivals(H, X, Z):
            assert H.value(rival) + np.sum((rival - X) ** 2) / (2 * step) >= best * (1 - 1e-9)


@pytest.mark.parametrize("spec", ALL)
def test_the_traits_hold(spec):
    H = bo.make("regularizer", spec)
    for X, step in cases():
        Z = H.prox(X, step)
        if bo.Trait.HOMOGENEOUS in H.traits:
            for t in (0.1, 3.0):
                assert H.value(t * Z) == pytest.approx(t * H.value(Z), rel=1e-12)
                np.testing.assert_allclose(H.prox(t * X, t * step), t * Z, rtol=1e-12, atol=0)
        if bo.Trait.SEPARABLE in H.traits:
            entries = [H.prox(X[i : i + 1, j : j + 1], step) for i, j in np.ndindex(X.shape)]
            np.testing.assert_allclose(Z.ravel(), np.concatenate(entries).ravel(), rtol=1e-14)
            steps = step * np.arange(1.0, 5.0)[:, None]
            by_row = [H.prox(X[i : i + 1], float(steps[i, 0])) for i in range(4)]
            np.testing.assert_allclose(H.prox(X, steps), np.concatenate(by_row), rtol=1e-14)
        if bo.Trait.CONVEX in H.traits:
            W = X[::-1] * 0.7
            assert np.sum((H.prox(W, step) - Z) * (W - X)) >= np.sum((H.prox(W, step) - Z) ** 2) * (1 - 1e-12)
            middle = H.value(0.5 * (Z + H.prox(W, step)))
            assert middle <= 0.5 * (H.value(Z) + H.value(H.prox(W, step))) * (1 + 1e-12)
            assert H.weak_convexity == 0.0


@pytest.mark.parametrize("spec", ALL)
def test_the_split_adds_up(spec):
    H = bo.make("regularizer", spec)
    split = H.split()
    assert split is not None
    H0, eta = split
    assert bo.Trait.HOMOGENEOUS in H0.traits
    for X, step in cases():
        Z = H.prox(X, step)
        assert H.value(Z) == pytest.approx(H0.value(Z) + eta / 2 * np.sum(Z**2), rel=1e-12)
        np.testing.assert_allclose(Z, H0.prox(X / (1 + step * eta), step / (1 + step * eta)), rtol=1e-12, atol=0)
