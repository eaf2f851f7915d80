"""Low-rank matrices by their factors: their tangent spaces, truncated SVDs there, and moves between them."""

import numpy as np

from bregopt import Blocks


def bases(Y: Blocks) -> Blocks:
    """Orthonormal bases of the columns of U and the rows of V."""
    return Y.map(lambda name, X: np.linalg.qr(X)[0] if name == Y.names[0] else np.linalg.qr(X.T)[0].T)


def truncated(at: Blocks, gradient: Blocks) -> Blocks:
    """Balanced factors of the best rank-r approximation of ``PZ + ZQ − PZQ``, P = UUᵀ and Q = VᵀV for the bases ``at``.

    Z is known by the gradient of ½‖Z − UV‖² there, which is (U − ZVᵀ, V − UᵀZ).
    """
    first, second = at.names
    U, V, r = at[first], at[second], at[second].shape[0]
    ZVt, UtZ = U - gradient[first], V - gradient[second]
    C = U.T @ ZVt
    left, L = np.linalg.qr(ZVt - U @ C)
    right, R = np.linalg.qr((UtZ - C @ V).T)
    P, s, Qt = np.linalg.svd(np.block([[C, R.T], [L, np.zeros_like(C)]]))
    root = np.sqrt(s[:r])
    new_U = (U @ P[:r, :r] + left @ P[r:, :r]) * root
    new_V = root[:, None] * (Qt[:r, :r] @ V + Qt[:r, r:] @ right.T)
    return Blocks(**{first: new_U, second: new_V})


def ahead(Y: Blocks, Y_prev: Blocks, beta: float) -> Blocks:
    """``Y + β(Y − Y_prev)``, with the factors of Y_prev turned, (UG, GᵀV), to lie as near to those of Y as can be."""
    first, second = Y.names
    P, _, Qt = np.linalg.svd(Y_prev[first].T @ Y[first] + Y_prev[second] @ Y[second].T)
    G = P @ Qt
    turned = Blocks(**{first: Y_prev[first] @ G, second: G.T @ Y_prev[second]})
    return Y.plus(beta, Y - turned)
