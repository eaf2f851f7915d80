"""Of all factors of the same product, those with the least H."""

import math
from typing import final

import numpy as np
from attrs import frozen

from bregopt.blocks import Array, Blocks
from bregopt.parts.penalty import ScalarPenalty
from bregopt.parts.regularizer import Separable
from bregopt.parts.smooth import SmoothPart

LEAST_GAIN = 1e-12
"""Of H: what is less is left as it is."""
FLOOR = 1e-8
"""Of the mean eigenvalue of a Gram matrix, added to all of them: factors without full rank have no unique T."""
LEAST = 1e-16
"""Of the largest eigenvalue: smaller ones are rounding."""
TURNS = 60


@final
@frozen(eq=False)
class Change:
    """``(U, V) ↦ (UT, T⁻¹V)``; a vector T is a diagonal."""

    T: Array
    inverse: Array

    def __call__(self, Y: Blocks) -> Blocks:
        first, _ = Y.names
        if self.T.ndim == 1:
            return Y.map(lambda name, X: X * self.T if name == first else self.inverse[:, None] * X)
        return Y.map(lambda name, X: X @ self.T if name == first else self.inverse @ X)


def balanced(F: SmoothPart, H: Separable, Y: Blocks, *others: Blocks) -> tuple[Blocks, ...]:
    """``(UT, T⁻¹V)`` with the T that makes H least, where F knows UV alone; the other points go along with Y.

    For Tikhonov's H that is the least of all (H is then √(η₁η₂) times the nuclear norm of UV), for other sums over
    entries the least over diagonal T. The same Y comes back where nothing is gained, or nothing is known.
    """
    change = _change(H, Y) if F.of_product else None
    if change is None:
        return Y, *others
    new, old_H = change(Y), H.value(Y)
    if not old_H - H.value(new) > LEAST_GAIN * abs(old_H):
        return Y, *others
    return new, *map(change, others)


def _change(H: Separable, Y: Blocks) -> Change | None:
    first, second = Y.names
    U, V, on_U, on_V = Y[first], Y[second], H[first].scalar(), H[second].scalar()
    if on_U is None or on_V is None or not (_scales(on_U) and _scales(on_V)):
        return None
    if on_U.quadratic and on_V.quadratic:
        return _by_matrix(on_U.ridge * (U.T @ U), on_V.ridge * (V @ V.T))
    t = _by_columns(
        on_U.l1 * np.abs(U).sum(axis=0),
        on_U.ridge * np.square(U).sum(axis=0),
        on_V.l1 * np.abs(V).sum(axis=1),
        on_V.ridge * np.square(V).sum(axis=1),
    )
    return Change(np.exp(t), np.exp(-t))


def _scales(h: ScalarPenalty) -> bool:
    """Whether h grows with |x|, and allows every positive multiple of what it allows."""
    return h.l1 + h.ridge > 0 and h.low in (-math.inf, 0.0) and h.high in (math.inf, 0.0)


def _by_matrix(A: Array, B: Array) -> Change | None:
    """The T of least ``tr(TᵀAT) + tr(T⁻¹BT⁻ᵀ)``: S = TTᵀ solves SAS = B, and T = √S is the one that does not turn."""
    on_U, on_V = float(np.trace(A)), float(np.trace(B))
    if not (on_U > 0 and 0 < on_V / on_U < math.inf):
        return None
    lift = FLOOR / len(A) * np.eye(len(A))
    root, inverse = _roots(A / on_U + lift)
    middle, _ = _roots(root @ (B / on_V + lift) @ root)
    T, T_inverse = _roots(inverse @ middle @ inverse)
    scale = (on_V / on_U) ** 0.25
    return Change(scale * T, T_inverse / scale)


def _roots(A: Array) -> tuple[Array, Array]:
    """``√A`` and its inverse, of a positive definite A."""
    values, Q = np.linalg.eigh(A)
    values = np.sqrt(np.maximum(values, LEAST * values[-1]))
    return (Q * values) @ Q.T, (Q / values) @ Q.T


def _by_columns(a: Array, A: Array, b: Array, B: Array) -> Array:
    """The t of least ``a·eᵗ + ½A·e²ᵗ + b·e⁻ᵗ + ½B·e⁻²ᵗ`` in each column; 0 where there is none.

    It is where the logarithms of a·eᵗ + A·e²ᵗ, which rises by 1 to 2, and of b·e⁻ᵗ + B·e⁻²ᵗ, which falls alike, meet.
    """
    some = (a + A > 0) & (b + B > 0)
    a, A, b, B = (np.where(some, x, 1.0) for x in (a, A, b, B))
    t = np.zeros_like(a)
    for _ in range(TURNS):
        up, down = a + A * np.exp(t), b + B * np.exp(-t)
        gap = 2.0 * t + np.log(up / down)  # the same at every scale of H
        step = gap / (2.0 + A * np.exp(t) / up + B * np.exp(-t) / down)
        t = t - step
        if np.max(np.abs(step), initial=0.0) <= 1e-14:
            break
    return t
