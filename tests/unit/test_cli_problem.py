"""``--problem``, ``--set`` and ``--on``: every problem whose data are in one file, with every parameter it has."""

import json
import signal

import numpy as np
import pytest
from scipy import sparse

import bregopt as bo
from bregopt.cli import solve as solve_module
from bregopt.cli.problem import asked_model, counts, spelled
from bregopt.host.spec import parse
from bregopt.matrices import read
from bregopt.matrices.arrays import announced_shape

RNG = np.random.default_rng(0)
X = RNG.standard_normal((12, 2)) @ RNG.standard_normal((2, 9))
KNOWN = RNG.random(X.shape) < 0.8
RING = np.roll(np.eye(12), 1, axis=0) + np.roll(np.eye(12), -1, axis=0)
DATA = {
    "real": X,
    "positive": np.abs(X),
    "signs": np.where(X > 0, 1.0, -1.0),
    "zero_one": (X > 0).astype(float),
    "holes": np.where(KNOWN, X, np.nan),
    "square": X @ X.T,
    "known": KNOWN,
    "ring": RING,
    "b": np.arange(12.0),
    "cube": RNG.standard_normal((3, 4, 5)),
}

PLUGIN = """
import attrs
import numpy as np
import bregopt as bo


@attrs.frozen(eq=False)
class Linear(bo.SmoothPart):
    '''½‖Ax − b‖².'''

    A: bo.Array
    b: bo.Array

    def value(self, Y, W):
        return 0.5 * float(np.sum((self.A @ Y.x - self.b) ** 2))

    def value_and_gradient(self, Y, W):
        return self.value(Y, W), bo.Blocks(x=self.A.T @ (self.A @ Y.x - self.b))


@attrs.frozen(eq=False)
class Distance(bo.SmoothPart):
    '''½‖x − T‖².'''

    T: bo.Array

    def value(self, Y, W):
        return 0.5 * float(np.sum((Y.x - self.T) ** 2))

    def value_and_gradient(self, Y, W):
        return self.value(Y, W), bo.Blocks(x=Y.x - self.T)


@attrs.frozen
class Nothing(bo.ClosedFormBlock):
    '''No W.'''

    def argmin(self, smooth, Y):
        return None

    def value(self, W):
        return 0.0


def problem(smooth, L, x, shape):
    H, psi = bo.Separable(x=bo.make("regularizer", x)), L * bo.make("kernel", "psi2")
    start = bo.Blocks(x=np.zeros(shape))
    return bo.Problem(smooth=smooth, block=Nothing(), kernel=psi, regularizer=H, start=start, name="problem of x")


def linear(A, b, x="none"):
    '''½‖Ax − b‖² + H(x).'''
    return problem(Linear(A, b), float(np.linalg.norm(A, 2)) ** 2, x, A.shape[1])


def near(T, x="none"):
    '''½‖x − T‖² + H(x).'''
    return problem(Distance(T), 1.0, x, T.shape)


def whole(T, H="none"):
    '''½‖x − T‖² + H(x).'''
    return near(T, H)


def both(A, b, rank):
    '''One more that takes two arrays.'''


def alone():
    '''One without data.'''


@bo.hookimpl
def bregopt_register(registry):
    for factory in (linear, near, whole, both, alone):
        registry.add(bo.Problem, factory.__name__, factory)
    registry.add(bo.Problem, "alias", lambda *args, U="l1(0.3)", **more: bo.compose("nmf", *args, U=U, **more))
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder of the data, which is the current one."""
    monkeypatch.chdir(tmp_path)
    for name, array in DATA.items():
        np.save(f"{name}.npy", array)
    return tmp_path


@pytest.fixture
def plugin(folder, fresh_host):
    (folder / "plugin.py").write_text(PLUGIN, encoding="utf-8")
    return ("--plugin", "plugin.py")


@pytest.fixture
def solved(call, folder):
    """Run ``bregopt solve``: its record."""

    def run(*args):
        code, out, err = call("solve", *args, "--max-iterations", 4, "--json")
        assert (code, err) == (0, "")
        return json.loads(out)

    return run


