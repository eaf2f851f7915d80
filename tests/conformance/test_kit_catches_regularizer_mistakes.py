"""Planted mistakes in regularizers: each is caught by the check that is there for it, its right twin is not."""

import numpy as np
import pytest
from attrs import evolve
from planted import assert_caught

import bregopt as bo
from bregopt import Trait
from bregopt.testing import Status
from bregopt.testing.check import run
from bregopt.testing.checks.regularizer_prox import beats_rivals
from bregopt.testing.kinds import checks_of
from bregopt.testing.search.random_points import RandomPoints
from bregopt.testing.search.regularizer_case import SCALES, STEPS, RegularizerCase


class Made(bo.Regularizer):
    """A regularizer from two functions and its claims."""

    weak_convexity = property(
        lambda self: self.claims.get("weak_convexity", 0.0 if Trait.CONVEX in self.traits else None)
    )
    step_limit = property(lambda self: self.claims.get("step_limit", np.inf))

    def __init__(self, value, prox, traits=Trait.NONE, **claims):
        self.value, self.prox, self.traits, self.claims = value, prox, traits, claims

    value = prox = None

    def split(self):
        return self.claims["split"] if "split" in self.claims else super().split()

    def piece(self, X):
        return self.claims["piece"](X) if "piece" in self.claims else None

    def sparsity(self):
        return self.claims.get("sparsity")

    def scalar(self):
        return self.claims.get("scalar")

    def entry(self):
        return self.claims["entry"] if "entry" in self.claims else super().entry()

    def convex_parts(self):
        return self.claims["parts"] if "parts" in self.claims else super().convex_parts()


def soft(X, t):
    return X - np.clip(X, -t, t)


def hard(X, t):
    return np.where(np.abs(X) > t, X, 0.0).astype(X.dtype)


def huber(X):
    return float(np.where(np.abs(X) <= 1, X**2 / 2, np.abs(X) - 0.5).sum())


def l1(X):
    return float(np.abs(X).sum())


def ridge(X):
    return 0.5 * float(np.vdot(X, X))


def inside(good):
    return 0.0 if good else np.inf


def project_ball(X, step):
    return X / max(1.0, float(np.linalg.norm(X)))


def project_sphere(X, step):
    return X / np.linalg.norm(X) if X.any() else np.full_like(X, X.size**-0.5)


def wide_ball(X):
    """Holds the rows of most Gaussian 4×3 matrices, but not the matrices."""
    return inside(np.linalg.norm(X) <= 2.5)


def feasible_returned(X, step):
    return X if np.linalg.norm(X) <= 1 else project_ball(X, step)


def top(X, s=2):
    Z = np.zeros_like(X)
    places = np.argsort(-np.abs(X), axis=None, kind="stable")[:s]
    Z.flat[places] = X.flat[places]
    return Z


def sparse_and_positive(X):
    return inside(np.count_nonzero(X) <= 2 and X.min() >= 0)


def in_place(X, step):
    np.clip(X, 0, None, out=X)
    return X.copy()


class Buffer:
    """One array for every answer of the same shape."""

    def __init__(self):
        self.rooms = {}

    def __call__(self, X, step):
        room = self.rooms.setdefault((X.shape, X.dtype), np.empty_like(X))
        np.copyto(room, soft(X, step))
        return room


class Tiring:
    """A threshold that grows with every question."""

    def __init__(self):
        self.asked = 0

    def __call__(self, X, step):
        self.asked += 1
        return soft(X, step * (1 + 1e-6 * self.asked))


def rows_shrunk(X, step):
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    return X * np.maximum(0, 1 - step / np.maximum(norms, 1e-30))


def by_memory(X, step):
    return rows_shrunk(X.ravel("K").reshape(X.shape), step)


def mcp(X):
    size = np.minimum(np.abs(X), 2.0)
    return float((size - size**2 / 4).sum())


def firm(X, step):
    return np.where(np.abs(X) <= 2, soft(X, step) / (1 - step / 2), X)


def onto_simplex(X, step):
    v = -np.sort(-X.ravel())
    excess = (np.cumsum(v) - 1) / np.arange(1, v.size + 1)
    return np.maximum(X - excess[np.count_nonzero(v > excess) - 1], 0).astype(X.dtype)


def simplex(X):
    return inside(X.min() >= -1e-12 and abs(X.sum() - 1) <= (1e-9 if X.dtype == np.float64 else 1e-5) * X.size)


def by_count(X, step):
    return rows_shrunk(X, step * len(X))


