"""
The background of a video
=========================

A camera stands still, cars drive past, and the light changes. Robust PCA takes the video apart: the background is a
matrix of low rank, and what moves is an outlier. The median of each pixel cannot follow the light; where the light is
steady, it is all you need.
"""

import matplotlib.pyplot as plt
import numpy as np
from bregopt_problems import outliers

import bregopt as bo

rng = np.random.default_rng(0)
FRAMES, HEIGHT, WIDTH = 60, 36, 48

# %%
# A street with a sun that moves and clouds that pass, two cars and noise. A row of M is a frame.
y, x = np.mgrid[-1 : 1 : HEIGHT * 1j, -1 : 1 : WIDTH * 1j]
street = np.where(y > 0.25, 0.6, np.where(y > -0.6 - 0.2 * np.sign(np.sin(5 * x)), 0.45, 0.9))
street -= 0.25 * ((y < 0.1) & (y > -0.5) & (np.sin(20 * x) > 0.3) & (np.sin(14 * y) > 0)) - 0.3 * (
    np.abs(y - 0.6) < 0.03
)
t = np.linspace(0, 1, FRAMES)[:, None, None]
light = 0.8 + 0.3 * (2 * t - 1) * x + 0.2 * np.sin(12 * t)
background = (street * light).reshape(FRAMES, -1)
M = background + 0.02 * rng.standard_normal(background.shape)
for place, speed, colour in ((0.45, 3.0, 1.2), (0.75, -2.0, 0.0)):
    where = np.abs(x - np.sign(speed) * (np.abs(speed) * t - 1.2)) < 0.17
    M[(where & (np.abs(y - place) < 0.12)).reshape(FRAMES, -1)] = colour

# %%
# Errors beyond a few standard deviations of the noise, d = 0.06, count as outliers.
problem = bo.compose("robust-pca", M, rank=2, d=0.06)
result = bo.solve(problem, max_iterations=200)
moving = np.abs(outliers(problem, result.Y).toarray())
found = {
    "robust PCA": np.matmul(*result.Y),
    "median": np.tile(np.median(M, axis=0), (FRAMES, 1)),
    "PCA": np.matmul(*bo.solve(bo.compose("low-rank", M, rank=2), method="tsvd").Y),
}
errors = {name: np.sqrt(np.mean((B - background) ** 2)) for name, B in found.items()}
print("background: error " + ", ".join(f"{error:.4f} by {name}" for name, error in errors.items()))
figure, axes = plt.subplots(2, 5, figsize=(10, 3.4), layout="constrained")
for row, k in zip(axes, (14, 40)):
    backgrounds = {f"{name}: {errors[name]:.3f}": B[k] for name, B in found.items()}
    shown = {"frame": M[k], **backgrounds, "what moves": moving[k]}
    for axis, (title, image) in zip(row, shown.items()):
        axis.imshow(image.reshape(HEIGHT, WIDTH), cmap="gray", vmin=0, vmax=1.2)
        axis.set(title=title if k == 14 else "", xticks=[], yticks=[])
plt.show()
