"""The Schatten-4 kernel of two factors, and its Bregman proximal map for H = 0 and for one ridge on both."""

import math
from typing import final

import numpy as np
from attrs import field, frozen

from bregopt import Array, Blocks, BregmanProx, Kernel, Separable, tikhonov, validate
from bregopt.errors import IncompatibleError
from bregopt_kernels.radial import Radial
from bregopt_kernels.radial_prox import radius


def gram(Y: Blocks, Z: Blocks) -> Array:
    """``U_YᵀU_Z + V_Y V_Zᵀ``, r×r."""
    product: Array = Y["U"].T @ Z["U"] + Y["V"] @ Z["V"].T
    return product


@final
@frozen
class Schatten4(Kernel):
    """``ψ(U, V) = (a/4)‖UᵀU + VVᵀ‖² + (b/2)‖Y‖²``."""

    a: float = field(default=1.0, validator=validate.number(at_least=0))
    b: float = field(default=0.0, validator=validate.number(at_least=0))

    def value(self, Y: Blocks) -> float:
        return 0.25 * self.a * float(np.square(gram(Y, Y)).sum()) + 0.5 * self.b * Y.dot(Y)

    def gradient(self, Y: Blocks) -> Blocks:
        slope = self.a * gram(Y, Y) + self.b * np.eye(len(Y["V"]))
        return Y.map(lambda name, X: X @ slope if name == "U" else slope @ X)

    def divergence(self, Y: Blocks, Z: Blocks) -> float:
        """With e = Y − Z and R the change of the Gram matrix: ``a[¼‖R‖² + ½⟨Gram(Z), Gram(e)⟩] + (b/2)‖e‖²``."""
        e = Y - Z
        rise = gram(Z, e) + gram(e, Y)
        bend = float(np.vdot(gram(Z, Z), gram(e, e)))
        return self.a * (0.25 * float(np.square(rise).sum()) + 0.5 * bend) + 0.5 * self.b * e.dot(e)

    @property
    def strong_convexity(self) -> float:
        return self.b

    def share(self, reference: Kernel) -> float:
        if not isinstance(reference, Schatten4):
            return super().share(reference)
        ratios = [own / wanted for own, wanted in ((self.a, reference.a), (self.b, reference.b)) if wanted > 0]
        return min(ratios, default=math.inf)

    def summands(self) -> tuple[Kernel, ...]:
        return (Schatten4(self.a), Radial(b=self.b)) if self.a > 0 and self.b > 0 else (self,)

    def along(self, Y: Blocks, D: Blocks) -> Array:
        G, E, half = gram(Y, Y), gram(D, D), gram(Y, D)
        C = half + half.T
        line = 0.25 * self.a * np.array([np.vdot(G, G), 2 * np.vdot(G, C), np.vdot(C, C) + 2 * np.vdot(G, E),
                                         2 * np.vdot(C, E), np.vdot(E, E)])  # fmt: skip
        line[:3] += 0.5 * self.b * np.array([Y.dot(Y), 2.0 * Y.dot(D), D.dot(D)])
        return line

    def scaled(self, weight: float) -> "Schatten4":
        return Schatten4(weight * self.a, weight * self.b)

    def merged(self, other: Kernel) -> "Schatten4 | None":
        if isinstance(other, Schatten4):
            return Schatten4(self.a + other.a, self.b + other.b)
        if isinstance(other, Radial) and other.a == 0 and not other.c and not other.kappa:
            return Schatten4(self.a, self.b + other.b)
        return None


def resolve_schatten4(kernel: Kernel, H: Separable) -> BregmanProx | None:
    """The map for ``H = (η/2)‖Y‖²`` with one η ≥ 0; other regularizers do not keep the singular vectors."""
    if not isinstance(kernel, Schatten4) or _ridge(H) is None:
        return None
    return SpectralProx(H)


def _ridge(H: Separable) -> float | None:
    """η where both blocks have ``(η/2)‖X‖²`` with the same one."""
    etas = {tikhonov(H[name]) for name in ("U", "V")}
    return etas.pop() if len(etas) == 1 else None


@final
@frozen(eq=False)
class SpectralProx:
    """Each singular value σ of −P, the stack of its U and Vᵀ, becomes the root x of ``a x³ + (b + λη) x = σ``."""

    H: Separable
    exact = True

    def __call__(self, P: Blocks, step: float, kernel: Kernel) -> Blocks:
        eta = _ridge(self.H)
        if not isinstance(kernel, Schatten4) or eta is None:
            raise IncompatibleError(f"The spectral proximal map was given the kernel {kernel!r}, not of its family.")
        m = len(P["U"])
        left, sigma, right = np.linalg.svd(-np.vstack([P["U"], P["V"].T]), full_matrices=False)
        x = np.array([radius(kernel.a, kernel.b + step * eta, float(value)) for value in sigma])
        stack = (left * x) @ right
        return P.map(lambda name, _: stack[:m] if name == "U" else stack[m:].T)
