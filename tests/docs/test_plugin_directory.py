"""The plugin directory has every plugin, and its entries are what they say."""

import ast
import re
import tomllib

import plugin_directory
import pytest

import bregopt as bo

ROOT = plugin_directory.DOCS.parent
HERE = [entry for entry in plugin_directory.known() if not entry["source"].startswith("https://")]


def test_the_directory_is_not_stale():
    written = plugin_directory.PAGE.read_text(encoding="utf-8")
    assert written == plugin_directory.page(), "run: python tests/docs/plugin_directory.py"


def test_the_directory_has_every_plugin_that_comes_with_bregopt():
    text = plugin_directory.page().split("## In the box")[1].split("## By others")[0]
    own = [plugin.name for plugin in bo.plugins() if plugin.provider == "bregopt"]
    assert re.findall(r"^\| `([\w-]+)` \|", text, re.MULTILINE) == own
    assert len(own) > 10


def test_the_directory_lists_what_is_in_the_box_and_nothing_else():
    text = plugin_directory.page().split("## All names in the box")[1].split("## By others")[0]
    table = re.findall(r"^\| (\w+) \|(.*)\|$", text, re.MULTILINE)
    listed = {(kind, name) for kind, cell in table for name in re.findall(r"`([\w-]+)`", cell)}
    own = {(entry.kind, entry.name) for entry in bo.catalog() if "(bregopt " in entry.provider}
    assert listed == own


def test_every_entry_has_the_form_that_the_file_explains():
    entries = plugin_directory.known()
    assert len({entry["distribution"] for entry in entries}) == len(entries)
    for entry in entries:
        assert set(entry) == {"distribution", "summary", "parts", "source", "licence"}
        assert entry["summary"].endswith(".")
        assert "|" not in "".join([entry["summary"], *entry["parts"]])
        assert entry["parts"]
        assert all(re.fullmatch(r"[\w-]+:[\w-]+", part) for part in entry["parts"])
        assert {part.partition(":")[0] for part in entry["parts"]} <= {it.kind for it in bo.catalog()}


@pytest.mark.usefixtures("fresh_host")
@pytest.mark.parametrize("entry", HERE, ids=lambda entry: entry["distribution"])
def test_an_entry_of_this_repository_registers_what_it_says(entry):
    project = tomllib.loads((ROOT / entry["source"] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["name"] == entry["distribution"]
    (module,) = project["entry-points"]["bregopt"].values()
    file = ROOT / entry["source"] / "src" / module / "__init__.py"
    plugin = bo.load_plugin(file)
    parts = [f"{it.kind}:{it.name}" for it in bo.catalog() if it.provider == plugin.label]
    assert parts == entry["parts"]
    assert ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))


def test_a_long_list_of_names_is_cut_and_counted():
    names = [f"`{k}`" for k in range(plugin_directory.SHOWN + 3)]
    assert plugin_directory.listed(names).endswith(" and 3 more")
    assert "more" not in plugin_directory.listed(names[:-3])
