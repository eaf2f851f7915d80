"""
Spectra from mixtures: a tensor
===============================

Samples hold unknown amounts of three dyes. For each wavelength that is sent in, the light that comes out is measured at
each wavelength: a tensor. Its decomposition finds the spectra of the dyes, and that of a matrix is not unique.
"""

from itertools import permutations

import matplotlib.pyplot as plt
import numpy as np

import bregopt as bo

# %%
# Amounts in 12 samples, spectra of absorption over 40 wavelengths and of emission over 50, and noise.
rng = np.random.default_rng(0)


def bands(wavelengths, centres, width):
    return np.exp(-0.5 * ((wavelengths[:, None] - np.array(centres)) / width) ** 2)


absorbed, emitted = np.linspace(250, 450, 40), np.linspace(300, 550, 50)
truth = rng.uniform(0, 1, (12, 3)), bands(absorbed, [300, 340, 370], 28), bands(emitted, [370, 400, 450], 35)
clean = np.einsum("ip,jp,kp->ijk", *truth)
T = clean + 0.03 * rng.standard_normal(clean.shape)

# %%
# Unfolded, a row of the matrix is a sample and a wavelength that went in. NMF of it fits as well, but is not unique.
tensor = bo.solve(bo.compose("cp", T, rank=3, nonneg=True), max_iterations=500)
matrix = bo.solve(bo.compose("nmf", np.maximum(0, T).reshape(-1, len(emitted)), rank=3), max_iterations=500)


def match(found):  # the columns of found in the order of the truth, with length 1, and the mean angle between the two
    found, true = found / np.linalg.norm(found, axis=0), truth[2] / np.linalg.norm(truth[2], axis=0)
    order = max(permutations(range(3)), key=lambda order: np.sum(true * found[:, order]))
    return found[:, order], np.mean(np.degrees(np.arccos(np.sum(true * found[:, order], axis=0))))


figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained", sharey=True)
for axis, name, found in zip(axes, ("tensor (cp)", "matrix (NMF)"), (tensor.Y.U3, matrix.Y.V.T)):
    spectra, angle = match(found)
    print(f"{name}: {angle:.1f}° from the true spectra")
    axis.set_prop_cycle(color=["tab:blue", "tab:orange", "tab:green"])
    axis.plot(emitted, spectra, linewidth=2)
    axis.plot(emitted, truth[2] / np.linalg.norm(truth[2], axis=0), "k:", linewidth=1)
    axis.set(xlabel="wavelength in nm", title=f"{name}: {angle:.1f}° off")
axes[0].set_ylabel("emission, scaled (dotted: the truth)")
plt.show()
