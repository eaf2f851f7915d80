"""The examples are short, are made for sphinx-gallery, and use public names only."""

import ast
import importlib
import re
import sys
from pathlib import Path

import pytest

import bregopt as bo

FOLDER = Path(__file__).parents[2] / "examples"
EXAMPLES = sorted(FOLDER.rglob("*.py"))
ALLOWED = {"attrs", "bregopt", "dask", "distributed", "matplotlib", "numpy", "scipy", "sklearn"}
every_example = pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)


def source(path):
    return path.read_text(encoding="utf-8")


def prose(path):
    """The docstring and the text blocks."""
    blocks = re.findall(r"^# %%\n((?:#.*\n)*)", source(path), re.MULTILINE)
    return "\n".join([ast.get_docstring(ast.parse(source(path))) or "", *blocks])


@every_example
def test_an_example_has_fewer_than_60_lines(path):
    assert len(source(path).splitlines()) < 60


@every_example
def test_an_example_has_a_title_a_text_and_a_picture_to_show(path):
    docstring = ast.get_docstring(ast.parse(source(path))) or ""
    assert re.match(r"([^\n]+)\n=+\n\n.{60,}", docstring, re.DOTALL)
    assert len(docstring.splitlines()[0]) == len(docstring.splitlines()[1])
    assert "\n# %%\n# " in source(path)
    assert source(path).endswith("plt.show()\n")


@every_example
def test_an_example_uses_public_names_only(path):
    assert set(re.findall(r"\bbo\.(\w+)", source(path))) <= set(bo.__all__)
    for node in ast.walk(ast.parse(source(path))):
        if isinstance(node, ast.ImportFrom):
            package = str(node.module).split(".")[0]
            assert package in ALLOWED | sys.stdlib_module_names or package.startswith("bregopt_")
            if package.startswith("bregopt"):
                assert {name.name for name in node.names} <= set(importlib.import_module(str(node.module)).__all__)
        elif isinstance(node, ast.Import):
            assert {name.name.split(".")[0] for name in node.names} <= ALLOWED | sys.stdlib_module_names


@every_example
def test_a_decimal_number_in_the_text_of_an_example_is_one_of_its_code(path):
    tree = ast.parse(source(path))
    ours = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, float)}
    assert {float(number) for number in re.findall(r"\d+\.\d+", prose(path))} <= ours


def test_every_folder_of_examples_has_a_heading_and_nothing_lies_beside_the_folders():
    folders = {path.parent for path in EXAMPLES}
    assert FOLDER not in folders
    for folder in [FOLDER, *folders]:
        assert re.match(r"[^\n]+\n[=-]+\n\n\w", (folder / "README.txt").read_text(encoding="utf-8")), folder


def test_no_two_examples_have_the_same_name():
    assert len({path.stem for path in EXAMPLES}) == len(EXAMPLES)
