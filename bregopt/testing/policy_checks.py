"""The checks of a kernel policy, by name; a kernel that it makes stands the checks of kernels."""

import itertools
from collections.abc import Callable, Mapping
from typing import Any, final

from bregopt.parts.kernel import Kernel, KernelPolicy
from bregopt.testing.code import number, snippet
from bregopt.testing.draw import Draw
from bregopt.testing.ground import Ground
from bregopt.testing.kernel_checks import KERNEL
from bregopt.testing.signals import CheckFailedError, fail

SIZES = (0.1, 1.0, 7.0, 100.0)


@final
class Wanted(dict[str, float]):
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


def monotone(policy: KernelPolicy, draw: Draw) -> None:
    """The kernel does not shrink when a norm grows."""
    for reduced in (False, True):
        chosen = policy.pick(reduced)
        names = Wanted(1.0)
        ground = Ground.of(chosen.at(names), draw)
        for name in sorted(names):
            for small, large in itertools.pairwise(SIZES):
                low, high = ({**names, name: size} for size in (small, large))
                for Y, Z in ground.pairs(draw, (0.1, 1.0, 10.0), (1.0, 1e-2)):
                    less, more = (chosen.at(norms).divergence(Y, Z) for norms in (low, high))
                    if not more >= less * (1 - 1e-12):
                        show = f"print([part.pick({reduced}).at(norms).divergence(Y, Z) for norms in (low, high)])"
                        told = f"D falls from {number(less)} to {number(more)} as the norm '{name}' grows to {large:g}"
                        fail(told, snippet(show, Y=Y, Z=Z, low=low, high=high))


def sample_family(policy: KernelPolicy, draw: Draw) -> None:
    """``sample`` is of the class that ``at`` makes, so that one proximal map serves both."""
    for reduced in (False, True):
        chosen = policy.pick(reduced)
        found, made = type(chosen.sample()), type(chosen.at(Wanted(2.0)))
        if found is not made or not issubclass(found, Kernel):
            show = f"print(type(part.pick({reduced}).sample()))"
            fail(f"sample() is a {found.__name__}, but at(norms) a {made.__name__}", snippet(show))


def _of_sample(check: Callable[[Kernel, Draw], None]) -> Callable[[KernelPolicy, Draw], None]:
    def checked(policy: KernelPolicy, draw: Draw) -> None:
        try:
            check(policy.sample(), draw)
        except CheckFailedError as failure:
            fail(f"sample(): {failure.message}", f"part = part.sample()\n{failure.code}")

    return checked


POLICY: Mapping[str, Callable[[KernelPolicy, Draw], None]] = {
    "policy/monotone": monotone,
    "policy/sample-family": sample_family,
    **{name: _of_sample(check) for name, check in KERNEL.items()},
}