@pytest.fixture
def refused(call, folder):
    """Run ``bregopt solve``: the line with which it refuses."""

    def run(*args):
        code, out, err = call("solve", *args)
        assert (code, out, err.count("\n")) == (2, "", 1)
        return err

    return run


def objective(problem, data, **parameters):
    return bo.solve(bo.compose(problem, data, **parameters), max_iterations=4).objective


SOLVED = {
    "positive --problem nmf -r 2": {"rank": 2},
    "positive --problem nmf(U=l1(0.1)) -V l1(0.2) -r 2": {"rank": 2, "U": "l1(0.1)", "V": "l1(0.2)"},
    "positive --problem nmf --on U=l1(0.1) -r 2": {"rank": 2, "U": "l1(0.1)"},
    "real --problem semi-nmf -r 2": {"rank": 2},
    "real --problem robust-pca(d=0.5) -r 2": {"rank": 2, "d": 0.5},
    "real --problem robust-pca --set d=0.5 --set mask=known.npy -r 2": {"rank": 2, "d": 0.5, "mask": KNOWN},
    "holes --problem completion -r 2 --set held_out=0.2": {"rank": 2, "held_out": 0.2},
    "real --problem dictionary -r 2": {"rank": 2},
    "square --problem symmetric -r 2 --set nonneg=true --set loss=huber(1)": {
        **{"rank": 2, "nonneg": True, "loss": "huber(1)"}
    },
    "signs --problem one-bit -r 2": {"rank": 2},
    "zero_one --problem logistic -r 2 --set labels=01": {"rank": 2, "labels": "01"},
    "zero_one --problem logistic(labels='01') -r 2": {"rank": 2, "labels": "01"},
    "positive --problem graph-nmf -r 2 --set graph=ring.npy --set mu=0.5": {"rank": 2, "graph": RING, "mu": 0.5},
    "holes --problem low-rank(loss=huber(0.5),model=with-bias) -r 2 --on a=ridge(1) --on b=l1(2)": {
        **{"rank": 2, "loss": "huber(0.5)", "model": "with-bias", "a": "ridge(1)", "b": "l1(2)"}
    },
    "real --problem low-rank(U=none) --kernel tight": {"rank": 9, "kernel": "tight"},
}


@pytest.mark.parametrize("args", SOLVED)
def test_a_problem_is_composed_with_the_parameters_of_its_spec_and_of_the_options(args, solved):
    name, *options = args.split()
    record = solved(f"{name}.npy", *options)
    problem = options[1].partition("(")[0]
    assert record["objective"] == objective(problem, DATA[name], **SOLVED[args])


def test_the_record_says_which_parameters_were_given(solved):
    found = solved("holes.npy", "--problem", "low-rank(loss=huber(0.5))", "--set", "model=with-bias", "-r", 2)
    assert found["problem"] == {
        **{"name": "low-rank(loss=huber(0.5))", "matrix": "holes.npy", "shape": [12, 9]},
        **{"nonzeros": int(KNOWN.sum()), "missing": int((~KNOWN).sum())},
        **{"rank": 2, "U": "none", "V": "none", "kernel": "auto"},
        "parameters": {"loss": "huber(0.5)", "model": "with-bias"},
    }


def test_the_summary_says_what_the_spec_does_not(call, folder):
    options = ("--set", "model=with-bias", "--on", "a=ridge(1)", "--set", "held_out=0.2", "-r", 2)
    out = call("solve", "holes.npy", "--problem", "low-rank(loss=huber(0.5))", *options, "--max-iterations", 2)[1]
    text = " ".join(out.split())
    share = 100 * KNOWN.mean()
    assert f"Matrix holes.npy, 12×9, {share:.3g} % non-zeros, {100 - share:.3g} % nan" in text
    assert (
        "Model low-rank(loss=huber(0.5)), rank 2, H on U: none, H on V: none, H on a: ridge(1), model=with-bias, "
        "held_out=0.2"
    ) in text


