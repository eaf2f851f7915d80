"""The layers of the design, held by reading the imports."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import bregopt

ROOT = Path(__file__).parents[2]
CORE = ROOT / "bregopt"
LAYERS = [
    *(
        "errors",
        "validate",
        "compile_clock",
        "compile_cache",
        "compiled",
        "notebook",
        "blocks",
        "labels",
        "part_errors",
        "part_results",
        "parts",
        "problem",
        "rules",
        "engine",
        "matrices",
        "host",
        "reports",
        "testing",
    ),
    "cli",
]
"""Each layer may import itself and those before it."""

PUBLIC = ("bregopt.errors", "bregopt.validate", "bregopt.compiled", "bregopt.matrices")
"""What a plugin may import of bregopt beside the names of ``bregopt.__all__``."""

EXTENDS = dict.fromkeys(
    ["bregopt_dask", "bregopt_paper", "bregopt_problems", "bregopt_relu", "bregopt_sklearn", "bregopt_torch"],
    "bregopt_lowrank",
) | {"bregopt_bench": "bregopt_torch"}
"""A plugin that builds on another: it may import what that one names in its ``__all__``."""


def imports(path):
    """(module, names) of every import in a file, those for type checking only left out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = {
        child
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for child in ast.walk(node)
    }
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name, ()) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import in {path}"
            yield node.module, tuple(alias.name for alias in node.names)


def layer(path):
    part = path.relative_to(CORE).parts[0]
    return part.removesuffix(".py")


CORE_FILES = sorted(CORE.rglob("*.py"))
PLUGIN_FILES = sorted((ROOT / "plugins").rglob("*.py"))


@pytest.mark.parametrize("path", CORE_FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_the_core_imports_no_plugin_and_no_layer_above(path):
    for module, names in imports(path):
        assert not module.startswith("bregopt_"), f"{path} imports the plugin {module}"
        if not module.startswith("bregopt") or layer(path) in ("__init__", "__main__"):
            continue
        targets = [f"bregopt.{name}" for name in names] if module == "bregopt" else [module]
        for target in targets:
            part = target.split(".")[1]
            if layer(path) == "cli" and part not in LAYERS:
                continue  # the command line may use the public names
            assert part in LAYERS, f"{path} imports {target}"
            assert LAYERS.index(part) <= LAYERS.index(layer(path)), f"{path} imports the layer above: {target}"


@pytest.mark.parametrize("path", PLUGIN_FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_plugin_imports_only_public_names_of_bregopt_and_its_own_package(path):
    own = path.relative_to(ROOT / "plugins").parts[0]
    for module, names in imports(path):
        if module == "bregopt":
            assert set(names) <= set(bregopt.__all__), f"{path} imports {set(names) - set(bregopt.__all__)}"
        elif module.startswith("bregopt."):
            assert module in PUBLIC, f"{path} imports {module}"
            public = getattr(importlib.import_module(module), "__all__", names)
            assert set(names) <= set(public), f"{path} imports {set(names) - set(public)}"
        elif module.startswith("bregopt_"):
            extends = EXTENDS.get(own)
            assert module.split(".")[0] == own or module == extends, f"{path} imports {module}"
            if module == extends:
                public = importlib.import_module(module).__all__
                assert set(names) <= set(public), f"{path} imports {set(names) - set(public)}"


def test_the_command_line_is_one_file_per_command_and_few_more():
    assert len(list((CORE / "cli").glob("*.py"))) <= 15


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_the_engine_runs_without_pluggy():
    code = """
import sys
sys.modules["pluggy"] = None
import bregopt as bo
from bregopt.engine import aapb, certificate, iterate, solve
print(bo.AAPB.__name__, "bregopt.host" in sys.modules)
try:
    bo.compose
except ImportError as error:
    print("host needs pluggy")
"""
    done = run(code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:2] == ["AAPB False", "host needs pluggy"]


def test_import_bregopt_loads_nothing_heavy():
    heavy = ("numba", "dask", "sparse", "scipy", "rich", "click", "torch")
    code = f"import sys, bregopt; print([m for m in {heavy} if m in sys.modules])"
    done = run(code)
    assert done.stdout.strip() == "[]", done.stderr


def test_loading_the_plugins_imports_nothing_that_only_a_command_needs():
    heavy = ("click", "dask", "distributed", "matplotlib", "rich", "torch")
    code = f"import sys, bregopt; bregopt.plugins(); print([m for m in {heavy} if m in sys.modules])"
    done = run(code)
    assert done.stdout.strip() == "[]", done.stderr


def test_every_public_name_exists_and_is_documented():
    assert sorted(bregopt.__all__) == sorted(set(bregopt.__all__))
    aliases = {"Array", "BregmanProx", "Norms", "Update"}
    for name in bregopt.__all__:
        assert name in aliases or getattr(bregopt, name).__doc__, name
    for name in importlib.import_module("bregopt.matrices").__all__:
        assert getattr(bregopt.matrices, name).__doc__, name
    with pytest.raises(AttributeError):
        bregopt.nonsense  # noqa: B018  (the attribute access is what is tested)


def test_every_hook_is_documented():
    from bregopt.host import hookspecs

    page = (ROOT / "docs" / "hooks.md").read_text(encoding="utf-8")
    for name in vars(hookspecs):
        if name.startswith("bregopt_"):
            assert f"`{name}(" in page or f"### `{name}" in page or f"## `{name}" in page, name


def test_every_hook_is_implemented_by_a_test():
    from bregopt.host import hookspecs

    tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
    for name in vars(hookspecs):
        if name.startswith("bregopt_"):
            assert f"def {name}(" in tests, f"no test has a plugin with the hook {name}"


def test_every_registered_part_has_a_summary():
    for entry in bregopt.catalog():
        assert entry.summary, entry.name
