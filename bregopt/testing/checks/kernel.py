"""A kernel: its gradient, its divergence, how convex it is, its other forms and its domain; and a kernel policy."""

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any, final

import numpy as np

from bregopt.blocks import Blocks
from bregopt.engine.first_results import check_kernel
from bregopt.errors import BregoptError, PartError
from bregopt.host.compose import examples
from bregopt.parts.kernel import Kernel, KernelPolicy
from bregopt.testing.outcomes import CheckFailedError, NotApplicableError, fail, not_applicable, number, snippet
from bregopt.testing.search.bregman_ratio import BregmanDistance, DistanceRatio, starts
from bregopt.testing.search.kernel_domain import KernelDomain, OtherBlocksError, layouts_at_hand
from bregopt.testing.search.random_points import RandomPoints
from bregopt.testing.search.taylor import wrong_gradient

SCALES, WIDE_SCALES = (0.1, 1.0, 10.0), (1e-2, 1.0, 1e2)
"""The sizes of the points that are tried."""
NODES, WEIGHTS = np.polynomial.legendre.leggauss(6)
ENOUGH = 1.0 + 1e-7
SPARSE = 4
"""Of the starts of a search every so manieth is taken where there are many references."""
NORMS = (0.1, 1.0, 7.0, 100.0)
"""The sizes of a norm of W, from the smallest to the largest."""


def usable(kernel: Kernel, draw: RandomPoints) -> None:
    """Its first results are such that a run begins with them."""
    raised = ""
    for shapes in layouts_at_hand():
        Y = Blocks(**{name: draw.rng.uniform(0.01, 0.1, shape).round(3) for name, shape in shapes.items()})
        try:
            if check_kernel(kernel, Y):
                return
        except PartError as error:
            if error.raised is None:
                fail(str(error), snippet("print(part.value(Y), part.gradient(Y), part.divergence(Y, Y))", Y=Y))
            raised = raised or str(error)  # it may take other blocks
        except BregoptError as error:
            raised = raised or str(error)
    not_applicable(raised or "No point of the domain was found.")


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
    bound = _multiple_of_square(sigma)
    code = "bound = part.strong_convexity * (Y - Z).dot(Y - Z) / 2"
    _bounded_below(kernel, bound, code, f"(σ/2)‖Y − Z‖² with σ = {sigma:g}", draw)


def _multiple_of_square(a: float) -> BregmanDistance:
    """That of ``(a/2)‖Y‖²``."""
    return BregmanDistance(lambda Y: Y * a, lambda Y, Z: (0.5 * a * (Y - Z).dot(Y - Z), 0.0))


def smoothness(kernel: Kernel, draw: RandomPoints) -> None:
    """``D(Y, Z) ≤ (L/2)‖Y − Z‖²``."""
    L = kernel.smoothness
    if math.inf == L:
        not_applicable("It claims no Lipschitz constant of its gradient.")
    above = _multiple_of_square(L)
    ratio = DistanceRatio(BregmanDistance.of_kernel(kernel), lambda Z: above, kernel.contains)
    largest = ratio.largest(_starts(KernelDomain.of(kernel, draw), draw), ENOUGH)
    if largest is not None and largest.ratio > ENOUGH:
        D, bound = kernel.divergence(largest.Y, largest.Z), above.divergence(largest.Y, largest.Z)[0]
        show = "print(part.divergence(Y, Z), part.smoothness * (Y - Z).dot(Y - Z) / 2)"
        told = f"D(Y, Z) = {number(D)} > {number(bound)} = (L/2)‖Y − Z‖² with L = {L:g}"
        fail(told, snippet(show, Y=largest.Y, Z=largest.Z))


def share(kernel: Kernel, draw: RandomPoints) -> None:
    """``ψ − a·reference`` is convex for the a that it claims of itself and of the kernels that plugins give."""
    point, claims = KernelDomain.of(kernel, draw).point(draw), 0
    for code, reference in _references(kernel):
        a = kernel.share(reference)
        if not a >= 0:
            fail(f"share must be a number >= 0. Got {a!r} instead.", snippet(code, "print(part.share(reference))"))
        if 0 < a < math.inf and _takes(reference, point):
            claims += 1
            lines = f"{code}\nbound = part.share(reference) * reference.divergence(Y, Z)"
            told = f"what share({reference!r}) = {a:g} says"
            _bounded_below(kernel, _multiple(a, reference), lines, told, draw, reference)
    if not claims:
        not_applicable("It claims no share of any kernel at hand.")


def _multiple(a: float, kernel: Kernel) -> BregmanDistance:
    return BregmanDistance(lambda Y: kernel.gradient(Y) * a, lambda Y, Z: (a * kernel.divergence(Y, Z), 0.0))


def _references(kernel: Kernel) -> Iterator[tuple[str, Kernel]]:
    """Kernels to be compared with, each with the code that makes it."""
    yield "reference = 0.7 * part", 0.7 * kernel
    for label, other in examples("kernel"):
        if isinstance(other, Kernel):
            code = f"from bregopt.host.compose import examples\nother = dict(examples('kernel'))[{label!r}]"
            yield f"{code}\nreference = other", other
            yield f"{code}\nreference = 0.5 * part + other", 0.5 * kernel + other


def _takes(kernel: Kernel, Y: Blocks) -> bool:
    """Whether a kernel has a value at Y: some are made for blocks of certain names."""
    try:
        return kernel.contains(Y) and math.isfinite(kernel.divergence(Y, Y * 0.9))
    except (BregoptError, ValueError, KeyError, AttributeError):
        return False


def _bounded_below(
    kernel: Kernel, bound: BregmanDistance, code: str, told: str, draw: RandomPoints, reference: Kernel | None = None
) -> None:
    """Fails with a pair whose divergence is smaller than the bound, which a reference may have a domain for."""
    domain = KernelDomain.of(kernel, draw)
    below = BregmanDistance.of_kernel(kernel)
    inside = kernel.contains if reference is None else lambda Y: kernel.contains(Y) and reference.contains(Y)
    ratio = DistanceRatio(bound, lambda Z: below, inside)
    begins = _starts(domain, draw) if reference is None else itertools.islice(_starts(domain, draw), 0, None, SPARSE)
    largest = ratio.largest(begins, ENOUGH)
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
    except OtherBlocksError:
        raise
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
