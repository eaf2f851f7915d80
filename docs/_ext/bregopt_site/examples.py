"""The examples of names: cells of the files in docs/_examples, and recipes for every registered part.

A file begins with imports that all of its cells share. ``# %% name, other`` begins a cell, which is shown on the page
of each of these names; a part is named as ``kind/name``. Comments at the head of a cell are its text.
"""

import ast
import contextlib
import functools
import io
import os
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

from attrs import frozen

import bregopt as bo
from bregopt_site import recipes

FOLDER = Path(__file__).parents[2] / "_examples"
CELL = re.compile(r"^# %% (.*)$", re.MULTILINE)
IMPORTED = re.compile(r"^import (\w+)(?: as (\w+))?$")


@frozen
class Example:
    """A short program, the names it shows, and a sentence about it."""

    names: tuple[str, ...]
    text: str
    code: str

    def run(self) -> str:
        """What it prints; a warning is an error."""
        return printed_elsewhere(self.code) if "load_plugin(" in self.code else printed(self.code)


def printed(code: str) -> str:
    """What a program prints, run by itself in a folder of its own."""
    out, here = io.StringIO(), Path.cwd()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter("error")
        os.chdir(folder)
        try:
            exec(compile(code, "<example>", "exec"), {"__name__": "__main__"})
        finally:
            os.chdir(here)
    return out.getvalue()


def printed_elsewhere(code: str) -> str:
    """The same in a process of its own, for a program that registers a part."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-W", "error", "-c", code]
        settings = os.environ | {"PYTHONIOENCODING": "utf-8"}
        return subprocess.run(
            command, cwd=folder, env=settings, capture_output=True, encoding="utf-8", check=True
        ).stdout


@functools.cache
def written() -> tuple[Example, ...]:
    """The cells of all files."""
    return tuple(cell for file in sorted(FOLDER.glob("*.py")) for cell in _cells(file))


def _cells(file: Path) -> list[Example]:
    head, *rest = CELL.split(file.read_text(encoding="utf-8"))
    shared = [line for line in head.split('"""')[-1].splitlines() if line.strip()]
    return [_cell(names, body, shared) for names, body in zip(rest[::2], rest[1::2], strict=True)]


def _cell(names: str, body: str, shared: list[str]) -> Example:
    lines = body.strip().splitlines()
    text = []
    while lines and lines[0].startswith("#"):
        text.append(lines.pop(0).lstrip("# "))
    code = "\n".join(lines).strip()
    needed = [
        line for line in shared if (found := IMPORTED.match(line)) and re.search(rf"\b{found[2] or found[1]}\b", code)
    ]
    tree = ast.parse(code)
    own = 0  # imports of the cell itself come first, then a line of space
    while own < len(tree.body) and isinstance(tree.body[own], ast.Import | ast.ImportFrom):
        own += 1
    first = "\n".join([*_imports(needed, ast.unparse(ast.Module(tree.body[:own], [])).splitlines())])
    rest = "\n".join(code.splitlines()[tree.body[own - 1].end_lineno :] if own else code.splitlines()).strip("\n")
    gap = "\n\n\n" if re.match(r"(@|def |class )", rest) else "\n\n"
    return Example(tuple(name.strip() for name in names.split(",")), " ".join(text), f"{first}{gap}{rest}\n")


def _imports(shared: list[str], own: list[str]) -> list[str]:
    """Imports as they are written everywhere: the standard library, then packages, then this library."""
    lines = sorted({*shared, *own}, key=lambda line: (_layer(line), line.split()[1]))
    found: list[str] = []
    for line in lines:
        if found and _layer(line) > _layer(found[-1]) == 0:
            found.append("")
        found.append(line)
    return found


def _layer(line: str) -> int:
    package = line.split()[1].partition(".")[0]
    return 2 if package.startswith("bregopt") else 1 if package in ("attrs", "numpy", "scipy", "matplotlib") else 0


def of_name(name: str) -> list[Example]:
    """The examples that show a public name."""
    return [example for example in written() if name in example.names]


def of_part(entry: Any) -> list[Example]:
    """The examples of a registered part: those that are written, or else the recipe of its kind."""
    label = f"{entry.kind}/{entry.name}"
    found = of_name(label)
    if found:
        return found
    code = recipes.recipe(entry)
    return [Example((label,), "", code)] if code else []


def public_names() -> dict[str, list[str]]:
    """The public names of bregopt and of each package that comes with it, by the package."""
    import importlib

    plugins = sorted(path.parent.name for path in (FOLDER.parents[1] / "plugins").glob("bregopt_*/__init__.py"))
    found = {"bregopt": list(bo.__all__)}
    for package in plugins:
        module = importlib.import_module(package)
        if names := list(getattr(module, "__all__", ())):
            found[package] = names
    return found
