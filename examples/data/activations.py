"""
Activations of a neural network
===============================

A hidden layer puts out max(0, X), often for an X of low rank. How few numbers reproduce it, and the network's answers?
The ReLU model is many times closer to the activations than the truncated SVD. For the answers alone, both are enough.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

import bregopt as bo

# %%
# A network with two hidden layers learns the digits. M is what the second layer puts out for digits that it never saw.
X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X / 16, y, test_size=0.5, random_state=0)
network = MLPClassifier((100, 100), alpha=1.0, max_iter=500, random_state=0).fit(X, y)
M = X_test
for weights, bias in zip(network.coefs_[:2], network.intercepts_):
    M = np.maximum(0, M @ weights + bias)


def accuracy(hidden):
    return np.mean((hidden @ network.coefs_[2] + network.intercepts_[2]).argmax(axis=1) == y_test)


print(f"network: accuracy {accuracy(M):.3f}, {np.mean(M > 0):.0%} of {M.size} activations are not zero")

# %%
# Both models store a row of U for each picture. The network goes on from the activations that they reproduce.
ranks, errors, accuracies = [4, 8, 12, 16, 24], {}, {}
for rank in ranks:
    problem = bo.compose("relu-nmd", M, rank=rank, U="ridge(0.01)", V="ridge(0.01)")
    relu = np.maximum(0, np.matmul(*bo.solve(problem, max_iterations=100).Y))
    tsvd = np.matmul(*bo.solve(bo.compose("low-rank", M, rank=rank), method="tsvd").Y)
    for name, rebuilt in (("max(0, UV)", relu), ("truncated SVD", tsvd)):
        errors.setdefault(name, []).append(np.linalg.norm(M - rebuilt) / np.linalg.norm(M))
        accuracies.setdefault(name, []).append(accuracy(rebuilt))
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for name in errors:
    print(f"{name}: error {errors[name][2]:.4f}, accuracy {accuracies[name][2]:.3f} with {ranks[2]} numbers a picture")
    left.semilogy(ranks, errors[name], "o-", label=name)
    right.plot(ranks, accuracies[name], "o-", label=name)
right.axhline(accuracy(M), color="gray", linestyle=":", label="the network itself")
left.set(xlabel="numbers a picture (rank)", ylabel="relative error", title="Activations")
right.set(xlabel="numbers a picture (rank)", ylabel="accuracy", title="Answers on unseen digits")
right.legend()
plt.show()
