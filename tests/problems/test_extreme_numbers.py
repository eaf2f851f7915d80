"""Tiny and huge numbers: data, weights and starts of every size are answered right, or refused with the scale to use.

For M ↦ sM with s = 2^(2k) and H scaled alike, every iterate is the old one times 2^k, to the last digit. So a run at
any size of M is held to the one at size 1. The whole table: ``python -m pytest -n 2 -m long``.
"""

import re

import numpy as np
import pytest
import scipy.sparse
from bregopt_lowrank import as_local_matrix, check_matrix
from bregopt_lowrank.passes import run as passes

import bregopt as bo
from bregopt.errors import DataError, IncompatibleError

METHODS = [entry.name for entry in bo.catalog("method")]
VARIANTS = [
    "ippalm(growing)",
    "ipalm(rule=growing)",
    "bpg(backtrack)",
    "apb(step=predicted)",
    "aapb(0.6, 1)",
    "aapb(w=Y)",
]
FORMS = {"dense": np.asarray, "csr": scipy.sparse.csr_array}
PENALTIES = {
    "none": lambda s: "none",
    "l1": lambda s: f"l1({0.05 * s**1.5!r})",
    "ridge": lambda s: f"ridge({0.05 * s!r})",
    "nonneg": lambda s: "nonneg",
    "mcp": lambda s: f"mcp({0.05 * s**1.5!r}, {3.0 / s!r})",
    "l0": lambda s: f"l0({0.01 * s**2!r})",
    "l0-ball": lambda s: "l0-ball(30)",
}
"""H with M ↦ sM: as Y grows by √s and Φ by s², a weight of |Y|^p grows by s^(2 − p/2)."""
RANGE = {"float64": (-158, 158), "float32": (-44, 40)}
"""Powers of two s for which ‖sM‖_F lies in the range that the precision is right for."""
BEYOND = (-1000, -798, -530, -340, -240, -166, -162, 162, 166, 240, 340, 530, 798, 1000)


def matrix(shape=(16, 12), rank=3):
    """A sparse ReLU of low rank, with the largest entry 1."""
    rng = np.random.default_rng(3)
    M = np.maximum(0, rng.standard_normal((shape[0], rank)) @ rng.standard_normal((rank, shape[1])) - 0.3)
    return M / M.max()


def scaled(power, form="dense", dtype="float64", shape=(16, 12)):
    return FORMS[form](np.ldexp(matrix(shape).astype(dtype), power))


def solved(method, H="none", power=0, form="dense", dtype="float64", shape=(16, 12), iterations=30, start=None):
    penalty = PENALTIES[H](2.0**power)
    problem = bo.compose("relu-nmd", scaled(power, form, dtype, shape), rank=3, U=penalty, V=penalty)
    return bo.solve(problem, method=method, start=start, max_iterations=iterations)


