"""``bregopt bench instead``: peers minimise the same objective from the same start; both are timed to one target."""

import json
import sys

import numpy as np
import pytest
from bregopt_bench.instead.command import least, measure, shown_row
from bregopt_bench.instead.tasks import counts, ratings, tasks
from bregopt_bench.peers.numpy_loops import SmoothLowRank, als_sweep, hals_sweep

import bregopt as bo

SMALL = 0.02


@pytest.fixture(scope="module")
def small():
    """Every task but that of the pictures, whose size is what it is."""
    return [make() for make in tasks(SMALL)[1:]]


def test_a_peer_begins_at_the_start_and_lowers_the_same_objective(small):
    for task in small:
        begin, one, more = task.objective(task.start), task.peer_objective(1), task.peer_objective(10)
        assert more <= one < begin, task.title
        assert task.objective(task.start) == pytest.approx(
            bo.solve(task.problem, start=task.start, max_iterations=0).objective
        )


def test_both_are_timed_to_the_same_objective(small):
    for task in small:
        row = measure(task, 1)
        assert row["objective"] >= task.peer_objective(row["peer_iterations"])
        assert row["peer_iterations"] == 1 or task.peer_objective(row["peer_iterations"] - 1) > row["objective"]
        assert row["seconds"] is None or row["times_faster"] == row["peer_seconds"] / row["seconds"]


def test_what_is_not_reached_is_told_so():
    row = {"task": "a", "peer": "b", "peer_seconds": 1.0, "seconds": None, "times_faster": None}
    assert shown_row(row)["bregopt's"] == "not reached"


@pytest.mark.parametrize("answer", [1, 2, 3, 7, 8, 63, 64])
def test_the_least_number_is_found(answer):
    assert least(lambda number: number >= answer, 64) == answer


@pytest.mark.parametrize("model", ["nmf", "relu-nmd"])
def test_the_objective_written_in_numpy_has_the_right_gradient(model):
    rng = np.random.default_rng(0)
    smooth = SmoothLowRank(np.maximum(rng.standard_normal((5, 4)), 0.0), model, 2, 0.3)
    x, d = rng.standard_normal(18), rng.standard_normal(18)
    ahead, behind = (smooth.value_and_gradient(x + t * d)[0] for t in (1e-6, -1e-6))
    assert (ahead - behind) / 2e-6 == pytest.approx(smooth.value_and_gradient(x)[1] @ d, rel=1e-6)


def test_a_sweep_sets_every_row_to_the_minimiser_given_the_others():
    rng = np.random.default_rng(0)
    U, V, M = rng.random((6, 2)), rng.random((2, 5)), rng.random((6, 5))
    hals_sweep(V, U.T @ M, U.T @ U, 0.1)
    last = np.maximum((U[:, 1] @ (M - np.outer(U[:, 0], V[0]))) / (U[:, 1] @ U[:, 1] + 0.1), 0.0)
    np.testing.assert_allclose(V[1], last, rtol=1e-12)
    known = ratings(8, 7, rank=2, known=0.5)
    rows = np.zeros((8, 2))
    other = rng.standard_normal((7, 2))
    als_sweep(rows, other, known, 0.1)
    E = np.where(known.toarray() != 0, rows @ other.T - known.toarray(), 0.0)
    np.testing.assert_allclose(E @ other + 0.1 * rows, 0.0, atol=1e-12)


def test_the_counts_are_sparse_and_whole():
    M = counts(60, 40)
    assert 0 < M.nnz < 0.5 * 60 * 40
    assert np.array_equal(M.data, np.rint(M.data))


def test_the_table_is_printed_as_text_markdown_and_json(call, monkeypatch):
    monkeypatch.setattr("bregopt_bench.instead.command.tasks", lambda scale: tasks(SMALL)[-1:])
    code, out, err = call("bench", "instead", "--repeats", 1)
    assert (code, err) == (0, "")
    assert "L-BFGS-B of scipy" in out
    assert "0.1 %" in out
    *table, _, note = call("bench", "instead", "--repeats", 1, "--markdown")[1].splitlines()
    assert len(table) == 3
    assert {line.count("|") for line in table} == {6}
    assert f"bregopt {bo.__version__}" in note
    found = json.loads(call("bench", "instead", "--repeats", 1, "--json")[1])
    assert found["rows"][0]["peer"] == "L-BFGS-B of scipy"
    assert found["machine"]["versions"]["bregopt"] == bo.__version__


def test_without_scikit_learn_it_says_what_to_install(call, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    code, _, err = call("bench", "instead")
    assert code == 2
    assert "bregopt[sklearn]" in err
