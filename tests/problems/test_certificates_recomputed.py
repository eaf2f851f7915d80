"""What results and certificates say, held against dense extended-precision recomputations of every iterate.

The long form is ``python -m pytest -m long tests/problems/test_certificates_recomputed.py``.

Recomputed at every iterate are Φ and the Lyapunov function that the method names. The envelope of bella and the bounds
of ecd and els cannot be had from points alone: of these it is checked that they are not below Φ.
"""

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from recomputed import Real, ReluProblem, divergence, norm, penalties, rounding

import bregopt as bo

METHODS = [*(entry.name for entry in bo.catalog("method")), "bpg(step=8)", "aapb(beta=0.9, step=3)"]
"""The last two are outside of every theorem, and rise."""
ITERATIONS = 25
LAGGED = {"aapb-certified": True, "aapb-paper": False, "cocain": True, "aapb(beta=0.9, step=3)": False}
"""Methods whose Lyapunov function is Φ + (δ/λ)D, and whether W is taken at the point of the gradient."""
PLAIN = {
    "aapb",
    "apb",
    "apb-paper",
    "bpg",
    "bpg(step=8)",
    "palm",
    "ppalm",
    "a-nmd",
    "ebcd-nmd",
    "naive-nmd",
    "bcd-nmd",
    "3b-nmd",
    "nmd-tm",
    "tsvd",
    "aals",
    "masked-newton",
    "hals",
    "mu",
}
"""Methods whose Lyapunov function is Φ."""
INERTIAL = {"ipalm": 0.2, "ippalm": 0.6}
"""Methods whose Lyapunov function is Φ + ½Σδ‖Y^k − Y^{k−1}‖², and their α = β."""
KNOWN_TO = {"float64": 1e-12, "float32": 1e-6}


