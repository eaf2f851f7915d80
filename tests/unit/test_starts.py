"""Several starts: the best one is returned, for a part of the products that all of them would take."""

import json
import math
import signal
import time
from functools import partial

import numpy as np
import pytest

import bregopt as bo
from bregopt.engine.solve import course_from
from bregopt.engine.starts import StartedRun, WholeClock, best_of, race
from bregopt.errors import IncompatibleError, InterruptedWarning, ParameterError
from bregopt.host.selection import prepare
from bregopt.host.start_processes import Worker

STOP = {"stop": "plateau(1e-8)", "max_iterations": 300}


def graph(seed):
    """The adjacency matrix of a sparse random graph: max(0, UV) ≈ M has many local minima."""
    A = np.triu(np.random.default_rng(seed).random((60, 60)) < 8 / 60, 1).astype(float)
    return bo.compose("relu-nmd", (A + A.T)[:, :40], rank=4)


@pytest.fixture(scope="module")
def problem():
    return graph(4)


@pytest.fixture(scope="module")
def separate(problem):
    return [bo.solve(problem, seed=seed, **STOP) for seed in range(8)]


@pytest.fixture(scope="module")
def best(problem):
    return bo.solve(problem, starts=8, **STOP)


def test_the_best_of_eight_starts_is_found_in_two_fifths_of_their_products(best, separate):
    objectives = [run.objective for run in separate]
    assert max(objectives) > 1.05 * min(objectives)
    assert best.objective <= min(objectives)
    assert best.counts.products <= 0.4 * sum(run.counts.products for run in separate)


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_where_the_length_is_known_the_best_of_eight_comes_for_two_fifths(seed):
    problem, limits = graph(seed), {"method": "els", "max_iterations": 200}
    separate = [bo.solve(problem, seed=it, **limits) for it in range(8)]
    best = bo.solve(problem, starts=8, **limits)
    assert best.objective <= min(run.objective for run in separate)
    assert best.counts.products <= 0.4 * sum(run.counts.products for run in separate)


def test_the_result_is_that_of_a_single_run_from_the_same_seed(best, separate):
    seed = min(best.starts, key=lambda it: it.objective).seed
    same = separate[seed]
    assert (best.objective, best.iterations, best.status) == (same.objective, same.iterations, same.status)
    assert np.array_equal(best.Y.flat, same.Y.flat)
    for name in set(best.history) - {"seconds"}:
        assert np.array_equal(best.history[name], same.history[name], equal_nan=True)


def test_a_start_that_goes_on_is_not_run_again(best, separate):
    for record in best.starts:
        history = separate[record.seed].history
        assert record.objective == pytest.approx(history["objective"][: record.iterations + 1].min(), rel=1e-12)
        if not record.ended:
            assert record.products == history["products"][record.iterations]


class Scripted:
    """A run whose objectives are known beforehand, one for each unit of work."""

    def __init__(self, objectives):
        self.objectives, self.amount, self.verdict = objectives, 0, None

    def lowest(self, amount=math.inf):
        return min(self.objectives[: math.ceil(min(amount, self.amount)) + 1])

    def go(self, amount):
        while self.verdict is None and self.amount < amount:
            self.amount += 1
            if self.amount == len(self.objectives) - 1:
                self.verdict = bo.Verdict(bo.Status.PLATEAU, "It is flat.")


def go_on(runs, amount):
    for run in runs:
        run.go(amount)


@pytest.mark.parametrize("known", [False, True])
def test_the_one_that_is_returned_has_come_to_its_end(known):
    rng = np.random.default_rng(0)
    for _ in range(50):
        lengths = [700] * 8 if known else rng.integers(30, 900, 8)
        runs = [Scripted(np.cumsum(rng.gamma(0.1, size=it))[::-1].tolist()) for it in lengths]
        race(runs, go_on, 700 if known else None)
        assert min(runs, key=Scripted.lowest).verdict is not None
        if known:
            assert sum(run.amount for run in runs) <= 0.4 * 8 * 700


def test_a_start_that_was_left_and_is_lower_goes_on():
    early = Scripted([5.0] * 30 + [1.0] * 200)  # ahead after 10, behind after 20
    late = Scripted([10.0] * 20 + [3.0] * 30 + [2.0])
    race([early, late], go_on)
    assert late.verdict is not None
    assert early.verdict is not None


