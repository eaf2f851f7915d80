"""Examples of what an author of parts uses: interfaces, what they are given, and what they return."""

import attrs
import numpy as np

import bregopt as bo


# %% Regularizer, Trait
# A regularizer is its value and its Euclidean prox. Traits are claims that ``bo.testing.check`` tests.
@attrs.frozen
class Pull(bo.Regularizer):
    """``H(X) = ½ Σ (x_ij − to)²``."""

    to: float = 1.0
    traits = bo.Trait.CONVEX | bo.Trait.SEPARABLE | bo.Trait.ROW_WISE

    def value(self, X):
        return 0.5 * float(np.square(X - self.to).sum())

    def prox(self, X, step):
        return (X + step * self.to) / (1 + step)


M = np.random.default_rng(0).random((20, 12))
result = bo.solve(bo.compose("low-rank", M, rank=2, U=Pull(0.5)), max_iterations=50)
print(f"mean of U {result.Y.U.mean():.2f}")
print(bo.testing.check(Pull()).ok)

# %% Separable, Zero
# H by blocks. A block that is not named has H = 0.
H = bo.Separable(U=bo.make("regularizer", "l1(2)"), V=bo.Zero())
Y = bo.Blocks(U=np.array([[3.0, -1.0]]), V=np.array([[5.0]]))
print(H.value(Y), H.prox(Y, 1.0).U, H.is_zero)

# %% Fixed
# New rows for a V that is known: U alone is looked for.
rng = np.random.default_rng(0)
V = rng.standard_normal((2, 12))
M = rng.standard_normal((5, 2)) @ V
result = bo.solve(bo.compose("low-rank", M, rank=2, V=bo.Fixed(V)), tolerance=1e-8)
print(result.Y, f"{result.metrics['relative_error']:.0e}")

# %% ScalarPenalty
# Methods that go entry by entry run compiled where H says what it is to one entry.
print(bo.make("regularizer", "elastic-net(0.5, 2)").scalar())
print(bo.make("regularizer", "nonneg").scalar().low)

# %% EntryPenalty
# The same for any other h: two functions of numbers, which are compiled once for all parameters.
penalty = bo.make("regularizer", "mcp(0.4, 3)").entry()
print(penalty.parameters)
print(penalty.value(2.0, penalty.parameters), penalty.prox(2.0, 1.0, penalty.parameters))

# %% ConvexParts
# H = r₁ − r₂ with both convex: r₁, and a slope of r₂.
parts = bo.make("regularizer", "l1-minus-ridge(0.5, 0.1)").convex_parts()
print(parts.first, parts.subgradient(np.array([[2.0, -1.0]])))

# %% Sparsity
# Which entries may be non-zero, where keeping an entry gains so much; with room = 0.5 half of the others may be too.
limit = bo.make("regularizer", "l0-ball(2)").sparsity()
gains = np.array([[5.0, 1.0, 3.0, 0.0]])
print(limit.entries, limit.allowed(gains, room=0.0), limit.allowed(gains, room=0.5))

# %% SmoothRegularizer
# It has a gradient too, so it may be a term of F.
H = bo.make("regularizer", "graph", np.array([[1.0, -1.0], [-1.0, 1.0]]))
print(isinstance(H, bo.SmoothRegularizer), H.gradient(np.array([[3.0], [1.0]])).ravel())


# %% WrappedRegularizer
# A regularizer that is made of another one: what is not overridden is as for H itself.
@attrs.frozen
class Doubled(bo.WrappedRegularizer):
    """``2·H(X)``."""

    def value(self, X):
        return 2 * self.H.value(X)

    def prox(self, X, step):
        return self.H.prox(X, 2 * step)


print(Doubled(bo.make("regularizer", "l1(0.5)")).prox(np.array([[3.0]]), 1.0))

# %% tikhonov
# The weight of a ridge, and None for anything else.
print(bo.tikhonov(bo.make("regularizer", "ridge(0.3)")), bo.tikhonov(bo.make("regularizer", "l1")))


