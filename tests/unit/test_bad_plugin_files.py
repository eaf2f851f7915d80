"""Bad plugin files: as they are loaded, through the hooks, on the command line and in the conformance kit."""

import json
import re

import numpy as np
import pytest

import bregopt as bo
from bregopt.errors import PartError, PluginError

pytestmark = pytest.mark.usefixtures("fresh_host")
M = np.maximum(0, np.random.default_rng(0).standard_normal((8, 6)))
FILE = '''import sys
import numpy as np
import bregopt as bo

class Bad(bo.Regularizer):
    """``H(X) = 0``."""
    traits = bo.Trait.CONVEX
    def value(self, X):
        {value}
    def prox(self, X, step):
        {prox}

@bo.hookimpl
def bregopt_register(registry):
    {register}

{more}
'''
GOOD = {
    "value": "return 0.0",
    "prox": "return X.copy()",
    "register": 'registry.add(bo.Regularizer, "bad", Bad)',
    "more": "",
}


def written(tmp_path, **changed):
    """A plugin file, right but for what is changed."""
    path = tmp_path / "bad.py"
    path.write_text(FILE.format(**GOOD | changed), encoding="utf-8")
    return path


def hook(name, body):
    return f"@bo.hookimpl\ndef bregopt_{name}:\n    {body}"


