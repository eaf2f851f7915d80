"""Signals that end a process: a folder of results is there as a whole, or not at all."""

import os
import random
import signal
import time

import pytest
from children import finish, killed_at_random, left_in, start

from bregopt.cli.run import FILES

SEEDS = range(4)


def whole_or_absent(folder):
    """Whether the results are there; other files do not matter, and half of them is an error."""
    left = left_in(folder)
    if left is None or not set(FILES) & set(left.names):
        return False
    assert set(FILES) <= set(left.names), left.names
    assert left.record["iterations"] + 2 == len(left.history)
    return True


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL], ids=lambda number: number.name)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_signal_at_any_moment_leaves_whole_results_or_none(number, seed, small_file, tmp_path):
    out = tmp_path / "out"
    done = killed_at_random(
        *("solve", small_file, "-r", 3, "--max-seconds", 1, "--out", out),
        rng=random.Random(seed),
        longest=4.0,
        number=number,
    )
    assert "Traceback" not in done.err
    assert whole_or_absent(out) or done.code != 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_a_command_that_is_killed_takes_its_local_workers_with_it(number, small_file):
    process = start(
        "solve", small_file, "--dask", "local", "--max-seconds", 60, "--no-progress", start_new_session=True
    )
    assert process.stderr.readline().startswith("Dashboard of the cluster")
    process.send_signal(number)
    finish(process)
    end = time.monotonic() + 60
    while members_of(process.pid):
        assert time.monotonic() < end, "workers are left"
        time.sleep(0.2)


def members_of(session):
    """The processes of a session, those of the workers included."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.getsid(int(name)) == session:
                found.append(int(name))
        except ProcessLookupError:
            continue
    return found
