"""A kernel: its gradient, its divergence, how convex it is, its other forms and its domain; and a kernel policy."""

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any, final

import numpy as np

from bregopt.blocks import Array, Blocks
from bregopt.parts.kernel import Kernel, KernelPolicy
from bregopt.testing.outcomes import CheckFailedError, NotApplicableError, fail, not_applicable, number, snippet
from bregopt.testing.search.bregman_ratio import BregmanDistance, DistanceRatio, starts
from bregopt.testing.search.kernel_domain import KernelDomain
from bregopt.testing.search.random_points import RandomPoints
from bregopt.testing.search.taylor import wrong_gradient

SCALES, WIDE_SCALES = (0.1, 1.0, 10.0), (1e-2, 1.0, 1e2)
"""The sizes of the points that are tried."""
NODES, WEIGHTS = np.polynomial.legendre.leggauss(6)
ENOUGH = 1.0 + 1e-7
QUADRATIC = "sum(np.sum(part.quadratic(i) * (Y[i] - Z[i]) ** 2) for i in Y.names) / 2"
NORMS = (0.1, 1.0, 7.0, 100.0)
"""The sizes of a norm of W, from the smallest to the largest."""


def taylor_slope(kernel: Kernel, draw: RandomPoints) -> None:
    """It is the derivative of the value along every direction tried."""
    domain = KernelDomain.of(kernel, draw)
    for scale in SCALES:
        Y = domain.point(draw, scale)
        wrong = wrong_gradient(kernel.value, kernel.gradient(Y), Y, draw, kernel.longest)
        if wrong:
            show = "print(part.gradient(Y).dot(D), (part.value(Y.plus(h, D)) - part.value(Y.plus(-h, D))) / (2 * h))"
            fail(f"gradient: {wrong.told}", snippet(show, Y=Y, D=wrong.D, h=wrong.h))


def non_negative(kernel: Kernel, draw: RandomPoints) -> None:
    """``D(Y, Z) ≥ 0``, at every distance, and ``D(Y, Y) = 0``."""
    domain = KernelDomain.of(kernel, draw)
    for Y, Z in domain.pairs(draw, WIDE_SCALES, (1.0, 1e-1, 1e-3, 1e-6, 1e-9, 1e-12, 0.0)):
        D = kernel.divergence(Y, Z)
        same = bool(np.array_equal(Y.flat, Z.flat))
        if not D >= 0 or (same and D != 0):
            fail(
                f"D(Y, Z) = {D:g} at |Y − Z| = {(Y - Z).norm():.1e}", snippet("print(part.divergence(Y, Z))", Y=Y, Z=Z)
            )


def definition(kernel: Kernel, draw: RandomPoints) -> None:
    """Far apart it is ``ψ(Y) − ψ(Z) − ⟨∇ψ(Z), Y − Z⟩``."""
    domain = KernelDomain.of(kernel, draw)
    for Y, Z in domain.pairs(draw, WIDE_SCALES, (3.0, 1.0, 0.3)):
        terms = (kernel.value(Y), -kernel.value(Z), -kernel.gradient(Z).dot(Y - Z))
        D = kernel.divergence(Y, Z)
        if not abs(D - sum(terms)) <= 1e-10 * sum(map(abs, terms)):
            show = "print(part.divergence(Y, Z), part.value(Y) - part.value(Z) - part.gradient(Z).dot(Y - Z))"
            fail(f"D(Y, Z) = {number(D)}, but by its definition {number(sum(terms))}", snippet(show, Y=Y, Z=Z))


