"""Plugins: found, loaded, refused, blocked, and never fatal."""

import importlib.metadata
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import numpy as np
import pytest

import bregopt as bo
from bregopt.errors import BregoptError, DuplicateNameError, FileError, PluginError, PluginWarning, UnknownNameError
from bregopt.host import loading

MINE = '''
import numpy as np
import bregopt as bo

class Mine(bo.Regularizer):
    """``H(X) = w Σ |x_ij|``."""
    traits = bo.Trait.CONVEX | bo.Trait.SEPARABLE | bo.Trait.HOMOGENEOUS
    def __init__(self, w=1.0): self.w = w
    def value(self, X): return self.w * float(np.abs(X).sum())
    def prox(self, X, step): return np.sign(X) * np.maximum(np.abs(X) - step * self.w, 0)

@bo.hookimpl
def bregopt_register(registry):
    registry.add(bo.Regularizer, "NAME", Mine)
'''


def write(path, name="mine", text=MINE):
    path.write_text(text.replace("NAME", name), encoding="utf-8")
    return path


@pytest.fixture
def host():
    return loading.Host()


def entry_points(monkeypatch, tmp_path, **modules):
    """Make the host find these modules, given as source text, as entry points."""
    monkeypatch.syspath_prepend(tmp_path)
    points = []
    for name, text in modules.items():
        (tmp_path / f"{name}_module.py").write_text(text, encoding="utf-8")
        points.append(importlib.metadata.EntryPoint(name.partition("__")[0], f"{name}_module", "bregopt"))
    monkeypatch.setattr(loading.importlib.metadata, "entry_points", lambda group: points)


def test_every_first_party_plugin_is_active():
    plugins = {plugin.name: plugin for plugin in bo.plugins()}
    assert {"kernels", "regularizers", "rules", "relu", "methods"} <= set(plugins)
    for plugin in plugins.values():
        assert plugin.status == "active", plugin
        assert plugin.provider
        assert plugin.version


def test_a_plugin_file_and_the_object_itself_give_the_same_as_the_built_in_part(tmp_path):
    code = f"""
import bregopt as bo, numpy as np
bo.load_plugin({str(write(tmp_path / "my.py"))!r})
M = np.maximum(0, np.random.default_rng(0).standard_normal((12, 9)))
mine = bo.make("regularizer", "mine(0.1)")
for U in ("l1(0.1)", "mine(0.1)", mine):
    result = bo.solve(bo.compose("relu-nmd", M, rank=2, U=U), method="ecd", max_iterations=20)
    print(repr(result.objective))
print([entry.provider for entry in bo.catalog("regularizer") if entry.name == "mine"])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert float(lines[0]) == pytest.approx(float(lines[1]), rel=1e-12)
    assert lines[1] == lines[2]
    assert "my.py" in lines[3]


def test_a_packaged_third_party_plugin_is_discovered(tmp_path):
    home = Path(__file__).parents[1] / "third_party"
    venv.create(tmp_path / "venv", with_pip=False)
    python = tmp_path / "venv" / "bin" / "python"
    target = next((tmp_path / "venv" / "lib").glob("python*")) / "site-packages"
    ours = sysconfig.get_path("purelib")
    (target / "ours.pth").write_text(f"import site; site.addsitedir({ours!r})\n", encoding="utf-8")
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    install += ["--no-build-isolation", "--no-index", "--target", str(target), str(home)]
    subprocess.run(install, check=True, capture_output=True, cwd=tmp_path)
    code = """