def test_the_time_in_which_others_are_at_work_is_none_of_a_start(problem):
    ready = prepare(problem, "aapb", None, 0)
    run = StartedRun(0, partial(course_from, ready.problem, ready.method, ready.Y))
    stop = WholeClock(bo.make("stop", "max-iterations(4)"))
    began = time.perf_counter()
    run.advance(5.0, stop, ())
    time.sleep(0.1)
    run.advance(math.inf, stop, ())
    assert run.course.state.iteration == 4
    assert run.course.seconds <= time.perf_counter() - began - 0.1
    assert run.course.recorder.columns["seconds"][-1] <= run.course.seconds


def test_starts_that_keep_their_order_are_ranked_rightly():
    order = np.random.default_rng(0).permutation(8)
    runs = [Scripted([1.0 + rank / (1.0 + k) for k in range(500)]) for rank in order]
    race(runs, go_on)
    assert runs[int(np.argmin(order))].verdict is not None
    assert sum(run.amount for run in runs) <= 0.4 * 8 * 500


def test_the_products_of_all_starts_are_on_the_account(best):
    assert best.counts.products == pytest.approx(sum(it.products for it in best.starts))
    assert [it.seed for it in best.starts] == list(range(8))
    assert best.counts.products > 1.5 * best.history["products"][-1]
    assert best.seconds > best.history["seconds"][-1] > 0


def test_the_notes_tell_the_spread_of_the_others(best):
    told = best.notes[0]
    assert told.startswith("Best of 8 starts: seed ")
    others = sorted(it.objective for it in best.starts)[1:]
    assert f"{others[0]:.6g}" in told
    assert f"{others[-1]:.6g}" in told
    assert "history" in told


def test_the_same_seed_gives_the_same_answer(problem, best):
    again = bo.solve(problem, starts=8, **STOP)
    assert again.starts == best.starts
    assert np.array_equal(again.Y.flat, best.Y.flat)


def test_seeds_begin_at_the_seed(problem):
    result = bo.solve(problem, seed=5, starts=2, max_iterations=3)
    assert [it.seed for it in result.starts] == [5, 6]


def test_one_start_is_an_ordinary_run(problem):
    assert bo.solve(problem, starts=1, max_iterations=3).starts == ()


@pytest.mark.parametrize("start", ["tsvd", "blocks"])
def test_a_start_that_is_the_same_for_each_seed_is_refused(problem, start):
    given = bo.Blocks(U=np.ones((60, 4)), V=np.ones((4, 40))) if start == "blocks" else start
    with pytest.raises(IncompatibleError, match="need a start that draws random numbers"):
        bo.solve(problem, start=given, starts=2)


def test_a_checkpoint_is_refused(problem, tmp_path):
    with pytest.raises(IncompatibleError, match="a checkpoint holds one run"):
        bo.solve(problem, starts=2, checkpoint=tmp_path / "run")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("starts", [0, -1, 1.5, True, "2"])
def test_a_number_of_starts_that_is_none_is_refused(problem, starts):
    with pytest.raises(ParameterError, match="'starts'"):
        bo.solve(problem, starts=starts)


def test_a_generator_in_the_place_of_a_seed_is_refused(problem):
    with pytest.raises(ParameterError, match="a whole number"):
        bo.solve(problem, seed=np.random.default_rng(0), starts=2)


def test_the_limit_of_seconds_is_for_all_starts(problem):
    result = bo.solve(problem, starts=4, max_seconds=0.0)
    assert result.status is bo.Status.MAX_SECONDS
    assert len(result.starts) == 1
    assert "3 were not begun" in result.notes[0]


def test_a_rule_sees_the_seconds_of_all_starts(problem):
    seen = []

    class Watching(bo.StopRule):
        certain = True

        def judge(self, progress):
            seen.append(progress.seconds)
            return bo.Verdict(bo.Status.MAX_ITERATIONS, "Enough.") if progress.iteration >= 30 else None

    bo.solve(problem, starts=3, stop=Watching())
    assert seen == sorted(seen)


def test_ctrl_c_ends_all_starts_and_returns_the_best_so_far(problem):
    states = []

    def press(state):
        states.append(state)
        if len(states) == 100:
            signal.raise_signal(signal.SIGINT)

    with pytest.warns(InterruptedWarning, match="Ctrl-C") as told:
        result = bo.solve(problem, starts=8, observers=[press], **STOP)
    assert told[0].filename == __file__
    assert len(states) <= 101  # where it was the last of a turn, the run that is next makes one
    assert result.status is bo.Status.INTERRUPTED
    assert result.objective <= min(state.objective for state in states)
    assert not any(it.ended for it in result.starts)
    assert f"after {result.iterations} iterations" in result.reason