def stable(kernel: Kernel, draw: RandomPoints) -> None:
    """Near by it equals ``∫ ⟨∇ψ(Z + s(Y − Z)) − ∇ψ(Z), Y − Z⟩ ds``, far better than a difference of values could."""
    domain = KernelDomain.of(kernel, draw)
    for Y, Z in domain.pairs(draw, WIDE_SCALES, (1e-3, 1e-5, 1e-7, 1e-8, 1e-9)):
        D, (integral, rounding) = kernel.divergence(Y, Z), _integral(kernel, Y, Z)
        if not abs(D - integral) <= 1e-6 * integral + rounding:
            steps = "s, w = np.polynomial.legendre.leggauss(6)"
            slope = "slope = lambda t: (part.gradient(Z.plus(t, Y - Z)) - part.gradient(Z)).dot(Y - Z)"
            show = "print(part.divergence(Y, Z), sum(0.5 * w * [slope(t) for t in 0.5 + 0.5 * s]))"
            told = f"D(Y, Z) = {D:.6e} at |Y − Z| = {(Y - Z).norm():.1e}, but it is {integral:.6e}"
            fail(f"{told}: a difference that cancels", snippet(steps, slope, show, Y=Y, Z=Z))


def _integral(kernel: Kernel, Y: Blocks, Z: Blocks) -> tuple[float, float]:
    """The divergence by quadrature over gradients, and what rounding may cost it."""
    e, base = Y - Z, kernel.gradient(Z)
    slopes = [(kernel.gradient(Z.plus(float(t), e)) - base).dot(e) for t in 0.5 + 0.5 * NODES]
    total = float(0.5 * WEIGHTS @ slopes)
    length = e.norm()
    size = np.abs(base.flat * e.flat).sum() + 2.0 * abs(total) * Z.norm() / length if length else 0.0
    return total, 1e-14 * float(size)


def strong_convexity(kernel: Kernel, draw: RandomPoints) -> None:
    """``D(Y, Z) ≥ (σ/2)‖Y − Z‖²``."""
    sigma = kernel.strong_convexity
    if not 0 <= sigma < math.inf:
        told = f"strong_convexity must be finite and >= 0. Got {sigma!r} instead."
        fail(told, snippet("print(part.strong_convexity)"))
    if sigma == 0:
        not_applicable("It claims no strong convexity.")
    bound = BregmanDistance(lambda Y: Y * sigma, lambda Y, Z: (0.5 * sigma * (Y - Z).dot(Y - Z), 0.0))
    code = "bound = part.strong_convexity * (Y - Z).dot(Y - Z) / 2"
    _bounded_below(kernel, bound, code, f"(σ/2)‖Y − Z‖² with σ = {sigma:g}", draw)


def quartic(kernel: Kernel, draw: RandomPoints) -> None:
    """``ψ − (a/4)‖Y‖⁴ − ½ Σ q_i‖Y_i‖²`` is convex."""
    if not kernel.quartic > 0:
        not_applicable("It claims no quartic part.")

    def gradient(Y: Blocks) -> Blocks:
        return Y * Y.dot(Y)

    def divergence(Y: Blocks, Z: Blocks) -> float:
        e = Y - Z
        return 0.25 * (2 * Z.dot(e) + e.dot(e)) ** 2 + 0.5 * Z.dot(Z) * e.dot(e)

    quarter = "((2 * Z.dot(e) + e.dot(e)) ** 2 / 4 + Z.dot(Z) * e.dot(e) / 2)"
    code = f"e = Y - Z\nbound = part.quartic * {quarter} + {QUADRATIC}"
    told = f"what quartic = {kernel.quartic:g} and quadratic say"
    _bounded_below(kernel, _with_quadratic(kernel, kernel.quartic, gradient, divergence), code, told, draw)