# %% Kernel
# Four formulas. The divergence has one of its own, as the difference of large numbers would lose digits.
class Cosh(bo.Kernel):
    """``ψ(Y) = Σ cosh(y)``."""

    strong_convexity = 1.0

    def value(self, Y):
        return float(np.cosh(Y.flat).sum())

    def gradient(self, Y):
        return Y.like(np.sinh(Y.flat))

    def divergence(self, Y, Z):
        z, d = Z.flat, Y.flat - Z.flat
        return float((2 * np.cosh(z) * np.sinh(d / 2) ** 2 + np.sinh(z) * (np.sinh(d) - d)).sum())


psi, Y = Cosh(), bo.Blocks(U=np.array([[1.0, 2.0]]))
Z = Y + bo.Blocks(U=np.array([[1e-7, 0.0]]))
difference = psi.value(Y) - psi.value(Z) - psi.gradient(Z).dot(Y - Z)
print(f"{psi.divergence(Y, Z):.3e} by its formula, {difference:.3e} by the difference")
print((2 * bo.make("kernel", "psi1") + bo.make("kernel", "psi2")).value(Y))

# %% KernelPolicy, Norms
# A kernel that depends on W: it is made of upper bounds of norms of W, given by name.
psi1, psi2 = bo.make("kernel", "psi1"), bo.make("kernel", "psi2")


@attrs.frozen
class Between(bo.KernelPolicy):
    """``a·ψ1 + ‖W‖_F ψ2``."""

    a: float = 2.0

    def at(self, norms: bo.Norms) -> bo.Kernel:
        return self.a * psi1 + norms["frobenius"] * psi2

    def sample(self):
        return self.a * psi1 + psi2


M = np.maximum(0, np.random.default_rng(0).standard_normal((20, 12)))
print(Between().at({"frobenius": 5.0}))
print(f"{bo.solve(bo.compose('relu-nmd', M, rank=3, kernel=Between()), max_iterations=50).objective:.2f}")

# %% KernelSum
# Kernels without a common formula are summed term by term.
psi = bo.make("kernel", "schatten4") + 2 * bo.make("kernel", "power(3)")
Y = bo.Blocks(U=np.array([[2.0]]), V=np.array([[1.0]]))
print(type(psi).__name__, f"{psi.value(Y):.3f}")

# %% KernelByMode
# One policy where W lags behind the gradient's point, as in the paper, and one where it does not.
policy = bo.KernelByMode(lagged=bo.make("kernel", "3*psi1 + 5*psi2"), reduced=bo.make("kernel", "psi1 + 5*psi2"))
print(policy.pick(reduced=False), "or", policy.pick(reduced=True))


# %% SmoothPart, ClosedFormBlock, Smad, Problem
# F, and a W with a closed form, make a problem: here regression with outliers that W takes up.
@attrs.frozen(eq=False)
class Misfit(bo.SmoothPart):
    """``F(x, W) = ½‖Ax − b − W‖²``."""

    A: np.ndarray
    b: np.ndarray

    def value(self, Y, W):
        return self.value_and_gradient(Y, W)[0]

    def value_and_gradient(self, Y, W):
        residual = self.A @ Y.x - self.b - W
        return 0.5 * float(residual @ residual), bo.Blocks(x=self.A.T @ residual)

    def smad(self, kernel, norms, reduced):
        return bo.Smad(upper=float(np.linalg.norm(self.A, 2) ** 2) / kernel.strong_convexity, lower=0.0)


@attrs.frozen
class Outliers(bo.ClosedFormBlock):
    """``G(W) = μ‖W‖₁``."""

    mu: float = 1.0

    def argmin(self, smooth, Y):
        residual = smooth.A @ Y.x - smooth.b
        return residual - np.clip(residual, -self.mu, self.mu)

    def value(self, W):
        return self.mu * float(np.abs(W).sum())


rng = np.random.default_rng(0)
A, truth = rng.standard_normal((60, 3)), np.array([1.0, -2.0, 3.0])
b = A @ truth
b[:10] += 50.0
problem = bo.Problem(smooth=Misfit(A, b), block=Outliers(0.1), kernel="psi2", shapes={"x": (3,)})
result = bo.solve(problem, method="aapb", tolerance=1e-8)
print(result.Y.x.round(2), "outliers at", np.flatnonzero(np.abs(result.W) > 1))

