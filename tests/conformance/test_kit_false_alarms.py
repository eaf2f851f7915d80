"""What is right passes the kit, in any blocks, of any degree, on any domain; and the same planted wrong is caught."""

import functools
import math
import re
from pathlib import Path

import numpy as np
import pytest
from attrs import evolve, frozen
from planted import assert_caught, outcome
from small_parts import NoBlock

import bregopt as bo
from bregopt.cli.templates import problem as template
from bregopt.errors import DataError
from bregopt.testing import Status
from bregopt.testing.search.random_points import RandomPoints
from bregopt.testing.search.taylor import wrong_gradient

ROOT = Path(__file__).parents[2]
PSI1, PSI2, BURG = (bo.make("kernel", name) for name in ("psi1", "psi2", "burg"))


@frozen(eq=False)
class Formula(bo.SmoothPart):
    """F by two functions of the blocks, and L with ``|D_F| ≤ L·D_reference``."""

    f: object
    slope: object
    reference: object = None
    L: float = 1.0
    lower: float | None = None

    def value(self, Y, W):
        return float(self.f(*Y))

    def value_and_gradient(self, Y, W):
        return self.value(Y, W), bo.Blocks(**dict(zip(Y.names, self.slope(*Y), strict=True)))

    def smad(self, kernel, norms, reduced):
        share = 0.0 if self.reference is None else kernel.share(self.reference)
        return bo.Smad(self.L / share, None if self.lower is None else self.lower / share) if share > 0 else None


def problem(smooth, kernel=PSI2, H="none", **blocks):
    """A problem without W, at the point given by its blocks."""
    H = bo.make("regularizer", H)
    return bo.Problem(smooth=smooth, block=NoBlock(), kernel=kernel, regularizer=H), bo.Blocks(**blocks)


def rng_of(seed=0):
    return np.random.default_rng(seed)


def quartic(A, b, offset=0.0):
    """``F(x) = ¼ Σ (⟨a_i, x⟩² − b_i)² + offset``."""
    L = 3 * np.linalg.norm(A.T * np.sum(A**2, axis=1) @ A, 2)
    return Formula(
        lambda x: 0.25 * np.sum((np.square(A @ x) - b) ** 2) + offset,
        lambda x: (A.T @ ((np.square(A @ x) - b) * (A @ x)),),
        PSI1,
        L,
    )


def tensor(T):
    """``F(A, B, C) = ½‖T − Σ_r a_r ∘ b_r ∘ c_r‖²``, of degree 6."""

    def residual(A, B, C):
        return np.einsum("ir,jr,kr->ijk", A, B, C) - T

    def slope(A, B, C):
        R = residual(A, B, C)
        return (
            np.einsum("ijk,jr,kr->ir", R, B, C),
            np.einsum("ijk,ir,kr->jr", R, A, C),
            np.einsum("ijk,ir,jr->kr", R, A, B),
        )

    return Formula(lambda *Y: 0.5 * np.sum(np.square(residual(*Y))), slope)


def poisson(A, b, **changes):
    """``F(y) = Σ (Ay)_i − b_i log (Ay)_i``, (Σ b)-smad to Burg's entropy and convex."""
    right = Formula(
        lambda y: np.sum(A @ y - b * np.log(A @ y)), lambda y: (A.T @ (1 - b / (A @ y)),), BURG, float(b.sum()), 0.0
    )
    return evolve(right, **changes)


def three_blocks(rng, scale=1.0):
    return {name: scale * rng.standard_normal((n, 2)) for name, n in zip("ABC", (3, 4, 2), strict=True)}


def refused(part, seed=0):
    """What the gradient of a problem is refused for at its point, or ``None``."""
    (at, Y), F = part, part[0].smooth
    psi = at.kernel
    with np.errstate(all="ignore"):
        draw = RandomPoints.of(seed, "smooth/gradient")
        return wrong_gradient(lambda X: F.value(X, None), F.value_and_gradient(Y, None)[1], Y, draw, psi.longest)


