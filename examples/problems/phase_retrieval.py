"""
A picture from intensities
==========================

A detector counts light and loses its phase: known are ``b = |Ax|²``, not Ax. With four measurements a pixel the picture
x is found. Alternating projections, the classical way, stay in a wrong picture unless they begin where bregopt begins.
"""

import matplotlib.pyplot as plt
import numpy as np
from bregopt_problems import signal

import bregopt as bo

rng = np.random.default_rng(0)
SIDE = 16

# %%
# A picture of 16×16 pixels, seen through complex random masks.
y, x = np.mgrid[-1 : 1 : SIDE * 1j, -1 : 1 : SIDE * 1j]
picture = (np.abs(np.hypot(x, y) - 0.85) < 0.12) | (np.hypot(np.abs(x) - 0.35, y + 0.3) < 0.16)
truth = 1.0 * (picture | ((np.abs(np.hypot(x, y - 0.1) - 0.45) < 0.1) & (y > 0.25))).ravel()
A = (rng.standard_normal((2, 4 * SIDE**2, SIDE**2)) * [[[1]], [[1j]]]).sum(axis=0)
problem = bo.compose("phase-retrieval", A, np.abs(A @ truth) ** 2)


def aligned(z):  # the data do not tell z from z·exp(iφ)
    return z * np.vdot(z, truth) / abs(np.vdot(z, truth))


def project(z):  # again and again: the phases of Az with the measured magnitudes, and back to a picture
    inverse = np.linalg.pinv(A)
    for _ in range(500):
        z = inverse @ (np.abs(A @ truth) * np.exp(1j * np.angle(A @ z)))
    return z


# %%
# The start of ``phase-retrieval`` is the leading eigenvector of a matrix that is made of the data.
start = signal(problem, next(bo.iterate(problem)).Y)
result = bo.solve(problem, max_iterations=500, tolerance=1e-8)
found = {
    "bregopt": signal(problem, result.Y),
    "projections,\nrandom start": project(rng.standard_normal(SIDE**2)),
    "projections,\nsame start": project(start),
    "the start": start,
}
figure, axes = plt.subplots(1, 5, figsize=(10, 2.8), layout="constrained")
axes[0].imshow(truth.reshape(SIDE, SIDE), cmap="gray", vmin=0, vmax=1)
axes[0].set(title="the picture", xticks=[], yticks=[])
for axis, (name, z) in zip(axes[1:], found.items()):
    error = np.linalg.norm(aligned(z) - truth) / np.linalg.norm(truth)
    print(f"{' '.join(name.split())}: relative error {error:.1e}")
    axis.imshow(aligned(z).real.reshape(SIDE, SIDE), cmap="gray", vmin=0, vmax=1)
    axis.set(title=name, xlabel=f"error {error:.1g}", xticks=[], yticks=[])
plt.show()
