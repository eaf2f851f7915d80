"""``bregopt bench export``: the folder is complete, its solvers minimise one Φ, and benchopt runs it if it is there."""

import ast
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from bregopt_bench.benchopt.command import METHODS, OF_NMF, config

import bregopt as bo

CLASSES = {"objective": "Objective", "datasets": "Dataset", "solvers": "Solver"}
NEEDED = {
    "Objective": {"set_data", "get_objective", "evaluate_result", "get_one_result"},
    "Dataset": {"get_data"},
    "Solver": {"set_objective", "run", "get_result"},
}


@pytest.fixture
def folder(call, tmp_path):
    assert call("bench", "export", tmp_path / "race")[0] == 0
    return tmp_path / "race"


@pytest.fixture
def load(folder, monkeypatch):
    """Makes an objective, a data set or a solver, on classes that stand for those of benchopt."""
    stand_in = ModuleType("benchopt")
    for name in ("BaseObjective", "BaseDataset", "BaseSolver"):
        setattr(stand_in, name, type(name, (), {"run_once": lambda self, stop: None}))
    monkeypatch.setitem(sys.modules, "benchopt", stand_in)

    def made(path, **parameters):
        spec = importlib.util.spec_from_file_location(f"exported_{Path(path).stem}", folder / path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        it = getattr(module, CLASSES[Path(path).parts[0].removesuffix(".py")])()
        for name, values in {**getattr(it, "parameters", {}), **{key: [it] for key, it in parameters.items()}}.items():
            setattr(it, name, values[0])
        return it

    return made


def run(solver, rounds):
    """So many points of a solver, as benchopt asks for them."""
    if solver.sampling_strategy == "iteration":
        solver.run(rounds)
    else:
        left = iter(range(rounds + 1))
        solver.run(lambda: next(left, rounds) < rounds)
    return solver.get_result()


def test_the_folder_has_what_benchopt_looks_for_and_says_how_to_run_it(call, tmp_path):
    code, out, err = call("bench", "export", tmp_path / "race")
    assert (code, err) == (0, "")
    files = {str(path.relative_to(tmp_path / "race")) for path in (tmp_path / "race").rglob("*") if path.is_file()}
    assert {"objective.py", "race.yml", "README.md", "solvers/bregopt.py", "datasets/matrix.py"} <= files
    assert all(file in out for file in files)
    assert "benchopt run " in out
    for file in files:
        if file.endswith(".py"):
            tree = ast.parse((tmp_path / "race" / file).read_text(encoding="utf-8"))
            (found,) = [node for node in tree.body if isinstance(node, ast.ClassDef)]
            assert found.name == CLASSES[file.partition("/")[0].removesuffix(".py")]
            names = {node.name for node in found.body if isinstance(node, ast.FunctionDef)}
            assert NEEDED[found.name] <= names


def test_the_race_is_told_who_takes_part_and_on_what(call, tmp_path):
    np.save(tmp_path / "M.npy", np.eye(4))
    asked = ["-r", 2, "-r", 3, "--problem", "nmf", "--method", "palm", "--method", "aapb(0.6, 1)", "--ridge", 0.5]
    matrices = [os.path.relpath(tmp_path / "M.npy"), "synthetic(30, 20, 3)"]
    assert call("bench", "export", tmp_path / "race", *matrices, *asked)[0] == 0
    said = json.loads((tmp_path / "race" / "race.yml").read_text(encoding="utf-8"))
    assert said["objective"] == [{"Low rank": {"model": ["nmf"], "rank": [2, 3], "ridge": [0.5]}}]
    assert said["dataset"] == [{"Matrix": {"which": [str((tmp_path / "M.npy").resolve()), "synthetic(30, 20, 3)"]}}]
    assert said["solver"] == [{"bregopt": {"method": ["palm", "aapb(0.6, 1)"]}}, "L-BFGS-B", *OF_NMF]


def test_the_solvers_that_are_named_are_those_of_the_folder(folder, load):
    names = {load(f"solvers/{path.name}").name for path in (folder / "solvers").glob("*.py")}
    named = config(["mycielskian"], "nmf", [2], 0.1, METHODS)["solver"]
    assert {name if isinstance(name, str) else next(iter(name)) for name in named} == names
    assert {bo.parse_spec(name).name for name in METHODS} <= {entry.name for entry in bo.catalog("method")}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [([], "exists already"), (["nothing.npy"], "nor a file"), (["--method", "plam"], "Did you mean")],
)
def test_what_cannot_be_exported_is_refused_and_nothing_is_written(arguments, text, call, tmp_path):
    target = tmp_path if not arguments else tmp_path / "race"
    code, out, err = call("bench", "export", target, *arguments)
    assert (code, out) == (2, "")
    assert text in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("model", ["nmf", "relu-nmd"])