def test_the_metrics_are_those_of_the_problem(call, solved):
    record = solved("signs.npy", "--problem", "one-bit", "-r", 2)
    result = bo.solve(bo.compose("one-bit", DATA["signs"], rank=2), max_iterations=4)
    assert record["metrics"] == dict(result.metrics)
    assert record["relative_error"] is None
    out = call("solve", "signs.npy", "--problem", "one-bit", "-r", 2, "--max-iterations", 4)[1]
    assert f"Mistakes        {result.metrics['mistakes']:.4g}\n" in out
    assert "Relative error" not in out
    assert "Model residual" not in out
    out = call("solve", "holes.npy", "--problem", "completion", "--set", "held_out=0.2", "--max-iterations", 2)[1]
    assert "Relative error" in out
    assert "Held out error" in out


REFUSED = {
    "--problem nmf --set d=3": (
        "The problem 'nmf' takes no d: leave --set d=… out. It takes M, rank, U, V, mask, weights, missing, held_out, "
        "held_out_seed, kernel, dtype, threads."
    ),
    "--problem nmf(d=3)": "The problem 'nmf' takes no d: leave it out of --problem. It takes M, rank",
    "--problem nmf --set maks=known.npy": "leave --set maks=… out. Did you mean 'mask'? It takes M,",
    "--problem symmetric -V l1": "The problem 'symmetric' takes no V: leave -V out. It takes M, rank, U, nonneg",
    "--problem nmf --on a=l1": "The problem 'nmf' takes no a: leave --on a=… out.",
    "--problem low-rank --set a=l1": "owner, and H on each further block by --on.",
    "--problem low-rank --on a=l1": "the blocks of this model are U, V",
    "--problem low-rank --on a=l11": "no regularizer named 'l11'. Did you mean 'l1'?",
    "--problem nmf --set M=3": "The parameter M of the problem 'nmf' is what FILE holds: leave it out.",
    "--problem robust-pca(0.5)": "give the parameters by name, as in 'name(key=value)'. The first, M, is what FILE",
    "--problem robust-pca(d=1) --set d=2": "'d' is given by --problem and by --set. Give it once.",
    "--problem robust-pca --set d=1 --set d=2": "'d' is given by --set, twice. Give it once.",
    "--problem nmf(rank=3) -r 2": "'rank' is given by --problem and by --rank.",
    "-U l1 --on U=l1": "'U' is given by -U and by --on.",
    "--problem robust-pca --set d": "--set 'd' cannot be read. Write it as 'name=value'",
    "--problem robust-pca --set d=1,mu=2": "--set 'd=1,mu=2' cannot be read",
    "--problem robust-pca --set d=": "--set 'd=' cannot be read",
    "--problem robust-pca --set d=(": "--set 'd=(' cannot be read",
    "--problem nmf --on l1": "--on 'l1' cannot be read. Write it as 'BLOCK=SPEC'",
    "--problem nmf --set mask=nowhere.npy": "--set mask: the file 'nowhere.npy' does not exist.",
    "--problem nmff": "There is no problem named 'nmff'. Did you mean 'nmf'?",
}


@pytest.mark.parametrize("args", REFUSED)
def test_what_a_problem_does_not_take_is_one_line_that_says_what_it_takes(args, refused):
    assert REFUSED[args] in refused("positive.npy", *args.split())


def test_what_a_problem_does_not_take_is_told_before_the_data_are_read(refused):
    assert "takes no d" in refused("nowhere.npy", "--problem", "nmf", "--set", "d=3")


@pytest.mark.parametrize(
    ("problem", "missing", "line"),
    [
        ("linear", "--set b=…", 'bo.compose("linear", A=np.load("A.npy"), b=np.load("b.npy"))'),
        ("both", "--set b=…", 'bo.compose("both", A=np.load("A.npy"), b=np.load("b.npy"), rank=10)'),
    ],
)
def test_a_problem_with_more_data_shows_three_lines_of_python(problem, missing, line, call, plugin):
    code, out, err = call("solve", "real.npy", "--problem", problem, *plugin)
    assert (code, out) == (2, "")
    said, *lines = err.splitlines()
    assert f"The problem '{problem}' takes A, b, and FILE is A only. Give {missing}, a value or the path" in said
    assert lines == ["    import bregopt as bo, numpy as np", f"    problem = {line}", "    result = bo.solve(problem)"]


