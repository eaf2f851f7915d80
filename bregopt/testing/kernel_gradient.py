"""The gradient of a kernel."""

from bregopt.parts.kernel import Kernel
from bregopt.testing.code import snippet
from bregopt.testing.draw import Draw
from bregopt.testing.ground import Ground
from bregopt.testing.signals import fail
from bregopt.testing.taylor import wrong_gradient


def taylor_slope(kernel: Kernel, draw: Draw) -> None:
    """It is the derivative of the value along every direction tried."""
    ground = Ground.of(kernel, draw)
    for scale in (0.1, 1.0, 10.0):
        Y = ground.point(draw, scale)
        wrong = wrong_gradient(kernel.value, kernel.gradient(Y), Y, draw, kernel.longest)
        if wrong:
            show = "print(part.gradient(Y).dot(D), (part.value(Y.plus(h, D)) - part.value(Y.plus(-h, D))) / (2 * h))"
            fail(f"gradient: {wrong.told}", snippet(show, Y=Y, D=wrong.D, h=wrong.h))
