"""APB and PALM on the models that are no product of two factors, and on Poisson data, written by hand in NumPy.

Every loop is for least squares with H = η|·|₁ on each block, or for Poisson data with none. It sums the objective up at
the start of an iteration, as the library does. It takes the blocks of Y⁰ and returns those after so many iterations.
"""

import math
from typing import Any

import numpy as np

from bregopt_bench.speed.plain_loop import cubic_root, soft

Arrays = tuple[Any, ...]
Run = tuple[Arrays, list[float]]
"""The blocks, and the objectives."""
GROWN = 1.001
"""PALM takes steps 1/(1.001 L)."""


def l1(*blocks: Any) -> float:
    """Σ|·|₁."""
    return float(sum(np.abs(X).sum() for X in blocks))


def squares(*blocks: Any) -> float:
    """Σ‖·‖²."""
    return float(sum(np.vdot(X, X) for X in blocks))


def top(G: Any) -> float:
    """The step's 1.001 ‖G‖₂."""
    return GROWN * float(np.linalg.norm(G, 2))


def quartic_step(Y: Arrays, G: Arrays, a: float, b: float, eta: float) -> Arrays:
    """λ = 1, the kernel (a/4)‖Y‖⁴ + (b/2)‖Y‖²."""
    rho = a * squares(*Y) + b
    P = [soft(rho * X - g, eta) for X, g in zip(Y, G, strict=True)]
    t = cubic_root(a * squares(*P), b)
    return tuple(t * X for X in P)


def sextic_step(Y: Arrays, G: Arrays, a: float, b: float, eta: float) -> Arrays:
    """λ = 1, the kernel (a/6)‖Y‖⁶ + (b/3)‖Y‖³: the norm y of the new blocks solves ``ay⁵ + by² = n``."""
    s = squares(*Y)
    rho = a * s * s + b * math.sqrt(s)
    P = [soft(rho * X - g, eta) for X, g in zip(Y, G, strict=True)]
    n = math.sqrt(squares(*P))
    y = math.sqrt(s)
    for _ in range(50):  # Newton's method on a convex function
        shorter = y - (a * y**5 + b * y * y - n) / (5 * a * y**4 + 2 * b * y)
        if abs(shorter - y) <= 1e-16 * y:
            break
        y = shorter
    return tuple(X * (y / n) for X in P)


def symmetric_apb(Y: Arrays, iterations: int, M: Any, a: float, b: float, eta: float) -> Run:
    """The two products of UUᵀ: M is symmetric, and so is S."""
    (U,), values = Y, []
    for _ in range(iterations):
        S = U @ U.T - M
        values.append(0.5 * squares(S) + eta * l1(U))
        (U,) = quartic_step((U,), (2 * (S @ U),), a, b, eta)
    return (U,), values


def cp_apb(Y: Arrays, iterations: int, T: Any, a: float, b: float, eta: float) -> Run:
    """Σ u ∘ v ∘ w, with S unfolded by its first dimension, and one product for the last two blocks."""
    values = []
    (i, j, k), r = T.shape, Y[0].shape[1]
    M = T.reshape(i, j * k)
    for _ in range(iterations):
        U, V, W = Y
        right = (V[:, None, :] * W[None, :, :]).reshape(j * k, r)
        S = U @ right.T - M
        values.append(0.5 * squares(S) + eta * l1(*Y))
        on_right = (U.T @ S).reshape(r, j, k)
        G = S @ right, (on_right @ W.T[:, :, None])[..., 0].T, (V.T[:, None, :] @ on_right)[:, 0].T
        Y = sextic_step(Y, G, a, b, eta)
    return Y, values


def cp_palm(Y: Arrays, iterations: int, T: Any, eta: float) -> Run:
    """One block after the other, from the products of T and the Gram matrices."""
    values = []
    (i, j, k), r = T.shape, Y[0].shape[1]
    M = T.reshape(i, j * k)
    for _ in range(iterations):
        U, V, W = Y
        right = (V[:, None, :] * W[None, :, :]).reshape(j * k, r)
        S = U @ right.T - M
        values.append(0.5 * squares(S) + eta * l1(*Y))
        L = top((V.T @ V) * (W.T @ W))
        U = soft(U - S @ right / L, eta / L)
        gram, on_right = U.T @ U, (U.T @ M).reshape(r, j, k)
        G = (W.T @ W) * gram
        L = top(G)
        V = soft(V - (V @ G - (on_right @ W.T[:, :, None])[..., 0].T) / L, eta / L)
        G = (V.T @ V) * gram
        L = top(G)
        W = soft(W - (W @ G - (V.T[:, None, :] @ on_right)[:, 0].T) / L, eta / L)
        Y = U, V, W
    return Y, values


def chain_apb(Y: Arrays, iterations: int, M: Any, a: float, b: float, eta: float) -> Run:
    """A product of three matrices."""
    values = []
    for _ in range(iterations):
        A, B, C = Y
        AB = A @ B
        S = AB @ C - M
        values.append(0.5 * squares(S) + eta * l1(*Y))
        SC = S @ C.T
        Y = sextic_step(Y, (SC @ B.T, A.T @ SC, AB.T @ S), a, b, eta)
    return Y, values