import bregopt as bo
entry = next(e for e in bo.catalog("regularizer") if e.name == "halved-l1")
plugin = next(p for p in bo.plugins() if p.name == "thirdparty")
print(entry.provider, plugin.status, plugin.version, bo.make("regularizer", "halved-l1(4)").eta)
"""
    done = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.stdout.strip() == "plugin 'thirdparty' (bregopt-thirdparty 2.5) active 2.5 4", done.stderr


def test_a_plugin_that_raises_on_import_is_reported_by_name_and_skipped(host, monkeypatch, tmp_path):
    entry_points(monkeypatch, tmp_path, good=MINE.replace("NAME", "good"), broken="raise RuntimeError('boom')")
    with pytest.warns(PluginWarning, match=r"plugin 'broken'.*is skipped: RuntimeError: boom"):
        host.load()
    assert {plugin.name: plugin.status for plugin in host.plugins} == {"good": "active", "broken": "failed"}
    assert host.registry.get("regularizer", "good")


def test_a_plugin_that_fails_half_way_leaves_nothing_behind(host, monkeypatch, tmp_path):
    text = MINE.replace("NAME", "half") + "\n    raise ValueError('half way')\n"
    entry_points(monkeypatch, tmp_path, half=text)
    with pytest.warns(PluginWarning, match="half way"):
        host.load()
    with pytest.raises(UnknownNameError):
        host.registry.get("regularizer", "half")


def test_two_plugins_that_provide_one_name_are_an_error_naming_both(host, monkeypatch, tmp_path):
    text = MINE.replace("NAME", "twice")
    entry_points(monkeypatch, tmp_path, first=text, second=text)
    host.load()
    with pytest.raises(DuplicateNameError, match=r"'twice' is provided by plugin 'first'.* and plugin 'second'"):
        host.registry.get("regularizer", "twice")
    assert "twice" in host.plugins[1].reason


def test_two_plugins_of_one_name_are_reported_naming_both(host, monkeypatch, tmp_path):
    entry_points(monkeypatch, tmp_path, same__1=MINE.replace("NAME", "a"), same__2=MINE.replace("NAME", "b"))
    with pytest.warns(
        PluginWarning, match=r"plugin 'same' \(same__2_module\).*taken by plugin 'same' \(same__1_module\)"
    ):
        host.load()
    assert [plugin.status for plugin in host.plugins] == ["active", "failed"]


def test_a_file_that_takes_a_name_is_refused_at_once_and_changes_nothing(host, tmp_path):
    host.load()
    with pytest.raises(DuplicateNameError, match=r"'l1' is provided by plugin 'regularizers'.*clash\.py"):
        host.load_file(write(tmp_path / "clash.py", "l1"))
    assert host.registry.get("regularizer", "l1").provider.startswith("plugin 'regularizers'")


@pytest.mark.parametrize(
    ("variable", "value", "status"),
    [("BREGOPT_BLOCK_PLUGINS", "one", "blocked"), ("BREGOPT_LOAD_PLUGINS", "two", "blocked")],
)
def test_plugins_are_blocked_and_selected_by_environment_variables(
    host, monkeypatch, tmp_path, variable, value, status
):
    entry_points(monkeypatch, tmp_path, one=MINE.replace("NAME", "one"), two=MINE.replace("NAME", "two"))
    monkeypatch.setenv(variable, value)
    host.load()
    assert {plugin.name: plugin.status for plugin in host.plugins} == {"one": status, "two": "active"}
    assert variable in host.plugins[0].reason
    with pytest.raises(UnknownNameError):
        host.registry.get("regularizer", "one")


def test_an_empty_selection_loads_nothing():
    code = "import bregopt as bo; print(bo.catalog())"
    environment = {**os.environ, "BREGOPT_LOAD_PLUGINS": ""}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            MINE.replace("bregopt_register", "bregopt_registr"),
            "unknown hook 'bregopt_registr'. Did you mean 'bregopt_register'",
        ),
        (MINE.replace("@bo.hookimpl", ""), "not marked with @bregopt.hookimpl"),
        ("x = 1", "implements no hook"),
        ("def (", "SyntaxError"),
        ("import sys; sys.exit(0)", "SystemExit: 0"),
        (MINE.replace("    registry.add", "    raise SystemExit('no')\n    registry.add"), "SystemExit: no"),
        (MINE.replace('bo.Regularizer, "NAME"', 'int, "NAME"'), "not an interface of bregopt"),
        (MINE.replace('"NAME"', '"no spaces"'), "letters, digits"),
        (MINE.replace("Mine)", "3)"), "class or function"),
    ],
)
def test_a_faulty_plugin_file_is_refused_with_the_reason(host, tmp_path, text, message):
    with pytest.raises(PluginError, match=r"faulty\.py") as caught:
        host.load_file(write(tmp_path / "faulty.py", text=text))
    assert message in str(caught.value)


def test_a_missing_plugin_file_is_refused(host, tmp_path):
    with pytest.raises(FileError, match="does not exist"):
        host.load_file(tmp_path / "nowhere.py")


def test_loading_a_file_again_replaces_what_it_registered(host, tmp_path):
    path = write(tmp_path / "again.py", "first-name")
    host.load_file(path)
    host.load_file(write(path, "second-name"))
    assert host.registry.get("regularizer", "second-name")
    with pytest.raises(UnknownNameError):
        host.registry.get("regularizer", "first-name")
    assert [plugin.name for plugin in host.plugins].count("again") == 1
    with pytest.raises(PluginError):
        host.load_file(write(path, text="raise ValueError"))
    assert "again" not in [plugin.name for plugin in host.plugins]


def test_an_object_at_hand_is_a_plugin_too(host):
    class Own:
        @bo.hookimpl
        def bregopt_register(self, registry):
            registry.add(bo.Regularizer, "at-hand", bo.Zero)

    assert host.load_object(Own()).status == "active"
    assert isinstance(host.registry.get("regularizer", "at-hand").factory(), bo.Zero)


def test_a_misspelt_plugin_name_in_the_environment_is_reported(host, monkeypatch, tmp_path):
    entry_points(monkeypatch, tmp_path, one=MINE.replace("NAME", "one"))
    monkeypatch.setenv("BREGOPT_BLOCK_PLUGINS", "onne")
    with pytest.warns(PluginWarning, match=r"No plugin is named 'onne'.*Did you mean 'one'"):
        host.load()


def test_a_part_of_the_wrong_kind_is_refused_when_it_is_made(host, tmp_path, monkeypatch):
    text = MINE.replace("NAME", "odd").replace('"odd", Mine', '"odd", lambda: 3')
    entry_points(monkeypatch, tmp_path, odd=text)
    monkeypatch.setattr(bo.host.compose, "host", lambda: host)
    with pytest.raises(BregoptError, match=r"must return a Regularizer, as .odd. is registered\. It returned 3"):
        bo.make("regularizer", "odd")


def test_the_catalog_tells_name_kind_summary_and_provider():
    entry = next(entry for entry in bo.catalog("regularizer") if entry.name == "l1")
    assert (entry.kind, entry.summary) == ("regularizer", "``H(X) = η Σ |x_ij|``.")
    assert entry.provider.startswith("plugin 'regularizers' (bregopt")
    assert {entry.kind for entry in bo.catalog()} >= {"kernel", "method", "stop", "start", "problem", "step"}
    with pytest.raises(UnknownNameError, match="Did you mean 'regularizer'"):
        bo.catalog("regulariser")


def test_hooks_do_not_run_inside_the_loop(monkeypatch):
    problem = bo.compose("relu-nmd", np.eye(6) + 0.1, rank=2)
    calls = []
    manager = bo.host.compose.host().manager
    undo = manager.add_hookcall_monitoring(lambda name, impls, kwargs: calls.append(name), lambda *args: None)
    try:
        bo.solve(problem, max_iterations=5)
    finally:
        undo()
    assert calls == []


@pytest.mark.parametrize("method", ["bpalm", "bpalm(inertia=true)", "bpdca", "dcae"])
def test_a_method_that_resolves_maps_of_its_own_asks_no_more_the_longer_it_runs(method):
    problem = bo.compose("relu-nmd", np.eye(6) + 0.1, rank=2, U="l1(0.1)", V="l1(0.1)")
    manager, asked = bo.host.compose.host().manager, []
    for iterations in (3, 12):
        calls = []
        undo = manager.add_hookcall_monitoring(
            lambda name, impls, kwargs, calls=calls: calls.append(name), lambda *args: None
        )
        try:
            bo.solve(problem, method=method, max_iterations=iterations)
        finally:
            undo()
        asked.append(len(calls))
    assert asked[0] == asked[1]


ALIASED = """
import bregopt as bo

