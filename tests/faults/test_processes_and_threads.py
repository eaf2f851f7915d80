"""bregopt in pools of processes and of threads, started in every way that Python has."""

import json
import os
import subprocess
import sys

import pytest

PROGRAM = """
import json, multiprocessing, os, sys, warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
import numpy as np
import bregopt as bo

warnings.simplefilter("error", bo.errors.FaultWarning)

def work(seed):
    M = np.maximum(0, np.random.default_rng(0).standard_normal((500, 420)))
    return bo.solve(bo.compose("relu-nmd", M, rank=3), method="aapb", seed=seed, max_iterations=3).objective

if __name__ == "__main__":
    way, first = sys.argv[1:]
    found = {}
    if first == "used before":
        found["alone"] = [work(seed) for seed in range(4)]
    if way == "threads":
        with ThreadPoolExecutor(4) as pool:
            found["pool"] = list(pool.map(work, range(4)))
    elif way == "joblib":
        from joblib import Parallel, delayed
        found["pool"] = Parallel(n_jobs=2)(delayed(work)(seed) for seed in range(4))
    elif way == "fork of a thread":
        with ThreadPoolExecutor(1) as thread, multiprocessing.get_context("fork").Pool(2) as pool:
            found["pool"] = thread.submit(pool.map, work, range(4)).result()
    else:
        with multiprocessing.get_context(way).Pool(2) as pool:
            found["pool"] = pool.map(work, range(4))
        with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(way)) as pool:
            found["executor"] = list(pool.map(work, range(4)))
    print(json.dumps(found))
"""
WAYS = ["fork", "spawn", "forkserver", "threads", "fork of a thread", "joblib"]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("program") / "program.py"
    path.write_text(PROGRAM)
    return path


@pytest.fixture(scope="module")
def expected(program):
    return objectives(program, "threads", "used before")["alone"]


def objectives(program, way, first, **env):
    """What the program finds; it must say nothing else, and not hang."""
    if way == "joblib":
        pytest.importorskip("joblib")
    words = [sys.executable, str(program), way, first]
    done = subprocess.run(words, env=os.environ | env, capture_output=True, text=True, timeout=240)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("first", ["new", "used before"])
@pytest.mark.parametrize("way", WAYS)
def test_every_pool_gives_what_one_process_gives(way, first, program, expected):
    for name, found in objectives(program, way, first).items():
        assert found == pytest.approx(expected, rel=1e-12), name


@pytest.mark.parametrize("way", ["spawn", "threads"])
def test_an_empty_folder_for_compiled_loops_may_be_filled_by_several_at_once(way, program, expected, tmp_path):
    found = objectives(program, way, "new", NUMBA_CACHE_DIR=str(tmp_path))
    assert found["pool"] == pytest.approx(expected, rel=1e-12)
    assert list(tmp_path.rglob("*.nbc"))
