"""No compiled loop reads or writes outside of its arrays: numba checks every index in a process of its own."""

import os
import subprocess
import sys

RUNS = """
import numpy as np
import scipy.sparse as sp
import bregopt as bo

rng = np.random.default_rng(0)
dense = np.maximum(0, rng.standard_normal((520, 400)))
rows = sp.random(3000, 500, density=0.02, random_state=0, format="csr")  # ten entries a row, 30 000 in all
ratings = {"missing": "zeros"}
weighted = {"weights": rows.copy()}
cases = [
    (dense, {}, ["aapb", "els", "masked-newton"]),
    (dense, {"weights": rng.random(dense.shape), "loss": "huber(1)"}, ["aapb", "masked-newton"]),
    (np.where(dense > 2, np.nan, dense), {"loss": "huber(1)"}, ["aapb", "masked-newton"]),
    (sp.csr_array(dense), {}, ["aapb", "els", "masked-newton"]),
    (rows, ratings | {"loss": "huber(1)"}, ["aapb", "els", "aapb-paper", "masked-newton"]),
    (rows.sign(), ratings | weighted | {"loss": "logistic"}, ["aapb", "els", "masked-newton"]),
    (rows, {"loss": "least-squares"}, ["aapb", "els", "aapb-paper", "masked-newton"]),
    (rows, ratings | {"loss": {"0:200": "huber(1)", "200:": "least-squares"}}, ["aapb", "els", "masked-newton"]),
]
for M, options, methods in cases:
    for method in methods:
        H = "none" if method == "els" else "l1(0.01)"
        problem = bo.compose("low-rank", M, rank=3, U=H, **{"loss": "relu"} | options)
        bo.solve(problem, method=method, max_iterations=2)
print("inside", len(cases))
"""


def test_no_compiled_loop_leaves_its_arrays(tmp_path):
    env = os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", RUNS], capture_output=True, text=True, env=env, check=False)
    assert done.stdout == "inside 8\n", done.stderr[-2000:]
