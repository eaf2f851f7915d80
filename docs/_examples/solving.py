"""Examples of what a user calls: solve a problem, read the result, make and list parts."""

import numpy as np

import bregopt as bo

# %% compose, ResolvedProblem
# A problem is made of its name, the data, and specs of the parts. Printed, it says what it is.
M = np.random.default_rng(0).random((20, 12))
problem = bo.compose("nmf", M, rank=3, V="l1(0.1)")
print(problem)

# %% compose
# What does not fit is refused before the first iteration, with what to do.
try:
    bo.compose("nmf", np.full((4, 3), -1.0), rank=2)
except bo.errors.DataError as error:
    print(error)

# %% solve, Result
# A result says in plain words what came out, and has everything as numbers too.
M = np.random.default_rng(0).random((20, 12))
result = bo.solve(bo.compose("nmf", M, rank=3), max_iterations=200)
print(result.answer)
print(result.Y, result.iterations, result.status.value, f"{result.metrics['relative_error']:.2f}")

# %% solve
# Three seeds, and the best of the three runs.
M = np.maximum(0, np.random.default_rng(0).standard_normal((30, 20)))
problem = bo.compose("relu-nmd", M, rank=4)
for starts in (1, 3):
    print(starts, f"{bo.solve(problem, starts=starts, max_iterations=50).objective:.2f}")

# %% iterate, State
# The states come one at a time and without end. Each can be kept, as none ever changes.
M = np.random.default_rng(0).random((20, 12))
kept = []
for state in bo.iterate(bo.compose("nmf", M, rank=3), method="aapb", seed=0):
    kept.append(state)
    if state.iteration == 4:
        break
print([f"{state.objective:.3f}" for state in kept])

# %% resume
# The first run is killed after 20 iterations. It goes on from the last checkpoint, and ends as if nothing had happened.
M = np.random.default_rng(0).random((20, 12))
problem = bo.compose("nmf", M, rank=3)


def power_cut(state):
    if state.iteration == 20:
        raise RuntimeError


try:
    bo.solve(problem, method="aapb", max_iterations=50, checkpoint="run", checkpoint_every=0, observers=power_cut)
except RuntimeError:
    print("killed")
resumed, straight = bo.resume("run"), bo.solve(problem, method="aapb", max_iterations=50)
print(resumed.iterations, np.array_equal(resumed.Y.flat, straight.Y.flat))

# %% load
# Everything but W, which needs the data, is in one file that runs no code when it is read.
M = np.random.default_rng(0).random((20, 12))
result = bo.solve(bo.compose("nmf", M, rank=3), max_iterations=50)
again = bo.load(result.save("result.npz"))
print(again.answer == result.answer, again.Y)

# %% plot
# One run, or several by name. Without a file the figure of matplotlib is returned.
from pathlib import Path

M = np.random.default_rng(0).random((20, 12))
problem = bo.compose("nmf", M, rank=3)
runs = {name: bo.solve(problem, method=name, max_iterations=50) for name in ("hals", "mu")}
bo.plot(runs, "runs.png")
print(Path("runs.png").exists())

# %% report
# A page to send: one file, which needs no network.
M = np.random.default_rng(0).random((20, 12))
path = bo.report(bo.solve(bo.compose("nmf", M, rank=3), max_iterations=50), "report.html")
print(path.name, path.read_text(encoding="utf-8")[:15])

# %% Blocks
# Y: named arrays with the arithmetic of one vector.
Y = bo.Blocks(U=np.ones((2, 1)), V=np.full((1, 3), 2.0))
print(Y, Y.names, Y.flat)
print(f"norm {(3 * Y).norm():.3f}, ⟨Y, Y⟩ = {Y.dot(Y):g}")
U, V = Y
print((U @ V).shape)

# %% Array
# The type of the arrays in the interfaces, for annotations of your own parts.
import attrs


@attrs.frozen
class Shift(bo.Regularizer):
    """``H(X) = Σ x_ij``."""

    def value(self, X: bo.Array) -> float:
        return float(X.sum())

    def prox(self, X: bo.Array, step: float) -> bo.Array:
        return X - step


print(Shift().prox(np.zeros((1, 3)), 0.5))

# %% Certificate
# What the theorem assumes, and whether it held at every step.
M = np.maximum(0, np.random.default_rng(0).standard_normal((30, 20)))
problem = bo.compose("relu-nmd", M, rank=3, U="l1(0.1)", V="l1(0.1)")
certificate = bo.solve(problem, method="aapb", max_iterations=100).certificate
print(certificate.guaranteed, certificate.monotone)
print(certificate.plain())

# %% Status
# How a run ended. A goal that was reached is told from a limit.
print([status.value for status in bo.Status if status.converged])
print(bo.Status.MAX_ITERATIONS.converged)


# %% Observer
# An observer sees every state, and the end.
class Best(bo.Observer):
    def __init__(self):
        self.objective = np.inf

    def see(self, state):
        self.objective = min(self.objective, state.objective)

    def end(self, result):
        print(f"best {self.objective:.3f} in {result.iterations} iterations")


M = np.random.default_rng(0).random((20, 12))
bo.solve(bo.compose("nmf", M, rank=3), max_iterations=30, observers=Best())