def test_the_lines_of_python_run(call, plugin, folder):
    np.save("A.npy", X)
    lines = call("solve", "A.npy", "--problem", "linear", *plugin)[2].splitlines()[1:]
    there = {}
    exec("\n".join(line.strip() for line in lines), there)
    np.testing.assert_allclose(there["result"].Y.x, np.linalg.lstsq(X, DATA["b"], rcond=None)[0], atol=1e-6)


def test_further_data_may_be_files_of_any_number_of_dimensions(plugin, solved):
    found = solved("real.npy", "--problem", "linear", "--set", "b=b.npy", "--on", "x=l1(0.1)", *plugin)
    assert found["objective"] == objective("linear", X, b=DATA["b"], x="l1(0.1)")
    assert found["problem"]["parameters"] == {"b": "b.npy", "x": "l1(0.1)"}
    assert found["problem"]["rank"] is None


def test_a_problem_that_takes_no_rank_refuses_one_and_does_not_choose_one(plugin, refused, call):
    assert "takes no rank: leave --rank out" in refused("cube.npy", "--problem", "near", "-r", 2, *plugin)
    out = call("solve", "cube.npy", "--problem", "near", *plugin, "--max-iterations", 3)[1]
    assert "Tensor          cube.npy, 3×4×5, 100 % non-zeros\n" in out
    assert "Model           near\n" in out


@pytest.mark.parametrize("name", ["cube.npy", "cube.npz", "named.npz"])
def test_an_array_of_three_dimensions_reaches_a_problem_that_takes_one(name, plugin, folder, call):
    np.savez("cube.npz", anything=DATA["cube"])
    np.savez("named.npz", T=DATA["cube"], other=np.ones(3))
    code, out, _ = call("solve", name, "--problem", "near", *plugin, "--out", "run", "--max-iterations", 30, "--json")
    assert (code, json.loads(out)["problem"]["shape"]) == (0, [3, 4, 5])
    with np.load("run/factors.npz") as blocks:
        assert blocks.files == ["x"]
        np.testing.assert_allclose(blocks["x"], DATA["cube"], atol=1e-6)


def test_an_array_of_three_dimensions_is_refused_by_a_problem_of_a_matrix(plugin, refused):
    said = refused("cube.npy", "--problem", "nmf", *plugin)
    assert "The problem 'nmf' takes a matrix M, with two dimensions. Got shape (3, 4, 5) in 'cube.npy' instead." in said
    assert "near" in said.partition("Other shapes are taken by ")[2]


def test_a_problem_of_an_array_needs_a_file(plugin, refused):
    assert "The problem 'near' takes an array T" in refused("--problem", "near", *plugin)


def test_a_problem_without_data_is_refused(plugin, refused):
    assert "The problem 'alone' takes no data from a file." in refused("--problem", "alone", *plugin)


def test_an_alias_that_takes_anything_passes_it_on(plugin, solved):
    for options, parameters in (((), {"U": "l1(0.3)"}), (("--on", "U=l1(0.1)"), {"U": "l1(0.1)"})):
        found = solved("positive.npy", "--problem", "alias", "-r", 2, "--set", "held_out=0.1", *options, *plugin)
        assert found["objective"] == objective("nmf", DATA["positive"], rank=2, held_out=0.1, **parameters)
        assert (found["problem"]["rank"], found["problem"]["U"]) == (2, parameters["U"])


