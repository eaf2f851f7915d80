"""Runs that are killed at random moments end like those that are not: the same factors and history, bit for bit."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from bregopt.engine.checkpoint import checkpoints_in

pytestmark = pytest.mark.faults
PROGRAM = Path(__file__).with_name("saved_run.py")
ITERATIONS = "500"
METHODS = ("aapb", "hybrid", "bella", "cocain", "els")
KILLS = 3
RUNS = int(os.environ.get("BREGOPT_KILLED_RUNS", "2"))
"""For each method; 10 are the long form, with 50 runs and 150 kills."""


def start(folder, method, result):
    return subprocess.Popen([sys.executable, str(PROGRAM), str(folder), method, ITERATIONS, str(result)])


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """By method, what a run without a break ends with."""
    results = {}
    for method in METHODS:
        folder = tmp_path_factory.mktemp(method)
        assert start(folder / "run", method, folder / "whole.npz").wait(timeout=120) == 0
        with np.load(folder / "whole.npz") as arrays:
            results[method] = {name: arrays[name] for name in arrays.files}
    return results


@pytest.mark.parametrize("seed", range(RUNS))
@pytest.mark.parametrize("method", METHODS)
def test_a_run_that_is_killed_three_times_ends_like_one_that_is_not(method, seed, whole, tmp_path):
    rng = np.random.default_rng([seed, METHODS.index(method)])
    folder, result, killed = tmp_path / "run", tmp_path / "end.npz", 0
    while killed < KILLS:
        before = checkpoints_in(folder)
        process = start(folder, method, result)
        while process.poll() is None and checkpoints_in(folder) == before:  # it is under way
            time.sleep(0.002)
        time.sleep(rng.uniform(0.0, 0.3))
        process.kill()
        if process.wait() == 0:
            break  # it was faster
        killed += 1
    assert killed, "the run must be long enough to be killed"
    if not result.exists():
        assert start(folder, method, result).wait(timeout=120) == 0
    with np.load(result) as arrays:
        assert set(arrays.files) == set(whole[method])
        for name, expected in whole[method].items():
            np.testing.assert_array_equal(arrays[name], expected, err_msg=name)
