"""The domain of a kernel: where it ends is where ``longest`` says."""

import math

from bregopt.blocks import Blocks
from bregopt.parts.kernel import Kernel
from bregopt.testing.code import snippet
from bregopt.testing.draw import Draw
from bregopt.testing.ground import Ground
from bregopt.testing.signals import NotApplicableError, fail


def contains_and_longest(kernel: Kernel, draw: Draw) -> None:
    """Points before ``longest`` are inside, and points beyond it are not."""
    try:
        ground = Ground.of(kernel, draw)
    except NotApplicableError as reason:
        fail(str(reason), snippet("print(part.contains(bo.Blocks(U=np.ones((3, 2)) / 3, V=np.ones((2, 3)) / 3)))"))
    for scale in (0.1, 1.0, 3.0):
        for _ in range(5):
            Y = ground.point(draw, scale)
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