def chain_palm(Y: Arrays, iterations: int, M: Any, eta: float) -> Run:
    """One block after the other, with MCᵀ for the first two of them."""
    values = []
    for _ in range(iterations):
        A, B, C = Y
        S = (A @ B) @ C - M
        values.append(0.5 * squares(S) + eta * l1(*Y))
        CCt, SC = C @ C.T, S @ C.T
        MC = A @ (B @ CCt) - SC
        L = top(B @ CCt @ B.T)
        A = soft(A - SC @ B.T / L, eta / L)
        L = GROWN * float(np.linalg.norm(A, 2) ** 2 * np.linalg.norm(C, 2) ** 2)
        B = soft(B - ((A.T @ A) @ B @ CCt - A.T @ MC) / L, eta / L)
        AB = A @ B
        L = top(AB.T @ AB)
        C = soft(C - ((AB.T @ AB) @ C - AB.T @ M) / L, eta / L)
        Y = A, B, C
    return Y, values


def biased_apb(Y: Arrays, iterations: int, M: Any, a: float, b: float, eta: float) -> Run:
    """UV + u1ᵀ + 1vᵀ."""
    values = []
    for _ in range(iterations):
        U, V, u, v = Y
        S = U @ V
        S += u
        S += v
        S -= M
        values.append(0.5 * squares(S) + eta * l1(*Y))
        G = S @ V.T, U.T @ S, S.sum(axis=1, keepdims=True), S.sum(axis=0, keepdims=True)
        Y = quartic_step(Y, G, a, b, eta)
    return Y, values


def linear(Y: Arrays, iterations: int, A: Any, b: Any, L: float, eta: float) -> Run:
    """Ax: a proximal gradient step with the step 1/L."""
    (x,), values = Y, []
    for _ in range(iterations):
        S = A @ x - b
        values.append(0.5 * squares(S) + eta * l1(x))
        x = soft(x - A.T @ S / L, eta / L)
    return (x,), values


class Blur:
    """k ∗ x by Fourier transforms, the middle of k at the origin."""

    def __init__(self, shape: tuple[int, int], size: tuple[int, int]) -> None:
        self.shape, self.size = shape, size
        self.middle = [it // 2 for it in size]

    def of_k(self, k: Any) -> Any:
        from scipy.fft import rfft2

        whole = np.zeros(self.shape)
        whole[: self.size[0], : self.size[1]] = k
        return rfft2(np.roll(whole, [-it for it in self.middle], (0, 1)))

    def at_k(self, spectrum: Any) -> Any:
        from scipy.fft import irfft2

        whole = np.roll(irfft2(spectrum, self.shape), self.middle, (0, 1))
        return whole[: self.size[0], : self.size[1]]


def convolution_apb(Y: Arrays, iterations: int, M: Any, a: float, b: float, eta: float) -> Run:
    """Six transforms."""
    from scipy.fft import irfft2, rfft2

    values, blur = [], Blur(M.shape, Y[0].shape)
    for _ in range(iterations):
        K, X = blur.of_k(Y[0]), rfft2(Y[1])
        S = irfft2(K * X, M.shape) - M
        values.append(0.5 * squares(S) + eta * l1(*Y))
        slope = rfft2(S)
        G = blur.at_k(X.conj() * slope), irfft2(K.conj() * slope, M.shape)
        Y = quartic_step(Y, G, a, b, eta)
    return Y, values


def convolution_palm(Y: Arrays, iterations: int, M: Any, eta: float) -> Run:
    """First k, then x with the new k: seven transforms, as that of Wx stays."""
    from scipy.fft import irfft2, rfft2

    values, blur, data = [], Blur(M.shape, Y[0].shape), rfft2(M)
    for _ in range(iterations):
        K, X = blur.of_k(Y[0]), rfft2(Y[1])
        S = irfft2(K * X, M.shape) - M
        values.append(0.5 * squares(S) + eta * l1(*Y))
        L = GROWN * float(np.abs(X).max() ** 2)
        k = soft(Y[0] - blur.at_k(X.conj() * rfft2(S)) / L, eta / L)
        K = blur.of_k(k)
        L = GROWN * float(np.abs(K).max() ** 2)
        x = soft(Y[1] - irfft2(K.conj() * (K * X - data), M.shape) / L, eta / L)
        Y = k, x
    return Y, values


def burg(Y: Arrays, iterations: int, A: Any, b: Any, w: Any) -> Run:
    """KL(b, Ax), with the kernel −Σ w log x."""
    (x,), values = Y, []
    for _ in range(iterations):
        z = A @ x
        ratio = b / z
        values.append(float((b * np.log(ratio)).sum() + (z - b).sum()))
        x = w * x / (w + x * (A.T @ (1.0 - ratio)))
    return (x,), values


def shannon(Y: Arrays, iterations: int, A: Any, b: Any, w: Any) -> Run:
    """KL(Ax, b), with the kernel Σ w (x log x − x)."""
    (x,), values = Y, []
    for _ in range(iterations):
        z = A @ x
        slope = np.log(z / b)
        values.append(float((z * slope).sum() + (b - z).sum()))
        x = x * np.exp(-(A.T @ slope) / w)
    return (x,), values
