"""The examples run, print something, stay short and use public names only."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import bregopt as bo

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
ALLOWED = {"attrs", "bregopt", "bregopt_sklearn", "numpy", "sklearn", "sys"}
every_example = pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)


@every_example
def test_an_example_runs_without_a_warning_and_prints_something(path, tmp_path):
    command = [sys.executable, "-W", "error", str(path)]
    settings = os.environ | {"OPENBLAS_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(command, cwd=tmp_path, env=settings, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@every_example
def test_an_example_has_fewer_than_40_lines(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) < 40


@every_example
def test_an_example_uses_public_names_only(path):
    text = path.read_text(encoding="utf-8")
    assert set(re.findall(r"\bbo\.(\w+)", text)) <= set(bo.__all__)
    assert set(re.findall(r"^\s*(?:from|import) (\w+)", text, re.MULTILINE)) <= ALLOWED