def assert_same_at_every_size(method, H, powers, **case):
    """Skips what the method does not take."""
    try:
        one = solved(method, H, **case)
    except IncompatibleError:
        return 0
    for power in powers:
        other, context = solved(method, H, power, **case), f"{method}, {H}, 2^{power}"
        np.testing.assert_array_equal(
            np.ldexp(other.history["objective"], -2 * power), one.history["objective"], context
        )
        np.testing.assert_array_equal(other.history["relative_error"], one.history["relative_error"], context)
        np.testing.assert_array_equal(other.history["products"], one.history["products"], context)
        if method == "ebcd-nmd":  # its U is orthonormal, whatever the size of M
            np.testing.assert_array_equal(np.ldexp(other.Y.U @ other.Y.V, -power), one.Y.U @ one.Y.V, context)
        else:
            np.testing.assert_array_equal(np.ldexp(other.Y.flat, -power // 2), one.Y.flat, context)
            assert other.certificate.subgradient is None or (
                other.certificate.subgradient == one.certificate.subgradient * 2.0 ** (3 * power // 2)
            ), context
        assert other.certificate.rises == one.certificate.rises, context
        assert other.certificate.guaranteed == one.certificate.guaranteed, context
    return len(powers)


@pytest.mark.parametrize("method", METHODS)
def test_a_power_of_two_scales_every_iterate(method):
    for H in PENALTIES:
        assert_same_at_every_size(method, H, (-40, 40))
    assert_same_at_every_size(method, "none", (-158, -20, 20, 158))
    assert_same_at_every_size(method, "ridge", (-44, 40), form="csr", dtype="float32")


@pytest.mark.parametrize("method", ["masked-newton", "hybrid"])
def test_a_step_back_to_where_H_is_finite_is_as_short_at_every_size(method):
    rng, results = np.random.default_rng(0), []
    start = bo.Blocks(U=rng.random((16, 3)), V=rng.random((3, 12)))
    for power in (0, 40):
        H = f"l1-nonneg({0.01 * 2.0 ** (1.5 * power)!r})"
        problem = bo.compose("relu-nmd", scaled(power), rank=3, U=H, V=H)
        results.append(bo.solve(problem, method=method, start=start * 2.0 ** (power // 2), max_iterations=30))
    np.testing.assert_array_equal(results[1].Y.flat * 2.0**-20, results[0].Y.flat)


@pytest.mark.parametrize("dtype", RANGE)
@pytest.mark.parametrize("form", FORMS)
def test_data_out_of_range_are_refused_with_the_power_of_two_to_multiply_with(form, dtype):
    info = np.finfo(dtype)
    for power in (info.minexp - 10, info.minexp + 2, RANGE[dtype][0] - 6, RANGE[dtype][1] + 6, info.maxexp - 4):
        M = scaled(power, form, dtype)
        with pytest.raises(DataError) as caught:
            bo.compose("relu-nmd", M, rank=3)
        told = str(caught.value)
        assert f"too {'small' if power < 0 else 'large'} for {dtype}" in told
        found, low, high, advice = re.search(
            r"is (\S+), .* between (\S+) and (\S+)\. Multiply M by 2\^(-?\d+)", told
        ).groups()
        assert float(found) == pytest.approx(np.linalg.norm(matrix()) * 2.0**power, rel=0.05)
        assert not float(low) <= float(found) <= float(high)
        bo.compose("relu-nmd", M * 2.0 ** int(advice), rank=3)


def test_a_matrix_in_single_precision_that_float64_can_hold_is_told_so():
    with pytest.raises(DataError, match="or take it in float64"):
        bo.compose("relu-nmd", 1e-20 * matrix(), rank=3, dtype="float32")
    assert bo.compose("relu-nmd", 1e-20 * matrix().astype(np.float32), rank=3, dtype="float64").block.M.dtype == float


def with_entry(value):
    M = matrix()
    M[0, 0] = value
    return M


def with_subnormals():
    M = matrix()
    M[M == 0] = 5e-324
    M[3] = 1e-310
    return M


UNEVEN = {
    "one huge entry": (with_entry(1e40), 2),
    "subnormal entries": (with_subnormals(), 2),
    "all equal": (np.ones((6, 5)), 2),
    "one non-zero": (np.eye(6, 5) * [0, 0, 2.5, 0, 0], 2),
    "1×1": (np.array([[3.0]]), 1),
    "1×n": (matrix()[2:3] + 0.1, 1),
    "n×1": (matrix()[:, :1] + 0.1, 1),
    "full rank": (matrix()[:5, :4], 4),
    "integers": ((9 * matrix()).astype(int), 2),
    "huge integers": ((matrix() * 2.0**63).astype(np.uint64), 2),
    "bytes": ((200 * matrix()).astype(np.uint8), 2),
    "booleans": (matrix() > 0, 2),
    "float16": ((6e4 * matrix()).astype(np.float16), 2),
    "tiny float16": ((1e-6 * matrix()).astype(np.float16), 2),
    "longdouble": (matrix().astype(np.longdouble), 2),
    "big-endian": (matrix().astype(">f8"), 2),
    "eighty orders of magnitude": (np.diag(10.0 ** np.arange(-40, 40, 8)), 3),
}


def assert_true_figures(problem, M, rank, method, start=None, iterations=12):
    """The figures of a run against those of dense products in float64; what the method does not take is left out."""
    try:
        result = bo.solve(problem, method=method, start=start, max_iterations=iterations)
    except IncompatibleError:
        return
    D, (U, V) = np.asarray(M, float), (result.Y.U, result.Y.V)
    scale = np.linalg.norm(D)
    error = np.linalg.norm(D - np.maximum(0, U @ V)) / scale
    noise = float(np.finfo(problem.block.M.dtype).eps) * np.linalg.norm(U) * np.linalg.norm(V) / scale
    assert result.metrics["relative_error"] == pytest.approx(error, rel=1e-4, abs=8 * noise)
    assert np.isfinite(result.objective)
    assert result.status is not bo.Status.NOT_FINITE


@pytest.mark.parametrize("case", UNEVEN)
def test_uneven_data_of_every_type_give_true_figures(case):
    M, rank = UNEVEN[case]
    for form in FORMS if M.dtype.kind != "f" or M.dtype == np.dtype(float) else ["dense"]:
        problem = bo.compose("relu-nmd", FORMS[form](M), rank=rank)
        for method in METHODS:
            assert_true_figures(problem, M, rank, method, iterations=6)


def test_one_entry_out_of_range_among_ones_is_refused_by_its_size():
    with pytest.raises(DataError, match=r"too large for float64: ‖M‖_F is 1e\+100"):
        bo.compose("relu-nmd", with_entry(1e100), rank=2)


def test_python_integers_beyond_64_bits_are_refused_with_a_hint():
    with pytest.raises(DataError, match=r"Got dtype object instead.*M.astype\(float\)"):
        bo.compose("relu-nmd", np.array([[10**30, 1]]), rank=1)


def test_entries_too_small_for_single_precision_are_no_part_of_a_sparse_support():
    M = with_subnormals()
    dense, csr = (as_local_matrix(form(M), dtype="float32") for form in FORMS.values())
    assert csr.values.all()
    assert csr.nonzeros == dense.nonzeros == csr.values.size
    runs = [bo.solve(bo.compose("relu-nmd", data, rank=2), method="palm", max_iterations=5) for data in (dense, csr)]
    np.testing.assert_allclose(runs[1].history["objective"], runs[0].history["objective"], rtol=1e-5)


def test_a_part_of_a_matrix_may_be_of_any_size():
    assert as_local_matrix(np.full((2, 3), 1e-310), part=True).frobenius > 0
    assert as_local_matrix(np.full((2, 3), 1e300), part=True).frobenius >= 1e300


def start_of(U, V):
    rng = np.random.default_rng(1)
    return bo.Blocks(U=U * rng.standard_normal((16, 3)), V=V * rng.standard_normal((3, 12)))


REFUSED = {
    "tiny": (start_of(1e-200, 1e-200), r"start is too small .* entry of U is 2\.\de-200"),
    "huge": (start_of(1e200, 1e200), r"start is too large .* entry of U is 2\.\de\+200"),
    "tiny V": (start_of(1.0, 1e-200), r"start is too small .* entry of V is 1\.\de-200"),
    "far apart": (start_of(1e30, 1e-30), r"too far apart: .* Multiply U by 2\^-100 and V by 2\^100"),
    "nan": (start_of(np.nan, 1.0), "start holds nan or inf"),
    "inf": (start_of(np.inf, 1.0), "start holds nan or inf"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_start_that_no_product_can_be_made_of_is_refused_by_its_size(case):
    start, message = REFUSED[case]
    for method in ("auto", "palm"):
        with pytest.raises(DataError, match=message):
            bo.solve(bo.compose("relu-nmd", matrix(), rank=3), method=method, start=start)


STARTS = {"zero": (0, 0), "U is zero": (0, 1), "V is zero": (1, 0), "small": (1e-12, 1e-12), "large": (1e8, 1e8)}


@pytest.mark.parametrize("case", STARTS)
def test_starts_with_zeros_and_of_other_sizes_give_true_figures(case):
    for H in ("none", "l1(0.01)", "l0(0.001)"):
        problem = bo.compose("relu-nmd", matrix(), rank=3, U=H, V=H)
        for method in METHODS:
            assert_true_figures(problem, matrix(), 3, method, start_of(*STARTS[case]))


@pytest.mark.parametrize("H", ["l1", "ridge", "mcp", "scad", "l0", "log", "tv"])
@pytest.mark.parametrize("weight", [1e-300, 1e300])
def test_a_weight_of_any_size_is_taken_at_its_word(H, weight):
    problem = bo.compose("relu-nmd", matrix(), rank=3, U=f"{H}({weight})", V=f"{H}({weight})")
    for method in METHODS:
        try:
            result = bo.solve(problem, method=method, max_iterations=25)
        except IncompatibleError:
            continue
        assert np.isfinite(result.objective)
        assert result.status is not bo.Status.NOT_FINITE
        assert result.Y.flat.any() or "Every block is zero" in result.certificate.summary()
        if weight < 1:
            assert result.objective < result.history["objective"][0]
        elif H in ("l1", "l0"):
            assert not result.Y.flat.any()


def test_a_weight_times_a_large_start_may_be_infinite_without_a_warning():
    problem = bo.compose("relu-nmd", 1e40 * matrix(), rank=3, U="mcp(1e300)", V="mcp(1e300)")
    assert "Every block is zero" in bo.solve(problem, method="aapb", max_iterations=5).certificate.summary()


def test_the_size_of_a_matrix_is_judged_by_its_norm_alone():
    for name, limit in (("float64", 160), ("float32", 44)):
        for power in (-limit, limit):
            check_matrix(2.0**power, np.dtype(name))
            with pytest.raises(DataError):
                check_matrix(2.0**power * 2.0 ** np.sign(power), np.dtype(name))


@pytest.mark.parametrize("dtype", RANGE)
@pytest.mark.parametrize("form", FORMS)
def test_singular_values_by_lanczos_scale_exactly_too(form, dtype):
    one = as_local_matrix(scaled(0, form, dtype, (90, 80)))
    for power in (-150, 150) if dtype == "float64" else (-40, 38):
        other = as_local_matrix(scaled(power, form, dtype, (90, 80)))
        assert other.spectral == np.ldexp(one.spectral, power)
        for x, y in zip(other.leading(2), one.leading(2), strict=True):
            np.testing.assert_array_equal(x if x.ndim == 2 else np.ldexp(x, -power), y)


@pytest.mark.long
@pytest.mark.parametrize("dtype", RANGE)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("method", [*METHODS, *VARIANTS])
def test_every_size_of_the_data_is_answered_as_size_one_or_refused(method, form, dtype):
    low, high = RANGE[dtype]
    inside = [
        power
        for power in (-158, -132, -100, -82, -66, -44, -40, -20, 20, 40, 66, 82, 100, 132, 158)
        if low <= power <= high
    ]
    for H in PENALTIES:
        assert_same_at_every_size(method, H, inside, form=form, dtype=dtype)
    for power in (it for it in BEYOND if np.finfo(dtype).minexp - 20 < it < np.finfo(dtype).maxexp):
        with pytest.raises(DataError, match=r"Multiply M by 2\^"):
            bo.compose("relu-nmd", scaled(power, form, dtype), rank=3)


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", RANGE)
@pytest.mark.parametrize("method", METHODS)
def test_compiled_loops_answer_every_size_alike(method, form, dtype, monkeypatch):
    monkeypatch.setattr(passes, "SMALL", 0)
    for H in ("none", "l1"):
        powers = (-150, 150) if dtype == "float64" else (-40, 36)
        assert_same_at_every_size(method, H, powers, form=form, dtype=dtype, shape=(500, 420), iterations=12)


@pytest.mark.long
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", UNEVEN)
def test_uneven_data_give_true_figures_for_every_penalty_and_start(case, method):
    M, rank = UNEVEN[case]
    for H in ("none", "l1(0.01)", "ridge(0.01)", "nonneg", "mcp(0.01)", "l0(0.001)", "l0-ball(6)"):
        problem = bo.compose("relu-nmd", M, rank=rank, U=H, V=H)
        for start in (None, "tsvd"):
            assert_true_figures(problem, M, rank, method, start, iterations=30)


@pytest.mark.long
@pytest.mark.parametrize("method", METHODS)
def test_any_weight_of_any_penalty_ends_finite(method):
    for H in ("l1", "ridge", "mcp", "l0", "elastic-net", "lp", "scad", "capped-l1", "l21", "tv", "huber", "log", "exp"):
        for weight in (1e-300, 1e-160, 1e-30, 1e30, 1e150, 1e300):
            problem = bo.compose("relu-nmd", matrix(), rank=3, U=f"{H}({weight})", V=f"{H}({weight})")
            assert_true_figures(problem, matrix(), 3, method, iterations=25)
