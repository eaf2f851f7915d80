"""What is installed: every package with its types, one version, and every dependency declared."""

import ast
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import bregopt

ROOT = Path(__file__).parents[2]
PLUGINS = sorted(path.name for path in (ROOT / "plugins").iterdir() if (path / "__init__.py").exists())
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]


def distribution(requirement):
    return re.match(r"[\w-]+", requirement)[0].lower()


def imported(path):
    """The packages from elsewhere that a file imports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    modules = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    modules += [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    packages = {module.split(".")[0] for module in modules}
    return {name for name in packages - sys.stdlib_module_names if not name.startswith("bregopt")}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return next(folder.glob("*.whl"))


def test_the_wheel_holds_every_package_and_says_that_each_is_typed(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    for package in ("bregopt", *PLUGINS):
        assert f"{package}/__init__.py" in names
        assert f"{package}/py.typed" in names, f"{package} has no py.typed"


def test_the_version_stands_in_one_place(wheel):
    assert wheel.name.split("-")[1] == bregopt.__version__
    assert "version" in PROJECT["dynamic"]
    assert "version" not in PROJECT


def test_only_declared_packages_are_imported():
    used = [name for extra, names in EXTRAS.items() if extra not in ("test", "dev") for name in names]
    declared = {distribution(name) for name in [*PROJECT["dependencies"], *used]}
    declared |= {"distributed", "pylops"}  # they come with dask[distributed] and with pyproximal
    declared |= {"sklearn"}  # what scikit-learn is imported as
    declared |= {"pytest"}  # the kit makes tests for it, where it is there
    declared |= {"typing_extensions"}  # read by type checkers alone, which know it
    for path in [*(ROOT / "bregopt").rglob("*.py"), *(ROOT / "plugins").rglob("*.py")]:
        assert imported(path) <= declared, f"{path.relative_to(ROOT)} imports {imported(path) - declared}"


def test_every_requirement_states_its_lowest_version_or_is_pinned():
    stated = re.compile(r"[\w-]+(\[[\w,]+\])?(>=|==)[\d.]+")
    for requirement in [*PROJECT["dependencies"], *(name for extra in EXTRAS.values() for name in extra)]:
        assert stated.fullmatch(requirement) or requirement.startswith("bregopt["), requirement


def test_the_tools_that_judge_the_code_are_pinned_and_used_by_ci():
    pinned = {distribution(name) for name in EXTRAS["dev"] if "==" in name}
    assert {"ruff", "mypy"} <= pinned
    assert "-e '.[dev]'" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
