"""``bregopt bench recommender``: ratings as they were asked for, and a run that learns them."""

import json

import numpy as np
import pytest
from bregopt_bench import measuring
from bregopt_bench.speed import recommender
from bregopt_bench.speed.recommender import NOISE, Ratings, popular

SMALL = ("--users", 60, "--items", 40, "--known", 900, "-r", 3)


def test_the_run_is_told_by_stages(call):
    code, out, err = call("bench", "recommender", *SMALL, "--iterations", 2, "--json")
    assert (code, err) == (0, "")
    record = json.loads(out)
    assert [record[key] for key in ("users", "items", "known", "rank", "dtype")] == [60, 40, 900, 3, "float32"]
    assert list(record["stages"]) == [
        *("making the ratings", "composing the problem", "evaluating the start", "iteration 1", "iteration 2")
    ]
    spent = [record["stages"][f"iteration {k}"]["seconds"] for k in (1, 2)]
    assert record["iteration_seconds"] == pytest.approx(sum(spent) / 2)
    if measuring.STATUS.exists():
        peaks = [stage["peak_bytes"] for stage in record["stages"].values()]
        assert 0 < peaks[0] <= peaks[-1] <= record["peak_bytes"]
        assert peaks == sorted(peaks)


def test_an_iteration_costs_the_share_of_the_known_ratings(call):
    full, small = (
        json.loads(call("bench", "recommender", *SMALL[:4], "--known", known, "-r", 3, "--json")[1])
        for known in (1200, 300)
    )
    assert full["products_per_iteration"] == pytest.approx(4 * small["products_per_iteration"])


def test_the_ratings_are_learned_down_to_the_noise(call):
    code, out, err = call("bench", "recommender", *SMALL[:4], "--known", 1800, "-r", 3, "--iterations", 150, "--json")
    assert (code, err) == (0, "")
    record = json.loads(out)
    assert record["first_error"] > 0.9
    assert record["error"] < 1.1 * record["noise"]
    assert record["noise"] == pytest.approx(NOISE / np.sqrt(1 + NOISE**2))


def test_the_table_names_the_stages_and_fits_the_page(call):
    code, out, err = call("bench", "recommender", *SMALL, "--iterations", 1)
    assert (code, err) == (0, "")
    assert "composing the problem" in out
    assert "iteration 1" in out
    assert max(map(len, out.splitlines())) <= 110


@pytest.mark.parametrize("block", [1, 100, 10**6])
@pytest.mark.parametrize("known", [50, 60, 1000, 2399])
def test_there_are_as_many_ratings_as_asked_for_and_each_once(known, block, monkeypatch):
    monkeypatch.setattr(recommender, "BLOCK", block)
    M = Ratings(60, 40, known, 3).draw()
    assert (M.shape, M.nnz, M.dtype, M.indices.dtype) == ((60, 40), known, np.float32, np.int32)
    each = np.diff(M.indptr)
    assert each.max() - each.min() <= 1
    for i in range(60):
        row = M.indices[M.indptr[i] : M.indptr[i + 1]]
        assert np.all(np.diff(row) > 0)


def test_ratings_have_a_variance_of_one_and_noise():
    values = Ratings(600, 400, 60000, 8).draw().data
    assert values.var() == pytest.approx(1 + NOISE**2, rel=0.1)


def test_popular_items_are_rated_more_often():
    counts = np.bincount(popular(1000, 30, 4000, np.random.default_rng(0)).ravel(), minlength=1000)
    assert counts.min() > 0
    first, middle, last = counts[:10].mean(), counts[250], counts[-250:].mean()
    assert first > 4 * last
    assert counts[200:300].mean() > 1.2 * last
    assert middle < first


def test_the_numbers_can_be_written_with_an_exponent(call):
    record = json.loads(call("bench", "recommender", "--users", "1e2", "--items", "5e1", "--known", "1e3", "--json")[1])
    assert [record[key] for key in ("users", "items", "known")] == [100, 50, 1000]


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ("--users 0", "'0' is not a whole number from 1 on, as 100000 or 1e5"),
        ("--known 1.5", "'1.5' is not a whole number"),
        ("--known many", "'many' is not a whole number"),
        ("--users 10 --items 10 --known 100", "100 is too many: some of the 10×10 ratings must be unknown"),
        ("--users 10 --items 10 --known 50 -r 11", "11 is more than 10"),
    ],
)
def test_ratings_that_cannot_be_are_refused_in_a_line(args, text, call):
    code, out, err = call("bench", "recommender", *args.split())
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert text in err


def test_a_system_that_does_not_tell_its_memory_gives_none(call, monkeypatch, tmp_path):
    monkeypatch.setattr(measuring, "STATUS", tmp_path / "status")
    assert measuring.peak_memory() is None
    code, out, err = call("bench", "recommender", *SMALL, "--iterations", 1)
    assert (code, err) == (0, "")
    assert "–" in out
