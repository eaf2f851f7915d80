"""
A picture with holes
====================

Most pixels of this picture are lost. Rows and columns of a façade repeat, so a matrix of low rank brings them back
where interpolation between the pixels that are left blurs them. Where nothing repeats, interpolation is the better way.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.interpolate import griddata

import bregopt as bo

rng = np.random.default_rng(0)
SIDE = 128

# %%
# Two pictures with pixels from 0 to 1: a façade with windows of several kinds, and smooth hills.
y, x = np.mgrid[:SIDE, :SIDE]
floor, column = (y % 16 > 4) & (y % 16 < 13), (x % 12 > 3) & (x % 12 < 10)
facade = 0.55 + 0.15 * (y % 4 == 0) - 0.1 * (x % 6 == 0) + 0.15 * (x / SIDE)
facade = np.where(floor & column, np.where((y // 16 + x // 36) % 2, 0.1, 0.3) + 0.5 * (x % 12 == 6), facade)
hills = 0.5 + 0.25 * np.sin(x / 17 + np.cos(y / 23)) * np.cos((x - 2 * y) / 31) + 0.2 * np.sin((x + y) / 29)
known = rng.random((SIDE, SIDE)) < 0.3


# %%
# The rank is larger than needed, and a ridge on both factors keeps what few pixels ask for small.
def complete(picture):
    seen = np.where(known, picture, np.nan)
    problem = bo.compose("completion", seen, rank=20, U="ridge(0.1)", V="ridge(0.1)")
    return np.clip(np.matmul(*bo.solve(problem, max_iterations=300).Y), 0, 1)


def interpolate(picture):
    smooth, nearest = (griddata(np.argwhere(known), picture[known], (y, x), how) for how in ("cubic", "nearest"))
    return np.where(np.isnan(smooth), nearest, np.clip(smooth, 0, 1))


def error(found, picture):
    return np.sqrt(np.mean((found - picture)[~known] ** 2))


figure, axes = plt.subplots(2, 4, figsize=(9.6, 5), layout="constrained")
for row, (name, picture) in zip(axes, {"façade": facade, "hills": hills}.items()):
    low, smooth = complete(picture), interpolate(picture)
    print(f"{name}: error {error(low, picture):.3f} by low rank, {error(smooth, picture):.3f} by interpolation")
    shown = {
        name: picture,
        f"{np.mean(known):.0%} of it": np.where(known, picture, np.nan),
        f"low rank: {error(low, picture):.3f}": low,
        f"interpolated: {error(smooth, picture):.3f}": smooth,
    }
    for axis, (title, image) in zip(row, shown.items()):
        axis.imshow(image, cmap="gray", vmin=0, vmax=1)
        axis.set(title=title, xticks=[], yticks=[])
plt.show()