# %% ProblemParts
# What is stated can be looked at before anything is solved.
problem = bo.compose("nmf", np.eye(4), rank=2)
print(isinstance(problem, bo.ProblemParts), problem.facts()["Data"])
print(problem.regularizer, problem.first_point(None, np.random.default_rng(0)))


# %% Start
# A way to make Y⁰: here the first columns and rows of M.
@attrs.frozen
class Corner(bo.Start):
    """U from the first columns, V from the first rows."""

    M: np.ndarray

    def point(self, problem, rng):
        return bo.Blocks(U=self.M[:, :2], V=self.M[:2])


M = np.random.default_rng(0).random((6, 5))
print(bo.solve(bo.compose("nmf", M, rank=2), start=Corner(M), max_iterations=100).answer)

# %% feasible
# A start where H is infinite is replaced by its proximal map, and a note says so.
problem = bo.compose("nmf", np.ones((2, 2)), rank=1)
Y, notes = bo.feasible(problem, bo.Blocks(U=np.array([[-1.0], [2.0]]), V=np.ones((1, 2))))
print(Y.U.ravel())
print(notes)


# %% DataModel
# With it a result can say how well it explains the data, and rebuild them.
@attrs.frozen(eq=False)
class Line(bo.DataModel):
    """``b ≈ Ax``."""

    A: np.ndarray
    formula = "Ax"

    @property
    def shape(self):
        return (len(self.A),)

    def rows(self, Y, rows):
        return self.A[rows] @ Y.x


line = Line(np.array([[1.0, 2.0], [0.0, 1.0]]))
print(line.answer({"relative_error": 0.02}))
print(line.rows(bo.Blocks(x=np.array([1.0, 1.0])), slice(0, 1)))

# %% Oracle, Evaluation
# One pass over the data gives W, the value of F + G, the gradient, and what it cost.
M = np.maximum(0, np.random.default_rng(0).standard_normal((20, 12)))
problem = bo.compose("relu-nmd", M, rank=3)
Y = problem.first_point(None, np.random.default_rng(0))
seen = problem.oracle.evaluate(Y, at=Y)
print(f"F + G = {seen.value:.3f}, |∇F| = {seen.gradient.norm():.3f}, {seen.products:.0f} products")

# %% PlainOracle
# What any F and W block get where no plugin has a better one. It charges what it really does.
M = np.maximum(0, np.random.default_rng(0).standard_normal((20, 12)))
problem = bo.compose("relu-nmd", M, rank=3)
Y = problem.first_point(None, np.random.default_rng(0))
for oracle in (problem.oracle, bo.PlainOracle(problem.smooth, problem.block)):
    seen = oracle.evaluate(Y, at=Y)
    print(f"{type(oracle).__name__:14} F + G = {seen.value:.6f}, {seen.products:.0f} products")

# %% Sweep, Update
# A sweep moves all blocks but the last within one pass: ``update`` is given rows and their gradient.
M = np.random.default_rng(0).random((20, 12))
problem = bo.compose("low-rank", M, rank=2)
Y = problem.first_point(None, np.random.default_rng(0))


def update(name, rows, gradient):
    return Y[name][rows] - 0.01 * gradient


sweep = problem.oracle.sweep(Y, Y, update, row_wise=True)
before, after = (problem.oracle.evaluate(it).value for it in (Y, bo.Blocks(U=sweep.Y.U, V=Y.V)))
print(after < before, sweep.gradient.shape)


# %% Extrapolation, ExtrapolationContext
# A rule for β is given a context and its own memory, and returns β and the memory for next time.
@attrs.frozen
class Warmup(bo.Extrapolation):
    """``β_k = top·k/(k + 10)``."""

    top: float = 0.7

    def choose(self, context: bo.ExtrapolationContext, memory):
        k = context.iteration
        return min(self.top * k / (k + 10), 0.99 * context.longest), memory


