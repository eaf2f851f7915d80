"""
A matrix on a cluster
=====================

A dask array stays on the workers, by blocks of rows: in each pass a worker gets V and its rows of U, and returns sums.
The iterates are those of one machine. Where the matrix fits into memory, as here, one machine is the faster of the two.
"""

import os

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client

import bregopt as bo

# %%
# Two workers in this process stand for two machines. They make their rows themselves: nothing of the size of M is sent.
m, n, rank = (2000, 300, 5) if os.environ.get("BREGOPT_EXAMPLES") == "small" else (8000, 800, 5)
factors = np.random.default_rng(0).standard_normal((m, rank)), np.random.default_rng(1).standard_normal((rank, n))


def rows(U):
    return np.maximum(0, U @ factors[1])


client = Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=":0")
there = da.from_array(factors[0], chunks=(m // 4, rank)).map_blocks(rows, chunks=(m // 4, n), dtype=float)

# %%
# The default kernel needs a bound of ‖M‖₂, and the cluster bounds it in another way. With ``tight`` both are the same.
runs = {}
for name, M in {"cluster": there, "one machine": rows(factors[0])}.items():
    problem = bo.compose("relu-nmd", M, rank=rank, kernel="tight")
    runs[name] = bo.solve(problem, method="aapb", max_iterations=20)
    print(f"{name}: objective {runs[name].objective:.8g}, {runs[name].seconds:.2f} seconds")
client.close()
one, two = (run.history["objective"] for run in runs.values())
plt.semilogy(one, color="0.8", linewidth=6, label="two workers")
plt.semilogy(two, label="one machine")
difference = np.max(np.abs(one / two - 1))
print(f"largest relative difference: {difference:.1e}")
plt.gca().set(xlabel="iteration", ylabel="objective", title=f"{m}×{n}: the same to {difference:.0e}")
plt.legend()
plt.show()
