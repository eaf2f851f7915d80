"""Entries that are kept from the fit: their error in the history, and the stop rule that looks at it."""

import numpy as np
import pytest
import scipy.sparse

import bregopt as bo
from bregopt.errors import DataError, IncompatibleError, ParameterError


def noisy(seed=0):
    """A matrix of rank 2 with noise, half of it known: a fit of rank 5 without H soon fits the noise."""
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((30, 2)) @ rng.standard_normal((2, 24)) + 0.5 * rng.standard_normal((30, 24))
    M[rng.random(M.shape) < 0.5] = np.nan
    return M


def problem(**options):
    return bo.compose("completion", noisy(), rank=5, held_out=0.2, **options)


def judged(errors, patience=3):
    """What the rule says of a run with these held-out errors."""
    metrics = {"held_out_error": errors[-1]}
    history = {"held_out_error": errors}
    progress = bo.Progress(len(errors) - 1, bo.Blocks(U=0.0), 0.1, 9.0, 1.0, metrics, None, history, lambda: None)
    return bo.make("stop", f"held-out({patience})").judge(progress)


def test_the_rule_waits_while_the_error_falls():
    assert judged([1.0, 0.9, 0.8, 0.7, 0.6, 0.5]) is None


def test_the_rule_waits_as_many_iterations_as_its_patience_for_a_new_least_error():
    assert judged([1.0, 0.5, 0.6, 0.6]) is None
    verdict = judged([1.0, 0.5, 0.6, 0.6, 0.6])
    assert verdict.status is bo.Status.PLATEAU
    assert verdict.reason == (
        "The held-out error has not fallen below 0.5, that of iteration 1, for 3 iterations; it is 0.6."
    )
    assert judged([1.0, 0.5, 0.6, 0.6, 0.4]) is None


def test_an_error_that_stays_as_it_is_has_not_fallen():
    assert judged([0.5, 0.5, 0.5, 0.5]) is not None


def test_an_error_that_is_not_known_is_no_least_error():
    nan = float("nan")
    assert judged([nan, nan, nan, nan, nan]) is None
    assert judged([nan, nan, nan, 0.5, 0.6]) is None
    assert judged([nan, 0.5, 0.6, nan, 0.6]) is not None


def test_a_run_ends_where_the_error_on_entries_held_out_rises_and_goes_on_without_the_rule():
    result = bo.solve(problem(), method="aapb", stop="held-out(4)")
    errors = result.history["held_out_error"]
    assert result.status is bo.Status.PLATEAU
    assert result.converged
    assert 4 < result.iterations < 300
    assert int(np.argmin(errors)) == result.iterations - 4
    longer = bo.solve(problem(), method="aapb", max_iterations=300)
    np.testing.assert_array_equal(longer.history["held_out_error"][: len(errors)], errors)
    assert longer.history["held_out_error"][-1] > 1.2 * errors.min()
    assert longer.objective < result.objective


def test_the_result_is_the_last_point_and_an_observer_can_keep_the_best_one():
    best = {}

    def keep(state):
        if state.metrics["held_out_error"] < best.get("error", np.inf):
            best.update(error=state.metrics["held_out_error"], Y=state.Y)

    result = bo.solve(problem(), method="aapb", stop="held-out(4)", observers=[keep])
    assert best["error"] == result.history["held_out_error"].min()
    assert result.metrics["held_out_error"] == result.history["held_out_error"][-1] > best["error"]


@pytest.mark.parametrize("form", [np.asarray, lambda M: scipy.sparse.csr_array(np.nan_to_num(M))])
def test_the_error_in_the_history_is_that_of_entries_that_the_fit_does_not_see(form):
    M = noisy()
    it = bo.compose("completion", form(M), rank=3, held_out=0.2, U="ridge(1)", V="ridge(1)")
    result = bo.solve(it, method="aapb", max_iterations=30)
    tested, fitted = it.block.held_out.matrix().toarray() != 0, ~np.isnan(it.block.M.read(slice(0, 30)).M)
    assert not (tested & fitted).any()
    np.testing.assert_array_equal(tested | fitted, ~np.isnan(M))
    assert 0.1 < tested.sum() / (~np.isnan(M)).sum() < 0.3
    error = np.linalg.norm((M - result.Y.U @ result.Y.V)[tested]) / np.linalg.norm(M[tested])
    assert result.history["held_out_error"][-1] == pytest.approx(error, rel=1e-10)
    assert len(result.history["held_out_error"]) == 31


