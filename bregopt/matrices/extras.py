"""Packages that only some files need."""

import importlib
from pathlib import Path
from typing import Any

from bregopt.errors import FileError


def needed(package: str, path: Path) -> Any:
    """The package, or one error that says how to install it."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        name = {"PIL": "pillow"}.get(package.partition(".")[0], package.partition(".")[0])
        raise FileError(
            f"Reading {str(path)!r} needs the package {name}, which cannot be imported ({error}). Install what files "
            'need: pip install "bregopt[files]".'
        ) from None
