"""Other forms of a kernel: polynomials along lines, sums and multiples, and rescaled blocks."""

import numpy as np

from bregopt.parts.kernel import Kernel
from bregopt.testing.code import number, snippet
from bregopt.testing.draw import Draw
from bregopt.testing.ground import Ground
from bregopt.testing.signals import fail, skip

SCALES = (0.1, 1.0, 10.0)


def along(kernel: Kernel, draw: Draw) -> None:
    """``ψ(Y + βD) = Σ ψ_i β^i`` within the domain."""
    ground = Ground.of(kernel, draw)
    for Z, Y in ground.pairs(draw, SCALES, (1.0, 0.1)):
        D = Z - Y
        line = kernel.along(Y, D)
        if line is None:
            skip("It is no polynomial along lines.")
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


def arithmetic(kernel: Kernel, draw: Draw) -> None:
    """``2ψ``, ``ψ + ψ`` and ``½ψ + 1½ψ`` are twice ψ, in value, gradient and divergence."""
    ground = Ground.of(kernel, draw)
    forms = {
        "2 * part": 2.0 * kernel,
        "part + part": kernel + kernel,
        "0.5 * part + 1.5 * part": 0.5 * kernel + 1.5 * kernel,
    }
    for code, twice in forms.items():
        for Y, Z in ground.pairs(draw, SCALES, (1.0, 1e-3)):
            D = twice.divergence(Y, Z)
            found = (twice.value(Y), D, *twice.gradient(Y).flat)
            wanted = (2 * kernel.value(Y), 2 * kernel.divergence(Y, Z), *(2 * kernel.gradient(Y).flat))
            sigma = 0.5 * twice.strong_convexity * (Y - Z).dot(Y - Z)
            if not np.allclose(found, wanted, rtol=1e-10, atol=0.0) or sigma * (1 - 1e-9) > D:
                show = f"for psi in ({code}, part): print(psi.value(Y), psi.divergence(Y, Z), psi.gradient(Y).flat)"
                fail(f"{code} is not twice the kernel", snippet(show, Y=Y, Z=Z))
            if not twice.contains(Y):
                fail(f"{code} has another domain", snippet(f"print(part.contains(Y), ({code}).contains(Y))", Y=Y))


def unscaled(kernel: Kernel, draw: Draw) -> None:
    """``ψ(Y) = φ(t_i·Y_i, …)``."""
    form = kernel.unscaled()
    if form is None:
        skip("It is no kernel of rescaled blocks.")
    phi, t = form
    ground = Ground.of(kernel, draw)
    for scale in SCALES:
        Y = ground.point(draw, scale)
        value, other = kernel.value(Y), phi.value(Y.map(lambda name, X: t.get(name, 1.0) * X))
        if not abs(value - other) <= 1e-10 * abs(value):
            show = "phi, t = part.unscaled()\nprint(part.value(Y), phi.value(Y.map(lambda i, X: t.get(i, 1.0) * X)))"
            fail(f"ψ(Y) = {number(value)}, but φ of the rescaled blocks is {number(other)}", snippet(show, Y=Y))


def no_write(kernel: Kernel, draw: Draw) -> None:
    """No question changes Y, and the same question has the same answer."""
    ground = Ground.of(kernel, draw)
    for Y, Z in ground.pairs(draw, SCALES, (1.0, 1e-3)):
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