# ---- right gradients are not refused, at any scale


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("b", ["zero", "some", "that of the point", "near that of the point"])
def test_a_right_quartic_is_not_refused_at_any_of_forty_points(scale, b):
    for seed in range(40):
        rng = rng_of(seed)
        A, x = rng.standard_normal((20, 5)), scale * rng.standard_normal(5)
        data = {"zero": 0.0 * A[:, 0], "some": rng.random(20), "that of the point": np.square(A @ x)}
        F = quartic(A, data.get(b, np.square(A @ x * (1 + 1e-9))))
        assert refused(problem(F, x=x), seed) is None


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("stretch", [1.0, 1e-6, 1e6])
def test_a_right_polynomial_of_degree_six_is_not_refused_in_blocks_of_different_sizes(seed, stretch):
    rng = rng_of(seed)
    Y = three_blocks(rng)
    T = np.einsum("ir,jr,kr->ijk", *Y.values())
    Y = Y | {"A": stretch * Y["A"], "B": Y["B"] / stretch}
    for data in (rng.standard_normal(T.shape), T):  # at T the gradient is rounding
        assert refused(problem(tensor(data), **Y), seed) is None


@pytest.mark.parametrize("scale", [1e-6, 1e-2, 1.0, 1e4])
def test_right_logarithms_and_exponentials_are_not_refused(scale):
    for seed in range(10):
        rng = rng_of(seed)
        A, y = rng.random((8, 4)), scale * rng.uniform(0.01, 1.0, 4)
        assert refused(problem(poisson(A, rng.random(8)), BURG, y=y), seed) is None
        steep = Formula(lambda y, A=A: sum(math.exp(z) for z in A @ y), lambda y, A=A: (A.T @ np.exp(A @ y),))
        assert refused(problem(steep, y=np.minimum(y, 1.0)), seed) is None


@pytest.mark.parametrize("offset", [1e3, 1e8, -1e12])
def test_a_right_gradient_is_not_refused_for_a_large_constant(offset):
    for seed in range(10):
        rng = rng_of(seed)
        F = quartic(rng.standard_normal((12, 4)), rng.random(12), offset)
        assert refused(problem(F, x=rng.standard_normal(4)), seed) is None


@pytest.mark.parametrize("inner", [1e4, 1e6])
def test_a_right_gradient_is_not_refused_for_rounding_within_the_value(inner):
    for seed in range(40):
        rng = rng_of(seed)
        F = quartic(rng.standard_normal((12, 4)), rng.random(12))
        rough = evolve(F, f=lambda x, F=F: (inner + F.f(x)) - inner)
        assert refused(problem(rough, x=0.1 * rng.standard_normal(4)), seed) is None


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3, 1e6])
def test_a_right_gradient_with_kinks_is_not_refused(scale):
    for seed in range(20):
        rng = rng_of(seed)
        A, b = rng.standard_normal((12, 4)), rng.standard_normal(12)

        def huber(x, A=A, b=b):
            r = np.abs(A @ x - b)
            return np.sum(np.where(r < 1, 0.5 * r**2, r - 0.5))

        F = Formula(huber, lambda x, A=A, b=b: (A.T @ np.clip(A @ x - b, -1, 1),))
        assert refused(problem(F, x=scale * rng.standard_normal(4)), seed) is None


# ---- wrong gradients are, of the same functions


