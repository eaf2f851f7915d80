"""The plugin directory, docs/plugins.md, made of ``bo.plugins()`` and docs/plugins.toml: this file rewrites it."""

import tomllib
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path

import bregopt as bo

DOCS = Path(__file__).parents[2] / "docs"
PAGE, KNOWN = DOCS / "plugins.md", DOCS / "plugins.toml"
OWN = "bregopt"
SHOWN = 6
"""Names of a kind that a row shows before it says how many more there are."""

HEAD = """# Plugins

Which plugins are there, and how does yours get onto this page? Everything that bregopt can do is registered by a
plugin, and those that come with it use the same hooks as anybody's. This page is made by
`python tests/docs/plugin_directory.py`; do not edit it.

## In the box

These come with bregopt. [The catalogue](catalog.md) lists their parts with formulas.

"""

NAMES = """
## All names in the box

Kernels add and scale, `3 * psi1 + 2 * psi2`. The proximal map of that family is solved for every regularizer that has a
Euclidean prox. `bregopt plugins` prints this table with a formula for each name; `bo.catalog()` is the same in Python.

"""

OTHERS = """
## By others

Install one by `pip install` with its name or its source. Its parts then have names like any other:
`bregopt plugins` lists them.

"""

YOURS = """
## Yours

1. `bregopt new KIND NAME --package` writes a repository that is ready to be published: a part that works, its tests,
   the workflow that runs them, a licence and a badge ([write-a-plugin.md](write-a-plugin.md#ship-it)).
2. `bregopt check NAME --badge badge.svg` writes the badge, and prints the Markdown that shows it. The badge is a
   picture in your repository. It says how many checks of the conformance kit passed, and with which version of bregopt.
3. Add an entry to [plugins.toml](plugins.toml) and open a pull request. No check may fail.
"""


def page():
    """The whole page."""
    plugins = table(("plugin", "what it is", "what it registers"), own_rows())
    return HEAD + plugins + NAMES + table(("kind", "names"), kinds()) + OTHERS + others() + YOURS


def own_rows():
    """The plugins that come with bregopt."""
    modules = {point.name: point.value.partition(".")[0] for point in entry_points(group=OWN)}
    for plugin in bo.plugins():
        if plugin.provider == OWN:
            summary = import_module(modules[plugin.name]).__doc__.partition("\n")[0].replace("``", "`")
            yield f"`{plugin.name}`", summary, registered(plugin)


def registered(plugin):
    """The names of every kind, the first few of many."""
    names = {}
    for entry in bo.catalog():
        if entry.provider == plugin.label:
            names.setdefault(entry.kind, []).append(f"`{entry.name}`")
    return "; ".join(f"{kind} {listed(them)}" for kind, them in names.items()) or "–"


def kinds():
    """Every name in the box, by its kind."""
    names = {}
    for entry in bo.catalog():
        if f"({OWN} " in entry.provider:
            names.setdefault(entry.kind, []).append(f"`{entry.name}`")
    return [(kind, ", ".join(them)) for kind, them in names.items()]


def listed(names):
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def known():
    """The entries of plugins.toml."""
    return tomllib.loads(KNOWN.read_text(encoding="utf-8"))["plugin"]


def others():
    rows = [
        (
            f"[`{it['distribution']}`]({address(it['source'])})",
            it["summary"],
            ", ".join(f"`{part}`" for part in it["parts"]),
            it["licence"],
        )
        for it in known()
    ]
    return table(("distribution", "what it is", "what it registers", "licence"), rows)


def address(source):
    """Where a link leads; in a folder of this repository to a file, as sites have no folders."""
    return source if source.startswith("https://") else f"../{source}/pyproject.toml"


def table(heading, rows):
    lines = [heading, ["---"] * len(heading), *rows]
    return "".join(f"| {' | '.join(row)} |\n" for row in lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