def test_damaged_arrays_are_refused(plugin, refused, folder):
    whole = (folder / "cube.npy").read_bytes()
    (folder / "cube.npy").write_bytes(whole[:-8])
    assert "damaged" in refused("cube.npy", "--problem", "near", *plugin)
    np.savez_compressed("cube.npz", T=DATA["cube"])
    damaged = bytearray((folder / "cube.npz").read_bytes())
    damaged[200:260] = bytes(60)
    (folder / "cube.npz").write_bytes(damaged)
    assert "damaged" in refused("cube.npz", "--problem", "near", *plugin)
    np.save("complex.npy", DATA["cube"] * 1j)
    assert "must hold real numbers. Got dtype complex128" in refused("complex.npy", "--problem", "near", *plugin)
    np.savez("two.npz", p=DATA["cube"], q=DATA["cube"])
    assert "must hold one array" in refused("two.npz", "--problem", "near", *plugin)


def test_shapes_are_told_by_headers_alone(folder):
    np.savez("M.npz", M=X, T=DATA["cube"])
    sparse.save_npz("sparse.npz", sparse.csr_array(X))
    assert announced_shape(folder / "cube.npy") == (3, 4, 5)
    assert announced_shape(folder / "M.npz") == X.shape  # as read_matrix chooses
    for name in ("sparse.npz", "nowhere.npy", "what.csv"):
        assert announced_shape(folder / name) is None
    assert read(folder / "b.npy", any_shape=True).shape == (12,)
    np.testing.assert_array_equal(read(folder / "sparse.npz", any_shape=True).matrix.toarray(), X)


def test_a_run_goes_on_with_its_problem_from_another_folder(folder, call, monkeypatch):
    args = ("solve", "real.npy", "--problem", "low-rank(loss=huber(0.5))", "--set", "mask=known.npy", "-r", 2)
    args += ("--set", "model=with-bias", "--on", "a=ridge(1)", "--method", "aapb", "--max-iterations", 9)
    remember = solve_module.Saving.remember_command

    def press(self, state):
        remember(self, state)
        if state.iteration == 4:
            signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with monkeypatch.context() as patch:
        patch.setattr(solve_module.Saving, "remember_command", press)
        assert call(*args, "--out", "run", "-q")[0] == 130
    signal.signal(signal.SIGINT, before)
    whole = json.loads(call(*args, "--json")[1])
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    assert call("resume", "../run", "-q") == (0, "", "")
    record = json.loads((folder / "run" / "run.json").read_text(encoding="utf-8"))
    assert (record["iterations"], record["objective"]) == (9, whole["objective"])
    assert record["problem"]["name"] == "low-rank(loss=huber(0.5))"
    assert record["problem"]["parameters"] == {
        **{"loss": "huber(0.5)", "mask": str(folder / "known.npy"), "model": "with-bias", "a": "ridge(1)"}
    }
    assert "H on a: ridge(1)" in " ".join(call("resume", folder / "run")[1].split())


@pytest.mark.parametrize("text", ["huber(0.5)", "a(b(1, c=true), d=none, e='+-1')", 'a("it\'s")', "plain"])
def test_a_spec_is_spelled_so_that_it_reads_the_same(text):
    assert parse(spelled(parse(text))) == parse(text)


def test_entries_that_are_nan_are_neither_zero_nor_not():
    assert counts(np.array([[0.0, np.nan, 2.0], [3.0, 0.0, np.nan]])) == (2, 2)
    assert counts(sparse.csr_array(np.array([[0.0, np.nan], [3.0, 0.0]]))) == (1, 1)
    assert counts(np.array([[1, 0]])) == (1, 0)


def test_one_regularizer_for_all_blocks_is_called_h(plugin, call):
    options = ("--problem", "whole", "--on", "H=l1(0.1)", "--max-iterations", 2)
    assert "Model           whole, H: l1(0.1)\n" in call("solve", "cube.npy", *options, *plugin)[1]


def test_the_rank_is_the_one_given_or_the_own_one_or_ten_or_less():
    assert asked_model("nmf").rank((12, 9)) == 9
    assert asked_model("nmf").rank((40, 90)) == 10
    assert asked_model("nmf(rank=4)").rank((40, 90)) == 4
    assert asked_model("nmf", rank=3).rank((40, 90)) == 3
