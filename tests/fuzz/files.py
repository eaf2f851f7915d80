"""Read damaged files, each in a process of its own: ``python files.py COUNT SEED FOLDER TYPE…``.

Prints one JSON object: how many files were read right, refused, or failed, and the failures. A file fails if reading it
crashes, raises anything but a BregoptError of one sentence or two, gives another matrix than an independent
reader, takes more memory than 20 times its size and 200 MB, or more than 5 s.
"""

import itertools
import json
import os
import resource
import signal
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import h5py  # noqa: F401  # before memory is limited
import numpy as np
import pyarrow.parquet  # noqa: F401
import references
import scipy.io
import scipy.sparse
import scipy.sparse.linalg
from damage import damaged

from bregopt.errors import BregoptError
from bregopt.matrices import read_matrix

SECONDS, FREE_BYTES, BYTES_FOR_ONE = 5, 200 * 10**6, 20
RIGHT, REFUSED, UNCOMPARED, WRONG, FOREIGN, MEMORY, WORDS = range(7)
OUTCOMES = {
    RIGHT: "right",
    REFUSED: "refused",
    UNCOMPARED: "read, but no other reader answered",
    WRONG: "another matrix than an independent reader",
    FOREIGN: "another error than a BregoptError",
    MEMORY: "too much memory",
    WORDS: "an error that does not name the file, or is long",
}
PASSED = {OUTCOMES[code] for code in (RIGHT, REFUSED, UNCOMPARED)}


def judged(path: Path, reader) -> int:
    """Read the file under the limits and compare; the answer is one of the outcomes."""
    _limit_memory(path.stat().st_size)
    try:
        M = reader(path)
    except BregoptError as error:
        if isinstance(error.__cause__, MemoryError):
            return MEMORY
        said = str(error)
        return REFUSED if path.name in said and len(said) < 600 and "\n" not in said else WORDS
    except MemoryError:
        return MEMORY
    except BaseException:
        return FOREIGN
    _limit_memory(None)
    if M.ndim != 2 or M.dtype.kind not in "fiub":
        return WRONG
    if not np.prod([float(size) for size in M.shape]) < 1e6:
        return UNCOMPARED  # a few entries in a wide sparse matrix
    return in_a_process(lambda: _compared(path, M))


def _compared(path: Path, M) -> int:
    M = M.toarray() if scipy.sparse.issparse(M) else np.asarray(M)
    try:
        expected = references.read(path)
    except Exception:
        return UNCOMPARED
    if M.shape != expected.shape:
        return WRONG
    return RIGHT if np.array_equal(M, expected, equal_nan=True) else WRONG


def _limit_memory(size: int | None) -> None:
    most = resource.RLIM_INFINITY
    if size is not None:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + FREE_BYTES + BYTES_FOR_ONE * size
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))


def in_a_process(work) -> int:
    """The outcome of the work in a fork; a crash of an independent reader is no answer."""
    status = fork(work)
    return os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else UNCOMPARED


def fork(work) -> int:
    """The status with which a fork ends that does the work under a limit of time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of threads: this process has none that matter
        child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        code = FOREIGN
        try:
            code = work()
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1]


def described(status: int) -> str:
    if os.WIFEXITED(status):
        return OUTCOMES[os.waitstatus_to_exitcode(status)]
    number = os.WTERMSIG(status)
    return f"more than {SECONDS} s" if number == signal.SIGXCPU else f"a crash by {signal.Signals(number).name}"


def fuzz(names, count: int, seed: int, folder: Path, reader=read_matrix) -> dict[str, Any]:
    """Read that many damaged files of each type; those that fail stay in the folder, to be looked at."""
    warnings.simplefilter("error")
    seen, failures = Counter(), []
    for name, number in itertools.product(names, range(count)):
        path = folder / f"{seed}-{number}.{name}"
        path.write_bytes(damaged(name, np.random.default_rng([seed, number])))
        outcome = described(fork(lambda path=path: judged(path, reader)))
        seen[outcome] += 1
        if outcome in PASSED:
            path.unlink()
        else:
            failures.append(f"{path}: {outcome}")
    return {"seen": seen, "failures": failures}


if __name__ == "__main__":
    count, seed, folder, *names = sys.argv[1:]
    print(json.dumps(fuzz(names, int(count), int(seed), Path(folder))))