CONVEX, HOMOGENEOUS, SEPARABLE, ROW_WISE = Trait.CONVEX, Trait.HOMOGENEOUS, Trait.SEPARABLE, Trait.ROW_WISE
L1 = Made(l1, soft, CONVEX | SEPARABLE | HOMOGENEOUS | ROW_WISE)
RIDGE = Made(ridge, lambda X, t: X / (1 + t), CONVEX | SEPARABLE)
BALL = Made(lambda X: inside(np.linalg.norm(X) <= 1 + 1e-6), project_ball, CONVEX)
L0 = Made(lambda X: float(np.count_nonzero(X)), lambda X, t: hard(X, np.sqrt(2 * t)), SEPARABLE)
TOP = Made(sparse_and_positive, lambda X, t: top(np.maximum(X, 0)), HOMOGENEOUS)
GROUP = Made(lambda X: float(np.linalg.norm(X, axis=1).sum()), rows_shrunk, CONVEX | HOMOGENEOUS | ROW_WISE)
MCP = Made(mcp, firm, SEPARABLE, weak_convexity=0.5, step_limit=2.0)
SIMPLEX = Made(simplex, onto_simplex, CONVEX)
HUBER = Made(huber, lambda X, t: np.where(np.abs(X) <= 1 + t, X / (1 + t), X - t * np.sign(X)), CONVEX | SEPARABLE)
ELASTIC = Made(lambda X: l1(X) + ridge(X), lambda X, t: soft(X, t) / (1 + t), CONVEX | SEPARABLE, split=(L1, 1.0))
ENTRY = bo.ScalarPenalty(l1=1.0).entry()
SPELT = Made(l1, soft, CONVEX | SEPARABLE, scalar=bo.ScalarPenalty(l1=1.0))
ABOVE = Made(
    lambda X: inside(X.min() >= -1e-9 * np.abs(X).max()),
    lambda X, t: np.maximum(X, 0.0),
    CONVEX | SEPARABLE,
    scalar=bo.ScalarPenalty(low=0.0),
)
SPHERE = Made(lambda X: inside(abs(np.linalg.norm(X) - 1) <= 1e-6), project_sphere, Trait.CONSTANT_NORM)


def like(H, *, value=None, prox=None, traits=None, **claims):
    """A mutant: H with one thing changed."""
    return Made(value or H.value, prox or H.prox, H.traits if traits is None else traits, **{**H.claims, **claims})


def supported(X):
    """The indicator of the matrices with the support of X."""
    return Made(lambda Z: inside(not Z[X == 0].any()), lambda Z, t: np.where(X == 0, 0.0, Z), HOMOGENEOUS)


class Square(bo.SmoothRegularizer):
    """``½ Σ c_i x_ij²``, with shares of the gradient and of the curvature that are right."""

    traits = CONVEX

    def __init__(self, gradient=1.0, curvature=1.0):
        self.shares = gradient, curvature

    def weights(self, X):
        return np.linspace(1.0, 2.0, X.shape[0], dtype=X.dtype)[:, None]

    def value(self, X):
        return 0.5 * float((self.weights(X) * X**2).sum())

    def prox(self, X, step):
        return X / (1 + step * self.weights(X))

    def gradient(self, X):
        return self.shares[0] * self.weights(X) * X

    def curvature(self, X):
        return self.shares[1] * self.weights(X)