def schatten4(kernel: Kernel, draw: RandomPoints) -> None:
    """``ψ − (a/4)‖UᵀU + VVᵀ‖² − ½ Σ q_i‖Y_i‖²`` is convex."""
    if not kernel.schatten4 > 0:
        not_applicable("It claims no Schatten-4 part.")

    def gram(Y: Blocks, Z: Blocks) -> Array:
        product: Array = Y["U"].T @ Z["U"] + Y["V"] @ Z["V"].T
        return product

    def gradient(Y: Blocks) -> Blocks:
        G = gram(Y, Y)
        return Y.map(lambda name, X: X @ G if name == "U" else G @ X)

    def divergence(Y: Blocks, Z: Blocks) -> float:
        e = Y - Z
        rise = gram(Z, e) + gram(e, Y)
        return 0.25 * float(np.square(rise).sum()) + 0.5 * float(np.vdot(gram(Z, Z), gram(e, e)))

    quarter = "(np.sum((gram(Z, e) + gram(e, Y)) ** 2) / 4 + np.sum(gram(Z, Z) * gram(e, e)) / 2)"
    head = "e, gram = Y - Z, lambda Y, Z: Y.U.T @ Z.U + Y.V @ Z.V.T"
    code = f"{head}\nbound = part.schatten4 * {quarter} + {QUADRATIC}"
    told = f"what schatten4 = {kernel.schatten4:g} and quadratic say"
    _bounded_below(kernel, _with_quadratic(kernel, kernel.schatten4, gradient, divergence), code, told, draw)


def _with_quadratic(
    kernel: Kernel,
    a: float,
    gradient: Callable[[Blocks], Blocks],
    divergence: Callable[[Blocks, Blocks], float],
) -> BregmanDistance:
    """``a`` times the function plus ``½ Σ q_i‖Y_i‖²``."""

    def shares(Y: Blocks) -> Blocks:
        return Y.map(lambda name, X: kernel.quadratic(name) * X)

    return BregmanDistance(
        lambda Y: (gradient(Y) * a) + shares(Y),
        lambda Y, Z: (a * divergence(Y, Z) + 0.5 * shares(Y - Z).dot(Y - Z), 0.0),
    )


def _bounded_below(kernel: Kernel, bound: BregmanDistance, code: str, told: str, draw: RandomPoints) -> None:
    """Fails with a pair whose divergence is smaller than the bound."""
    domain = KernelDomain.of(kernel, draw)
    below = BregmanDistance.of_kernel(kernel)
    ratio = DistanceRatio(bound, lambda Z: below, kernel.contains)
    largest = ratio.largest(_starts(domain, draw), ENOUGH)
    if largest is not None and largest.ratio > ENOUGH:
        found = (kernel.divergence(largest.Y, largest.Z), bound.divergence(largest.Y, largest.Z)[0])
        show = "print(part.divergence(Y, Z), bound)"
        fail(
            f"D(Y, Z) = {number(found[0])} < {number(found[1])}, {told}", snippet(code, show, Y=largest.Y, Z=largest.Z)
        )


def _starts(domain: KernelDomain, draw: RandomPoints) -> Iterator[tuple[Blocks, Blocks]]:
    for Y, Z in domain.pairs(draw, (1e-3, 1.0, 1e2), (1.0, 1e-2)):
        yield Z, Y - Z
    yield from itertools.islice(starts(domain.point(draw), draw), 0, None, 3)


def along(kernel: Kernel, draw: RandomPoints) -> None:
    """``ψ(Y + βD) = Σ ψ_i β^i`` within the domain."""
    domain = KernelDomain.of(kernel, draw)
    for Z, Y in domain.pairs(draw, SCALES, (1.0, 0.1)):
        D = Z - Y
        line = kernel.along(Y, D)
        if line is None:
            not_applicable("It is no polynomial along lines.")
        for beta in (0.0, 0.3, 1.0, -0.5, 2.5):
            if beta < kernel.longest(Y, D) and -beta < kernel.longest(Y, -D):
                terms = np.asarray(line) * float(beta) ** np.arange(len(line))
                value = kernel.value(Y.plus(beta, D))
                if not abs(value - terms.sum()) <= 1e-10 * (np.abs(terms).sum() + abs(value)):
                    show = "print(np.polyval(part.along(Y, D)[::-1], beta), part.value(Y.plus(beta, D)))"
                    told = (
                        f"the polynomial gives {number(float(terms.sum()))} at β = {beta:g}, but ψ is {number(value)}"
                    )
                    fail(told, snippet(show, Y=Y, D=D, beta=beta))


