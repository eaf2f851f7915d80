"""A run in a process of its own: ``python saved_run.py FOLDER METHOD ITERATIONS RESULT``; it begins, or goes on."""

import sys
from pathlib import Path

import numpy as np

import bregopt as bo
from bregopt.engine.checkpoint import checkpoints_in

H = {"els": "none", "hybrid": "ridge(0.1)"}


def problem(method):
    rng = np.random.default_rng(0)
    M = np.maximum(0, rng.standard_normal((70, 5)) @ rng.standard_normal((5, 50)) + 0.3 * rng.standard_normal((70, 50)))
    return bo.compose("relu-nmd", M, rank=5, U=H.get(method, "l1(0.05)"), V=H.get(method, "l1(0.05)"), threads=1)


def main(folder, method, iterations, result):
    if checkpoints_in(Path(folder)):
        run = bo.resume(folder, checkpoint_every=0)
    else:
        limit = {"max_iterations": int(iterations)}
        run = bo.solve(problem(method), method=method, checkpoint=folder, checkpoint_every=0, **limit)
    history = {name: column for name, column in run.history.items() if name != "seconds"}
    np.savez(result, U=run.Y.U, V=run.Y.V, certificate=np.array(run.certificate.summary()), **history)


if __name__ == "__main__":
    main(*sys.argv[1:])