def test_every_solver_minimises_what_the_objective_measures(model, load):
    objective = load("objective.py", model=model, rank=3)
    objective.set_data(**load("datasets/simulated.py", size=(30, 20, 3)).get_data())
    given = objective.get_objective()
    solvers = [load("solvers/bregopt.py", method="auto"), load("solvers/bregopt.py"), load("solvers/l_bfgs_b.py")]
    solvers += [load("solvers/scikit_learn.py"), load("solvers/numpy_hals.py")] if model == "nmf" else []
    reached = []
    for solver in solvers:
        solver.set_objective(**given)
        start = objective.evaluate_result(**solver.get_result())["value"]
        assert start == objective.evaluate_result(given["U0"], given["V0"])["value"]
        reached.append(objective.evaluate_result(**run(solver, 400))["value"])
    np.testing.assert_allclose(reached, min(reached), rtol=1e-2)
    assert min(reached) < 0.05 * start


def test_the_loop_in_numpy_and_coordinate_descent_make_the_same_iterates(load):
    objective = load("objective.py", model="nmf", rank=3)
    objective.set_data(**load("datasets/simulated.py", size=(12, 9, 3)).get_data())
    found = []
    for file in ("numpy_hals", "scikit_learn"):
        solver = load(f"solvers/{file}.py")
        solver.set_objective(**objective.get_objective())
        found.append(run(solver, 5))
    np.testing.assert_allclose(found[0]["U"], found[1]["U"], rtol=1e-9, atol=1e-12)


def test_factors_that_break_a_bound_are_worth_nothing(load):
    objective = load("objective.py", model="nmf", rank=2)
    objective.set_data(np.ones((3, 3)))
    result = objective.get_one_result()
    assert np.isfinite(objective.evaluate_result(**result)["value"])
    result["U"][0, 0] = -1e-3
    assert objective.evaluate_result(**result)["value"] == np.inf


def test_a_solver_says_why_it_does_not_take_part(load):
    objective = load("objective.py", model="relu-nmd", rank=3)
    objective.set_data(**load("datasets/simulated.py", size=(12, 9, 3)).get_data())
    given = objective.get_objective()
    skipped, why = load("solvers/bregopt.py", method="hals").skip(**given)
    assert skipped
    assert "hals" in why
    assert load("solvers/bregopt.py", method="auto").skip(**given) == (False, None)
    assert all(load(f"solvers/{file}.py").skip(**given)[0] for file in ("scikit_learn", "numpy_hals"))
    assert objective.skip(-np.ones((4, 4)))[0]
    assert objective.skip(np.ones((2, 2)))[0]


@pytest.mark.parametrize(("which", "shape"), [("mycielskian(4)", (11, 11)), ("synthetic(9, 8, 2)", (9, 8))])
def test_the_matrices_of_the_race_are_read(which, shape, load):
    M = load("datasets/matrix.py", which=which).get_data()["M"]
    assert (type(M), M.shape) == (np.ndarray, shape)


def test_a_file_is_read_as_a_dense_matrix(load, tmp_path):
    (tmp_path / "M.mtx").write_text("%%MatrixMarket matrix coordinate real general\n2 3 1\n2 3 5.0\n", encoding="utf-8")
    M = load("datasets/matrix.py", which=str(tmp_path / "M.mtx")).get_data()["M"]
    np.testing.assert_array_equal(M, [[0, 0, 0], [0, 0, 5]])
    assert load("datasets/digits.py").get_data()["M"].shape == (1797, 64)


@pytest.mark.benchopt
def test_benchopt_runs_the_exported_race(call, tmp_path):
    import pandas

    asked = ["--method", "auto", "--method", "palm", "--method", "hals", "-r", 3]
    for model in ("nmf", "relu-nmd"):
        home = tmp_path / model
        assert call("bench", "export", home, "synthetic(60, 40, 3)", "--problem", model, *asked)[0] == 0
        command = [sys.executable, "-m", "benchopt", "run", str(home), "--config", str(home / "race.yml")]
        command += ["--max-runs", "20", "--no-display", "--no-plot", "--output", str(home / "result.parquet")]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        rows = pandas.read_parquet(home / "result.parquet")
        last = rows.groupby("solver_name").objective_value.min()
        ours = {f"bregopt[method={name}]" for name in ("auto", "palm", *(["hals"] if model == "nmf" else []))}
        peers = {"scikit-learn[solver=cd]", "scikit-learn[solver=mu]", "NumPy HALS"} if model == "nmf" else set()
        assert set(last.index) == ours | peers | {"L-BFGS-B"}
        assert (last < 0.5 * rows.objective_value.max()).all()