# %% Reconstruction
# The data as the result has them, some rows at a time or all at once.
M = np.random.default_rng(0).random((20, 12))
rebuilt = bo.solve(bo.compose("nmf", M, rank=3), max_iterations=50).reconstruct()
print(rebuilt, rebuilt.rows(slice(0, 2)).shape, np.asarray(rebuilt).shape)

# %% Labels
# Names of rows and columns come from a data frame or a file, and stay with the result.
import pandas as pd

table = pd.DataFrame(np.eye(3) + 1, index=["ann", "bob", "eve"], columns=["tea", "milk", "rum"])
problem = bo.compose("nmf", table, rank=2)
print(problem.labels.rows, problem.labels.columns)
print(bo.solve(problem, max_iterations=20).to_frame("U").index.tolist())

# %% errors
# Every error is one of the library and the builtin that a caller expects.
try:
    bo.make("regularizer", "l1(-1)")
except ValueError as error:
    print(type(error).__name__, "-", error)
print(issubclass(bo.errors.FileError, OSError))

# %% make
# A part from its kind and its spec; what a spec cannot spell is given behind it.
print(bo.make("regularizer", "l1(0.5)"))
print(bo.make("kernel", "3*psi1 + 2*psi2"))
print(bo.make("regularizer", "graph", np.eye(2), mu=3).value(np.ones((2, 1))))

# %% parse_spec
# What a spec such as those on the command line holds.
print(bo.parse_spec("l0-ball(3, per=row)"))

# %% catalog
# Which losses are there, and which of them have a parameter?
import inspect

for entry in bo.catalog("loss")[:4]:
    print(f"{entry.name:20} {entry.summary[:60]}")
print([it.name for it in bo.catalog("loss") if inspect.signature(it.factory).parameters])

# %% plugins
# Who is in. A plugin that fails is listed with the reason, and does no harm.
for plugin in bo.plugins()[:3]:
    print(plugin.name, plugin.status)

# %% load_plugin, Registrar, hookimpl
# A plugin is a file with one function. Its parts are known by name from then on.
from pathlib import Path

Path("halved.py").write_text(
    '''
import bregopt as bo

def halved(eta=1.0):
    """``H(X) = (η/2) Σ |x_ij|``."""
    return bo.make("regularizer", "l1", eta / 2)

@bo.hookimpl
def bregopt_register(registry):
    registry.add(bo.Regularizer, "halved-l1", halved)
'''
)
print(bo.load_plugin("halved.py").status)
print(bo.make("regularizer", "halved-l1(3)"))

# %% hookspec
# What the hooks are called and what they are given stands in functions marked by ``hookspec``.
from bregopt.host import hookspecs

for name in dir(hookspecs):
    if name.startswith("bregopt_resolve"):
        print(name, getattr(hookspecs, name).__doc__.splitlines()[0])

# %% bregman_prox, BregmanProx
# The minimiser of step·H(Y) + ⟨P, Y⟩ + ψ(Y). No point nearby is better.
psi, H = bo.make("kernel", "3*psi1 + 2*psi2"), bo.Separable(U=bo.make("regularizer", "l1(0.5)"))
rng = np.random.default_rng(0)
P = bo.Blocks(U=5 * rng.standard_normal((3, 2)))


def value(Y):
    return 0.7 * H.value(Y) + P.dot(Y) + psi.value(Y)


best = bo.bregman_prox(psi, H)(P, 0.7)
around = [best.plus(0.01, best.like(rng.standard_normal(6))) for _ in range(100)]
print(best.U.round(3))
print(all(value(Y) >= value(best) for Y in around))

# %% resolve_prox
# The map for every kernel of a family: which member it is, is said at each call.
psi1, psi2 = bo.make("kernel", "psi1"), bo.make("kernel", "psi2")
prox = bo.resolve_prox(psi1 + psi2, bo.Separable(U=bo.make("regularizer", "ridge(2)")))
for kernel in (psi2, 3 * psi1 + psi2):
    print(kernel, prox(bo.Blocks(U=np.array([[-3.0]])), 0.5, kernel).U.round(3))

# %% resolve_data
# A plugin may put something else in the place of the data, as a matrix of a cluster is. Others stay as they are.
M = np.eye(3)
print(bo.resolve_data(M) is M)

# %% testing
# Every claim of a part has a check that can fail, with a counterexample to paste.
import attrs


@attrs.frozen
class Wrong(bo.Regularizer):
    """``H(X) = Σ |x_ij|``, with the prox of another function."""

    traits = bo.Trait.CONVEX

    def value(self, X):
        return float(np.abs(X).sum())

    def prox(self, X, step):
        return X / (1 + step)


report = bo.testing.check(Wrong())
print(report.ok, [outcome.name for outcome in report.failures][:2])
print(report.failures[0].message)

# %% validate
# Validators for the parameters of parts, which raise the library's own errors.
import attrs


@attrs.frozen
class Part:
    share: float = attrs.field(validator=bo.validate.number(at_least=0, at_most=1))


try:
    Part(2)
except bo.errors.ParameterError as error:
    print(error)

# %% percent
# A share as people say it.
print(bo.percent(0.14), bo.percent(0.00007), bo.percent(0.2549))
