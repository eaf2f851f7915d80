"""
A matrix on a cluster
=====================

A dask array stays on the workers, by blocks of rows: in each pass a worker gets its rows of U, and V, and returns sums. The
answer is that of one machine. For a matrix that fits into memory, as here, one machine is the faster of the two.
"""

import os

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client

import bregopt as bo

# %%
# Two workers in this process stand for two machines. Each makes its rows itself, and nothing of the size of M is sent.
m, n, rank = (2000, 300, 5) if os.environ.get("BREGOPT_EXAMPLES") == "small" else (20000, 1000, 5)
factors = np.random.default_rng(0).standard_normal((m, rank)), np.random.default_rng(1).standard_normal((rank, n))


def rows(U):
    return np.maximum(0, U @ factors[1])


client = Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=":0")
there = da.from_array(factors[0], chunks=(m // 4, rank)).map_blocks(rows, chunks=(m // 4, n), dtype=float)
for name, M in {"cluster": there, "one machine": rows(factors[0])}.items():
    result = bo.solve(bo.compose("relu-nmd", M, rank=rank), method="aapb", max_iterations=20)
    print(f"{name}: objective {result.objective:.10g} after {result.seconds:.2f} seconds")
    plt.semilogy(result.history["iteration"], result.history["objective"], "-" if name == "cluster" else "k:", label=name)
client.close()
plt.gca().set(xlabel="iteration", ylabel="objective", title=f"{m}×{n} on two workers and on one machine")
plt.legend()
plt.show()