@st.composite
def drawn_problems(draw):
    """ReLU-NMD of at most 12×12 with two penalties, at one of three scales; some starts fit the data."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m, n = draw(st.integers(2, 12)), draw(st.integers(2, 12))
    rank, scale = draw(st.integers(1, min(m, n))), draw(st.sampled_from([1.0, 1e-6, 1e6]))
    kind = draw(st.sampled_from(["low-rank", "sparse", "dense", "met", "nearly met"]))
    U, V = np.abs(rng.standard_normal((m, rank))), rng.standard_normal((rank, n))
    V[:, 0] = np.abs(V[:, 0])
    M = np.maximum(0, U @ V)
    if kind in ("sparse", "dense"):
        M = rng.random((m, n)) * (rng.random((m, n)) < (0.3 if kind == "sparse" else 1.0))
        M[0, 0] = 1.0
    dtype, root, start = draw(st.sampled_from(sorted(KNOWN_TO, reverse=True))), math.sqrt(scale), None
    if kind.endswith("met"):
        away = 0.0 if kind == "met" else 1e-7
        start = {"U": root * (U + away * rng.standard_normal(U.shape)), "V": root * V}
    names = st.sampled_from(list(penalties(scale)))
    on = ("none", "none") if kind.endswith("met") and draw(st.booleans()) else (draw(names), draw(names))
    return SimpleNamespace(
        M=(scale * M).astype(dtype),
        rank=rank,
        scale=scale,
        dtype=dtype,
        on=on,
        kernel=draw(st.sampled_from(["auto", "tight", "paper"])),
        start=start,
    )


def run(problem, method, iterations):
    """The result, every state, and the same problem from its formulas; ``None`` where the method refuses it."""
    on_U, on_V = (penalties(problem.scale)[name] for name in problem.on)
    states, start = [], None if problem.start is None else bo.Blocks(**problem.start)
    composed = bo.compose("relu-nmd", problem.M, problem.rank, U=on_U[0], V=on_V[0], kernel=problem.kernel)
    if problem.kernel == "auto":  # a bound of ‖M‖₂ that may exceed it by one part in 10⁴
        problem.bound = composed.kernel.pick(True).sample().b
        assert 1 - 1e-6 <= problem.bound / np.linalg.norm(np.float64(problem.M), 2) <= 1 + 1.1e-4
    problem.moduli = {name: composed.regularizer[name].weak_convexity for name in "UV"}
    try:
        result = bo.solve(
            composed,
            method=method,
            start=start,
            max_iterations=iterations,
            observers=[states.append],
        )
    except bo.errors.IncompatibleError:
        return None
    return result, states, ReluProblem(problem.M, on_U, on_V)


def lies(problem, method, iterations=ITERATIONS):
    """Every statement of a run that is not so, as a sentence."""
    made = run(problem, method, iterations)
    return [] if made is None else [*_of_values(problem, method, *made), *_of_the_certificate(problem, *made)]


def _of_values(problem, method, result, states, exact):
    eps, known_to = float(np.finfo(problem.dtype).eps), KNOWN_TO[problem.dtype]
    terms = [exact.terms(it.Y.U, it.Y.V) for it in states]
    phi = [f + H for f, H in terms]
    slack = [rounding(both, it.Y.U, it.Y.V, eps) for it, both in zip(states, terms, strict=True)]
    for it, value, allowed in zip(states, phi, slack, strict=True):
        if not math.isfinite(it.objective):
            continue
        off = float(it.objective - value)
        if abs(off) > allowed if it.exact else off < -allowed - known_to * it.scale:
            yield f"the objective at iteration {it.iteration} is off by {off:.1e}"
        tested = method not in PLAIN | {"em-nmd"} and it.assumptions.get("step", True)
        if tested and it.lyapunov < value - allowed - 3 * known_to * it.scale:  # a test forgives the rounding of two
            yield f"the Lyapunov value at iteration {it.iteration} is below Φ"
    if method in PLAIN:
        yield from _hidden_rises(result, states, phi, slack, known_to)
    elif method in LAGGED or method in INERTIAL:
        lags = (
            _inertial(problem, method, states) if method in INERTIAL else _lags(problem, method, result, exact, states)
        )
        theta = [value + lag for value, lag in zip(phi, lags, strict=True)]
        for it, value, lag, allowed in zip(states, theta, lags, slack, strict=True):
            if math.isfinite(it.lyapunov) and abs(float(it.lyapunov - value)) > allowed + 1e-6 * float(lag):
                yield f"the Lyapunov value at iteration {it.iteration} is {it.lyapunov!r} and not {float(value)!r}"
        yield from _hidden_rises(result, states, theta, slack, known_to)


def _lags(problem, method, result, exact, states):
    """(δ/λ)·D(Y^{k−1}, Y^k) in the kernel of that step, for k = 0, 1, …"""
    lags, reduced = [0.0], LAGGED[method]
    kernel = "paper" if method == "aapb-paper" else problem.kernel
    for k in range(1, len(states)):
        before, here = states[k - 1].Y, states[k]
        at = before if k == 1 or not reduced else before.plus(here.beta, before - states[k - 2].Y)
        a, b = (1.0, problem.bound) if kernel == "auto" and reduced else exact.kernel(kernel, at.U, at.V)
        lags.append(result.method.beta.delta / here.step * divergence(Real(before.flat), Real(here.Y.flat), a, b))
    return lags


def _inertial(problem, method, states):
    """½Σδ‖Y^k − Y^{k−1}‖², with δ⁺ = A − κ²/δ, or A − κ where that is not positive.

    A = c − L + max(0, c − ρ) and κ = αc + βL, where ρ is the modulus of weak convexity of H, if it has one.
    """
    lags, weights, alpha = [0.0], {"U": math.inf, "V": math.inf}, INERTIAL[method]
    for before, here in itertools.pairwise(states):
        others = {"U": before.Y.V, "V": here.Y.U}
        for name, rho in problem.moduli.items():
            L = float(np.linalg.norm(others[name], 2)) ** 2
            known = [] if rho is None else [(L * (1 + 2 * alpha) + rho) / (2 * (1 - alpha))]
            c = L if method == "ippalm" else 1.05 * min([L * (1 + 2 * alpha) / (1 - 2 * alpha), *known])
            c = max(c, 1e-20)
            A, kappa = c - L + (0.0 if rho is None else max(0.0, c - rho)), alpha * (c + L)
            left = A - kappa**2 / weights[name] if weights[name] > 0 else -math.inf
            weights[name] = left if left > 0 else max(A - kappa, 0.0)
        moved = here.Y - before.Y
        lags.append(0.5 * sum(delta * float(norm(moved[name])) ** 2 for name, delta in weights.items()))
    return lags


def _hidden_rises(result, states, values, slack, known_to):
    for k in range(1, len(states)):
        terms = known_to * (states[k].scale + states[k - 1].scale) + 100 * (slack[k] + slack[k - 1])
        if values[k] - values[k - 1] > terms and k not in result.certificate.rises:
            yield f"the rise by {float(values[k] - values[k - 1]):.1e} at iteration {k} is not told"


def _of_the_certificate(problem, result, states, exact):
    certificate, text = result.certificate, result.certificate.summary()
    if certificate.assumptions_held and certificate.rises:
        yield f"all assumptions held, and rounding is called a rise at {certificate.rises[:3]}"
    if certificate.guaranteed and ("rose at" in text or not math.isfinite(result.objective) or not result.iterations):
        yield "a guarantee is given that cannot be"
    if certificate.guaranteed and not all(it.step and math.isfinite(it.step) for it in states[1:]):
        yield "a guarantee is given without a step"
    if result.status is bo.Status.DIVERGED:
        first, last = (float(sum(exact.terms(it.Y.U, it.Y.V))) for it in (states[0], states[-1]))
        if last < 1e3 * abs(first) or last < 1e-16 * float(norm(exact.M)) ** 2:
            yield f"it is said to diverge, from {first:.1e} to {last:.1e}"
    if certificate.subgradient is not None:
        distance, told = exact.distance(result.Y.U, result.Y.V), certificate.subgradient
        if not distance <= told + certificate.subgradient_rounding:
            yield f"the distance to stationarity is {distance:.6e}, and |A| {told:.6e}"


SLOW = settings(deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("method", METHODS)
@given(problem=drawn_problems())
@settings(SLOW, max_examples=6)
def test_results_and_certificates_say_what_is_so(method, problem):
    assert not list(lies(problem, method))


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("method", METHODS)
@given(problem=drawn_problems())
@settings(SLOW, max_examples=300)
def test_results_and_certificates_say_what_is_so_300_times(method, problem):
    assert not list(lies(problem, method, 2 * ITERATIONS))