def scaled_entry(g, factor=1.01):
    flat = g.flat.copy()
    flat[np.argsort(np.abs(flat))[flat.size // 2]] *= factor
    return g.like(flat)


def last_block(g, change):
    return g.map(lambda name, X: change(X) if name == g.names[-1] else X)


def turned(X):
    """The entries as if the block lay transposed in memory."""
    return X.T.reshape(X.shape) if X.ndim > 1 else X[::-1]


PLANTED = {
    "factor of 1.01": lambda g, Y: g * 1.01,
    "sign of one block": lambda g, Y: last_block(g, lambda X: -X),
    "transposed block": lambda g, Y: last_block(g, turned),
    "single entry": lambda g, Y: scaled_entry(g),
    "missing block": lambda g, Y: last_block(g, lambda X: 0.0 * X),
    "missing term": lambda g, Y: g.plus(0.01, Y),
    "right where it is zero": lambda g, Y: g * (1.0 + 0.1 * Y.norm()),
}


def with_slope(part, change):
    """The problem with another gradient."""
    at, Y = part
    F = at.smooth

    def slope(*arrays):
        Z = bo.Blocks(**dict(zip(Y.names, arrays, strict=True)))
        return tuple(change(F.value_and_gradient(Z, None)[1], Z))

    return evolve(at, smooth=evolve(F, slope=slope)), Y


RNG = rng_of(3)
A, B = RNG.standard_normal((12, 4)), RNG.random((8, 4))
RIGHT = {
    "quartic": problem(quartic(A, RNG.random(12)), PSI1, x=RNG.standard_normal(4)),
    "quartic near zero": problem(quartic(A, RNG.random(12)), PSI1, x=1e-6 * RNG.standard_normal(4)),
    "quartic far out": problem(quartic(A, RNG.random(12)), PSI1, x=1e6 * RNG.standard_normal(4)),
    "quartic at its minimum": problem(quartic(A, np.square(A @ np.ones(4))), PSI1, x=np.ones(4)),
    "quartic and a constant": problem(quartic(A, RNG.random(12), 1e8), PSI1, x=RNG.standard_normal(4)),
    "degree 6": problem(tensor(RNG.standard_normal((3, 4, 2))), PSI1, **three_blocks(RNG)),
    "degree 6 near zero": problem(tensor(RNG.standard_normal((3, 4, 2))), PSI1, **three_blocks(RNG, 1e-6)),
    "Poisson": problem(poisson(B, RNG.random(8)), BURG, y=RNG.uniform(0.1, 1.0, 4)),
}


@pytest.mark.parametrize("mistake", PLANTED)
@pytest.mark.parametrize("right", RIGHT)
def test_a_wrong_gradient_is_caught(right, mistake):
    assert_caught("smooth/gradient", RIGHT[right], with_slope(RIGHT[right], PLANTED[mistake]))


@pytest.mark.parametrize(("factor", "scale", "offset"), [(1.01, 1e-6, 0.0), (1.0001, 1.0, 1e8), (1.0001, 1e3, 0.0)])
def test_a_wrong_factor_is_seen_at_the_point_itself(factor, scale, offset):
    for seed in range(10):
        rng = rng_of(seed)
        F = quartic(rng.standard_normal((12, 4)), rng.random(12), offset)
        wrong = with_slope(problem(F, x=scale * rng.standard_normal(4)), lambda g, Y: g * factor)
        assert refused(wrong, seed) is not None


@pytest.mark.parametrize("right", ["quartic", "degree 6"])
def test_a_gradient_that_is_right_at_the_start_only_is_caught(right):
    at, Y = RIGHT[right]

    def elsewhere(g, Z):
        return g * (1.01 if (Z - Y).norm() > 0 else 1.0)

    assert_caught("smooth/gradient", RIGHT[right], with_slope((at, Y), elsewhere))


def test_a_value_that_is_not_finite_in_the_domain_is_told_as_such():
    F = Formula(lambda x: np.sum(np.log(x)), lambda x: (1 / x,))
    found = outcome("smooth/gradient", problem(F, x=np.array([1.0, -1.0])))
    assert found.status is Status.FAILED
    assert "not finite" in found.message


# ---- kernels that take other blocks, and divisions by what a kernel does not have


def divided(kernel, norms, reduced):
    """As the docs have it: a kernel without strong convexity divides by zero."""
    return bo.Smad(upper=3.0 / kernel.strong_convexity, lower=0.0)


@frozen(eq=False)
class Squares(bo.SmoothPart):
    """``F = (3/2)‖Y‖²`` in any blocks, with constants for every kernel that is strongly convex."""

    L: float = 3.0
    claim: object = staticmethod(divided)

    def value(self, Y, W):
        return 0.5 * self.L * Y.dot(Y)

    def value_and_gradient(self, Y, W):
        return self.value(Y, W), Y * self.L

    def smad(self, kernel, norms, reduced):
        return self.claim(kernel, norms, reduced)


BLOCKS = {
    "one vector": {"x": np.arange(1.0, 6.0)},
    "one matrix": {"X": np.ones((3, 2))},
    "three axes": {"X": np.linspace(-1, 1, 24).reshape(3, 4, 2)},
    "three blocks": {"A": np.ones((3, 2)), "B": np.ones((4, 2)), "C": -np.ones((2, 2))},
    "vector, matrix and number": {"x": np.ones(5), "M": np.ones((2, 3)), "c": np.array(2.0)},
    "U that is no factor": {"U": np.ones(4), "V": np.ones((3, 4, 2))},
    "zero": {"x": np.zeros(4)},
}


@pytest.mark.parametrize("blocks", BLOCKS)
def test_constants_are_checked_with_kernels_that_take_the_blocks_only(blocks):
    report = bo.testing.check(problem(Squares(), **BLOCKS[blocks]))
    assert report.ok, report.table()
    passed = {outcome.name for outcome in report.outcomes if outcome.status is Status.PASSED}
    assert passed >= {"smooth/gradient", "smad/upper", "smad/lower"}


@pytest.mark.parametrize("blocks", BLOCKS)
def test_constants_that_are_too_small_are_caught_in_any_blocks(blocks):
    def small(kernel, norms, reduced):
        return bo.Smad(upper=2.9 / kernel.strong_convexity)

    right, wrong = (problem(F, **BLOCKS[blocks]) for F in (Squares(), Squares(claim=small)))
    assert_caught("smad/upper", right, wrong)


def test_a_wrong_constant_for_a_kernel_at_hand_is_caught():
    def any_kernel(kernel, norms, reduced):
        return bo.Smad(upper=3.0)

    def own(kernel, norms, reduced):
        return bo.Smad(upper=3.0) if kernel is PSI2 else None

    right, wrong = (problem(Squares(claim=claim), x=np.ones(3)) for claim in (own, any_kernel))
    assert_caught("smad/upper", right, wrong)


def test_constants_that_raise_for_the_problem_s_own_kernel_are_a_failure():
    found = outcome("smad/upper", problem(Squares(), PSI1, x=np.ones(3)))
    assert found.status is Status.FAILED
    assert "ZeroDivisionError" in found.message


# ---- constants that are zero, and functions without curvature


def constants(**known):
    return lambda kernel, norms, reduced: bo.Smad(**known) if kernel is PSI2 else None


@pytest.mark.parametrize(("L", "upper"), [(0.0, 1e-300), (1.0, 1.0)])
def test_constants_of_a_convex_function_hold(L, upper):
    F = Squares(L, constants(upper=upper, lower=0.0, low=0.0 * PSI1))
    report = bo.testing.check(problem(F, x=np.ones(3)))
    assert report.ok, report.table()


@pytest.mark.parametrize("claim", [{"lower": 0.0}, {"low": 0.0 * PSI1}], ids=["lower", "low"])
def test_a_claim_that_a_concave_function_is_convex_is_caught(claim):
    right, wrong = (problem(Squares(L, constants(upper=1.0, **claim)), x=np.ones(3)) for L in (1.0, -1e-3))
    assert_caught(f"smad/{next(iter(claim))}", right, wrong)


def test_a_strongly_convex_function_is_checked_against_a_small_lower_constant():
    F = Squares(3.0, constants(upper=3.0, lower=1e-3))
    assert outcome("smad/lower", problem(F, x=np.ones(3))).status is Status.PASSED


def test_a_linear_function_passes():
    c = np.arange(1.0, 5.0)
    F = Formula(lambda x: c @ x, lambda x: (c,), PSI2, 1e-9, 0.0)
    report = bo.testing.check(problem(F, H="l0(0.1)", x=np.ones(4)))
    assert report.ok, report.table()


def test_the_constants_of_poisson_are_checked_within_the_domain_of_burg():
    y, A, b = {"y": np.array([0.7])}, np.ones((3, 1)), np.array([1.0, 2.0, 0.5])
    right, wrong = (problem(poisson(A, b, L=L * b.sum()), BURG, **y) for L in (1.0, 0.9))
    assert_caught("smad/upper", right, wrong)
    assert outcome("smad/lower", right).status is Status.PASSED
    wide = problem(poisson(B, RNG.random(8)), BURG, y=np.array([1e-3, 1.0, 2.0, 30.0]))
    report = bo.testing.check(wide)
    assert report.ok, report.table()
    assert outcome("smad/upper", wide).status is Status.PASSED


def test_a_constant_that_fails_far_from_the_start_is_caught_within_the_domain():
    def steep(c):
        """``−log y + (c/6) max(0, y − 20)³``."""
        return Formula(
            lambda y: -np.log(y).sum() + c / 6 * np.sum(np.maximum(y - 20, 0) ** 3),
            lambda y: (-1 / y + 0.5 * c * np.maximum(y - 20, 0) ** 2,),
            BURG,
            1.0,
        )

    assert_caught("smad/upper", *(problem(steep(c), BURG, y=np.array([0.7, 0.4])) for c in (0.0, 1e-3)))


def test_a_point_outside_of_the_domain_is_told_once():
    report = bo.testing.check(problem(poisson(B, RNG.random(8)), BURG, y=-np.ones(4)))
    assert [failure.name for failure in report.failures] == ["smooth/at-point"]
    assert report.counts[Status.NOT_APPLICABLE] == len(report.outcomes) - 1


@pytest.mark.parametrize("H", ["l0(0.1)", "nuclear(0.5)", "nonneg", "orthonormal"])
@pytest.mark.parametrize("blocks", ["one vector", "three axes"])
def test_the_regularizer_of_a_problem_does_not_decide_how_F_is_checked(H, blocks):
    report = bo.testing.check(problem(Squares(), H=H, **BLOCKS[blocks]))
    assert report.ok, report.table()


# ---- what W is, and Gram matrices of several blocks


@frozen(eq=False)
class Several(bo.ClosedFormBlock):
    """W is two arrays of different shapes, with norms."""

    def argmin(self, smooth, Y):
        return np.ones((2, 3)), np.ones(4)

    def value(self, W):
        return 0.0

    def norms(self, W):
        return {"spectral": 3.0}


def test_W_may_be_several_arrays():
    at, Y = problem(Squares(), x=np.ones(3))
    assert outcome("block/bounds", (evolve(at, block=Several()), Y)).status is Status.PASSED


class TensorWithGram(Formula):
    """That of degree 6 with its Gram matrices, to be multiplied from the right in each block."""

    def gram(self, Y, name):
        others = [X for other, X in zip(Y.names, Y, strict=True) if other != name]
        return (others[0].T @ others[0]) * (others[1].T @ others[1])


def test_gram_matrices_of_three_blocks_are_checked():
    F, Y = tensor(RNG.standard_normal((3, 4, 2))), three_blocks(RNG)
    right = TensorWithGram(F.f, F.slope)

    class Steeper(TensorWithGram):
        def gram(self, Y, name):
            return (1.001 if name == "C" else 1.0) * super().gram(Y, name)

    assert_caught("smooth/gram", problem(right, **Y), problem(Steeper(F.f, F.slope), **Y))


# ---- kernels and regularizers that are made for other blocks than U and V


@frozen
class OfThree(bo.Kernel):
    """``ψ = ½(‖A‖² + ‖B‖² + ‖C‖²)``, of these three blocks only."""

    strong_convexity = 1.0

    def value(self, Y):
        return 0.5 * float(np.vdot(Y.A, Y.A) + np.vdot(Y.B, Y.B) + np.vdot(Y.C, Y.C))

    def gradient(self, Y):
        return bo.Blocks(A=Y.A, B=Y.B, C=Y.C)

    def divergence(self, Y, Z):
        return self.value(Y - Z)


@frozen
class OfNobody(OfThree):
    """Takes no block that anybody has."""

    def value(self, Y):
        return float(Y["nobody's"].sum())


@frozen
class Broken(OfThree):
    """Raises what has nothing to do with blocks."""

    def value(self, Y):
        raise RuntimeError("broken")


def test_a_kernel_of_other_blocks_is_checked_where_such_blocks_are_at_hand():
    report = bo.testing.check(OfThree())
    assert report.ok, report.table()
    assert outcome("gradient/taylor-slope", OfThree()).status is Status.PASSED
    assert outcome("results/usable", OfThree()).status is Status.PASSED


def test_a_kernel_whose_blocks_nobody_has_is_not_applicable_and_a_broken_one_fails():
    report = bo.testing.check(OfNobody())
    assert report.ok, report.table()
    assert "none of the blocks at hand" in outcome("domain/contains-and-longest", OfNobody()).message
    assert outcome("domain/contains-and-longest", Broken()).status is Status.FAILED


@frozen
class OfAxes(bo.Regularizer):
    """``H(X) = η Σ |x|`` of blocks with so many axes only."""

    axes: int
    threshold: float = 1.0
    traits = bo.Trait.CONVEX | bo.Trait.SEPARABLE | bo.Trait.HOMOGENEOUS

    def value(self, X):
        if X.ndim != self.axes:
            raise DataError(f"A block needs {self.axes} axes. Got {X.ndim} instead.")
        return float(np.abs(X).sum())

    def prox(self, X, step):
        self.value(X)
        step = np.asarray(step * self.threshold, dtype=X.dtype)
        return X - np.clip(X, -step, step)


@pytest.mark.parametrize("axes", [1, 3])
def test_a_regularizer_of_vectors_or_tensors_is_checked(axes):
    report = bo.testing.check(OfAxes(axes))
    assert report.ok, report.table()
    assert_caught("prox/variational", OfAxes(axes), OfAxes(axes, threshold=2.0))


# ---- the problems that the docs show


@functools.cache
def page(name):
    return re.findall(r"^```python\n(.*?)^```$", (ROOT / name).read_text(encoding="utf-8"), re.M | re.S)


def shown(name, begins, until):
    """The names that a snippet of a page leaves, run as far as the line that begins with ``until``."""
    code = next(code for code in page(name) if begins in code)
    scope = {}
    exec("import attrs, numpy as np, bregopt as bo\nrng = np.random.default_rng(0)\n" + code.partition(until)[0], scope)
    return scope


def of_write_a_plugin():
    return shown("docs/write-a-plugin.md", "class Misfit(bo.SmoothPart)", "\nresult = ")["problem"]


def of_hooks():
    scope = shown("docs/hooks.md", "class RobustOracle", "\n@bo.hookimpl")
    A = rng_of().standard_normal((20, 5))
    made = scope["robust"](A, A @ np.ones(5) + 5 * (rng_of(1).random(20) < 0.1), 0.01)
    return evolve(made, oracle=scope["RobustOracle"](made.smooth, made.block))


def of_problems():
    return shown("docs/problems.md", "class NearlyOrthonormal(bo.SmoothPart)", "\nresult = ")["problem"]


def of_the_template():
    scope = {"__name__": "template"}
    exec(template.CODE.replace("$name", "own"), scope)
    return scope["bregopt_examples"]("problem")[0][1]


def of_the_examples():
    text = (ROOT / "examples" / "plugins" / "own_problem.py").read_text(encoding="utf-8").partition("\nbox = ")[0]
    scope = {}
    exec(text.replace("60", "7").replace("50", "6"), scope)
    return scope["own"]


@pytest.mark.parametrize("made", [of_write_a_plugin, of_hooks, of_problems, of_the_template, of_the_examples])
def test_the_problems_of_the_docs_pass(made):
    report = bo.testing.check(made())
    assert report.ok, report.table()
    assert report.counts[Status.PASSED] >= 4


def test_the_docs_have_no_other_problem():
    pages = [*(ROOT / "docs").glob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    found = {str(name.relative_to(ROOT)) for name in pages if any("(bo.SmoothPart)" in code for code in page(name))}
    assert found == {"docs/write-a-plugin.md", "docs/hooks.md", "docs/problems.md"}
    assert [
        path.name for path in (ROOT / "examples").rglob("*.py") if "(bo.SmoothPart)" in path.read_text("utf-8")
    ] == ["own_problem.py"]