M = np.maximum(0, np.random.default_rng(0).standard_normal((20, 12)))
method = bo.AAPB(beta=Warmup(), step=bo.make("step", "constant"))
result = bo.solve(bo.compose("relu-nmd", M, rank=3), method=method, max_iterations=20)
print(result.history["beta"][1:6].round(2))


# %% Forecast, KernelForecast
# A rule may ask what the kernel of the coming step will be if it takes this β, and what F promises about it.
@attrs.frozen
class Asking(bo.Extrapolation):
    """``β = ½``, after a question."""

    def choose(self, context, memory):
        if context.iteration == 5:
            forecast = context.forecast(0.5)
            print(type(forecast).__name__, forecast.kernel, forecast.smad)
        return 0.5, memory


M = np.eye(6)
method = bo.AAPB(beta=Asking(), step=bo.make("step", "constant"))
bo.solve(bo.compose("relu-nmd", M, rank=3, kernel="psi1 + psi2"), method=method, max_iterations=6)

# %% nesterov
# θ goes on, β comes out: from 0 towards 1.
theta, betas = 1.0, []
for _ in range(6):
    beta, theta = bo.nesterov(theta)
    betas.append(round(beta, 3))
print(betas)


# %% StepRule, Trial
# A rule for λ proposes a step, and judges it by how much F bent along it.
@attrs.frozen
class Halving(bo.StepRule):
    """λ = 4/L at first, and half of it wherever the test fails."""

    tests = True

    def propose(self, carried, limit):
        return 4 * limit if carried is None else carried

    def judge(self, trial: bo.Trial):
        return (True, trial.step) if trial.holds else (False, trial.step / 2)


M = np.maximum(0, np.random.default_rng(0).standard_normal((20, 12)))
method = bo.AAPB(beta=bo.make("extrapolation", "zero"), step=Halving())
result = bo.solve(bo.compose("relu-nmd", M, rank=3), method=method, max_iterations=30)
print("steps:", np.unique(result.history["step"][1:]))


# %% StopRule, Progress, Verdict
# A rule sees the progress of a run, and says when it is over, and why.
@attrs.frozen
class Sparse(bo.StopRule):
    """Stops when so many entries of V are zero."""

    share: float = 0.5

    def judge(self, progress: bo.Progress):
        zeros = np.mean(progress.Y.V == 0)
        return bo.Verdict(bo.Status.STOPPED, f"{zeros:.0%} of V is zero.") if zeros >= self.share else None


M = np.random.default_rng(0).random((20, 12))
problem = bo.compose("nmf", M, rank=3, U="ridge(1)", V="l1-nonneg(1)")
print(bo.solve(problem, stop=Sparse(0.2) | bo.make("stop", "max-iterations(300)")).reason)

# %% Interrupt
# The stop rule that Ctrl-C is. Here the program itself presses it at the third iteration.
import signal


def press(state):
    if state.iteration == 3:
        signal.raise_signal(signal.SIGINT)


problem = bo.compose("nmf", np.random.default_rng(0).random((20, 12)), rank=3)
ctrl_c = bo.Interrupt()
with ctrl_c.listening():
    result = bo.solve(problem, stop=ctrl_c, observers=press)
print(result.reason)

# %% AAPB
# The method of the paper, with rules of your choice for β and for λ: here with and without extrapolation.
rng = np.random.default_rng(0)
M = np.maximum(0, rng.standard_normal((30, 3)) @ rng.standard_normal((3, 20)))
problem = bo.compose("relu-nmd", M, rank=3, U="ridge(0.1)", V="ridge(0.1)")
for beta in ("zero", "nesterov"):
    method = bo.AAPB(beta=bo.make("extrapolation", beta), step=bo.make("step", "constant"))
    print(f"{beta:9} {bo.solve(problem, method=method, stop='max-products(400)').objective:.2f}")