def test_the_seed_says_which_entries_are_held_out():
    drawn = [
        bo.compose("low-rank", noisy(), rank=2, held_out=0.2, held_out_seed=seed).block.held_out.matrix().toarray() != 0
        for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert (drawn[0] != drawn[2]).any()
    np.testing.assert_array_equal(drawn[0], problem().block.held_out.matrix().toarray() != 0)
    for wrong in (-1, 0.5, True):
        with pytest.raises(ParameterError, match="held_out_seed"):
            bo.compose("low-rank", noisy(), rank=2, held_out=0.2, held_out_seed=wrong)


def test_relu_nmd_holds_entries_out_and_still_refuses_nan():
    M = np.maximum(0.0, np.nan_to_num(noisy()))
    it = bo.compose("relu-nmd", M, rank=3, held_out=0.2, held_out_seed=3)
    result = bo.solve(it, method="aapb", max_iterations=30)
    tested, fitted = it.block.held_out.matrix(), ~np.isnan(it.block.M.read(slice(0, 30)).M)
    rows, columns = tested.nonzero()
    assert not fitted[rows, columns].any()
    assert tested.nnz + fitted.sum() == M.size
    X = np.maximum(0.0, result.Y.U @ result.Y.V)[~fitted]
    error = np.linalg.norm(M[~fitted] - X) / np.linalg.norm(M[~fitted])
    assert result.metrics["held_out_error"] == pytest.approx(error, rel=1e-10)
    M[0, 0] = np.nan
    with pytest.raises(DataError, match="1 entries that are nan"):
        bo.compose("relu-nmd", M, rank=3, held_out=0.2)


def test_a_sparse_matrix_stays_sparse_and_has_the_same_entries_held_out_as_a_dense_one():
    M = np.maximum(0.0, np.nan_to_num(noisy()) - 1.0)
    dense, sparse = (bo.compose("relu-nmd", it, rank=2, held_out=0.2) for it in (M, scipy.sparse.csr_array(M)))
    assert dense.block.M.source is not None
    assert sparse.block.M.source is None
    rows = slice(0, 30)
    np.testing.assert_array_equal(sparse.block.M.read(rows).M, dense.block.M.read(rows).M)
    np.testing.assert_array_equal(*(it.block.held_out.read(rows).M for it in (sparse, dense)))


def test_for_labels_the_error_is_the_share_of_mistakes():
    M = np.sign(noisy())
    it = bo.compose("logistic", M, rank=2, held_out=0.3)
    result = bo.solve(it, max_iterations=30)
    tested = it.block.held_out.matrix().toarray() != 0
    mistakes = np.mean((M * (result.Y.U @ result.Y.V))[tested] <= 0)
    assert result.metrics["held_out_error"] == pytest.approx(mistakes, rel=1e-12)


def test_a_problem_without_such_entries_is_refused_before_the_first_iteration():
    seen = []
    it = bo.compose("completion", noisy(), rank=2)
    with pytest.raises(IncompatibleError, match="entries of which are held out"):
        bo.solve(it, stop="held-out", observers=[lambda state: seen.append(state.iteration)])
    assert seen == [0]


def test_the_patience_is_a_whole_number():
    for wrong in (0, 1.5):
        with pytest.raises(ParameterError, match="patience"):
            bo.make("stop", f"held-out({wrong})")


def test_the_rule_composes_with_others_and_works_on_the_command_line(call, tmp_path):
    rule = bo.make("stop", "held-out(4)") | bo.make("stop", "max-iterations(2)")
    assert rule.certain
    assert bo.solve(problem(), stop=rule).status is bo.Status.MAX_ITERATIONS
    np.save(tmp_path / "M.npy", noisy())
    command = ["solve", tmp_path / "M.npy", "--problem", "completion(held_out=0.2)", "-r", 5, "--method", "aapb"]
    code, shown, _ = call(*command, "--stop", "held-out(4)")
    assert code == 0
    assert "The held-out error has not fallen below" in shown
