"""Problems on a device of torch: what runs there is what runs here. ``python -m pytest -m torch`` runs it."""

import json
import math

import numpy as np
import pytest
import scipy.sparse
from attrs import frozen
from bregopt_lowrank import ColumnLosses, EntrywiseLoss, PassRequest, TorchEntries

import bregopt as bo
from bregopt.cli.main import main
from bregopt.errors import BregoptError, DataError, IncompatibleError, ParameterError

pytestmark = pytest.mark.torch
m, n, r = 23, 17, 3
PASSES = {"value": (None, False), "same": ("Y", False), "lagged": ("Y_bar", False), "value at": ("Y_bar", True)}
LOSSES = [
    *("least-squares", "huber(0.3)", "quantile(0.9, 0.2)", "epsilon-insensitive(0.5)", "interval", "one-bit"),
    *("logistic", "ordinal(5)", "modulus", "square", "quantised(-1, 2)", "relu", "bounded-relu(-0.5, 2)"),
    *("leaky-relu(0.3)", "tobit(0.5)"),
]
GIVEN = ["nothing", "weights", "mask", "nan", "zeros", "everything"]


@pytest.fixture(autouse=True)
def torch():
    """On one thread: others spin while they wait, and tiles of a test are small."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield torch
    torch.set_num_threads(before)


@pytest.fixture
def tensor():
    from bregopt_torch import on_device

    return lambda M: on_device(M, "cpu")


@pytest.fixture
def tiny_tiles(torch, monkeypatch):
    from bregopt_torch import held

    monkeypatch.setattr(held, "ON_CPU", 20)


def points(seed=1):
    rng = np.random.default_rng(seed)
    return [bo.Blocks(U=rng.standard_normal((m, r)), V=rng.standard_normal((r, n))) for _ in range(2)]


def data(spec, kind, dtype=np.float64, seed=0):
    """M for a loss, and what is given beside it."""
    rng, loss = np.random.default_rng(seed), bo.make("loss", spec)
    M, rest = loss.sample_data(rng, m * n).reshape(m, n).astype(dtype), {}
    if loss.bounds:
        rest["upper"] = np.where(np.isfinite(M), M, 0).astype(dtype) + rng.random((m, n)).astype(dtype)
    if kind in ("weights", "everything"):
        rest["weights"] = rng.random((m, n)).astype(dtype)
    if kind in ("mask", "everything"):
        rest["mask"] = rng.random((m, n)) < 0.7
    if kind in ("nan", "everything"):
        M[rng.random((m, n)) < 0.2] = math.nan
    if kind == "zeros":
        M[rng.random((m, n)) < 0.2] = 0.0
        rest["missing"] = "zeros"
    return M, rest


def both(tensor, M, problem="low-rank", **options):
    """The problem here and on the device."""
    options = {"rank": r, "kernel": "tight", **options}
    there = {name: tensor(it) if isinstance(it, np.ndarray) else it for name, it in options.items()}
    return bo.compose(problem, M, **options), bo.compose(problem, tensor(M), **there)


def assert_same(here, there, tolerance=1e-10):
    """Every evaluation is the same, and costs the same."""
    Y, Y_bar = points()
    for at, value_at in PASSES.values():
        point = {None: None, "Y": Y, "Y_bar": Y_bar}[at]
        one, two = (problem.oracle.evaluate(Y, point, value_at=value_at) for problem in (here, there))
        assert two.value == pytest.approx(one.value, rel=tolerance)
        assert two.products == pytest.approx(one.products, rel=1e-12)
        assert dict(two.metrics) == pytest.approx(dict(one.metrics), rel=tolerance)
        assert dict(two.norms) == pytest.approx(dict(one.norms), rel=max(tolerance, 1e-8))
        if at is not None:
            size = np.abs(one.gradient.flat).max()
            np.testing.assert_allclose(two.gradient.flat, one.gradient.flat, rtol=0, atol=tolerance * size)
        if value_at:
            assert two.value_at == pytest.approx(one.value_at, rel=tolerance)


def test_every_registered_loss_is_tried():
    assert {spec.partition("(")[0] for spec in LOSSES} == {entry.name for entry in bo.catalog("loss")}


@pytest.mark.parametrize("kind", GIVEN)
@pytest.mark.parametrize("spec", LOSSES)
def test_an_evaluation_is_that_of_numpy(tensor, spec, kind):
    M, rest = data(spec, kind)
    assert_same(*both(tensor, M, loss=spec, **rest))


@pytest.mark.parametrize("kind", ["nothing", "everything"])
@pytest.mark.parametrize("spec", LOSSES)
def test_in_single_precision_it_is_to_four_digits(tensor, spec, kind):
    M, rest = data(spec, kind, np.float32)
    here, there = both(tensor, M, loss=spec, **rest)
    assert there.block.M.dtype == np.float32
    assert_same(here, there, 1e-4)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("rest", ["nothing", "missing", "weights", "mask", "sparse mask", "missing and weights"])
@pytest.mark.parametrize("spec", ["relu", "least-squares", "huber(0.3)", "interval", "one-bit", "modulus"])
def test_a_csr_tensor_is_read_as_a_sparse_matrix_is(tensor, spec, rest, dtype):
    rng = np.random.default_rng(2)
    M, beside = data(spec, "nothing", dtype)
    M[~np.isfinite(M)] = 0.5
    support = rng.random((m, n)) < 0.2
    M = scipy.sparse.csr_array(np.where(support, M, 0))
    if spec == "interval":
        beside["upper"] = scipy.sparse.csr_array(np.where(M.toarray() != 0, M.toarray() + 0.3, 0).astype(dtype))
    if "missing" in rest:
        beside["missing"] = "zeros"
    if "weights" in rest:
        beside["weights"] = M.copy()
        beside["weights"].data = rng.random(M.nnz).astype(dtype)
    if "mask" in rest:
        mask = rng.random((m, n)) < (0.1 if "sparse" in rest else 0.8)
        beside["mask"] = scipy.sparse.csr_array(mask) if "sparse" in rest else mask
    here = bo.compose("low-rank", M, rank=r, kernel="tight", loss=spec, **beside)
    there = bo.compose("low-rank", tensor(M), rank=r, kernel="tight", loss=spec, **beside)
    assert_same(here, there, 1e-10 if dtype == np.float64 else 1e-4)


@pytest.mark.usefixtures("tiny_tiles")
@pytest.mark.parametrize("spec", ["relu", "least-squares", "logistic"])
@pytest.mark.parametrize("form", ["dense", "csr"])
def test_tiles_change_nothing(tensor, form, spec):
    M, _ = data(spec, "nothing")
    M[np.random.default_rng(3).random((m, n)) < 0.7] = 0 if form == "csr" else math.nan
    here, there = both(tensor, scipy.sparse.csr_array(M) if form == "csr" else M, loss=spec)
    assert len(there.block.M.held.places()) > 10
    assert_same(here, there)
    assert there.block.M.frobenius == pytest.approx(here.block.M.frobenius, rel=1e-14)
    facts = ("nonzeros", "lowest", "missing", "most", "plain")
    assert [getattr(there.block.M, it) for it in facts] == [getattr(here.block.M, it) for it in facts]


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_each_column_may_have_a_loss_of_its_own(tensor, form):
    M, _ = data("one-bit", "nothing")
    M[np.random.default_rng(3).random((m, n)) < 0.8] = 0 if form == "csr" else math.nan
    M = scipy.sparse.csr_array(M) if form == "csr" else M
    missing = "zeros" if form == "csr" else None
    losses = {"0:5": "logistic", "5:6": "quantile(0.7)", "6:": "huber(0.5)"}
    assert_same(*both(tensor, M, loss=losses, missing=missing))


def test_a_column_of_relu_among_others_tells_the_norm_of_w(tensor):
    M, _ = data("relu", "nothing")
    assert_same(*both(tensor, M, loss={"0:9": "relu", "9:": "huber(0.5)"}))


def test_norms_and_leading_vectors_are_those_of_numpy(tensor):
    M, _ = data("huber", "nan")
    for form in (np.asarray, lambda M: scipy.sparse.csr_array(np.nan_to_num(M)), lambda M: M[:, :2], lambda M: M[:2]):
        here, there = both(tensor, form(M), rank=1)
        assert there.block.M.spectral == pytest.approx(here.block.M.spectral, rel=1e-9)
        for rank in (1, min(there.block.M.shape)):
            (U, s, Vt), (U_there, s_there, Vt_there) = (it.block.M.leading(rank) for it in (here, there))
            np.testing.assert_allclose(s_there, s, rtol=1e-7)
            np.testing.assert_allclose((U_there * s_there) @ Vt_there, (U * s) @ Vt, atol=1e-7)


@pytest.mark.parametrize("block", ["U", "V"])
def test_a_block_may_be_fixed(tensor, block):
    M, _ = data("huber", "nan")
    Y, Y_bar = points()
    left = "V" if block == "U" else "U"
    here, there = both(tensor, M, loss="huber", kernel="auto", **{block: bo.Fixed(Y[block])})
    X, X_bar = (bo.Blocks(**{left: it[left]}) for it in (Y, Y_bar))
    for at in (None, X, X_bar):
        one, two = (problem.oracle.evaluate(X, at) for problem in (here, there))
        assert two.value == pytest.approx(one.value, rel=1e-10)
        if at is not None:
            np.testing.assert_allclose(two.gradient.flat, one.gradient.flat, atol=1e-10)


@pytest.mark.parametrize("model", ["with-bias", "chain(3)"])
def test_other_models_run_on_a_device(tensor, model):
    M, _ = data("huber", "nan")
    one, two = (bo.solve(it, max_iterations=4, method="palm") for it in both(tensor, M, model=model, kernel="auto"))
    np.testing.assert_allclose(two.history["objective"], one.history["objective"], rtol=1e-9)


METHODS = ["auto", "aapb", "aapb-paper", "bella", "cocain", "palm", "els", "ecd", "a-nmd", "em-nmd", "tsvd"]


@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("method", METHODS)
def test_the_iterates_are_those_of_numpy(tensor, method, form):
    M, _ = data("relu", "nothing")
    M = scipy.sparse.csr_array(M) if form == "csr" else M
    here, there = both(tensor, M, "relu-nmd", kernel="paper")
    one, two = (bo.solve(problem, method=method, max_iterations=6) for problem in (here, there))
    assert repr(two.method) == repr(one.method)
    np.testing.assert_allclose(two.history["objective"], one.history["objective"], rtol=1e-9)
    np.testing.assert_allclose(two.Y.U @ two.Y.V, one.Y.U @ one.Y.V, atol=1e-7)
    np.testing.assert_allclose(np.asarray(two.W), np.asarray(one.W), atol=1e-7)


@pytest.mark.parametrize("method", ["masked-newton", "hybrid"])
def test_a_method_that_goes_over_m_by_rows_refuses(tensor, method):
    M, _ = data("relu", "nothing")
    problem = bo.compose("relu-nmd", tensor(M), rank=r)
    with pytest.raises(IncompatibleError, match=r"goes over M by rows and by columns.*DeviceMatrix.*'cpu'"):
        bo.solve(problem, method=method, max_iterations=1)


WAITS = ("cpu", "numpy", "item", "tolist", "__bool__", "__float__", "__int__", "__index__", "__array__", "nonzero")


@pytest.mark.usefixtures("tiny_tiles")
@pytest.mark.parametrize("form", ["dense, nan", "dense, weights", "csr", "stored entries"])
def test_a_pass_waits_for_the_device_once_and_little_crosses(torch, tensor, monkeypatch, form):
    from bregopt_torch import passes

    M, rest = data("relu", "weights" if "weights" in form else "nan" if "nan" in form else "nothing")
    loss = "least-squares" if form == "stored entries" else "relu"
    M = M if "dense" in form else scipy.sparse.csr_array(M)
    problem = bo.compose("low-rank", tensor(M), rank=r, loss=loss, kernel="tight", **rest)
    back, sent, inside = [], [], []

    def to_host(given, original=passes.to_host):
        back.append(given.numel())
        inside.append(True)
        try:
            return original(given)
        finally:
            inside.pop()

    def to_device(arrays, *rest, original=passes.to_device):
        sent.append(sum(array.size for array in arrays))
        return original(arrays, *rest)

    def forbidden(name):
        original = getattr(torch.Tensor, name)

        def called(self, *args, **options):
            assert inside, f"Tensor.{name} waits for the device"
            return original(self, *args, **options)

        return called

    monkeypatch.setattr(passes, "to_host", to_host)
    monkeypatch.setattr(passes, "to_device", to_device)
    for name in WAITS:
        monkeypatch.setattr(torch.Tensor, name, forbidden(name))
    Y, Y_bar = points()
    evaluations = [(Y, None, False), (Y, Y, False), (Y, Y_bar, True)]
    for Y, at, value_at in evaluations:
        problem.oracle.evaluate(Y, at, value_at=value_at)
    held = problem.block.M.held
    sums = 5 * len(list(held.parts(r)) if form == "stored entries" else held.places())
    assert back == [sums, (m + n) * r + sums, (m + n) * r + sums]
    assert sent == [(m + n) * r, (m + n) * r, 2 * (m + n) * r]
    problem.oracle.sweep(Y, Y, lambda name, rows, gradient: Y[name][rows] - 1e-3 * gradient, row_wise=True)
    assert len(back) == 3 + 2  # a sweep is two passes


def test_more_than_two_to_the_31_entries_need_no_room(torch):
    """M is one number, seen m·n times: a temporary of its size would take 8.6 GB."""
    from bregopt_torch.held import Dense
    from bregopt_torch.matrix import DeviceMatrix

    size = 46_400
    M = torch.full((1, 1), 2.0).expand(size, size)
    assert M.numel() > 2**31
    held = Dense((size, size), torch.float32, M.device, M)
    problem = DeviceMatrix((size, size), np.dtype(np.float32), 2.0 * size, size**2, 0.0, 0, 1.0, "cpu", held)
    loss, U, V = ColumnLosses.one(bo.make("loss", "least-squares"), size), np.ones((size, 1)), np.ones((1, size))
    left = np.empty((size, 1))
    result = problem.run_pass(PassRequest(loss, 1.0, U, V, U, V, left))
    assert result.residual == size**2
    assert result.right is not None
    assert (left == -size).all()
    assert (result.right == -size).all()


def test_a_csr_tensor_may_have_a_million_rows_and_columns(torch, tensor):
    size, rng = 10**6, np.random.default_rng(0)
    places = rng.integers(0, size, (2, 500))
    places[:, 0] = size - 1
    M = scipy.sparse.csr_array((rng.random(500) + 0.5, tuple(places)), shape=(size, size))
    here, there = (bo.compose("low-rank", it, rank=1, kernel="tight") for it in (M, tensor(M)))
    Y = bo.Blocks(U=rng.standard_normal((size, 1)), V=rng.standard_normal((1, size)))
    one, two = (problem.oracle.evaluate(Y, Y) for problem in (here, there))
    assert two.value == pytest.approx(one.value, rel=1e-12)
    np.testing.assert_allclose(two.gradient.flat, one.gradient.flat, rtol=1e-9, atol=1e-6)


KINDS = {
    "transposed": lambda torch, M: torch.from_numpy(M.T.copy()).T,
    "half": lambda torch, M: torch.from_numpy(M).half(),
    "bfloat16": lambda torch, M: torch.from_numpy(M).bfloat16(),
    "whole numbers": lambda torch, M: torch.from_numpy(np.ceil(M)).long(),
    "true or false": lambda torch, M: torch.from_numpy(M) > 0,
    "of a graph": lambda torch, M: torch.from_numpy(M).requires_grad_() * 1.0,
    "half, csr": lambda torch, M: torch.from_numpy(M).half().to_sparse_csr(),
}


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("kind", KINDS)
def test_a_tensor_of_any_real_kind_is_read(torch, kind):
    given = KINDS[kind](torch, data("relu", "nothing")[0])
    there = bo.compose("low-rank", given, rank=r, kernel="tight", loss="relu")
    assert there.block.M.dtype == (np.float32 if "half" in kind or kind == "bfloat16" else np.float64)
    dense = given.detach().to_dense() if kind == "half, csr" else given.detach()
    here = bo.compose("low-rank", dense.to(torch.float64).numpy(), rank=r, kernel="tight", loss="relu")
    assert_same(here, there, 1e-10 if there.block.M.dtype == np.float64 else 1e-4)


def test_a_dense_tensor_is_used_as_it_is(torch):
    M = torch.from_numpy(data("relu", "nothing")[0])
    problem = bo.compose("low-rank", M, rank=r, loss="relu", mask=M > 0.1, kernel="tight")
    assert problem.block.M.held.M.data_ptr() == M.data_ptr()


WRONG = {
    "M must be a matrix with two dimensions": lambda torch: (torch.ones(2, 3, 4), {}),
    "M is empty": lambda torch: (torch.ones(0, 3), {}),
    "Got 1 entries that are inf": lambda torch: (torch.tensor([[1.0, math.inf], [1.0, 2.0]]), {}),
    "M is zero everywhere": lambda torch: (torch.zeros(3, 3), {}),
    "Every entry of M is missing": lambda torch: (torch.full((3, 3), math.nan), {}),
    "M is too large for float32": lambda torch: (1e30 * torch.ones(3, 3), {}),
    "Got dtype torch.complex64": lambda torch: (torch.ones(3, 3, dtype=torch.complex64), {}),
    r"Got the layout torch.sparse_coo.*call to_sparse_csr\(\)": lambda torch: (torch.eye(3).to_sparse(), {}),
    "on the device meta": lambda torch: (torch.ones(3, 3, device="meta"), {}),
    "must be non-negative": lambda torch: (-torch.ones(3, 3), {"loss": "relu"}),
    "must be 1 or -1": lambda torch: (2 * torch.ones(3, 3), {"loss": "logistic"}),
    "must have the shape of M, 3×3. Got 2×2": lambda torch: (torch.ones(3, 3), {"mask": np.ones((2, 2), bool)}),
    "The mask must be True": lambda torch: (torch.ones(3, 3), {"mask": np.full((3, 3), 0.5)}),
    "Got -1 among them": lambda torch: (torch.ones(3, 3), {"weights": -torch.ones(3, 3)}),
    "Got nan among them": lambda torch: (torch.ones(3, 3), {"weights": torch.full((3, 3), math.nan)}),
    "Every weight is zero": lambda torch: (torch.ones(3, 3), {"weights": np.zeros((3, 3))}),
    "must hold real numbers. Got dtype object": lambda torch: (torch.ones(3, 3), {"weights": np.full((3, 3), None)}),
    "which this M decides on": lambda torch: (torch.ones(3, 3), {"dtype": "float64"}),
    "The 'M' must be in memory for this model": lambda torch: (torch.ones(3, 3, 3), {"model": "cp(3)"}),
    "held here, as M is": lambda torch: (np.ones((3, 3)), {"weights": torch.ones(3, 3)}),
}


@pytest.mark.parametrize("message", WRONG)
def test_what_cannot_be_read_is_refused_in_a_sentence(torch, message):
    M, rest = WRONG[message](torch)
    with pytest.raises(BregoptError, match=message):
        bo.compose("low-rank", M, rank=1, **rest)


def test_a_device_without_float64_asks_for_float32(torch):
    from bregopt_torch.devices import check_precision

    with pytest.raises(DataError, match=r"The device mps has no float64. Give M in float32"):
        check_precision(torch.device("mps"), "float64")


def test_a_device_that_is_not_there_is_named_with_those_that_are(tensor):
    from bregopt_torch import on_device

    for name in ("nonsense", "meta"):
        with pytest.raises(ParameterError, match=f"The device '{name}' is not there. This torch has cpu"):
            on_device(np.ones((2, 2)), name)


def test_a_damaged_sparse_matrix_is_refused(tensor):
    M = scipy.sparse.csr_array(np.eye(3))
    M.indices[0] = 7
    with pytest.raises(DataError, match="cannot be a CSR tensor"):
        tensor(M)


@frozen
class Plain(EntrywiseLoss):
    """``e(x; m) = ½(x − m)²``, for NumPy alone."""

    @staticmethod
    def entry(x, m):
        s = x - m
        return 0.5 * s * s, s, 1.0


@frozen
class OnDevices(EntrywiseLoss):
    """The same for torch too, as an author writes it."""

    entry = Plain.entry

    def by_torch(self, torch, X, tile):
        return TorchEntries(X - tile.M)


def test_a_loss_of_ones_own_says_what_it_lacks_and_works_with_it(tensor):
    M, _ = data("huber", "nan")
    with pytest.raises(IncompatibleError, match=r"Plain\(\) has no form for a torch tensor. Write its method by_torch"):
        bo.compose("low-rank", tensor(M), rank=r, loss=Plain())
    assert_same(*both(tensor, M, loss=OnDevices()))


def test_a_run_goes_on_from_its_checkpoint(tensor, tmp_path):
    M, _ = data("relu", "nothing")
    problem = bo.compose("relu-nmd", tensor(M), rank=r)
    whole = bo.solve(problem, method="aapb", max_iterations=9)

    def cut(state):
        if state.iteration == 5:
            raise EOFError

    with pytest.raises(EOFError):
        bo.solve(problem, method="aapb", max_iterations=9, checkpoint=tmp_path, checkpoint_every=0, observers=[cut])
    again = bo.resume(tmp_path, bo.compose("relu-nmd", tensor(M), rank=r))
    np.testing.assert_array_equal(again.Y.flat, whole.Y.flat)


def called(capsys, *args):
    with pytest.raises(SystemExit) as end:
        main([str(arg) for arg in args])
    return (end.value.code, *capsys.readouterr())


@pytest.mark.parametrize("form", ["npy", "npz"])
def test_solve_runs_on_a_device(capsys, tmp_path, form):
    M, _ = data("relu", "nothing")
    file = tmp_path / f"M.{form}"
    np.save(file, M) if form == "npy" else scipy.sparse.save_npz(file, scipy.sparse.csr_array(M))
    options = ("solve", file, "-r", r, "--method", "aapb", "--kernel", "paper", "--max-iterations", 4, "--json")
    one, two = called(capsys, *options), called(capsys, *options, "--device", "cpu")
    assert (two[0], two[2]) == (0, "")
    here, there = json.loads(one[1]), json.loads(two[1])
    assert there["objective"] == pytest.approx(here["objective"], rel=1e-10)
    code, out, err = called(capsys, *options, "--device", "nonsense")
    assert (code, out) == (2, "")
    assert "The device 'nonsense' is not there. This torch has cpu" in err


def test_the_benchmark_prints_the_ratio_to_the_pass_of_numpy(capsys, monkeypatch):
    from bregopt_bench import measuring

    monkeypatch.setattr(measuring, "PAUSE", 0.0)
    sizes = ("--size", "40x30:3", "--size", "30x50:2:0.1", "--repeats", 1, "--device", "cpu")
    code, out, err = called(capsys, "bench", "pass", *sizes)
    assert (code, err) == (0, "")
    assert "cpu/pass" in out
    assert "torch" in out.splitlines()[0] + out.splitlines()[1]
    for losses in ((), ("--loss", "huber", "--weights"), ("--loss", "least-squares", "--missing", "zeros")):
        record = json.loads(called(capsys, "bench", "pass", *sizes, *losses, "--json")[1])
        assert record["machine"]["device"] == "cpu"
        for row in record["rows"]:
            assert row["device_over_pass"] == row["device_pass_seconds"] / row["pass_seconds"] > 0
