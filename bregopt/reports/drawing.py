"""Figures of matplotlib, which is imported when a figure is first made, and how they get into a page or a file."""

import base64
import importlib
import io
from functools import partial
from pathlib import Path
from typing import Any

from bregopt.engine.checkpoint import write_file
from bregopt.errors import FileError, IncompatibleError

Figure = Any
"""A ``matplotlib.figure.Figure``."""
SUFFIXES = (".png", ".svg", ".pdf")
INK, GRID, COLOURS = "#222222", "#dddddd", ("#1f5fa8", "#d9822b", "#3a8f5c", "#a23b72", "#7a6ff0", "#8c6d46")
DPI = 130


def matplotlib() -> Any:
    """The package, or one error that says how to install it."""
    try:
        importlib.import_module("matplotlib.figure")
        return importlib.import_module("matplotlib")
    except ImportError as error:
        raise IncompatibleError(
            f"Pictures and reports need matplotlib, which cannot be imported ({error}): pip install 'bregopt[plot]'."
        ) from None


def figure(width: float, height: float) -> Figure:
    """An empty figure of this size in inches; nothing global is touched."""
    made = matplotlib().figure.Figure(figsize=(width, height), layout="constrained")
    made._repr_png_ = partial(rendered, made, "png")  # by which a notebook shows it, whatever its backend is
    return made


def tidy(axes: Any) -> None:
    """Plain axes: no frame on top and at the right, a light grid."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.grid(True, color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(colors=INK, labelsize=8)


def check_file(path: Path, suffixes: tuple[str, ...]) -> None:
    """Refuse a file that cannot be written, before anything is drawn."""
    if path.suffix.lower() not in suffixes:
        raise FileError(f"The name of the file {str(path)!r} must end with {' or '.join(suffixes)}.")
    if path.is_dir() or not path.absolute().parent.is_dir():
        why = "is a folder" if path.is_dir() else "lies in a folder that does not exist"
        raise FileError(f"{str(path)!r} {why}: give the name of a file in a folder that does.")


def write_figure(made: Figure, path: Path) -> None:
    """As .png, .svg or .pdf, by the name of the file."""
    check_file(path, SUFFIXES)
    data = rendered(made, path.suffix.lower().removeprefix("."))
    write_file(path, lambda handle: handle.write(data))


def rendered(made: Figure, kind: str) -> bytes:
    """The bytes of the picture; the same figure gives the same bytes."""
    buffer = io.BytesIO()
    with matplotlib().rc_context({"svg.hashsalt": "bregopt"}):
        made.savefig(buffer, format=kind, dpi=DPI, metadata={} if kind == "png" else {_DATE[kind]: None})
    return buffer.getvalue()


_DATE = {"svg": "Date", "pdf": "CreationDate"}


def data_uri(made: Figure, kind: str) -> str:
    """The picture as text that stands in a page itself."""
    mime = {"svg": "image/svg+xml", "png": "image/png"}[kind]
    return f"data:{mime};base64,{base64.b64encode(rendered(made, kind)).decode()}"
