"""
A run that was stopped
======================

A run that saves itself goes on after a crash as if nothing had happened: the same iterates, bit by bit. To start again
from the saved factors alone is simpler, loses the momentum, and takes another way.
"""

import tempfile

import matplotlib.pyplot as plt
import numpy as np

import bregopt as bo

# %%
# An observer ends the run after 10 iterations, as a crash would.
rng = np.random.default_rng(0)
M = np.maximum(0, rng.standard_normal((60, 4)) @ rng.standard_normal((4, 40)))
problem = bo.compose("relu-nmd", M, rank=4, U="l1(0.01)", V="l1(0.01)")


def crash(state):
    if state.iteration == 10:
        raise SystemExit


with tempfile.TemporaryDirectory() as folder:
    try:
        bo.solve(problem, method="aapb", checkpoint=folder, checkpoint_every=0, observers=[crash], max_iterations=50)
    except SystemExit:
        again = bo.solve(problem, method="aapb", start=folder, max_iterations=40)
        resumed = bo.resume(folder)

whole = bo.solve(problem, method="aapb", max_iterations=50)
for name, run in {"resumed": resumed, "started again": again}.items():
    same = np.array_equal(run.Y.flat, whole.Y.flat)
    print(f"{name}: {np.abs(run.Y.flat - whole.Y.flat).max():.1e} from the run without a break, same bits: {same}")
plt.semilogy(whole.history["objective"], color="0.8", linewidth=6, label="without a break")
plt.semilogy(resumed.history["objective"], label="resumed")
plt.semilogy(range(10, 51), again.history["objective"], "--", label="started again from the factors")
plt.axvline(10, color="black", linestyle=":", label="crash")
plt.gca().set(xlabel="iteration", ylabel="objective", title="a run stopped after 10 iterations")
plt.legend()
plt.show()
