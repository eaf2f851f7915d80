"""bregopt used from several threads of a program at once."""

import subprocess
import sys
import threading

import numpy as np
import pytest
from bregopt_lowrank.passes.threads import one_blas_thread
from threadpoolctl import threadpool_info

import bregopt as bo

pytestmark = pytest.mark.usefixtures("two_blas_threads")

FIRST_USE = """
import threading
import numpy as np
import bregopt as bo

M = np.maximum(0, np.random.default_rng(0).standard_normal((12, 9)))
ready, answers = threading.Barrier(8), []

def work():
    ready.wait()
    try:
        answers.append(bo.solve(bo.compose("relu-nmd", M, rank=2), method="aapb", max_iterations=3).objective)
    except Exception as error:
        answers.append(repr(error))

threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(answers), len(set(answers)), answers[0])
"""


def test_eight_threads_may_use_it_first_at_the_same_time():
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", FIRST_USE], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        count, different, answer = done.stdout.split(maxsplit=2)
        assert (count, different) == ("8", "1"), answer
        assert float(answer) > 0


def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_runs_that_overlap_leave_the_threads_of_blas_as_they_met_them():
    before = blas_threads()
    assert set(before) == {2}
    inside, leave = threading.Event(), threading.Event()

    def other():
        with one_blas_thread():
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    with one_blas_thread():
        thread.start()
        inside.wait(10)
        assert set(blas_threads()) == {1}
    assert set(blas_threads()) == {1}, "the other is still inside"
    leave.set()
    thread.join()
    assert blas_threads() == before


@pytest.mark.parametrize("raises", [False, True])
def test_the_limit_ends_with_the_outermost_context(raises):
    before = blas_threads()
    assert set(before) == {2}
    try:
        with one_blas_thread(), one_blas_thread():
            if raises:
                raise KeyError
    except KeyError:
        pass
    assert blas_threads() == before


def test_solves_in_several_threads_give_what_they_give_alone():
    M = np.maximum(0, np.random.default_rng(0).standard_normal((30, 20)))
    problem = bo.compose("relu-nmd", M, rank=3, U="l1(0.1)")
    alone = [bo.solve(problem, method="aapb", seed=seed, max_iterations=20).objective for seed in range(4)]
    found = {}

    def work(seed):
        found[seed] = bo.solve(problem, method="aapb", seed=seed, max_iterations=20).objective

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[seed] for seed in range(4)] == alone