def test_a_start_that_diverges_does_not_win(problem):
    ready = [prepare(problem, "aapb", None, seed) for seed in range(2)]
    runs = [StartedRun(k, partial(course_from, it.problem, it.method, it.Y)) for k, it in enumerate(ready)]
    stop = WholeClock(bo.make("stop", "max-iterations(3)"))
    for run in runs:
        run.advance(math.inf, stop, ())
    runs.sort(key=StartedRun.lowest)
    runs[0].verdict = bo.Verdict(bo.Status.DIVERGED, "It rose.")
    result = best_of(runs, stop)
    assert result.status is bo.Status.MAX_ITERATIONS
    assert result.objective == runs[1].lowest()


# ---- in processes


@pytest.mark.usefixtures("two_blas_threads")
def test_the_answer_is_the_same_in_processes(problem, best):
    result = bo.solve(problem, starts=8, processes=3, **STOP)
    assert result.starts == best.starts
    assert result.notes == best.notes
    assert result.counts == best.counts
    assert np.array_equal(result.Y.flat, best.Y.flat)
    for name in set(best.history) - {"seconds"}:
        assert np.array_equal(result.history[name], best.history[name], equal_nan=True)


class Unsaved(bo.StopRule):
    """A rule that cannot be sent anywhere, as it is no attrs class."""

    certain = True

    def judge(self, progress):
        return bo.Verdict(bo.Status.MAX_ITERATIONS, "Enough.") if progress.iteration >= 20 else None


def test_what_cannot_be_sent_to_a_process_goes_on_in_this_one(problem):
    here, there = (bo.solve(problem, starts=3, processes=number, stop=Unsaved()) for number in (1, 2))
    assert here.starts == there.starts
    assert "The starts went on in one process: the stop rule" in there.notes[1]


@pytest.fixture
def at_work(monkeypatch):
    """The processes that have not ended."""
    begun, begin = [], Worker.__init__

    def noted(self, problem):
        begun.append(self)
        begin(self, problem)

    monkeypatch.setattr(Worker, "__init__", noted)
    return lambda: [it for it in begun if it._process.poll() is None]


def test_a_process_that_is_killed_takes_nothing_with_it(problem, best, at_work):
    seen = []

    def kill(state):
        seen.append(state)
        if len(seen) == 9:  # the first eight are seen before any process is at work
            for worker in at_work():
                worker._process.kill()

    result = bo.solve(problem, starts=8, processes=2, observers=[kill], **STOP)
    assert result.starts == best.starts
    assert np.array_equal(result.Y.flat, best.Y.flat)
    assert "The starts went on in one process:" in result.notes[1]


def test_ctrl_c_ends_the_starts_in_processes(problem, at_work):
    seen = []

    def press(state):
        seen.append(state)
        if len(seen) == 9:
            signal.raise_signal(signal.SIGINT)

    limit = "max-iterations(1000000)"
    with pytest.warns(InterruptedWarning, match="Ctrl-C"):
        result = bo.solve(problem, starts=8, processes=2, observers=[press], stop=limit)
    assert result.status is bo.Status.INTERRUPTED
    assert result.objective <= min(state.objective for state in seen)
    assert not at_work()


def test_an_error_of_a_rule_is_the_same_in_processes(problem, at_work):
    with pytest.raises(IncompatibleError, match="held"):
        bo.solve(problem, starts=2, processes=2, stop="held-out")
    assert not at_work()


# ---- on the command line


def test_the_command_line_tells_of_all_starts(call, tmp_path):
    options = ("-r", 2, "--starts", 3, "--seed", 5, "--max-iterations", 20)
    code, out, _ = call("solve", *options, "--out", tmp_path / "run")
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert code == 0
    assert "seeds 5 to 7" in out
    assert "Best of 3 starts: seed" in out
    assert "20 iterations, " in out
    assert " s of all starts" in out
    assert [it["seed"] for it in record["starts"]] == [5, 6, 7]
    assert not list((tmp_path / "run").glob("checkpoint*"))


def test_the_command_line_says_what_several_starts_do_not_go_with(call):
    code, out, err = call("solve", "--starts", 2, "--start", "tsvd")
    assert (code, out) == (2, "")
    assert "need a start that draws random numbers" in " ".join(err.split())
