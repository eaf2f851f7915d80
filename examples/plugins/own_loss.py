"""
Your own loss
=============

A shop that orders too little loses five times what it loses by ordering too much. A loss for that is one function of
two numbers. It costs much less than least squares, and a little less than least squares with the best margin added.
"""

import attrs
import matplotlib.pyplot as plt
import numpy as np
from bregopt_lowrank import EntrywiseLoss

import bregopt as bo

# %%
# ``entry`` returns the cost of x where m was sold, its slope and its curvature. It is compiled when it is first used.


@attrs.frozen
class Expectile(EntrywiseLoss):
    """``e(x; m) = ½(x − m)²``, and ``under`` times that where x < m."""

    under: float = 5.0

    @property
    def bound(self):  # of the curvature
        return max(1.0, self.under)

    @staticmethod
    def entry(x, m, under):
        weight = under if x < m else 1.0
        return 0.5 * weight * (x - m) ** 2, weight * (x - m), weight


# %%
# Sales of 100 goods on 80 days, some steady and some not. A third of the entries is kept for the test.
rng = np.random.default_rng(0)
usual = rng.gamma(2.0, 1.0, (100, 3)) @ rng.gamma(2.0, 1.0, (3, 80))
M = np.maximum(0, usual + rng.uniform(0.1, 3, (100, 1)) * rng.standard_normal(usual.shape))
known = rng.random(M.shape) < 0.67


def cost(X):
    return np.mean(0.5 * np.where(X < M, 5, 1)[~known] * (X - M)[~known] ** 2)


def predict(loss):
    return np.matmul(*bo.solve(bo.compose("low-rank", M, rank=3, loss=loss, mask=known, U="ridge(1)", V="ridge(1)")).Y)


own, squares, margins = cost(predict(Expectile(5.0))), predict("least-squares"), np.linspace(0, 3, 61)
costs = [cost(squares + margin) for margin in margins]
print(f"cost of an order: {own:.2f} own loss, {cost(squares):.2f} least squares, {min(costs):.2f} with the best margin")
plt.plot(margins, costs, label="least squares and a margin")
plt.axhline(own, color="tab:orange", label="own loss")
plt.gca().set(xlabel="margin added to all orders", ylabel="cost of an order", ylim=(0, None), title="unseen entries")
plt.legend()
plt.show()