# %% Method, State, Assumption, assumptions_met
# A method makes a first state, and from each state the next. What its theorem assumes is part of it.
class Descent(bo.Method):
    """``Y⁺ = Y − ∇F/100``."""

    assumptions = (bo.Assumption("descent", "The objective falls at every step.", lambda fall: fall >= 0),)

    def start(self, problem, Y):
        return bo.State.at(problem.oracle.evaluate(Y, at=Y), 0.0)

    def advance(self, problem, state):
        seen = problem.oracle.evaluate(state.Y, at=state.Y)
        there = problem.oracle.evaluate(state.Y - 0.01 * seen.gradient)
        met = bo.assumptions_met(self.assumptions, seen.value - there.value)
        return bo.State.at(there, 0.0, iteration=state.iteration + 1, assumptions=met)


M = np.random.default_rng(0).random((20, 12))
result = bo.solve(bo.compose("low-rank", M, rank=2), method=Descent(), stop="max-iterations(100)")
print(result.answer)
print(result.certificate.assumptions["descent"].held)


# %% Selector
# Picks a method for a problem, and says why.
class Cautious(bo.Selector):
    """``aapb-certified`` for everything."""

    def select(self, problem, Y):
        return bo.make("method", "aapb-certified"), "it has a proof for every step"


M = np.maximum(0, np.random.default_rng(0).standard_normal((20, 12)))
print(bo.solve(bo.compose("relu-nmd", M, rank=3), method=Cautious(), max_iterations=30).notes)

# %% Momentum
# A method that takes over from another goes on with its momentum.
M = np.maximum(0, np.random.default_rng(0).standard_normal((20, 12)))
problem, method = bo.compose("relu-nmd", M, rank=3), bo.make("method", "ecd")
states = bo.iterate(problem, method=method)
state = [next(states) for _ in range(10)][-1]
momentum = method.momentum(state)
print(f"θ = {momentum.theta:.2f}, the last step was {(state.Y - momentum.Y_prev).norm():.3f} long")

# %% Subgradient
# How far from stationary is a state? The size of one element of ∂Φ, relative to the first slope.
M = np.maximum(0, np.random.default_rng(0).standard_normal((20, 12)))
problem, method = bo.compose("relu-nmd", M, rank=3, U="l1(0.1)", V="l1(0.1)"), bo.make("method", "apb")
for state in bo.iterate(problem, method=method):
    if state.iteration in (1, 10, 100):
        found = method.subgradient(problem, state)
        print(f"{state.iteration:3}  |A| = {found.norm:.3f}, |∇F| = {found.gradient_norm:.3f}")
    if state.iteration == 100:
        break

# %% BregmanModel
# The model that a step minimises. It touches Φ at Ȳ and lies above it where the step is short enough.
M = np.maximum(0, np.random.default_rng(0).standard_normal((20, 12)))
problem = bo.compose("relu-nmd", M, rank=3, kernel="psi1 + 20*psi2")
Y = problem.first_point(None, np.random.default_rng(0))
model = bo.BregmanModel(problem, problem.oracle.evaluate(Y, at=Y), problem.kernel, step=1.0)
lower = model.minimiser()
print(f"{problem.oracle.evaluate(lower).value:.2f} after the step, {model.evaluation.value:.2f} before")
print(model.upper_test(lower, problem.oracle.evaluate(lower, at=Y, value_at=True)).holds)

# %% TakenStep
# What the next step needs of the last one; at the start there is none.
M = np.maximum(0, np.random.default_rng(0).standard_normal((20, 12)))
problem = bo.compose("relu-nmd", M, rank=3, kernel="psi1 + 20*psi2")
Y = problem.first_point(None, np.random.default_rng(0))
first = bo.TakenStep.none(problem, problem.oracle.evaluate(Y, at=Y), problem.kernel)
print(first.iteration, first.divergence, first.Y_prev)

# %% balanced
# The factors of the same product UV that have the least H: a ridge wants both of one size.
problem = bo.compose("low-rank", np.eye(2), rank=2, U="ridge(1)", V="ridge(1)")
Y = bo.Blocks(U=10 * np.eye(2), V=0.1 * np.eye(2))
(best,) = bo.balanced(problem.smooth, problem.regularizer, Y)
print(problem.regularizer.value(Y), "→", problem.regularizer.value(best))
print(np.allclose(best.U @ best.V, Y.U @ Y.V))
