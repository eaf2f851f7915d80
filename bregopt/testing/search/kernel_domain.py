"""Where a kernel is defined: blocks that it takes, and points and pairs of its domain."""

from collections.abc import Callable, Iterator, Mapping
from typing import final

import numpy as np
from attrs import frozen

from bregopt.blocks import Array, Blocks
from bregopt.parts.kernel import Kernel
from bregopt.testing.outcomes import not_applicable
from bregopt.testing.search.random_points import RandomPoints, rounded

Shapes = Mapping[str, tuple[int, ...]]
LAYOUTS: tuple[Shapes, ...] = ({"U": (3, 2), "V": (2, 3)}, {"U": (2, 2), "V": (2, 2)}, {"U": (4, 3), "V": (3, 4)})
Sampler = Callable[[np.random.Generator, int, float], Array]
SAMPLERS: Mapping[str, Sampler] = {
    "Gaussian": lambda rng, n, scale: scale * rng.standard_normal(n),
    "positive": lambda rng, n, scale: scale * (np.abs(rng.standard_normal(n)) + 0.05),
    "in (0, 1)": lambda rng, n, scale: 0.5 + min(scale, 1.0) * rng.uniform(-0.45, 0.45, n),
    "in a ball": lambda rng, n, scale: min(scale, 0.9) * rng.standard_normal(n) / (4.0 * np.sqrt(n)),
}


@final
@frozen(eq=False)
class KernelDomain:
    """A kernel with blocks that it takes and a way to draw points of its domain."""

    kernel: Kernel
    layout: Blocks
    sampler: Sampler

    @classmethod
    def of(cls, kernel: Kernel, draw: RandomPoints, layouts: tuple[Shapes, ...] = LAYOUTS) -> "KernelDomain":
        """The first layout and the first sampler whose points lie in the domain."""
        for shapes in layouts:
            layout = Blocks(**{name: np.zeros(shape) for name, shape in shapes.items()})
            for sampler in SAMPLERS.values():
                try:
                    points = [layout.like(sampler(draw.rng, layout.flat.size, scale)) for scale in (0.1, 1.0, 3.0)]
                    if all(kernel.contains(Y) and np.isfinite(kernel.value(Y)) for Y in points):
                        return cls(kernel, layout, sampler)
                except Exception:
                    break  # this kernel takes other blocks
        return not_applicable(f"No point of the domain was found; tried points that are {', '.join(SAMPLERS)}.")

    def point(self, draw: RandomPoints, scale: float = 1.0) -> Blocks:
        """A point of the domain, of about this size where the domain has room for it."""
        return self.layout.like(rounded(self.sampler(draw.rng, self.layout.flat.size, scale)))

    def pair(self, draw: RandomPoints, scale: float, distance: float) -> tuple[Blocks, Blocks]:
        """Two points at this distance, relative to their size, or nearer where the domain ends."""
        Z = self.point(draw, scale)
        direction = draw.rng.standard_normal(Z.flat.size) * draw.rng.choice([0.0, 1.0], Z.flat.size, p=[0.3, 0.7])
        D = Z.like(direction * (Z.norm() * distance / (np.linalg.norm(direction) or 1.0)))
        return Z.plus(min(1.0, 0.5 * self.kernel.longest(Z, D)), D), Z

    def pairs(
        self, draw: RandomPoints, scales: tuple[float, ...], distances: tuple[float, ...]
    ) -> Iterator[tuple[Blocks, Blocks]]:
        """Pairs of every scale and distance."""
        for scale in scales:
            for distance in distances:
                yield self.pair(draw, scale, distance)
