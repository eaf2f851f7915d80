"""``bregopt plugins``, and the help of the command line."""

import json

import pytest

import bregopt


def test_the_tables_name_every_plugin_and_every_part(call):
    code, out, err = call("plugins")
    assert (code, err) == (0, "")
    for plugin in bregopt.plugins():
        assert plugin.name in out
    lines = out.splitlines()
    for entry in bregopt.catalog():
        assert any(line.split()[:2] == [entry.kind, entry.name] for line in lines)


def test_json_lists_plugins_and_parts_that_fit_together(call):
    code, out, _ = call("plugins", "--json")
    found = json.loads(out)
    assert code == 0
    assert {(part["kind"], part["name"]) for part in found["parts"]} == {(e.kind, e.name) for e in bregopt.catalog()}
    for plugin in found["plugins"]:
        assert set(plugin) == {"name", "provider", "version", "status", "reason", "parts"}
        assert plugin["parts"] == sum(part["plugin"] == plugin["name"] for part in found["parts"])
    l1 = next(part for part in found["parts"] if part["name"] == "l1")
    assert l1["provider"] == "bregopt"
    assert l1["summary"] == "H(X) = η Σ |x_ij|."


@pytest.mark.usefixtures("fresh_host")
def test_a_blocked_plugin_is_listed_with_the_reason(call, monkeypatch):
    monkeypatch.setenv("BREGOPT_BLOCK_PLUGINS", "methods")
    found = json.loads(call("plugins", "--json")[1])
    methods = next(plugin for plugin in found["plugins"] if plugin["name"] == "methods")
    assert (methods["status"], methods["parts"]) == ("blocked", 0)
    assert "BREGOPT_BLOCK_PLUGINS" in methods["reason"]
    assert "BREGOPT_BLOCK_PLUGINS" in call("plugins")[1]


@pytest.mark.usefixtures("fresh_host")
def test_a_plugin_file_is_listed_with_its_parts_as_they_are_written(call, tmp_path):
    (tmp_path / "mine.py").write_text(
        "import bregopt\n\n"
        "class Mine(bregopt.Regularizer):\n"
        "    '''H(X) = [bold]nothing[/bold] :smile:'''\n"
        "    def value(self, X): return 0.0\n"
        "    def prox(self, X, step): return X.copy()\n\n"
        "@bregopt.hookimpl\n"
        "def bregopt_register(registry):\n"
        "    registry.add(bregopt.Regularizer, 'mine', Mine)\n"
    )
    code, out, _ = call("plugins", "--plugin", tmp_path / "mine.py")
    assert code == 0
    assert "H(X) = [bold]nothing[/bold] :smile:" in out


def test_the_version_is_that_of_the_library(call):
    assert call("--version") == (0, f"bregopt, version {bregopt.__version__}\n", "")


@pytest.mark.parametrize("args", [[], ["--help"], ["-h"]])
def test_help_shows_commands_and_examples(args, call):
    code, out, err = call(*args)
    assert (code, err) == (0, "")
    for text in ("solve", "plugins", "Examples:", "bregopt solve data.mtx -r 20 -U 'l1(0.01)'"):
        assert text in out


def test_the_help_of_solve_explains_every_option(call):
    from bregopt.cli.solve import solve

    out = call("solve", "--help")[1]
    for option in solve.params:
        assert option.name == "file" or getattr(option, "help", None)
    for text in ("'l1(0.01)'", "'plateau(1e-6)'", "'aapb(beta=0.6, step=1)'", "Exit codes"):
        assert text in out
