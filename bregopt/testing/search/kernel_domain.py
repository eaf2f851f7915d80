"""Where a kernel is defined: blocks that it takes, and points and pairs of its domain."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import final

import numpy as np
from attrs import frozen

from bregopt.blocks import Array, Blocks
from bregopt.errors import BregoptError
from bregopt.host.compose import examples
from bregopt.parts.kernel import Kernel
from bregopt.testing.outcomes import NotApplicableError
from bregopt.testing.search.random_points import RandomPoints, rounded

Shapes = Mapping[str, tuple[int, ...]]
LAYOUTS: tuple[Shapes, ...] = (
    {"U": (3, 2), "V": (2, 3)},
    {"U": (2, 2), "V": (2, 2)},
    {"U": (4, 3), "V": (3, 4)},
    {"x": (5,)},
    {"A": (3, 2), "B": (4, 2), "C": (2, 2)},
    {"X": (2, 3, 2)},
)
Sampler = Callable[[np.random.Generator, int, float], Array]
SAMPLERS: Mapping[str, Sampler] = {
    "Gaussian": lambda rng, n, scale: scale * rng.standard_normal(n),
    "positive": lambda rng, n, scale: scale * (np.abs(rng.standard_normal(n)) + 0.05),
    "in (0, 1)": lambda rng, n, scale: 0.5 + min(scale, 1.0) * rng.uniform(-0.45, 0.45, n),
    "in a ball": lambda rng, n, scale: min(scale, 0.9) * rng.standard_normal(n) / (4.0 * np.sqrt(n)),
}


@final
class OtherBlocksError(NotApplicableError):
    """The kernel refuses the blocks of every layout that was tried."""


def layouts_at_hand() -> Iterator[Shapes]:
    """Two blocks, one or three, and those of the problems that plugins give: a kernel may be made for these only."""
    yield from LAYOUTS
    for _, part in examples("problem"):
        if isinstance(part, tuple) and isinstance(part[-1], Blocks):
            yield shapes_of(part[-1])


def shapes_of(Y: Blocks) -> Shapes:
    """The shape of each block by its name."""
    return dict(zip(Y.names, Y.layout.shapes, strict=True))


def refuses(error: Exception) -> bool:
    """Whether an error says that a kernel takes other blocks: an error of bregopt, or a block that is not there."""
    return isinstance(error, BregoptError) or (isinstance(error, AttributeError) and isinstance(error.obj, Blocks))


@final
@frozen(eq=False)
class KernelDomain:
    """A kernel with blocks that it takes and a way to draw points of its domain."""

    kernel: Kernel
    layout: Blocks
    sampler: Sampler

    @classmethod
    def of(cls, kernel: Kernel, draw: RandomPoints, layouts: Iterable[Shapes] | None = None) -> "KernelDomain":
        """The first layout and the first sampler whose points lie in the domain."""
        faults: list[Exception] = []
        for shapes in layouts_at_hand() if layouts is None else layouts:
            layout = Blocks(**{name: np.zeros(shape) for name, shape in shapes.items()})
            try:
                for sampler in SAMPLERS.values():
                    points = [layout.like(sampler(draw.rng, layout.flat.size, scale)) for scale in (0.1, 1.0, 3.0)]
                    if all(kernel.contains(Y) and np.isfinite(kernel.value(Y)) for Y in points):
                        return cls(kernel, layout, sampler)
                faults.append(NotApplicableError(f"tried points that are {', '.join(SAMPLERS)}"))
            except Exception as error:
                faults.append(error)
        own = [error for error in faults if not refuses(error)]
        if not own:
            raise OtherBlocksError(f"It takes none of the blocks at hand: {faults[-1]}")
        raise NotApplicableError(f"No point of the domain was found: {own[0]}.")

    @property
    def everywhere(self) -> bool:
        """Whether Gaussian points lie inside, so that the domain seems to have no end."""
        return self.sampler is SAMPLERS["Gaussian"]

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
