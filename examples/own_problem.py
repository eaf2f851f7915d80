"""An own problem, matrix completion: W is M where M is known and UV elsewhere, so min_W F + G is the misfit there."""

import attrs
import numpy as np

import bregopt as bo


class Misfit(bo.SmoothPart):  # F(U, V, W) = ½‖W − UV‖²
    def value(self, Y, W):
        return self.value_and_gradient(Y, W)[0]

    def value_and_gradient(self, Y, W):
        R = Y.U @ Y.V - W
        return 0.5 * float(np.sum(R**2)), bo.Blocks(U=R @ Y.V.T, V=Y.U.T @ R)

    def smad(self, kernel, norms, reduced):  # of f = min_W F + G:  D_f ≤ D_{ψ1 + bψ2},  −D_f ≤ D_{½ψ1 + bψ2}
        a, b = 1 / kernel.quartic, norms["known"] / min(kernel.quadratic("U"), kernel.quadratic("V"))
        return bo.Smad(upper=max(a, b), lower=max(a / 2, b)) if reduced else None


@attrs.frozen(eq=False)
class Known(bo.ClosedFormBlock):  # G(W) = 0 if W = M where M is not nan, else ∞
    M: np.ndarray

    def argmin(self, smooth, Y):
        return np.where(np.isnan(self.M), Y.U @ Y.V, self.M)

    def value(self, W):
        return 0.0

    def norms(self, W):
        return {"known": np.linalg.norm(np.nan_to_num(self.M))}


rng = np.random.default_rng(0)
truth = rng.standard_normal((60, 3)) @ rng.standard_normal((3, 50))
hidden = rng.random(truth.shape) < 0.6
block = Known(np.where(hidden, np.nan, truth))
problem = bo.Problem(
    smooth=Misfit(),
    block=block,
    regularizer=bo.make("regularizer", "ridge(0.1)"),
    kernel=bo.make("kernel", "psi1") + block.norms(None)["known"] * bo.make("kernel", "psi2"),
    start=bo.Blocks(U=rng.standard_normal((60, 3)), V=rng.standard_normal((3, 50))),
    metrics={"hidden_error": lambda Y, W: np.linalg.norm((W - truth)[hidden]) / np.linalg.norm(truth[hidden])},
)
result = bo.solve(problem, method="aapb(w=Ybar)", max_iterations=300)
print(f"Φ = {result.objective:.3f}, error on the {hidden.sum()} hidden entries {result.metrics['hidden_error']:.2%}")
print(result.certificate.summary())