REGULARIZERS = {
    "threshold τ²": ("prox/variational", L1, like(L1, prox=lambda X, t: soft(X, t**2))),
    "forgotten step": ("prox/variational", L1, like(L1, prox=lambda X, t: soft(X, 1.0))),
    "missing factor 2": ("prox/variational", RIDGE, like(RIDGE, value=lambda X: 2 * ridge(X))),
    "sphere for ball": ("prox/variational", BALL, like(BALL, prox=SPHERE.prox)),
    "l0 threshold": ("prox/variational", L0, like(L0, prox=hard)),
    "positive part last": ("prox/variational", TOP, like(TOP, prox=lambda X, t: np.maximum(top(X), 0))),
    "sum ignored": ("value/finite-at-prox", SIMPLEX, like(SIMPLEX, prox=lambda X, t: np.maximum(X, 0))),
    "in-place write": ("prox/fresh", L1, like(L1, prox=in_place)),
    "input returned": ("prox/fresh", BALL, like(BALL, prox=feasible_returned)),
    "one buffer": ("prox/fresh", L1, like(L1, prox=Buffer())),
    "stateful": ("prox/deterministic", L1, like(L1, prox=Tiring())),
    "float64 leak": ("prox/shape-dtype", L1, like(L1, prox=lambda X, t: np.float64(1) * soft(X.astype(float), t))),
    "memory order": ("prox/shape-dtype", GROUP, like(GROUP, prox=by_memory)),
    "numpy value": ("value/python-float", L1, like(L1, value=lambda X: np.abs(X).sum())),
    "log of zero": ("value/not-negative-infinite", L1, like(L1, value=lambda X: float(np.log(np.abs(X)).sum()))),
    "not convex": ("traits/convex", L1, like(L0, traits=CONVEX | SEPARABLE)),
    "prox not of a convex H": ("traits/convex", L1, like(L1, prox=lambda X, t: 3 * X)),
    "not homogeneous": ("traits/homogeneous", L1, like(RIDGE, traits=RIDGE.traits | HOMOGENEOUS)),
    "set that is no cone": ("traits/homogeneous", L1, Made(BALL.value, lambda X, t: X.copy(), HOMOGENEOUS)),
    "not separable": ("traits/separable", L1, like(GROUP, traits=GROUP.traits | SEPARABLE)),
    "one step for all": ("traits/separable", L1, like(L1, prox=lambda X, t: soft(X, float(np.mean(t))))),
    "not by rows": ("traits/row-wise", GROUP, like(BALL, traits=CONVEX | ROW_WISE)),
    "rows that count each other": ("traits/row-wise", GROUP, like(GROUP, prox=by_count)),
    "value not by rows": ("traits/row-wise", GROUP, Made(wide_ball, lambda X, t: X.copy(), ROW_WISE)),
    "rows with weights of their own": ("traits/row-wise", L1, Made(Square().value, Square().prox, ROW_WISE)),
    "one step for all rows": ("traits/row-wise", L1, like(L1, prox=lambda X, t: soft(X, float(np.mean(t))))),
    "not of constant norm": ("traits/constant-norm", SPHERE, like(BALL, traits=Trait.CONSTANT_NORM)),
    "half the modulus": ("weak-convexity/holds", MCP, like(MCP, weak_convexity=0.25)),
    "split without its ridge": ("split/adds-up", ELASTIC, like(ELASTIC, split=(L1, 0.5))),
    "split not homogeneous": ("split/adds-up", ELASTIC, like(ELASTIC, split=(like(RIDGE, traits=HOMOGENEOUS), 1.0))),
    "entry, another prox": ("entry/adds-up", SPELT, like(SPELT, entry=evolve(ENTRY, parameters=(1.01, 0, -9, 9)))),
    "entry, another value": ("entry/adds-up", SPELT, like(SPELT, entry=evolve(ENTRY, value=lambda x, p: x * x))),
    "entry, not separable": ("entry/adds-up", SPELT, like(SPELT, traits=CONVEX)),
    "scalar penalty of another weight": ("scalar/adds-up", SPELT, like(SPELT, scalar=bo.ScalarPenalty(l1=1.01))),
    "scalar penalty with a bound": ("scalar/adds-up", SPELT, like(SPELT, scalar=bo.ScalarPenalty(l1=1.0, low=0.0))),
    "scalar penalty, another value": ("scalar/adds-up", SPELT, like(SPELT, value=huber)),
    "scalar penalty, value without bound": ("scalar/adds-up", ABOVE, like(ABOVE, value=lambda X: 0.0)),
    "scalar penalty, not separable": ("scalar/adds-up", SPELT, like(SPELT, traits=CONVEX)),
    "wrong piece": ("piece/holds", like(L0, piece=supported), like(L0, piece=lambda X: bo.Zero())),
    "no step limit": ("step-limit/respected", MCP, like(MCP, step_limit=5.0)),
    "split in the Bregman map": ("bregman-prox/minimal", ELASTIC, like(ELASTIC, split=(L1, 0.5))),
    "homogeneous in the Bregman map": ("bregman-prox/minimal", HUBER, like(HUBER, traits=HUBER.traits | HOMOGENEOUS)),
    "gradient of a smooth H": ("smooth/gradient", Square(), Square(gradient=1.001)),
    "curvature of a smooth H": ("smooth/curvature", Square(), Square(curvature=0.95)),
    "ascent": ("engine/descent", L1, like(L1, prox=lambda X, t: X + t * np.sign(X))),
}  # fmt: skip


@pytest.mark.parametrize("mistake", REGULARIZERS)
def test_a_mistake_in_a_regularizer_is_caught_by_its_check(mistake):
    assert_caught(*REGULARIZERS[mistake])


