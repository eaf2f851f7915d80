"""``bregopt new``: what it writes is right at once, and what it refuses leaves nothing behind."""

import json
import os
import re
import shlex
import subprocess
import sys
import sysconfig
import textwrap
import tomllib
import venv
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import bregopt as bo
from bregopt.cli.main import main
from bregopt.cli.new import contents
from bregopt.host.compose import examples

RULES = ["method", "extrapolation", "step", "stop", "start"]
KINDS = ["regularizer", "kernel", "problem", *RULES, "loss", "model"]
END = "\x1e"
every_kind = pytest.mark.parametrize("kind", KINDS)


def python(code, folder, executable=sys.executable, options=("-W", "error")):
    settings = os.environ | {"PYTHONIOENCODING": "utf-8"}
    command = [str(executable), *options, *(["-c", code] if isinstance(code, str) else code)]
    return subprocess.run(command, cwd=folder, env=settings, capture_output=True, encoding="utf-8", check=False)


@every_kind
def test_a_package_is_written_and_the_files_are_named(kind, call, tmp_path):
    code, out, err = call("new", kind, "my-part", "--dir", tmp_path)
    assert (code, err) == (0, "")
    files = ["README.md", "pyproject.toml", "src/bregopt_my_part/__init__.py", "tests/test_my_part.py"]
    written = sorted(str(path.relative_to(tmp_path / "my-part")) for path in tmp_path.rglob("*") if path.is_file())
    assert written == files
    assert all(file in out for file in files)
    assert [path.name for path in tmp_path.iterdir()] == ["my-part"]
    for path in (tmp_path / "my-part").rglob("*"):
        if path.is_file():
            assert "$" not in path.read_text(encoding="utf-8")
    project = tomllib.loads((tmp_path / "my-part" / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["name"] == "bregopt-my-part"
    assert project["project"]["entry-points"]["bregopt"] == {"my-part": "bregopt_my_part"}
    assert "bregopt" in project["project"]["dependencies"]


@every_kind
def test_a_whole_repository_has_all_that_is_needed_to_publish_it(kind, call, tmp_path):
    code, out, err = call("new", kind, "my-part", "--dir", tmp_path, "--package")
    assert (code, err) == (0, "")
    home = tmp_path / "my-part"
    beside = {".gitignore", ".github/workflows/checks.yml", "LICENSE", "badge.svg"}
    written = {str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()}
    assert written == beside | set(contents(kind, "my-part"))
    assert all(file in out for file in written)
    project = tomllib.loads((home / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["license"] == "BSD-3-Clause"
    assert project["license-files"] == ["LICENSE"]
    readme = (home / "README.md").read_text(encoding="utf-8")
    assert all((home / target).exists() for target in re.findall(r"\]\(([^)]+)\)", readme))
    assert "](badge.svg)" in readme
    workflow = (home / ".github" / "workflows" / "checks.yml").read_text(encoding="utf-8")
    assert "${{ matrix.python }}" in workflow
    assert re.findall(r"run: (?:bregopt|python -m) (\w+)", workflow) == ["pip", "check", "pytest"]
    assert "not checked yet" in (home / "badge.svg").read_text(encoding="utf-8")


def test_the_badge_is_written_by_the_command_that_is_told(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    out = call("new", "step", "my-step", "--package")[1]
    told = next(shlex.split(line) for line in out.splitlines() if "--badge" in line)
    file = Path("my-step", "src", "bregopt_my_step", "__init__.py")
    code, printed, _ = call("check", file, *told[3:])
    assert code == 0
    badge = ElementTree.parse("my-step/badge.svg").getroot()
    assert badge.get("aria-label") in printed
    passed, applicable = re.search(r"(\d+) of (\d+) checks passed", badge.get("aria-label")).groups()
    assert passed == applicable != "0"


def test_the_next_commands_are_told_with_a_path_that_a_shell_understands(call, tmp_path, monkeypatch):
    (tmp_path / "my plugins").mkdir()
    monkeypatch.chdir(tmp_path)
    out = call("new", "regularizer", "row-sparse", "--dir", "my plugins")[1]
    commands = [shlex.split(line) for line in out.partition("Next:")[2].splitlines() if line]
    assert commands[0] == ["python", "-m", "pip", "install", "-e", "./my plugins/row-sparse"]
    assert ["bregopt", "check", "row-sparse"] in commands
    assert commands[-1] == ["python", "-m", "pytest", "./my plugins/row-sparse"]


@every_kind
@pytest.mark.parametrize("name", ["my-part", "L21", "x", "Array", "any", "lambda", "a-1-b"])
def test_the_code_compiles_for_every_name_that_is_allowed(kind, name):
    files = contents(kind, name)
    for path, text in files.items():
        if path.endswith(".py"):
            compile(text, path, "exec")
            assert all(len(line) <= 120 for line in text.splitlines())


REFUSED = ["no spaces", "under_score", "1st", "-x", "x-", "a--b", "../up", "", "naïve", "none", "TRUE", "x.y"]


@pytest.mark.parametrize("name", REFUSED)
def test_a_name_that_cannot_be_used_is_refused_and_nothing_is_written(name, call, tmp_path):
    code, out, err = call("new", "regularizer", "--dir", tmp_path, "--", name)
    assert (code, out) == (2, "")
    assert err.startswith("bregopt: error: The 'NAME' parameter of bregopt new must be letters and digits")
    assert repr(name) in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("kind", "name", "owner"),
    [("regularizer", "l1", "plugin 'regularizers'"), ("problem", "Kernels", "plugin 'kernels'")],
)
def test_a_name_that_is_taken_is_refused_with_its_owner(kind, name, owner, call, tmp_path):
    code, _, err = call("new", kind, name, "--dir", tmp_path)
    assert code == 2
    assert f"The name '{name}' is taken by {owner}" in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("what", ["file", "folder", "link"])
def test_an_existing_target_is_refused_and_stays_as_it_was(what, call, tmp_path):
    target = tmp_path / "mine"
    if what == "file":
        target.write_text("kept")
    elif what == "folder":
        target.mkdir()
    else:
        target.symlink_to(tmp_path / "nowhere")
    code, _, err = call("new", "kernel", "mine", "--dir", tmp_path)
    assert code == 2
    assert "exists already" in err
    assert list(tmp_path.iterdir()) == [target]
    assert what != "file" or target.read_text() == "kept"
    assert what != "folder" or list(target.iterdir()) == []


def test_a_missing_folder_is_refused(call, tmp_path):
    code, _, err = call("new", "kernel", "mine", "--dir", tmp_path / "nowhere")
    assert code == 2
    assert "does not exist" in err


def test_what_fails_half_way_leaves_nothing_behind(call, tmp_path, monkeypatch):
    def refuse(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("bregopt.cli.new.os.rename", refuse)
    code, _, err = call("new", "kernel", "mine", "--dir", tmp_path)
    assert code == 2
    assert "No space left on device" in err
    assert list(tmp_path.iterdir()) == []


def test_a_kind_that_cannot_be_made_is_refused(call, tmp_path):
    code, _, err = call("new", "smooth", "mine", "--dir", tmp_path)
    assert code == 2
    assert f"must be one of {', '.join(map(repr, KINDS))}. Got 'smooth' instead." in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("fresh_host")
def test_a_plugin_brings_the_templates_of_its_kinds(call, tmp_path, monkeypatch):
    package = tmp_path / "colours"
    (package / "templates").mkdir(parents=True)
    (package / "templates" / "__init__.py").touch()
    template = "SUMMARY = 'a colour'\nUSAGE = ''\nTRY = 'bregopt plugins'\nCODE = 'name = \"$name\"'\n"
    (package / "templates" / "deep_red.py").write_text(template, encoding="utf-8")
    (package / "__init__.py").write_text(
        "import bregopt as bo\n\nclass Red: ...\nclass Blue: ...\n\n@bo.hookimpl\ndef bregopt_register(registry):\n"
        "    registry.kind('deep-red', Red)\n    registry.kind('blue', Blue)\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "plugin.py").write_text("from colours import bregopt_register\n", encoding="utf-8")
    bo.load_plugin(tmp_path / "plugin.py")
    code, out, _ = call("new", "deep-red", "wine", "--dir", tmp_path)
    assert code == 0
    assert "bregopt check wine" in out
    assert (tmp_path / "wine" / "src" / "bregopt_wine" / "__init__.py").read_text(encoding="utf-8") == 'name = "wine"'
    code, _, err = call("new", "blue", "sky", "--dir", tmp_path)
    assert code == 2
    assert "'model', 'deep-red'. Got 'blue' instead." in err


USES = {
    "regularizer": """
        problem = bo.compose("relu-nmd", M, rank=4, U="my-part(0.2)", V="my-part(0.2)", kernel="paper")
        result = bo.solve(problem, max_iterations=40)
        """,
    "kernel": """
        problem = bo.compose("relu-nmd", M, rank=4, kernel="my-part(b=48)")
        result = bo.solve(problem, method="aapb(step=monotone)", max_iterations=40)
        kernel = bo.make("kernel", "my-part(b=0.3)")
        P = bo.Blocks(x=[-1e6, -3.0, -1e-9, 0.0, 2.0, 1e3])
        assert (P + kernel.gradient(bo.bregman_prox(kernel, "none")(P, 1.0))).norm() <= 1e-12 * P.norm()
        try:
            bo.compose("relu-nmd", M, rank=4, U="l1(0.1)", kernel="my-part")
        except bo.errors.IncompatibleError as error:
            assert "No plugin solves" in str(error)
        else:
            raise AssertionError("a pair that nobody solves was composed")
        """,
    "problem": """
        truth = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 30))
        seen = np.where(rng.random(truth.shape) < 0.5, truth, np.nan)
        problem = bo.compose("my-part", seen, rank=2)
        for method in ("apb", "aapb"):
            assert bo.solve(problem, method=method, max_iterations=40).certificate.guaranteed
        result = bo.solve(problem, method="aapb(w=Ybar)", max_iterations=200)
        assert np.linalg.norm(result.W - truth) < 0.1 * np.linalg.norm(truth)
        assert result.metrics["relative_error"] < 0.1
        for bad in (dict(M=np.zeros((3, 3)), rank=1), dict(M=seen, rank=31), dict(M=seen, rank=True)):
            try:
                bo.compose("my-part", **bad)
            except ValueError as error:
                print(type(error).__name__)
            else:
                raise AssertionError("wrong input was taken")
        """,
    "method": """
        problem = bo.compose("relu-nmd", M, rank=3, U="l1(0.1)", V="l1(0.1)")
        result = bo.solve(problem, method="my-part", max_iterations=40)
        """,
    "extrapolation": """
        problem = bo.compose("relu-nmd", M, rank=3)
        result = bo.solve(problem, method="aapb(beta=my-part(0.5))", max_iterations=40)
        """,
    "step": """
        problem = bo.compose("relu-nmd", M, rank=3)
        result = bo.solve(problem, method="apb(step=my-part(0.7))", max_iterations=40)
        """,
    "stop": """
        problem = bo.compose("relu-nmd", M, rank=3, U="l1(9)", V="l1(9)")
        result = bo.solve(problem, method="apb", stop="my-part(0.9)")
        assert (result.Y.flat == 0).mean() >= 0.9 and result.status is bo.Status.TARGET, result.reason
        """,
    "start": """
        problem = bo.compose("relu-nmd", M, rank=3)
        result = bo.solve(problem, method="apb", start="my-part(0.5)", max_iterations=40)
        assert 0 <= next(bo.iterate(problem, start="my-part(0.5)")).Y.flat.min()
        """,
    "model": """
        problem = bo.compose("low-rank", M + 3.0, rank=2, model="my-part")
        result = bo.solve(problem, method="apb", max_iterations=40)
        assert bo.solve(problem, max_iterations=100).metrics["relative_error"] < 0.25
        """,
    "loss": """
        M[rng.random(M.shape) < 0.1] = np.nan
        problem = bo.compose("low-rank", M, rank=3, loss="my-part(0.5)")
        for method in ("apb", "aapb"):
            assert bo.solve(problem, method=method, max_iterations=20).certificate.guaranteed
        assert bo.solve(problem, method="hybrid", max_iterations=20).certificate.monotone
        result = bo.solve(problem, method="aapb(w=Ybar)", max_iterations=40)
        mixed = bo.compose("low-rank", M, rank=3, loss={"0:7": "my-part", "7:": "huber(1)"})
        assert bo.solve(mixed, method="aapb", max_iterations=20).certificate.monotone
        """,
}


@every_kind
@pytest.mark.usefixtures("fresh_host")
def test_the_module_loads_as_a_file_and_its_parts_work(kind, call, tmp_path, capsys):
    call("new", kind, "my-part", "--dir", tmp_path)
    bo.load_plugin(tmp_path / "my-part" / "src" / "bregopt_my_part" / "__init__.py")
    rng = np.random.default_rng(0)
    seen = {"np": np, "bo": bo, "rng": rng, "M": np.maximum(0, rng.standard_normal((20, 15)))}
    exec(textwrap.dedent(USES[kind]), seen)
    certificate = seen["result"].certificate
    assert certificate.monotone, certificate.summary()
    assert kind == "kernel" or certificate.guaranteed, certificate.summary()
    entry = next(entry for entry in bo.catalog(kind) if entry.name == "my-part")
    assert entry.summary
    assert any(label.startswith("my-part") for label, _ in examples(kind))
    if kind == "problem":
        assert capsys.readouterr().out.split() == ["DataError", "ParameterError", "ParameterError"]


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """An environment of its own that holds all the packages, and sees what is installed here."""
    home = tmp_path_factory.mktemp("new")
    venv.create(home / "venv", with_pip=False)
    target = next((home / "venv" / "lib").glob("python*")) / "site-packages"
    ours = sysconfig.get_path("purelib")
    (target / "ours.pth").write_text(f"import site; site.addsitedir({ours!r})\n", encoding="utf-8")
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    install += ["--no-build-isolation", "--no-index", "--target", str(target)]
    for kind in KINDS:
        with pytest.raises(SystemExit):
            main(["new", kind, f"own-{kind}", "--package", "--dir", str(home)])
        install.append(str(home / f"own-{kind}"))
    subprocess.run(install, check=True, capture_output=True, cwd=home)
    return home


LIST_AND_CHECK = f"""
import sys
import bregopt as bo
from bregopt.cli.main import main

for kind in sys.argv[1:]:
    print([entry.provider for entry in bo.catalog(kind) if entry.name == f"own-{{kind}}"])
    try:
        main(["check", f"own-{{kind}}", "--json"])
    except SystemExit as end:
        print(end.code, end={END!r})
"""


@pytest.fixture(scope="module")
def told(environment):
    """What one process in that environment prints of each kind."""
    executable = environment / "venv" / "bin" / "python"
    done = python(["-c", LIST_AND_CHECK, *KINDS], environment, executable)
    assert done.stderr == ""
    return dict(zip(KINDS, done.stdout.split(END), strict=False))


@every_kind
def test_an_installed_package_is_found_and_checked_by_its_name(kind, told):
    provider, *checked, code = told[kind].splitlines()
    assert provider == f"[\"plugin 'own-{kind}' (bregopt-own-{kind} 0.1.0)\"]"
    assert code == "0", checked
    parts = json.loads("\n".join(checked))["parts"]
    assert parts
    assert all(part["ok"] and part["outcomes"] for part in parts)


@pytest.mark.parametrize(
    ("kind", "right", "wrong", "check"),
    [
        ("regularizer", "float(step * self.eta)", "float(2 * step * self.eta)", "prox/variational"),
        ("kernel", "0.5 * z**2 +", "0.4 * z**2 +", "divergence/definition"),
        ("loss", "(1.0 + root), z / root,", "(1.0 + root), 1.01 * z / root,", "loss/slope"),
        ("loss", "return 1.0\n", "return 0.9\n", "loss/bound"),
        ("method", "iteration=state.iteration + 1,", "iteration=state.iteration,", "states/told"),
        ("extrapolation", "0.99 * context.longest)", "0.99)", "beta/"),
        ("step", "self.shrink * trial.step)", "trial.step / self.shrink)", "step/refuses"),
        ("stop", "return bo.Verdict(bo.Status.TARGET, ", "return (bo.Status.TARGET, ", "stop/verdicts"),
        ("start", "like(rng.uniform(", "like(np.random.default_rng().uniform(", "start/seeded"),
        ("start", "own.flat.size))", "own.flat.size) / 0.0)", "start/points"),
        ("model", "else on_factor[r:]", "else 0.9 * on_factor[r:]", "model/pull"),
    ],
)
@pytest.mark.usefixtures("fresh_host")
def test_a_mistake_in_the_example_is_found_by_the_kit(kind, right, wrong, check, call, tmp_path):
    call("new", kind, "my-part", "--dir", tmp_path)
    file = tmp_path / "my-part" / "src" / "bregopt_my_part" / "__init__.py"
    text = file.read_text(encoding="utf-8")
    assert text.count(right) == 1
    file.write_text(text.replace(right, wrong), encoding="utf-8")
    code, out, err = call("check", file)
    assert (code, err) == (1, ""), out
    assert check in out


def test_the_test_of_each_installed_package_passes(environment):
    quick = "not (test_own_problem and smad)"  # those take long, and 'bregopt check' runs them above
    packages = [str(environment / f"own-{kind}") for kind in KINDS]
    command = ["-m", "pytest", "-p", "no:cacheprovider", "-k", quick, *packages]
    done = python(command, environment, environment / "venv" / "bin" / "python")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [kind for kind in KINDS if f"test_own_{kind}.py ." not in done.stdout] == []


def test_the_readme_of_each_kind_runs(environment):
    code = ""
    for kind in KINDS:
        text = (environment / f"own-{kind}" / "README.md").read_text(encoding="utf-8")
        code += f"exec({text.partition('```python')[2].partition('```')[0]!r}, {{}})\nprint(end={END!r})\n"
    done = python(code, environment, environment / "venv" / "bin" / "python")
    assert done.returncode == 0, done.stderr
    for kind, printed in zip(KINDS, done.stdout.split(END), strict=False):
        assert "never rose" in printed or kind in ("stop", "start", "model")


def test_the_documentation_shows_what_is_printed(call, tmp_path, monkeypatch):
    page = (Path(__file__).parents[2] / "docs" / "write-a-plugin.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert f"```text\n{call('new', 'regularizer', 'row-sparse')[1]}```" in page


def test_new_is_listed_in_the_help(call):
    assert "new" in call("--help")[1]
    out = call("new", "--help")[1]
    assert "bregopt new regularizer row-sparse" in out
    assert bo.__version__ == call("--version")[1].split()[-1]
