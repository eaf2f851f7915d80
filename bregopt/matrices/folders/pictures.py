"""A folder of pictures as a matrix: each row is one of them in greyscale."""

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from bregopt.errors import FileError
from bregopt.labels import Labels
from bregopt.matrices.checks import check_room
from bregopt.matrices.extras import needed
from bregopt.matrices.labelled import LabelledMatrix, told

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm", ".pbm")
DEEP = ("I", "F")
"""Modes of a greyscale with more than 8 bits, which are kept."""


def pictures_in(folder: Path) -> list[Path]:
    """The pictures of a folder, or else of the folders in it, in the order in which a person counts."""
    found = [it for it in folder.iterdir() if _is_picture(it)] or [it for it in folder.glob("*/*") if _is_picture(it)]
    return sorted(found, key=lambda it: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", str(it))])


def _is_picture(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES and not path.name.startswith(".") and path.is_file()


def read_pictures(folder: Path, paths: list[Path]) -> LabelledMatrix:
    """One picture a row, labelled by its name: the brightness of its pixels as it is stored, 0 is black."""
    image = needed("PIL.Image", folder)
    first = _picture(image, paths[0])
    check_room(folder, first.nbytes * len(paths), "give the pictures without compression, or smaller ones")
    matrix = np.empty((len(paths), first.size), first.dtype)
    for row, path in enumerate(paths):
        picture = _picture(image, path) if row else first
        if picture.shape != first.shape:
            raise FileError(
                f"The pictures in {str(folder)!r} must be of one size. {paths[0].name} has {_size(first)} pixels, and "
                f"{path.name} has {_size(picture)}: cut or scale them alike."
            )
        if picture.dtype != matrix.dtype:
            matrix = matrix.astype(np.result_type(matrix, picture))
        matrix[row] = picture.ravel()
    names = [path.relative_to(folder).with_suffix("").as_posix() for path in paths]
    height, width = first.shape
    taken = f"each row is a picture of {width}×{height} pixels, named after its file ({told(tuple(names))})"
    return LabelledMatrix(matrix, Labels(names, None, (height, width), taken))


def _picture(image: Any, path: Path) -> Any:
    """The pixels in greyscale, upright."""
    upright_of = needed("PIL.ImageOps", path).exif_transpose
    try:
        with warnings.catch_warnings(), image.open(path) as opened:
            warnings.simplefilter("error", image.DecompressionBombWarning)
            upright = upright_of(opened)
            return np.asarray(upright if upright.mode.startswith(DEEP) else upright.convert("L"))
    except Exception as error:  # a damaged picture makes its decoder raise anything
        what = " ".join(str(error).split()).rstrip(".")[:200] or type(error).__name__
        raise FileError(f"The picture {str(path)!r} cannot be read: {what}. Leave it out, or write it anew.") from None


def _size(picture: Any) -> str:
    return f"{picture.shape[1]}×{picture.shape[0]}"
