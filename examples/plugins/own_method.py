"""
Your own method
===============

A method is two functions on states. The forward–backward iteration, with a step that is halved until it is safe, takes
thirty lines, and is stopped, recorded and certified like any other. On this problem it needs about as many products as
``aapb``, and ``auto`` needs fewer.
"""

import attrs
import matplotlib.pyplot as plt
import numpy as np

import bregopt as bo

# %%
# ``evaluate`` is one pass over M: W, the value and the gradient. What the next iteration needs goes into ``inner``. The
# assumption of the theorem is a statement and its test, which the certificate reports for each iteration.


def lies_above(before, seen, E, step):
    return seen.value <= before.value + before.gradient.dot(E) + E.dot(E) / (2 * step)


@attrs.frozen
class ForwardBackward(bo.Method):
    """``Y^{k+1} = prox_{λH}(Y^k − λ∇f(Y^k))``, with λ halved until a quadratic with 1/λ lies above f."""

    @property
    def assumptions(self):
        statement = "f(Y^{k+1}) ≤ f(Y^k) + ⟨∇f(Y^k), E⟩ + |E|²/(2λ), E = Y^{k+1} − Y^k"
        return (bo.Assumption("step", statement, lambda step: lies_above(*step)),)

    def start(self, problem, Y):
        evaluation = problem.oracle.evaluate(Y, at=Y)
        return bo.State.at(evaluation, problem.regularizer.value(Y), inner=(evaluation, 1.0))

    def advance(self, problem, state):
        (before, step), H, holds = state.inner, problem.regularizer, False
        while not holds and step > 1e-12:
            step *= 0.5
            Y = H.prox(state.Y.plus(-step, before.gradient), step)
            seen, E = problem.oracle.evaluate(Y, at=Y), Y - state.Y
            holds = lies_above(before, seen, E, step)
        tested = bo.assumptions_met(self.assumptions, (before, seen, E, step))
        figures = {"iteration": state.iteration + 1, "step": step, "stationarity": E.norm() / step}
        return bo.State.at(seen, H.value(Y), assumptions=tested, inner=(seen, 4 * step), **figures)


rng = np.random.default_rng(0)
M = np.maximum(0, rng.standard_normal((80, 5)) @ rng.standard_normal((5, 60)))
problem = bo.compose("relu-nmd", M, rank=5, U="l1(0.1)", V="l1(0.1)")
for name, method in {"own method": ForwardBackward(), "aapb": "aapb", "auto": "auto"}.items():
    result = bo.solve(problem, method=method, stop="target(60)", max_iterations=500)
    print(f"{name}: {result.counts.products:.0f} products to Φ = 60, Φ never rose: {result.certificate.monotone}")
    plt.loglog(result.history["products"], result.history["objective"], label=name)
plt.gca().set(xlabel="products with M", ylabel="objective", title="three methods, one start")
plt.legend()
plt.show()
