"""What ``bregopt new --package`` writes beside the package: all that a repository needs to be published."""

BADGE = "badge.svg"

PUBLISH = """
## Publish it

1. Replace the formulas, the text above and the tests by your own.
2. `bregopt check $name --badge badge.svg` writes the badge that this page shows. Commit it, and write it again when
   the part or bregopt changes.
3. `.github/workflows/checks.yml` runs the checks on every push. `BREGOPT` in it says where pip finds bregopt.
4. Give `description` and `authors` in `pyproject.toml`, and your name in `LICENSE`.
5. Ask for an entry in the plugin directory of bregopt: it is the file `docs/plugins.toml` there.

## Licence

BSD-3-Clause, as bregopt, see `LICENSE`. Choose another if you like: change the file, this line and `pyproject.toml`.
"""

GITIGNORE = """\
__pycache__/
*.py[cod]
.venv/
*.egg-info/
dist/
build/
.pytest_cache/
.hypothesis/
"""

WORKFLOW = """\
name: checks

on:
  push:
    branches: [main]
  pull_request:

permissions:
  contents: read

env:
  BREGOPT: bregopt  # or git+https://… with the address of its repository

jobs:
  checks:
    name: Python $${{ matrix.python }}
    runs-on: ubuntu-latest
    timeout-minutes: 20
    strategy:
      fail-fast: false
      matrix:
        python: ["3.11", "3.13"]
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: $${{ matrix.python }}
      - run: python -m pip install "$$BREGOPT" -e '.[test]'
      - run: bregopt check $name
      - run: python -m pytest
"""

LICENSE = """\
BSD 3-Clause License

Copyright (c) the authors of bregopt-$name

Redistribution and use in source and binary forms, with or without
modification, are permitted provided that the following conditions are met:

1. Redistributions of source code must retain the above copyright notice, this
   list of conditions and the following disclaimer.

2. Redistributions in binary form must reproduce the above copyright notice,
   this list of conditions and the following disclaimer in the documentation
   and/or other materials provided with the distribution.

3. Neither the name of the copyright holder nor the names of its
   contributors may be used to endorse or promote products derived from
   this software without specific prior written permission.

THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS AND CONTRIBUTORS "AS IS"
AND ANY EXPRESS OR IMPLIED WARRANTIES, INCLUDING, BUT NOT LIMITED TO, THE
IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS FOR A PARTICULAR PURPOSE ARE
DISCLAIMED. IN NO EVENT SHALL THE COPYRIGHT HOLDER OR CONTRIBUTORS BE LIABLE
FOR ANY DIRECT, INDIRECT, INCIDENTAL, SPECIAL, EXEMPLARY, OR CONSEQUENTIAL
DAMAGES (INCLUDING, BUT NOT LIMITED TO, PROCUREMENT OF SUBSTITUTE GOODS OR
SERVICES; LOSS OF USE, DATA, OR PROFITS; OR BUSINESS INTERRUPTION) HOWEVER
CAUSED AND ON ANY THEORY OF LIABILITY, WHETHER IN CONTRACT, STRICT LIABILITY,
OR TORT (INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT OF THE USE
OF THIS SOFTWARE, EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE.
"""

FILES = {".gitignore": GITIGNORE, ".github/workflows/checks.yml": WORKFLOW, "LICENSE": LICENSE}
