"""
A table of numbers, answers and grades
======================================

A third of a questionnaire is empty: measurements with misprints, answers yes or no, and grades from 1 to 5. A loss for
each kind of column predicts what is missing better than least squares on columns that were brought to one scale.
"""

import matplotlib.pyplot as plt
import numpy as np

import bregopt as bo

rng = np.random.default_rng(0)
number, answer, grade = slice(0, 20), slice(20, 50), slice(50, 70)

# %%
# Three traits of each of 200 people decide about everything, with noise. Three measurements in a hundred are misprints.
liking = rng.standard_normal((200, 3)) @ rng.standard_normal((3, 70)) + rng.standard_normal(70)
liking += 0.5 * rng.standard_normal(liking.shape)
full = liking.copy()
full[:, answer] = np.where(liking[:, answer] > 0, 1, -1)
full[:, grade] = np.clip(np.round(liking[:, grade] + 3), 1, 5)
table = np.where(rng.random(full.shape) < 0.67, full, np.nan)
table[:, number] += 20 * rng.choice([-1, 0, 1], (200, 20), p=[0.015, 0.97, 0.015])

# %%
# A result rebuilds the table in its own terms: numbers, signs and grades.
losses = {"0:20": "huber(0.5)", "20:50": "logistic", "50:70": "ordinal(5)"}
problem = bo.compose("low-rank", table, rank=4, loss=losses, U="ridge(0.3)", V="ridge(0.3)")
own = np.asarray(bo.solve(problem, max_iterations=200).reconstruct())

mean, spread = np.nanmean(table, axis=0), np.nanstd(table, axis=0)
problem = bo.compose("completion", (table - mean) / spread, rank=4, U="ridge(1)", V="ridge(1)")
squares = np.asarray(bo.solve(problem, max_iterations=200).reconstruct()) * spread + mean
predictions = {"own losses": own, "least squares": squares, "medians": np.tile(np.nanmedian(table, axis=0), (200, 1))}


def errors(found):  # on what is missing
    gap = np.where(np.isnan(table), np.abs(found - full), np.nan)
    right = np.where(np.sign(found) == full, 0, 1)[:, answer][np.isnan(table[:, answer])]
    grades = np.where(np.isnan(table), np.abs(np.clip(np.round(found), 1, 5) - full), np.nan)[:, grade]
    return {"numbers": np.nanmedian(gap[:, number]), "answers": np.mean(right), "grades": np.nanmean(grades)}


figure, axes = plt.subplots(1, 4, figsize=(10, 3.4), layout="constrained")
axes[0].imshow(np.clip(table, -5, 5)[:100], cmap="coolwarm", aspect="auto", interpolation="none")
axes[0].set(title="the table, white is missing", xlabel="question", ylabel="person")
units = {"numbers": "median error", "answers": "share wrong", "grades": "mean error"}
for name, found in predictions.items():
    seen = errors(found)
    print(f"{name}: " + ", ".join(f"{kind} {units[kind]} {error:.3f}" for kind, error in seen.items()))
    for axis, (kind, error) in zip(axes[1:], seen.items()):
        axis.bar(name.replace(" ", "\n"), error)
        axis.set(title=f"{kind}: {units[kind]}")
plt.show()
