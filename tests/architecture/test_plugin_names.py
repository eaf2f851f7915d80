"""The core names no part of a plugin: not by an import, and not by a string."""

import ast
import re
from pathlib import Path

import pytest

import bregopt as bo

ROOT = Path(__file__).parents[2]
NAMED = {entry.name for entry in bo.catalog()} - {"none"}  # a word of every language
SPEC = re.compile(r"([A-Za-z][\w-]*)(\(.*\))?", re.DOTALL)
EXCEPTIONS = {
    "bregopt/host/defaults.py": "the one place for the names that the core needs, each with its reason",
    "bregopt/cli/templates": "texts of the packages that 'bregopt new' writes, for their authors to change",
    "bregopt/rules/stopping.py": "the values of Status, which say why a run ended",
}
WORDS = {
    "__init__.py": {"balanced", "nesterov", "mycielskian", "synthetic"},  # public functions of the core itself
    "generated.py": {"mycielskian", "synthetic"},  # the built-in matrices of the core
    "saving.py": {"blocks"},  # a key of a saved state
    "saved_result.py": {"blocks"},  # a key of a saved result
    "curves.py": {"log"},  # a scale of matplotlib
    "blocks.py": {"auto"},  # an aspect of matplotlib
    "check.py": {"target"},  # an argument of the command
    "plugins.py": {"paper"},  # a column of the catalogue, and an attribute of a Regularizer
    "run.py": {"stationarity"},  # a key of the record
    "solve.py": {"tolerance"},  # an argument of bregopt.solve
    "api.py": {"tolerance"},  # the same
    "wrong_arguments.py": {"tolerance"},  # the same
    "mtx.py": {"symmetric"},  # a word of the Matrix Market format
    "problem.py": {"blocks"},  # a word of the command line
    "oracle.py": {"spectral"},  # a norm of W
    "history.py": {"stationarity"},  # a column of the history
}
"""Strings that are words of the core's own, though a part has the same name."""


def code_strings(path):
    """Every string of a file that is not a docstring."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    prose = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in prose:
            yield node.lineno, node.value


def named_parts(text):
    """The part that a string names as a whole, by itself or as a spec; and methods and problems in a longer one."""
    spec = SPEC.fullmatch(text)
    found = {spec[1]} & NAMED if spec else set()
    telling = {entry.name for kind in ("method", "problem") for entry in bo.catalog(kind)} - {"auto"}
    return found | {word for word in re.findall(r"[a-z][\w-]*", text) if word in telling}


FILES = [
    path
    for path in sorted((ROOT / "bregopt").rglob("*.py"))
    if not any(str(path.relative_to(ROOT)).startswith(exception) for exception in EXCEPTIONS)
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_string_of_the_core_names_a_part_of_a_plugin(path):
    for line, text in code_strings(path):
        helps = path.parent.name == "cli" and " " in text  # help texts show a person what an option takes
        found = set() if helps else named_parts(text) - WORDS.get(path.name, set())
        assert not found, f"{path}:{line} names {found} in {text!r}"


def test_the_list_of_exceptions_is_short_and_each_is_needed():
    assert len(EXCEPTIONS) <= 3
    for place in EXCEPTIONS:
        files = [ROOT / place] if place.endswith(".py") else sorted((ROOT / place).rglob("*.py"))
        assert any(named_parts(text) for path in files for _, text in code_strings(path)), place


def test_every_name_that_the_core_asks_for_is_registered():
    from bregopt.host import defaults

    bo.make("method", defaults.METHOD)
    bo.make("method", defaults.PLAIN_METHOD)
    bo.make("stop", defaults.STOP)
    assert defaults.PROBLEM in {entry.name for entry in bo.catalog("problem")}
    assert set(defaults.STOP_BY_ARGUMENT.values()) <= {entry.name for entry in bo.catalog("stop")}
    for kind in ("extrapolation", "step"):
        assert defaults.NUMBER in {entry.name for entry in bo.catalog(kind)}


def test_the_test_finds_a_planted_name(tmp_path):
    planted = tmp_path / "planted.py"
    planted.write_text(
        '"""aapb stands in prose."""\nMETHOD = "aapb(step=1)"\nRULE = "assumption2"\nTEXT = "try els now"\n'
    )
    found = [named_parts(text) for _, text in code_strings(planted)]
    assert found == [{"aapb"}, {"assumption2"}, {"els"}]


def test_no_identifier_of_the_core_speaks_of_relu():
    for path in FILES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        names |= {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
        assert not {name for name in names if "relu" in name.lower()}, path
