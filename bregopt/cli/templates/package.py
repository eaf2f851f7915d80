"""The files that every package has: pyproject.toml, README.md and the test."""

PYPROJECT = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "bregopt-$name"
version = "0.1.0"
description = "The $kind '$name' for bregopt"
readme = "README.md"
requires-python = ">=3.11"
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

The $kind `$name` for bregopt: $summary

```sh
python -m pip install -e '.[test]'
bregopt check $name
python -m pytest
```

$usage
The code is in `src/$module/__init__.py`. Replace the formulas by your own, and keep
`bregopt_examples` up to date: the conformance kit checks what it returns.
"""

TEST = '''\
"""The conformance kit of bregopt on every example of this plugin."""

from bregopt.testing import suite

from $module import bregopt_examples

test_every_example_keeps_its_promises = suite([part for _, part in bregopt_examples("$kind")])
'''
