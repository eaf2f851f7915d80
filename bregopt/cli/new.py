"""``bregopt new``: a package for a part of one's own, ready to install, to check and to change."""

import importlib
import importlib.util
import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from string import Template
from types import ModuleType

import click

import bregopt
from bregopt.cli.badge import unchecked
from bregopt.cli.templates import repository
from bregopt.engine.checkpoint import draft_in
from bregopt.errors import DuplicateNameError, FileError, parameter

OF_THE_CORE = {
    kind: f"bregopt.cli.templates.{kind}"
    for kind in ("regularizer", "kernel", "problem", "method", "extrapolation", "step", "stop", "start")
}
NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(-[A-Za-z0-9]+)*")
VALUES = ("true", "false", "none", "inf")
"""What a spec reads as a value, not as a name."""

PYPROJECT = """\
[build-system]
requires = ["hatchling>=1.27"]
build-backend = "hatchling.build"

[project]
name = "bregopt-$name"
version = "0.1.0"
description = "The $kind '$name' for bregopt"
readme = "README.md"
${licence}requires-python = ">=3.11"
dependencies = ["bregopt", "attrs", "numpy"]

[project.optional-dependencies]
test = ["pytest"]

[project.entry-points.bregopt]
$name = "$module"

[tool.hatch.build.targets.wheel]
packages = ["src/$module"]
"""

README = """\
# bregopt-$name

${badge}The $kind `$name` for bregopt: $summary

```sh
python -m pip install -e '.[test]'
bregopt check $name
python -m pytest
```

$usage
The code is in `src/$module/__init__.py`. Replace the formulas by your own, and keep
`bregopt_examples` up to date: the conformance kit checks what it returns.
${publish}"""

TEST = '''\
"""The conformance kit of bregopt on every example of this plugin."""

from bregopt.testing import suite

from $module import bregopt_examples

test_every_example_keeps_its_promises = suite([part for _, part in bregopt_examples("$kind")])
'''


LICENCE = 'license = "BSD-3-Clause"\nlicense-files = ["LICENSE"]\n'
SHOWN = "![The checks of bregopt](badge.svg)\n\n"


@click.command()
@click.argument("kind")
@click.argument("name")
@click.option(
    "--dir",
    "folder",
    metavar="DIR",
    type=click.Path(path_type=Path),
    default=".",
    help="Where to write it.  [default: here]",
)
@click.option("--package", "whole", is_flag=True, help="All that a repository needs: CI, licence, badge, .gitignore.")
def new(kind: str, name: str, folder: Path, whole: bool) -> None:
    """Write a package for a KIND of your own called NAME.

    KIND is regularizer, kernel, problem, method, extrapolation, step, stop, start, or one that a plugin brings, such as
    loss and model. The package holds a worked example that passes 'bregopt check'. Replace its formulas by your own.

    \b
    Examples:
      bregopt new regularizer row-sparse             writes the folder row-sparse
      bregopt new loss my-loss --package             writes a folder that is ready to be published
    """
    template = template_of(kind)
    check_name(kind, name)
    target = folder / name
    files = contents(kind, name, whole)
    write(target, files)
    click.echo("\n  ".join([f"Written to {target}:", *files]))
    click.echo("\n  ".join(["\nNext:", *commands(template, kind, name, target, whole)]))


def templates() -> dict[str, str]:
    """The module with the template of each kind; that of a plugin's kind is ``templates.KIND`` of the plugin's package.

    It has the strings SUMMARY, USAGE, TRY and CODE.
    """
    from bregopt.host.compose import kinds
    from bregopt.host.registry import CORE

    found = dict(OF_THE_CORE)
    for kind in kinds():
        package = kind.interface.__module__.partition(".")[0]
        module = f"{package}.templates.{kind.name.replace('-', '_')}"
        if kind.provider != CORE and _exists(module):
            found[kind.name] = module
    return found


def _exists(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # a plugin without templates
        return False


def template_of(kind: str) -> ModuleType:
    """The template of a kind, or an error that says for which there are some."""
    known = templates()
    if kind not in known:
        raise parameter("KIND", "bregopt new", "one of " + ", ".join(map(repr, known)), kind)
    return importlib.import_module(known[kind])


def check_name(kind: str, name: str) -> None:
    """Refuse a name that cannot be a package, means something else in a spec, or is taken."""
    if not NAME.fullmatch(name) or name.lower() in VALUES:
        rule = "letters and digits, in parts joined by hyphens, beginning with a letter, and no value such as 'none'"
        raise parameter("NAME", "bregopt new", rule, name)
    owners = [entry.provider for entry in bregopt.catalog(kind) if name in entry.names]
    owners += [plugin.label for plugin in bregopt.plugins() if plugin.name.lower() == name.lower()]
    if owners:
        raise DuplicateNameError(f"The name '{name}' is taken by {owners[0]}. Choose another.")


def words(kind: str, name: str, whole: bool = False) -> dict[str, str]:
    """What the placeholders of the templates stand for."""
    return {
        "licence": LICENCE if whole else "",
        "badge": SHOWN if whole else "",
        "kind": kind,
        "name": name,
        "module": "bregopt_" + name.lower().replace("-", "_"),
        "class_name": "".join(part[0].upper() + part[1:] for part in name.split("-")),
    }


def contents(kind: str, name: str, whole: bool = False) -> dict[str, str]:
    """The text of every file of the package, by its path; of the ``whole`` repository with what goes beside it."""
    template, known = template_of(kind), words(kind, name, whole)
    known |= {"summary": template.SUMMARY, "usage": Template(template.USAGE).substitute(known)}
    known["publish"] = Template(repository.PUBLISH).substitute(known) if whole else ""
    module = known["module"]
    texts = {
        "pyproject.toml": PYPROJECT,
        "README.md": README,
        f"src/{module}/__init__.py": template.CODE,
        f"tests/test_{module.removeprefix('bregopt_')}.py": TEST,
    }
    if whole:
        texts |= repository.FILES
    made = {path: Template(text).substitute(known) for path, text in texts.items()}
    return made | ({repository.BADGE: unchecked().svg()} if whole else {})


def write(target: Path, files: Mapping[str, str]) -> None:
    """All files or none: written beside their place, then moved there."""
    if os.path.lexists(target):
        raise FileError(f"{str(target)!r} exists already. Choose another name or another --dir.")
    if not target.parent.is_dir():
        raise FileError(f"The folder {str(target.parent)!r} does not exist. Make it, or choose another --dir.")
    with draft_in(target.parent) as draft:
        for path, text in files.items():
            (draft / path).parent.mkdir(parents=True, exist_ok=True)
            (draft / path).write_text(text, encoding="utf-8")
        os.rename(draft, target)


def commands(template: ModuleType, kind: str, name: str, target: Path, whole: bool) -> list[str]:
    """What to do next."""
    place = shlex.quote(str(target) if target.is_absolute() else f"./{target}")
    badge = f" --badge {shlex.quote(str(target / repository.BADGE))}" if whole else ""
    return [
        f"python -m pip install -e {place}",
        f"bregopt check {name}{badge}",
        Template(template.TRY).substitute(words(kind, name)),
        f"python -m pytest {place}",
    ]
