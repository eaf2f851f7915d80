"""An own kernel outside the radial family, with its Bregman proximal map for H = 0; the file is a plugin as well."""

import attrs
import numpy as np

import bregopt as bo


@attrs.frozen
class Schatten4(bo.Kernel):
    """``ψ(Y) = ¼‖UᵀU + VVᵀ‖² + (b/2)‖Y‖²``."""

    b: float = attrs.field(validator=bo.validate.number(above=0))
    strong_convexity = property(lambda self: self.b)

    def value(self, Y):
        return 0.25 * float(np.sum(gram(Y, Y) ** 2)) + 0.5 * self.b * Y.dot(Y)

    def gradient(self, Y):
        slope = gram(Y, Y) + self.b * np.eye(len(Y.V))
        return bo.Blocks(U=Y.U @ slope, V=slope @ Y.V)

    def divergence(self, Y, Z):  # from the rise of UᵀU + VVᵀ, never as a difference of values
        e = Y - Z
        rise, along = gram(Z, e) + gram(e, Y), gram(Z, Z) * gram(e, e)
        return 0.25 * float(np.sum(rise**2)) + 0.5 * float(np.sum(along)) + 0.5 * self.b * e.dot(e)


def gram(Y, Z):
    return Y.U.T @ Z.U + Y.V @ Z.V.T


def prox(P, step, kernel):  # each singular value σ of −P, a stack of U and Vᵀ, becomes the root x of x³ + bx = σ
    (squares, basis), third = np.linalg.eigh(gram(P, P)), np.sqrt(kernel.b / 3)
    x = 2 * third * np.sinh(np.arcsinh(np.sqrt(np.maximum(squares, 0)) / (2 * third**3)) / 3)
    shrink = (basis / (x**2 + kernel.b)) @ basis.T
    return bo.Blocks(U=-P.U @ shrink, V=-shrink @ P.V)


@bo.hookimpl
def bregopt_register(registry):
    registry.add(bo.Kernel, "schatten4", Schatten4)


@bo.hookimpl
def bregopt_resolve_prox(kernel, regularizer):
    return prox if isinstance(kernel, Schatten4) and {type(H) for H in regularizer.distinct()} == {bo.Zero} else None


if __name__ == "__main__":
    bo.load_plugin(__file__)
    rng = np.random.default_rng(0)
    M = np.maximum(0.0, rng.standard_normal((80, 5)) @ rng.standard_normal((5, 60)) - 1.0)
    psi, P = bo.make("kernel", "schatten4(50)"), bo.Blocks(U=M[:, :6], V=M[:6])
    slope = psi.gradient(bo.bregman_prox(psi, "none")(P, 1.0))
    print(f"|P + ∇ψ(prox(P))| = {(P + slope).norm():.0e}, |P| = {P.norm():.0f}")
    for name in ("auto", "schatten4(50)"):
        result = bo.solve(bo.compose("relu-nmd", M, rank=6, kernel=name), method="apb(step=monotone)")
        print(f"\nkernel {name}: objective {result.objective:.3f}\n{result.certificate.summary()}")
