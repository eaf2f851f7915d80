"""``bregopt`` as a child process: started, halted or killed at a random moment, and what it left behind.

``start("solve", …)`` starts it; ``killed_at_random("solve", …, rng=…)`` also kills it, and ``left_in(folder)`` reads
what it wrote. ``on_a_disk("full", folder)`` and ``on_a_disk("read-only", folder)`` give the words to put before a
command so that this folder lies on such a disk, for that command alone.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from functools import cache

import numpy as np
from attrs import frozen

PLAIN = {"OMP_NUM_THREADS": "1", "COLUMNS": "100"}
LONGEST = 120.0
"""Seconds that a command may take."""
DISKS = {"full": "size=64k", "read-only": "ro"}


@frozen
class Ended:
    """A command that has ended: a negative code is a signal."""

    code: int
    out: str
    err: str

    def failed_in_one_line(self):
        """The message of an error as users are to see it."""
        assert self.code == 2, self
        assert len(self.err.splitlines()) == 1, self.err
        assert self.err.startswith("bregopt: error: "), self.err
        return self.err.removeprefix("bregopt: error: ").rstrip()


@frozen
class Left:
    """What is in the folder of a run: all names, and of the files that are there the contents."""

    names: list
    record: dict | None
    factors: dict | None
    history: list | None


def start(*args, before=(), env=None, without=(), **options):
    """``python -m bregopt ARGS`` in the background; both streams are pipes, and there is no terminal."""
    given = {name: value for name, value in os.environ.items() if name not in without}
    command = [*before, sys.executable, "-m", "bregopt", *map(str, args)]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=given | PLAIN | (env or {}), **(pipes | options))


def finish(process):
    """Wait for the end."""
    try:
        out, err = process.communicate(timeout=LONGEST)
    finally:
        process.kill()  # that which hangs
    return Ended(process.returncode, out, err)


def run(*args, **options):
    """``python -m bregopt ARGS``, and what came of it."""
    return finish(start(*args, **options))


def killed_at_random(*args, rng, longest, number=signal.SIGKILL, **options):
    """The command, ended by a signal at a moment up to ``longest`` seconds after its start, if it still runs then."""
    process = start(*args, **options)
    time.sleep(longest * rng.random())
    process.send_signal(number)
    return finish(process)


def left_in(folder):
    """What a run has left in its folder, or ``None`` without one; a file that cannot be read is an error."""
    if not folder.exists():
        return None
    record = factors = history = None
    if (folder / "run.json").exists():
        record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    if (folder / "factors.npz").exists():
        with np.load(folder / "factors.npz", allow_pickle=False) as file:
            factors = {name: file[name] for name in file.files}
    if (folder / "history.csv").exists():
        history = (folder / "history.csv").read_text(encoding="utf-8").splitlines()
    return Left(sorted(path.name for path in folder.iterdir()), record, factors, history)


def on_a_disk(kind, folder):
    """The words before a command for which the folder is an empty disk of this kind."""
    return ["unshare", "-rm", "sh", "-c", f'mount -t tmpfs -o {DISKS[kind]} tmpfs "$0" && exec "$@"', str(folder)]


@cache
def disks_can_be_made():
    """Whether this machine allows them."""
    words = ["unshare", "-rm", "sh", "-c", "mount -t tmpfs tmpfs /tmp"]
    return shutil.which("unshare") is not None and subprocess.run(words, capture_output=True).returncode == 0
