"""Every snippet of README and docs runs, and what a page shows is what it prints.

A page is run as one script in a process of its own. A python fence whose first line is ``# name.py`` is a file, written
before. A text fence right after a python fence is its output: words must be the same, numbers within a tenth.
"""

import math
import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
MADE = {"_build", "_examples", "_ext", "gallery", "reference"}
"""Folders of docs that hold no pages, or pages that are made."""
WRITTEN = [page for page in (ROOT / "docs").rglob("*.md") if page.relative_to(ROOT / "docs").parts[0] not in MADE]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(WRITTEN)]
NEEDS = {"devices.md": pytest.mark.torch}
"""Pages whose snippets need a package that the tests do not install; they run with the marker."""
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
every_page_to_run = pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=NEEDS.get(page.name, ()), id=str(page.relative_to(ROOT))) for page in PAGES],
)

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?")
END = "\x1e"


class Fence(NamedTuple):
    language: str
    body: str
    line: int
    """of the page where the body begins, counted from 0"""

    @property
    def file(self) -> str | None:
        found = re.match(r"# (\w+\.py)\n", self.body)
        return found[1] if found and self.language == "python" else None


def fences(page):
    text = page.read_text(encoding="utf-8")
    return [Fence(found[1], found[2], text[: found.start(2)].count("\n")) for found in FENCE.finditer(text)]


def python(page):
    return [fence for fence in fences(page) if fence.language == "python" and not fence.file]


def script(page):
    """The python of a page, each line where the page has it, so that a traceback names the page's line."""
    lines = [""] * len(page.read_text(encoding="utf-8").splitlines())
    for fence in python(page):
        body = fence.body.splitlines()
        lines[fence.line : fence.line + len(body) + 1] = [*body, f"print({END!r})"]
    return "\n".join(lines)


COMMANDS = """
import os, shlex, sys
from bregopt.cli.main import main
from bregopt.host.compose import host

for line in sys.argv[1:]:
    words = shlex.split(line, comments=True)
    variables = dict(word.split("=", 1) for word in words if word.startswith("BREGOPT_"))
    if words[len(variables) :][:1] != ["bregopt"]:
        continue
    os.environ.update(variables)
    try:
        main(words[len(variables) + 1 :])
    except SystemExit as end:
        if end.code:
            sys.exit(f"exit code {end.code} of {line}")
    for name in variables:
        del os.environ[name]
    host.cache_clear()
"""
"""Runs those lines that are calls of bregopt, one after the other; no plugin stays from one to the next."""


def run(command, folder):
    settings = os.environ | {"PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(command, cwd=folder, env=settings, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr}"
    return done.stdout


def assert_shows(shown, printed, where):
    shown, printed = ("\n".join(line.rstrip() for line in text.strip().splitlines()) for text in (shown, printed))
    message = f"{where} shows\n{shown}\nbut it printed\n{printed}"
    assert NUMBER.sub("0", shown) == NUMBER.sub("0", printed), message
    pairs = zip(NUMBER.findall(shown), NUMBER.findall(printed), strict=True)
    assert all(math.isclose(float(a), float(b), rel_tol=0.1) for a, b in pairs), message


@every_page_to_run
def test_a_page_runs_as_it_is_written(page, tmp_path):
    for fence in fences(page):
        if fence.file:
            (tmp_path / fence.file).write_text(fence.body, encoding="utf-8")

    file = tmp_path / f"{page.name}.py"
    file.write_text(script(page), encoding="utf-8")
    printed = run([sys.executable, "-W", "error", str(file)], tmp_path).split(f"{END}\n")
    outputs = dict(zip(python(page), printed, strict=False))
    for fence, after in pairwise(fences(page)):
        if after.language == "text" and fence in outputs:
            assert_shows(after.body, outputs[fence], f"{page.name}, line {after.line + 1}")

    if lines := [line for fence in fences(page) if fence.language == "sh" for line in fence.body.splitlines()]:
        run([sys.executable, "-c", COMMANDS, *lines], tmp_path)


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=lambda page: page.name)
def test_every_link_of_a_page_leads_to_a_file(page):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_the_readme_marks_its_two_commands():
    commands = re.findall(r"^<!-- (\w+) -->\n```sh\n(.*)\n```$", PAGES[0].read_text(encoding="utf-8"), re.MULTILINE)
    assert dict(commands) == {
        "main": "python -m pip install . && bregopt solve",
        "test": "python -m pip install -e '.[test]' && python -m pytest",
    }
