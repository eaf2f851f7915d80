"""
Your own problem
================

F and a closed-form W make a problem, here matrix completion: W is M where M is known, and UV elsewhere. Written by hand
it finds what the problem ``completion`` in the box finds, which is the one to use.
"""

import matplotlib.pyplot as plt
import numpy as np

import bregopt as bo

rng = np.random.default_rng(0)
M = rng.standard_normal((60, 3)) @ rng.standard_normal((3, 50))
known = rng.random(M.shape) < 0.4

# %%
# ``smad`` states the theorem for the kernel ψ1 + ‖M‖ψ2, the norm over the known entries.


class Misfit(bo.SmoothPart):
    """``F(Y, W) = ½‖W − UV‖²``."""

    def value(self, Y, W):
        return 0.5 * float(np.sum((Y.U @ Y.V - W) ** 2))

    def value_and_gradient(self, Y, W):
        R = Y.U @ Y.V - W
        return 0.5 * float(np.sum(R**2)), bo.Blocks(U=R @ Y.V.T, V=Y.U.T @ R)

    def smad(self, kernel, norms, reduced):
        return bo.Smad(upper=1.0, lower=1.0) if reduced else None


class Known(bo.ClosedFormBlock):
    """``G(W) = 0`` if W agrees with M where it is known, else ∞."""

    def argmin(self, smooth, Y):
        return np.where(known, M, Y.U @ Y.V)

    def value(self, W):
        return 0.0


kernel = bo.make("kernel", "psi1") + np.linalg.norm(M[known]) * bo.make("kernel", "psi2")
shapes = {"U": (60, 3), "V": (3, 50)}
own = bo.Problem(smooth=Misfit(), block=Known(), regularizer="ridge(0.1)", kernel=kernel, shapes=shapes)
box = bo.compose("completion", M, rank=3, mask=known, U="ridge(0.1)", V="ridge(0.1)")
for name, problem in {"own problem": own, "completion": box}.items():
    result = bo.solve(problem, method="aapb", max_iterations=300)
    hidden = np.linalg.norm((result.Y.U @ result.Y.V - M)[~known]) / np.linalg.norm(M[~known])
    print(f"{name}: error {hidden:.4f} on hidden entries, guaranteed {result.certificate.guaranteed}")
    plt.loglog(result.history["products"], result.history["objective"], label=name)
plt.gca().set(xlabel="products with M", ylabel="objective", title="written by hand, and from the box")
plt.legend()
plt.show()