def line_of(path, text):
    """``bad.py:7`` for the line that holds the text."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return f"bad.py:{1 + next(n for n, line in enumerate(lines) if text in line)}"


def compose(path):
    bo.load_plugin(path)
    return bo.compose("relu-nmd", M, rank=2, U="bad")


AT_LOADING = {
    "a statement that raises": ({"more": "{}['planted']"}, "KeyError: 'planted'"),
    "a module that ends the program": ({"more": "sys.exit(0)  # planted"}, "SystemExit: 0"),
    "a registration that raises": ({"register": "1 / 0  # planted"}, "ZeroDivisionError"),
    "a registration that ends the program": ({"register": "sys.exit(0)  # planted"}, "SystemExit: 0"),
    "a class without its methods": (
        {"register": "registry.add(bo.Regularizer, 'bad', Planted)", "more": "class Planted(bo.Regularizer): pass"},
        "lacks what every Regularizer has: prox, value",
    ),
}


@pytest.mark.parametrize("case", AT_LOADING)
def test_a_file_that_fails_as_it_is_loaded_is_one_error_with_its_line(case, tmp_path):
    changed, told = AT_LOADING[case]
    path = written(tmp_path, **changed)
    with pytest.raises(PluginError, match=re.escape(told)) as caught:
        bo.load_plugin(path)
    shown = "class Planted" if "Planted" in changed.get("more", "") else "lanted"
    assert line_of(path, shown) in str(caught.value)


HOOKS = {
    "resolve_prox raises": hook("resolve_prox(kernel, regularizer)", "raise KeyError('planted')"),
    "resolve_prox ends the program": hook("resolve_prox(kernel)", "sys.exit(0)  # planted"),
    "resolve_prox returns a number": hook("resolve_prox(kernel, regularizer)", "return 3"),
    "resolve_prox returns a list": hook("resolve_prox(regularizer)", "return [None]"),
    "resolve_oracle raises": hook("resolve_oracle(smooth, block)", "raise TypeError('planted')"),
    "resolve_oracle returns a list": hook("resolve_oracle(smooth, block)", "return [1, 2]"),
    "resolve_oracle returns nothing that is true": hook("resolve_oracle(block)", "return 0"),
    "resolve_oracle returns a class": hook("resolve_oracle(smooth)", "return bo.PlainOracle"),
    "resolve_data raises": hook("resolve_data(data)", "return data.planted"),
    "resolve_data calls itself": hook("resolve_data(data)", "return bregopt_resolve_data(data)  # planted"),
}


@pytest.mark.parametrize("case", HOOKS)
def test_a_hook_that_raises_or_returns_garbage_is_named_with_its_line(case, tmp_path):
    path = written(tmp_path, more=HOOKS[case])
    with pytest.raises(PartError, match=f"bregopt_{case.split()[0]}") as caught:
        compose(path)
    line = int(re.search(r"bad\.py:(\d+)", str(caught.value))[1])
    lines = path.read_text(encoding="utf-8").splitlines()
    assert any(case.split()[0] in near for near in lines[line - 2 : line + 1])


@pytest.mark.parametrize("answer", ["return 3", "return [1, 2]", "return 1 / 0", "return [('one', 2, 3)]"])
def test_examples_that_are_no_pairs_are_named_with_their_hook(answer, tmp_path):
    path = written(tmp_path, more=hook("examples(kind)", answer))
    bo.load_plugin(path)
    from bregopt.host.compose import examples

    with pytest.raises(PartError, match=r"bregopt_examples .*bad\.py:\d+"):
        examples("regularizer")


@pytest.mark.parametrize("answer", ["return [('one', 2)]", "return [('one', (2, 3))]"])
def test_an_example_of_a_problem_is_a_problem_at_a_point(answer, tmp_path):
    from bregopt.host.compose import examples

    bo.load_plugin(written(tmp_path, more=hook("examples(kind)", answer)))
    with pytest.raises(PartError, match=r"bregopt_examples must return .*bad\.py:\d+"):
        examples("problem")


@pytest.mark.parametrize("factory", ["lambda: 3", "lambda: None", "dict", "Bad().prox"])
def test_a_factory_that_makes_something_else_is_an_error(factory, tmp_path):
    path = written(tmp_path, register=f'registry.add(bo.Regularizer, "bad", {factory})')
    with pytest.raises(bo.errors.BregoptError, match="bad"):
        compose(path)


def test_a_factory_that_refuses_its_parameters_says_where(tmp_path):
    path = written(tmp_path, more="def refuse():\n    raise ValueError('planted')", register=(
        'registry.add(bo.Regularizer, "bad", refuse)'
    ))  # fmt: skip
    with pytest.raises(bo.errors.ParameterError, match="refused its parameters: planted") as caught:
        compose(path)
    assert line_of(path, "planted") in str(caught.value)


COMMAND_LINE = {
    "a prox that is broadcast": ({"prox": "return X[:1]"}, "Bad.prox must return"),
    "a prox that is None": ({"prox": "return None"}, "It returned None"),
    "a prox that raises": ({"prox": "raise RuntimeError('two\\nlines')"}, "Bad.prox raised RuntimeError: two lines"),
    "a prox that ends the program": ({"prox": "sys.exit(0)"}, "Bad.prox raised SystemExit: 0"),
    "a prox of nan": ({"prox": "return X * np.nan"}, "with nan or inf"),
    "a value that is text": ({"value": "return 'low'"}, "Bad.value must return a number. It returned 'low'"),
    "a value that raises": ({"value": "return X.nothing"}, "Bad.value raised AttributeError"),
    "a hook that raises": ({"more": HOOKS["resolve_prox raises"]}, "bregopt_resolve_prox raised KeyError"),
    "a hook of garbage": ({"more": HOOKS["resolve_oracle returns a list"]}, "bregopt_resolve_oracle must return"),
    "a registration that raises": ({"register": "1 / 0"}, "cannot be loaded: ZeroDivisionError"),
    "a module that ends the program": ({"more": "sys.exit(0)"}, "cannot be loaded: SystemExit"),
    "a class without its methods": AT_LOADING["a class without its methods"],
}


@pytest.mark.parametrize("case", COMMAND_LINE)
def test_a_bad_plugin_is_one_line_on_the_command_line(case, call, tmp_path):
    changed, told = COMMAND_LINE[case]
    np.save(tmp_path / "M.npy", M)
    path = written(tmp_path, **changed)
    code, out, err = call("solve", tmp_path / "M.npy", "--plugin", path, "-U", "bad", "--max-iterations", 3)
    assert (code, out) == (2, "")
    assert err.startswith("bregopt: error: ")
    assert err.count("\n") == 1
    assert told in err
    assert re.search(r"bad\.py:\d+", err)


@pytest.mark.parametrize(
    ("prox", "told"), [(case["prox"], told) for case, told in COMMAND_LINE.values() if "prox" in case]
)
def test_the_kit_names_the_line_and_fails(prox, told, call, tmp_path):
    code, out, err = call("check", written(tmp_path, prox=prox), "--json")
    assert (code, err) == (1, "")
    outcomes = {it["name"]: it for it in json.loads(out)["parts"][0]["outcomes"]}
    assert outcomes["results/usable"]["status"] == "failed"
    assert re.search(r"bad\.py:\d+", outcomes["results/usable"]["message"])
    assert "Traceback" not in out


def test_the_kit_tells_of_a_kernel_that_returns_garbage():
    class Text(bo.Kernel):
        strong_convexity = 1.0

        def value(self, Y):
            return "high"

        def gradient(self, Y):
            return Y

        def divergence(self, Y, Z):
            return 0.0

    outcome = bo.testing.check(Text()).outcomes[0]
    assert (outcome.name, outcome.status) == ("results/usable", bo.testing.Status.FAILED)
    assert "Text.value must return a number. It returned 'high'" in outcome.message
    assert "test_bad_plugin_files.py:" in outcome.message


def test_a_command_of_a_plugin_that_raises_is_one_line(call, tmp_path):
    command = "import click\n@click.command()\ndef planted():\n    '''Fail.'''\n    {}['x']\n"
    bo.load_plugin(written(tmp_path, more=command + hook("commands(cli)", "cli.add_command(planted)")))
    code, out, err = call("planted")
    assert (code, out) == (2, "")
    assert re.fullmatch(r"bregopt: error: planted raised KeyError: 'x' \(.*bad\.py:\d+\).*\n", err)