def gone(X):
    """The slope of |x| − mcp(x)."""
    return np.clip(X / 2, -1.0, 1.0)


def halved(X):
    X *= 0.5
    return np.clip(X, -1.0, 1.0)


HALF_L1 = like(L1, value=lambda X: 0.5 * l1(X), prox=lambda X, t: soft(X, t / 2))
CONVEX_PARTS = {
    "the slope that is left, as in a published code": (L1, lambda X: np.sign(X) - gone(X)),
    "a percent off": (L1, lambda X: 1.01 * gone(X)),
    "sign turned": (L1, lambda X: -gone(X)),
    "r₂ not convex": (HALF_L1, gone),
    "r₁ with another domain": (ABOVE, gone),
    "r₁ that claims nothing": (like(L1, traits=SEPARABLE), gone),
    "r₁ not convex": (like(L0, traits=CONVEX | SEPARABLE), np.zeros_like),
    "r₁ with another prox": (like(L1, prox=lambda X, t: soft(X, t / 2)), gone),
    "X itself": (RIDGE, lambda X: X),
    "another shape": (L1, lambda X: gone(X).ravel()),
    "written into X": (L1, halved),
    "another dtype": (L1, lambda X: gone(X).astype(np.float32)),
}


@pytest.mark.parametrize("mistake", CONVEX_PARTS)
def test_a_mistake_in_convex_parts_is_caught(mistake):
    right, wrong = (like(MCP, parts=bo.ConvexParts(*parts)) for parts in ((L1, gone), CONVEX_PARTS[mistake]))
    assert_caught("convex-parts/hold", right, wrong)


def test_convex_parts_of_another_type_are_caught():
    assert_caught("convex-parts/hold", like(MCP, parts=bo.ConvexParts(L1, gone)), like(MCP, parts=(L1, gone)))


def fewest(gains, room):
    return bo.make("regularizer", "l0-ball(3)").sparsity().allowed(-gains, room)


def most(s):
    return bo.make("regularizer", f"l0-ball({s})").sparsity().allowed


TOP = bo.make("regularizer", "l0-ball(3)")
TOP = Made(TOP.value, TOP.prox, TOP.traits, sparsity=TOP.sparsity())
NONE = bo.make("regularizer", "none")
SPARSITY = {
    "the least gains": bo.Sparsity(NONE, fewest),
    "a place less": bo.Sparsity(NONE, most(2)),
    "a place more": bo.Sparsity(NONE, most(4)),
    "values that H does not ask for": bo.Sparsity(bo.make("regularizer", "nonneg"), most(3)),
    "room that opens nothing": bo.Sparsity(NONE, lambda gains, room: most(3)(gains, 0.0)),
    "room that closes": bo.Sparsity(NONE, lambda gains, room: most(3)(gains, 1.0 if room in (0.3, 1.0) else 0.0)),
    "numbers for places": bo.Sparsity(NONE, lambda gains, room: 1.0 * most(3)(gains, room)),
    "entries that no scalar says": bo.Sparsity(bo.make("regularizer", "nuclear"), most(3)),
    "another type": (NONE, most(3)),
}


@pytest.mark.parametrize("mistake", SPARSITY)
def test_a_mistake_in_the_places_of_non_zeros_is_caught(mistake):
    assert_caught("sparsity/holds", TOP, like(TOP, sparsity=SPARSITY[mistake]))


RIGHT = ["l1(0.4)", "nonneg", "l0-ball(3)", "ridge(0.7)"]
CHEAP = ["prox/fresh", "value/finite-at-prox", "traits/convex", "traits/homogeneous", "split/adds-up"]


@pytest.mark.parametrize("spec", RIGHT)
def test_a_right_prox_is_never_flagged_over_two_hundred_seeds(spec):
    H = bo.make("regularizer", spec)
    case, checks = RegularizerCase.of(H), checks_of(H)
    for seed in range(200):
        draw, shape = RandomPoints.of(seed, "prox/variational"), [(1, 1), (3, 2), (4, 3)][seed % 3]
        beats_rivals(case, draw.gauss(shape, SCALES[seed % 5]), STEPS[seed // 3 % 3], draw)
        if seed % 4 == 0:
            outcome = run(name := CHEAP[seed // 4 % len(CHEAP)], checks[name], seed)
            assert outcome.status is not Status.FAILED, outcome


@pytest.mark.parametrize("spec", RIGHT)
def test_the_report_of_a_right_part_is_ok(spec):
    report = bo.testing.check(bo.make("regularizer", spec))
    assert report.ok, report.table()
