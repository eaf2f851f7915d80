"""The pictures of README.md: a result, and the last figure of some examples. Running this file draws them again."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np

import bregopt as bo

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
OF_EXAMPLES = ("data/word_vectors", "data/inpainting", "data/video_background")
"""Examples whose picture README.md shows."""
STYLE = {"font.size": 9, "svg.fonttype": "none", "axes.spines.top": False, "axes.spines.right": False}


def near(n: int = 120) -> np.ndarray:
    """Who is near whom, of so many points on a circle: what README.md decomposes."""
    angle = np.linspace(0, 2 * np.pi, n, endpoint=False)
    return np.maximum(0, np.cos(angle[:, None] - angle) - 0.5)


def hero(rank: int = 3) -> None:
    """The matrix, and what each of two kinds of model makes of three patterns."""
    from matplotlib import pyplot as plt

    M = near()
    usual = bo.solve(bo.compose("low-rank", M, rank=rank), method="tsvd")
    ours = bo.solve(bo.compose("relu-nmd", M, rank=rank), start="tsvd", tolerance=1e-6)
    panels = [(f"the data\nrank {np.linalg.matrix_rank(M)}", M)]
    for name, result in (("truncated SVD", usual), ("bregopt", ours)):
        error = 100 * result.metrics["relative_error"]
        told = f"{error:.2g} %" if error > 1e-3 else "less than 0.001 %"
        panels.append((f"{name}, {rank} patterns\n{told} wrong", np.asarray(result.reconstruct())))
    with mpl.rc_context(STYLE):
        figure, axes = plt.subplots(1, 3, figsize=(8.4, 3.4), layout="constrained")
        top = max(abs(X).max() for _, X in panels)
        for axis, (title, X) in zip(axes, panels, strict=True):
            axis.imshow(X, cmap="RdBu_r", vmin=-top, vmax=top)
            axis.set_title(title, fontsize=10)
            axis.set(xticks=[], yticks=[])
        figure.savefig(HERE / "result.png", dpi=140)
        plt.close(figure)


def example(name: str) -> None:
    """The last figure that an example shows."""
    from matplotlib import pyplot as plt

    runpy.run_path(str(EXAMPLES / f"{name}.py"))
    plt.savefig(HERE / f"{Path(name).name}.png", dpi=72)
    plt.close("all")


def main() -> None:
    """Every example in a process of its own, as users run them."""
    if sys.argv[1:]:
        mpl.use("agg")
        name = sys.argv[1]
        hero() if name == "result" else example(name)
        return
    for name in ("result", *OF_EXAMPLES):
        subprocess.run([sys.executable, __file__, name], check=True, env=os.environ | {"MPLBACKEND": "agg"})


if __name__ == "__main__":
    main()
