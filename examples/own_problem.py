"""An own problem, matrix completion: W is M where M is known and UV elsewhere."""

import numpy as np

import bregopt as bo

rng = np.random.default_rng(0)
M = rng.standard_normal((60, 3)) @ rng.standard_normal((3, 50))
known = rng.random(M.shape) < 0.4
size = np.linalg.norm(M[known])


class Misfit(bo.SmoothPart):  # F = ½‖W − UV‖²
    def value(self, Y, W):
        return 0.5 * float(np.sum((Y.U @ Y.V - W) ** 2))

    def value_and_gradient(self, Y, W):
        R = Y.U @ Y.V - W
        return 0.5 * float(np.sum(R**2)), bo.Blocks(U=R @ Y.V.T, V=Y.U.T @ R)

    def smad(self, kernel, norms, reduced):  # for ψ1 + |M on the known entries|·ψ2, as docs/concepts.md has it
        return bo.Smad(upper=1.0, lower=1.0) if reduced else None


class Known(bo.ClosedFormBlock):  # G = 0 if W agrees with M where it is known, else ∞
    def argmin(self, smooth, Y):
        return np.where(known, M, Y.U @ Y.V)

    def value(self, W):
        return 0.0


kernel = bo.make("kernel", "psi1") + size * bo.make("kernel", "psi2")
start = bo.Blocks(U=rng.standard_normal((60, 3)), V=rng.standard_normal((3, 50)))
problem = bo.Problem(smooth=Misfit(), block=Known(), regularizer=bo.make("regularizer", "ridge(0.1)"), kernel=kernel)
result = bo.solve(problem, method="aapb", start=start, max_iterations=300)
print(f"error on the hidden entries {np.linalg.norm((result.W - M)[~known]) / np.linalg.norm(M[~known]):.2%}")
print(result.certificate.summary())