def arithmetic(kernel: Kernel, draw: RandomPoints) -> None:
    """``2ψ``, ``ψ + ψ`` and ``½ψ + 1½ψ`` are twice ψ, in value, gradient and divergence."""
    domain = KernelDomain.of(kernel, draw)
    forms = {
        "2 * part": 2.0 * kernel,
        "part + part": kernel + kernel,
        "0.5 * part + 1.5 * part": 0.5 * kernel + 1.5 * kernel,
    }
    for code, twice in forms.items():
        for Y, Z in domain.pairs(draw, SCALES, (1.0, 1e-3)):
            D = twice.divergence(Y, Z)
            found = (twice.value(Y), D, *twice.gradient(Y).flat)
            wanted = (2 * kernel.value(Y), 2 * kernel.divergence(Y, Z), *(2 * kernel.gradient(Y).flat))
            sigma = 0.5 * twice.strong_convexity * (Y - Z).dot(Y - Z)
            if not np.allclose(found, wanted, rtol=1e-10, atol=0.0) or sigma * (1 - 1e-9) > D:
                show = f"for psi in ({code}, part): print(psi.value(Y), psi.divergence(Y, Z), psi.gradient(Y).flat)"
                fail(f"{code} is not twice the kernel", snippet(show, Y=Y, Z=Z))
            if not twice.contains(Y):
                fail(f"{code} has another domain", snippet(f"print(part.contains(Y), ({code}).contains(Y))", Y=Y))


def unscaled(kernel: Kernel, draw: RandomPoints) -> None:
    """``ψ(Y) = φ(t_i·Y_i, …)``."""
    form = kernel.unscaled()
    if form is None:
        not_applicable("It is no kernel of rescaled blocks.")
    phi, t = form
    domain = KernelDomain.of(kernel, draw)
    for scale in SCALES:
        Y = domain.point(draw, scale)
        value, other = kernel.value(Y), phi.value(Y.map(lambda name, X: t.get(name, 1.0) * X))
        if not abs(value - other) <= 1e-10 * abs(value):
            show = "phi, t = part.unscaled()\nprint(part.value(Y), phi.value(Y.map(lambda i, X: t.get(i, 1.0) * X)))"
            fail(f"ψ(Y) = {number(value)}, but φ of the rescaled blocks is {number(other)}", snippet(show, Y=Y))


def no_write(kernel: Kernel, draw: RandomPoints) -> None:
    """No question changes Y, and the same question has the same answer."""
    domain = KernelDomain.of(kernel, draw)
    for Y, Z in domain.pairs(draw, SCALES, (1.0, 1e-3)):
        kept = (Y.flat.copy(), Z.flat.copy())
        answers = []
        for _ in range(2):
            line = kernel.along(Y, Z)
            lines = [] if line is None else np.asarray(line).tolist()
            answers.append([kernel.value(Y), kernel.divergence(Y, Z), *kernel.gradient(Y).flat.tolist(), *lines])
        if not (np.array_equal(kept[0], Y.flat) and np.array_equal(kept[1], Z.flat)):
            show = "kept = Y.flat.copy()\npart.value(Y), part.gradient(Y), part.divergence(Y, Z), part.along(Y, Z)"
            fail("The kernel wrote into its argument", snippet(show, "print(Y.flat - kept)", Y=Y, Z=Z))
        if answers[0] != answers[1]:
            show = "print(part.value(Y) - part.value(Y), part.divergence(Y, Z) - part.divergence(Y, Z))"
            fail("The kernel answers differently when asked again", snippet(show, Y=Y, Z=Z))


