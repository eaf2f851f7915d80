"""The seeds of a search in processes of their own, each with one thread: ``python -m bregopt_selection.workers JOB``.

A job is a folder with a JSON file and an .npz file; a worker prints a line of JSON for each fit. Nothing is pickled,
and the script of the user is not run again.
"""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from attrs import asdict

import bregopt as bo
from bregopt.compiled import tell_of_compiling, told_of_compiling
from bregopt.errors import FaultWarning
from bregopt_selection.curve import Fit
from bregopt_selection.records import Records
from bregopt_selection.search import Search

JOB, ARRAYS = "job.json", "arrays.npz"
ONE_THREAD = dict.fromkeys(
    ("BREGOPT_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)
MATRIX = "M"
COMPILING = "compiling "
"""How a line of a worker begins that says what it waits for."""
CSR = ("data", "indices", "indptr", "shape")


def fits_in_processes(
    search: Search, seeds: Sequence[int], records: Records | None, jobs: int, plugins: Sequence[Path]
) -> Iterator[Fit]:
    """The fits as they are finished; those of a worker that failed are made here, or raise here what it met."""
    with TemporaryDirectory(prefix="bregopt-") as folder:
        job = Path(folder)
        _write_job(job, search, records, plugins)
        shares = [list(seeds[k::jobs]) for k in range(min(jobs, len(seeds)))]
        workers = [_start(job, share, number) for number, share in enumerate(shares)]
        lines: queue.Queue[str | None] = queue.Queue()
        for worker in workers:
            threading.Thread(target=_forward, args=(worker, lines), daemon=True).start()
        try:
            running = len(workers)
            while running:
                line = lines.get()
                if line is None:
                    running -= 1
                elif line.startswith(COMPILING):
                    tell_of_compiling(line.removeprefix(COMPILING).strip())
                elif line.startswith("{"):
                    yield Fit.of_json(json.loads(line))
            codes = [worker.wait() for worker in workers]
            failed = next((k for k, code in enumerate(codes) if code), None)
            if failed is not None:
                said = (job / f"{failed}.log").read_text(encoding="utf-8", errors="replace").strip().splitlines()
                why = said[-1][:200] if said else f"exit code {codes[failed]}"
                warnings.warn(f"A worker failed ({why}). This process makes its fits.", FaultWarning, stacklevel=3)
            for code, share in zip(codes, shares, strict=True):
                for seed in share if code else ():
                    yield from search.fits(seed, records)
        finally:
            for worker in workers:
                worker.terminate()
                worker.wait()
                if worker.stdout is not None:
                    worker.stdout.close()


def _start(job: Path, seeds: Sequence[int], number: int) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "bregopt_selection.workers", str(job), *map(str, seeds)]
    with (job / f"{number}.log").open("w", encoding="utf-8") as log:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env=os.environ | ONE_THREAD,
        )


def _forward(worker: "subprocess.Popen[str]", lines: "queue.Queue[str | None]") -> None:
    try:
        for line in worker.stdout or ():
            lines.put(line)
    except ValueError:  # the caller has closed it
        pass
    lines.put(None)


def sendable(search: Search) -> bool:
    """Whether all of the search can be told to another process: words, numbers and arrays in memory."""
    plain = all(
        it is None or isinstance(it, (bool, int, float, str)) or _is_array(it) for it in _given(search).values()
    )
    return plain and isinstance(search.method, str)


def _given(search: Search) -> dict[str, Any]:
    return {**{f"parameters.{name}": it for name, it in search.parameters.items()}, MATRIX: search.M}


def _is_array(value: Any) -> bool:
    """Whether a value is a NumPy array of numbers or a matrix of scipy.sparse."""
    if hasattr(value, "tocsr") and type(value).__module__.startswith("scipy.sparse"):
        return True
    return type(value) is np.ndarray and value.dtype.kind in "fiub"


def _write_job(job: Path, search: Search, records: Records | None, plugins: Sequence[Path]) -> None:
    given, arrays = _given(search), {}
    for name in [name for name, it in given.items() if _is_array(it)]:
        value = given.pop(name)
        if isinstance(value, np.ndarray):
            arrays[name] = value
        else:
            csr = value.tocsr()
            arrays |= {f"{name}:{part}": np.asarray(getattr(csr, part)) for part in CSR}
    rest = asdict(search, recurse=False, filter=lambda it, _: it.name not in (MATRIX, "parameters"))
    told = {
        "search": rest,
        "given": given,
        "records": None if records is None else [str(records.folder.absolute()), records.variable],
        "plugins": [str(Path(path).absolute()) for path in plugins],
    }
    (job / JOB).write_text(json.dumps(told), encoding="utf-8")
    np.savez(job / ARRAYS, **arrays)  # type: ignore[arg-type]  # the stubs take a name for allow_pickle


def _read_job(job: Path) -> tuple[Search, Records | None]:
    told = json.loads((job / JOB).read_text(encoding="utf-8"))
    for path in told["plugins"]:
        bo.load_plugin(path)
    with np.load(job / ARRAYS, allow_pickle=False) as file:
        given = told["given"] | _whole({name: file[name] for name in file.files})
    rest = told["search"]
    rest |= {name: tuple(rest[name]) for name in ("values", "blocks")}
    M = given.pop(MATRIX)
    search = Search(M=M, parameters={name.partition(".")[2]: it for name, it in given.items()}, **rest)
    where = told["records"]
    return search, None if where is None else Records(Path(where[0]), where[1])


def _whole(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """The arrays, sparse ones put together."""
    from scipy.sparse import csr_array

    found = {name: it for name, it in arrays.items() if ":" not in name}
    for name in {name.partition(":")[0] for name in arrays if ":" in name}:
        data, indices, indptr, shape = (arrays[f"{name}:{part}"] for part in CSR)
        found[name] = csr_array((data, indices, indptr), shape=tuple(shape.tolist()))
    return found


def main(job: str, *seeds: str) -> None:
    """Make the fits of some seeds, and print each."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one, which ends it
    search, records = _read_job(Path(job))
    with told_of_compiling(lambda loop: print(f"{COMPILING}{loop}", flush=True)):
        for seed in seeds:
            for fit in search.fits(int(seed), records):
                print(json.dumps(fit.as_json(), allow_nan=False), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