@bo.hookimpl
def bregopt_register(registry):
    registry.add(bo.Regularizer, "{name}", bo.Zero, aliases=({aliases}))
"""


def test_a_part_is_found_by_its_other_names_and_by_any_case(host, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(ALIASED.format(name="own-part", aliases="'ours', 'Mine-Too',"), encoding="utf-8")
    host.load()
    host.load_file(file)
    for name in ("own-part", "ours", "OwnPart", "OWN_PART", "minetoo"):
        assert host.registry.get("regularizer", name).factory is bo.Zero
    (entry,) = [it for it in host.registry.entries("regularizer") if it.provider.startswith("plugin 'mine'")]
    assert entry.names == ("own-part", "ours", "Mine-Too")


@pytest.mark.parametrize(
    ("name", "aliases", "told"),
    [
        ("lasso", "", "The regularizer 'lasso' is provided by .*'regularizers'.*, as another name of 'l1' and .*mine"),
        ("own", "'ridge',", "The regularizer 'ridge' is provided by .*'regularizers'.* and .*as another name of 'own'"),
        ("own", "'l2',", "'l2' is provided by .*as another name of 'ridge' and .*as another name of 'own'"),
    ],
)
def test_an_alias_that_is_taken_is_an_error_naming_both(host, name, aliases, told, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(ALIASED.format(name=name, aliases=aliases), encoding="utf-8")
    with pytest.raises(DuplicateNameError, match=told):
        host.load_file(file)
    assert host.registry.get("regularizer", "l2").name == "ridge"


@pytest.mark.parametrize("aliases", ["'two words',", "'one'"])
def test_an_alias_that_is_no_name_is_refused(host, aliases, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(ALIASED.format(name="own", aliases=aliases), encoding="utf-8")
    with pytest.raises(PluginError, match=r"a name holds letters|must be a tuple of names"):
        host.load_file(file)