def contains_and_longest(kernel: Kernel, draw: RandomPoints) -> None:
    """Points before ``longest`` are inside, and points beyond it are not."""
    try:
        domain = KernelDomain.of(kernel, draw)
    except NotApplicableError as reason:
        fail(str(reason), snippet("print(part.contains(bo.Blocks(U=np.ones((3, 2)) / 3, V=np.ones((2, 3)) / 3)))"))
    for scale in (0.1, 1.0, 3.0):
        for _ in range(5):
            Y = domain.point(draw, scale)
            _ends(kernel, Y, Y.like(draw.gauss(Y.flat.shape)))


def _ends(kernel: Kernel, Y: Blocks, D: Blocks) -> None:
    longest = kernel.longest(Y, D)
    if not longest > 0:
        fail(f"longest is {longest} from a point inside", snippet("print(part.longest(Y, D))", Y=Y, D=D))
    finite = math.isfinite(longest)
    for beta in (0.5 * longest, 0.999 * longest) if finite else (1.0, 1e3, 1e6):
        if not (kernel.contains(Y.plus(beta, D)) and math.isfinite(kernel.value(Y.plus(beta, D)))):
            code = snippet("print(part.longest(Y, D), part.contains(Y.plus(beta, D)))", Y=Y, D=D, beta=beta)
            fail(
                f"longest is {longest:g}, but Y + {beta:g}·D lies outside of the domain, or ψ is not finite there", code
            )
    if finite and kernel.contains(Y.plus(1.001 * longest, D)):
        code = snippet("print(part.longest(Y, D), part.contains(Y.plus(beta, D)))", Y=Y, D=D, beta=1.001 * longest)
        fail(f"longest is {longest:g}, but Y + {1.001 * longest:g}·D lies inside the domain", code)


@final
class AnyNorms(dict[str, float]):
    """Norms of one size, whatever their names; it remembers the names that were asked for."""

    def __init__(self, size: float, **norms: float) -> None:
        super().__init__(norms)
        self.size = size

    def __missing__(self, name: str) -> float:
        self[name] = self.size
        return self.size

    def __contains__(self, name: object) -> bool:
        return True

    def get(self, name: str, default: Any = None) -> float:
        return self[name]


def monotone(policy: KernelPolicy, draw: RandomPoints) -> None:
    """The kernel does not shrink when a norm grows."""
    for reduced in (False, True):
        chosen = policy.pick(reduced)
        names = AnyNorms(1.0)
        domain = KernelDomain.of(chosen.at(names), draw)
        for name in sorted(names):
            for small, large in itertools.pairwise(NORMS):
                low, high = ({**names, name: size} for size in (small, large))
                for Y, Z in domain.pairs(draw, SCALES, (1.0, 1e-2)):
                    less, more = (chosen.at(norms).divergence(Y, Z) for norms in (low, high))
                    if not more >= less * (1 - 1e-12):
                        show = f"print([part.pick({reduced}).at(norms).divergence(Y, Z) for norms in (low, high)])"
                        told = f"D falls from {number(less)} to {number(more)} as the norm '{name}' grows to {large:g}"
                        fail(told, snippet(show, Y=Y, Z=Z, low=low, high=high))


def sample_family(policy: KernelPolicy, draw: RandomPoints) -> None:
    """``sample`` is of the class that ``at`` makes, so that one proximal map serves both."""
    for reduced in (False, True):
        chosen = policy.pick(reduced)
        found, made = type(chosen.sample()), type(chosen.at(AnyNorms(2.0)))
        if found is not made or not issubclass(found, Kernel):
            show = f"print(type(part.pick({reduced}).sample()))"
            fail(f"sample() is a {found.__name__}, but at(norms) a {made.__name__}", snippet(show))


def of_sample(check: Callable[[Kernel, RandomPoints], None]) -> Callable[[KernelPolicy, RandomPoints], None]:
    """The check of a kernel, for the sample of a policy."""

    def checked(policy: KernelPolicy, draw: RandomPoints) -> None:
        try:
            check(policy.sample(), draw)
        except CheckFailedError as failure:
            fail(f"sample(): {failure.message}", f"part = part.sample()\n{failure.code}")

    return checked
